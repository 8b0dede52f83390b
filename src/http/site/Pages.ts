/**
 * What every page passes: it counts towards the address's limit, knows who looks at it, takes no form that is not ours,
 * and shows what goes wrong as a page.
 */
import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Option, Predicate } from "effect"
import { HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { apiError } from "../../services/errors.ts"
import { IdentityProvider } from "../../services/IdentityProvider.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { Operators } from "../../services/Operators.ts"
import { Settings } from "../../services/Settings.ts"
import { countedRequest, CurrentRequest } from "../CurrentRequest.ts"
import { errorStatus } from "../errorStatus.ts"
import { cacheControl, notModified, PublicCache, withEtag } from "../httpCaching.ts"
import { formTokenField } from "./views/layout.ts"
import type { Frame } from "./views/layout.ts"
import { cookiesOf } from "./cookies.ts"
import type { Cookies } from "./cookies.ts"
import { formTokenOf, isForeign, isFormToken } from "./crossSite.ts"
import { readForm } from "./forms.ts"
import { refuse, siteOf } from "./responses.ts"
import type { Site } from "./responses.ts"

/** 403: a form that is not one of ours, or no longer. */
class FormRefused extends apiError("FormRefused", 403, "form_refused") {}

/** Who looks at a page. */
export interface Visitor {
  readonly frame: Frame
  /** The secret of the session that the operator is in. */
  readonly session: string | null
}

/** Whatever a page may fail with says in `detail` what is wrong and what would be right. */
interface Failure {
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
    /** Serves what answers a request without further ado. */
    readonly shown: <E extends Failure, R>(
      page: (visitor: Visitor) => Effect.Effect<Response, E, R>
    ) => Served<R>
    /**
     * Serves what everybody sees alike: without a form or a cookie, and kept for a moment for all who ask. It depends on
     * these parameters of the address and no others.
     */
    readonly published: <E extends Failure, R>(
      parameters: ReadonlyArray<string>,
      page: (frame: Frame) => Effect.Effect<Response, E, R>
    ) => Served<R>
    /** Serves what acts on a form of ours. */
    readonly submitted: <E extends Failure, R>(
      act: (visitor: Visitor, fields: URLSearchParams) => Effect.Effect<Response, E, R>
    ) => Served<R>
  }
>()("auspex/http/Pages") {}

/** A visitor, and the secret that the visitor's forms are bound to. */
interface Identified {
  readonly visitor: Visitor
  readonly formSecret: string
  /** The browser does not keep it yet. */
  readonly formSecretIsNew: boolean
}

const formSecretShape = /^[\w-]{43}$/

const make = Effect.gen(function* () {
  const { baseUrl, publicCache } = yield* Settings
  const cache = yield* PublicCache
  const limits = yield* RateLimiter
  const operators = yield* Operators
  const provider = yield* IdentityProvider
  const site = siteOf(baseUrl)
  const cookies = cookiesOf(baseUrl)
  const providerName = Option.getOrNull(provider.name)
  const everybody: Frame = { at: site.at, operator: null, formToken: "", providerName }
  const kept = { "cache-control": cacheControl(publicCache) }

  const identify = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const session = cookies.read(request, "session")
    const operator = session === undefined ? Option.none() : yield* operators.session(session)
    if (session !== undefined && Option.isSome(operator)) {
      const frame = { at: site.at, operator: operator.value, formToken: formTokenOf(session), providerName }
      const known: Identified = { visitor: { frame, session }, formSecret: session, formSecretIsNew: false }
      return known
    }
    const sent = cookies.read(request, "form")
    const kept = sent !== undefined && formSecretShape.test(sent) ? sent : undefined
    const formSecret = kept ?? randomBytes(32).toString("base64url")
    const frame = { at: site.at, operator: null, formToken: formTokenOf(formSecret), providerName }
    const stranger: Identified = {
      visitor: { frame, session: null },
      formSecret,
      formSecretIsNew: kept === undefined
    }
    return stranger
  })

  /**
   * Within the address's limit, and with every failure as a page: with the operator's header once the work has identified
   * one, with nobody's before, and where the edge answers.
   */
  const served = <E extends Failure, R>(
    work: (identifyVisitor: typeof identify) => Effect.Effect<Response, E, R>
  ) =>
    Effect.suspend(() => {
      // Of this request: `served` is called once for all of them.
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
          Effect.map(CurrentRequest, ({ requestId }) => {
            const wait = Predicate.hasProperty(error, "retry_after") ? String(error.retry_after) : undefined
            return refuse(site, {
              status: errorStatus(error),
              detail: error.detail,
              requestId,
              ...(operatorsFrame !== undefined && { frame: operatorsFrame }),
              ...(wait !== undefined && { headers: { "retry-after": wait } })
            })
          })
        )
      )
    })

  const shown: Pages["Service"]["shown"] = (page) =>
    served((identifyVisitor) =>
      Effect.gen(function* () {
        const { formSecret, formSecretIsNew, visitor } = yield* identifyVisitor
        const response = yield* page(visitor)
        return formSecretIsNew ? cookies.set("form", formSecret, "browser")(response) : response
      })
    )

  const published = <E extends Failure, R>(
    parameters: ReadonlyArray<string>,
    page: (frame: Frame) => Effect.Effect<Response, E, R>
  ) =>
    served(() =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const made = Effect.map(page(everybody), (response) => withEtag(response, kept))
        return notModified(request, yield* cache.get(request.url, parameters, made))
      })
    )

  const submitted: Pages["Service"]["submitted"] = (act) =>
    served((identifyVisitor) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        if (isForeign(request, baseUrl)) {
          return yield* new FormRefused({
            detail: "This form came from another site, so nothing was done."
          })
        }
        const fields = yield* readForm
        const { formSecret, visitor } = yield* identifyVisitor
        if (!isFormToken(fields.get(formTokenField) ?? "", formSecret)) {
          return yield* new FormRefused({
            detail:
              "This form is out of date, so nothing was done. Go back, reload the page, and send it again; your browser has to take cookies from this site."
          })
        }
        return yield* act(visitor, fields)
      })
    )

  return Pages.of({ site, cookies, shown, published, submitted })
})

export const layer = Layer.effect(Pages, make)
