/** Shared by all pages: the rate limit by address, the visitor, protection of forms, cookies, and failures shown as pages. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { Context, DateTime, Duration, Effect, Layer, Option, Predicate, identity } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { IdentityProvider, Operators } from "../../services/Operators.ts"
import type { Operator } from "../../services/Operators.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Settings, legalNames } from "../../services/Settings.ts"
import { InvalidRequest, apiError } from "../../services/domain/errors.ts"
import { CurrentRequest, countedRequest } from "../CurrentRequest.ts"
import { errorStatus } from "../errors.ts"
import { PublicCache, cacheControl, negotiated, withEtag } from "../httpCaching.ts"
import { smallBody } from "../api/middleware.ts"
import { bodyText, formType } from "../bodyText.ts"
import { refusedParameters } from "../unknownFields.ts"
import { pagePaths, signInWith, withQuery } from "./paths.ts"
import { urlLanguage, everybody, goTo, knownLanguage, parametersOf, showError, siteOf } from "./responses.ts"
import type { Site } from "./responses.ts"
import { languages } from "./messages/messages.ts"
import type { Language } from "./messages/messages.ts"
import { formTokenField } from "./views/layout.ts"
import type { Frame } from "./views/layout.ts"

/** 403: the form came from another site or is out of date. */
class FormRejected extends apiError("FormRejected", 403, "form_refused") {}

export interface Visitor {
  readonly frame: Frame
  /** The secret of the operator's session. */
  readonly session: string | null
}

/** `detail` names the problem and its remedy. */
export interface Failure {
  readonly detail: string
}

type Response = HttpServerResponse.HttpServerResponse

type Served<R> = Effect.Effect<Response, never, R | HttpServerRequest.HttpServerRequest>

/** @effect-expect-leaking HttpServerRequest */
export class Pages extends Context.Service<
  Pages,
  {
    readonly site: Site
    readonly cookies: Cookies
    /** A page that depends on the visitor. */
    readonly personalPage: <E extends Failure, R>(
      page: (visitor: Visitor) => Effect.Effect<Response, E, R>
    ) => Served<R>
    /**
     * A page that is the same for everybody, without forms and cookies, and cached briefly. Only these query
     * parameters change it; others are ignored.
     */
    readonly publicPage: <E extends Failure, R>(
      parameters: ReadonlyArray<string>,
      page: (frame: Frame) => Effect.Effect<Response, E, R>
    ) => Served<R>
    /** Handles a form of this site. `lists` names the fields that may occur more than once. */
    readonly formPost: <E extends Failure, R>(
      act: (visitor: Visitor, fields: URLSearchParams) => Effect.Effect<Response, E, R>,
      lists?: ReadonlyArray<string>
    ) => Served<R>
    /** A page of a signed-in operator; other visitors are sent to the sign-in page. */
    readonly ownerPage: <E extends Failure, R>(
      page: (frame: Frame, operator: Operator) => Effect.Effect<Response, E, R>
    ) => Served<R>
    /** Handles a form of a signed-in operator. */
    readonly ownerForm: <E extends Failure, R>(
      act: (frame: Frame, operator: Operator, fields: URLSearchParams) => Effect.Effect<Response, E, R>,
      lists?: ReadonlyArray<string>
    ) => Served<R>
  }
>()("auspex/http/Pages") {}

/** A visitor, with the secret that the visitor's form tokens are derived from. */
interface Identified {
  readonly visitor: Visitor
  readonly formSecret: string
  /** The browser does not have this cookie yet. */
  readonly formSecretIsNew: boolean
}

const formSecretShape = /^[\w-]{43}$/

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const { baseUrl, legalTexts, publicCache } = settings
  const cache = yield* PublicCache
  const limits = yield* RateLimiter
  const operators = yield* Operators
  const provider = yield* IdentityProvider
  const site = siteOf(settings)
  const cookies = cookiesOf(baseUrl)
  const providerName = Option.getOrNull(provider.name)
  const legal = legalNames.filter((name) => legalTexts[name] !== undefined)

  const frameIn = (language: Language): Frame => ({ ...everybody(site, language), providerName, legal })

  const languageIn = Effect.fnUntraced(function* (url: string) {
    const name = urlLanguage(url)
    if (name === null) return site.language
    return (
      knownLanguage(name) ?? (yield* InvalidRequest.of("lang", `Expected one of ${languages.join(", ")}`))
    )
  })

  /** Personal pages use the language that this browser chose last, and link to themselves in the other one. */
  const personalFrame = ({ cookies: sent, method, url }: HttpServerRequest.HttpServerRequest): Frame => {
    const language =
      knownLanguage(urlLanguage(url)) ??
      knownLanguage(cookies.read({ cookies: sent }, "language")) ??
      site.language
    const [path = ""] = url.split("?")
    const others = parametersOf(url)
    others.delete("lang")
    return {
      ...frameIn(language),
      // The provider's answer is valid once, so the page about it does not link to it.
      ...(method === "GET" &&
        path !== pagePaths.callback && { translation: withQuery(path, Object.fromEntries(others)) })
    }
  }

  /** The error page of a public page is in the requested language, too. */
  const publicFrame = ({ url }: HttpServerRequest.HttpServerRequest): Frame =>
    frameIn(knownLanguage(urlLanguage(url)) ?? site.language)

  const kept = { "cache-control": cacheControl(publicCache) }

  const identify = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const shown = personalFrame(request)
    const session = cookies.read(request, "session")
    const operator = session === undefined ? Option.none() : yield* operators.session(session)
    if (session !== undefined && Option.isSome(operator)) {
      const frame = { ...shown, operator: operator.value, formToken: formTokenOf(session) }
      const signedIn: Identified = {
        visitor: { frame, session },
        formSecret: session,
        formSecretIsNew: false
      }
      return signedIn
    }
    const sent = cookies.read(request, "form")
    const kept = sent !== undefined && formSecretShape.test(sent) ? sent : undefined
    const formSecret = kept ?? randomBytes(32).toString("base64url")
    const frame = { ...shown, formToken: formTokenOf(formSecret) }
    const stranger: Identified = {
      visitor: { frame, session: null },
      formSecret,
      formSecretIsNew: kept === undefined
    }
    return stranger
  })

  /** Applies the rate limit and shows failures as pages: with the operator's header after identification, with the visitor's before. */
  const served = <E extends Failure, R>(
    strangersFrame: (request: HttpServerRequest.HttpServerRequest) => Frame,
    work: (identifyVisitor: typeof identify) => Effect.Effect<Response, E, R>
  ) =>
    Effect.suspend(() => {
      // `served` runs once and its result once a request, so this variable belongs to one request.
      let operatorsFrame: Frame | undefined
      const identifyVisitor = Effect.tap(identify, ({ visitor: { frame } }) =>
        Effect.sync(() => {
          if (frame.operator !== null) operatorsFrame = frame
        })
      )
      return Effect.gen(function* () {
        const { address } = yield* countedRequest
        yield* limits.consume("reads", address)
        return yield* work(identifyVisitor)
      }).pipe(
        Effect.catch((error) =>
          Effect.map(
            Effect.all([CurrentRequest, HttpServerRequest.HttpServerRequest]),
            ([current, request]) => {
              const wait = Predicate.hasProperty(error, "retry_after") ? String(error.retry_after) : undefined
              return showError(site, operatorsFrame ?? strangersFrame(request), {
                status: errorStatus(error),
                detail: error.detail,
                requestId: current.requestId,
                ...(wait !== undefined && { headers: { "retry-after": wait } })
              })
            }
          )
        )
      )
    })

  const personalPage: Pages["Service"]["personalPage"] = (page) =>
    served(personalFrame, (identifyVisitor) =>
      Effect.gen(function* () {
        const { formSecret, formSecretIsNew, visitor } = yield* identifyVisitor
        const { url } = yield* HttpServerRequest.HttpServerRequest
        const language = knownLanguage(urlLanguage(url))
        return (yield* page(visitor)).pipe(
          formSecretIsNew ? cookies.set("form", formSecret, "browser") : identity,
          language === undefined ? identity : cookies.set("language", language, "browser")
        )
      })
    )

  const publicPage = <E extends Failure, R>(
    parameters: ReadonlyArray<string>,
    page: (frame: Frame) => Effect.Effect<Response, E, R>
  ) =>
    served(publicFrame, () =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const url = withParameters(request.url, parameters)
        const refused = refusedParameters(url, parameters)
        if (refused !== undefined) return yield* refused
        const language = parameters.includes("lang") ? yield* languageIn(url) : "en"
        const made = Effect.map(page(frameIn(language)), (response) => withEtag(response, kept))
        return yield* negotiated(request, yield* cache.get(url, parameters, made))
      })
    )

  const formPost: Pages["Service"]["formPost"] = (act, lists = []) =>
    served(personalFrame, (identifyVisitor) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (isForeign(request, baseUrl)) {
          return yield* new FormRejected({
            detail: "This form came from another site, so nothing was done."
          })
        }
        const fields = yield* readForm(lists)
        const { formSecret, visitor } = yield* identifyVisitor
        if (!isFormToken(fields.get(formTokenField) ?? "", formSecret)) {
          return yield* new FormRejected({
            detail:
              "This form is out of date, so nothing was done. Go back, reload the page, and send it again; your browser has to take cookies from this site."
          })
        }
        return yield* act(visitor, fields)
      })
    )

  /** Sends the visitor to the sign-in page with the way back; that page checks which ways back are allowed. */
  const toSignIn = Effect.map(HttpServerRequest.HttpServerRequest, ({ method, url }) =>
    goTo(site, site.at(method === "GET" ? signInWith(url.split("?")[0] ?? "") : pagePaths.signIn))
  )

  const ownerPage = <E extends Failure, R>(
    page: (frame: Frame, operator: Operator) => Effect.Effect<Response, E, R>
  ) =>
    personalPage<E, R | HttpServerRequest.HttpServerRequest>(({ frame }) =>
      frame.operator === null ? toSignIn : page(frame, frame.operator)
    )

  const ownerForm = <E extends Failure, R>(
    act: (frame: Frame, operator: Operator, fields: URLSearchParams) => Effect.Effect<Response, E, R>,
    lists?: ReadonlyArray<string>
  ) =>
    formPost<E, R | HttpServerRequest.HttpServerRequest>(
      ({ frame }, fields) => (frame.operator === null ? toSignIn : act(frame, frame.operator, fields)),
      lists
    )

  return Pages.of({ site, cookies, personalPage, publicPage, formPost, ownerPage, ownerForm })
})

export const layer = Layer.effect(Pages, make)

/** Removes unknown parameters: a shared link may have parameters of other sites. */
const withParameters = (url: string, known: ReadonlyArray<string>): string => {
  const [path = ""] = url.split("?")
  const parameters = [...parametersOf(url)].filter(([name]) => known.includes(name))
  return parameters.length === 0 ? path : `${path}?${new URLSearchParams(parameters).toString()}`
}

/**
 * True if the browser reports another origin. Browsers send Sec-Fetch-Site only to trustworthy addresses (https, loopback).
 * Otherwise Origin decides; it is `null` from pages without a referrer, such as ours. If neither decides, the form token
 * does.
 */
const isForeign = (request: HttpServerRequest.HttpServerRequest, baseUrl: string): boolean => {
  const site = request.headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin"
  const origin = request.headers["origin"]
  return origin !== undefined && origin !== "null" && origin !== new URL(baseUrl).origin
}

const digest = (text: string) => createHash("sha256").update(text).digest()

/** The form token of this secret's holder. It does not reveal the secret. */
export const formTokenOf = (secret: string): string => digest(`auspex/form\0${secret}`).toString("base64url")

const isFormToken = (sent: string, secret: string): boolean =>
  timingSafeEqual(digest(sent), digest(formTokenOf(secret)))

type CookieName = "session" | "form" | "provider" | "language"

interface Cookies {
  readonly read: (
    request: Pick<HttpServerRequest.HttpServerRequest, "cookies">,
    name: CookieName
  ) => string | undefined
  /** The cookie lasts until an instant, or until the browser closes. */
  readonly set: (
    name: CookieName,
    value: string,
    lasting: { readonly from: DateTime.Utc; readonly until: DateTime.Utc } | "browser"
  ) => (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
  readonly forget: (
    name: CookieName
  ) => (response: HttpServerResponse.HttpServerResponse) => HttpServerResponse.HttpServerResponse
}

/**
 * The prefix __Host- makes browsers enforce Secure, Path=/ and no Domain; without TLS they would drop such a cookie. No
 * script can read these cookies, and forms of other sites do not send them.
 */
const cookiesOf = (baseUrl: string): Cookies => {
  const secure = baseUrl.startsWith("https:")
  const nameOf = (name: CookieName) => `${secure ? "__Host-" : ""}auspex_${name}`
  const options = { path: "/", httpOnly: true, secure, sameSite: "lax" } as const
  return {
    read: (request, name) => request.cookies[nameOf(name)],
    set: (name, value, lasting) =>
      HttpServerResponse.setCookieUnsafe(nameOf(name), value, {
        ...options,
        ...(lasting !== "browser" && { maxAge: DateTime.distance(lasting.from, lasting.until) })
      }),
    forget: (name) =>
      HttpServerResponse.setCookieUnsafe(nameOf(name), "", { ...options, maxAge: Duration.zero })
  }
}

/** The fields of a posted form. A field may occur once, except those of checkboxes with one name. */
const readForm = Effect.fnUntraced(function* (lists: ReadonlyArray<string>) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const fields = new URLSearchParams(yield* bodyText(request, [formType], smallBody))
  const seen = new Set<string>()
  for (const name of fields.keys()) {
    if (seen.has(name) && !lists.includes(name))
      return yield* InvalidRequest.of(name.slice(0, 200), "Expected this field once.")
    seen.add(name)
  }
  return fields
})
