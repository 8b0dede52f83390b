/** Signing in and out: by a link in a mail, or at the identity provider. */
import { DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import {
  IdentityProvider,
  Operators,
  ReturnTo,
  SignInRejected,
  accountPage,
  signInPage,
  toAccount
} from "../../../services/Operators.ts"
import type { NewSession, SignInView } from "../../../services/Operators.ts"
import { EmailAddress, addressFault, emailAddressOf } from "../../../services/domain/emails.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { CurrentRequest } from "../../CurrentRequest.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../siteLayer.ts"
import type { Visitor } from "../siteLayer.ts"
import { pagePaths, signInWith } from "../paths.ts"
import { goTo, query, show } from "../responses.ts"
import { field, form, inEnglish, notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

type Response = HttpServerResponse.HttpServerResponse

const decodeEmail = Schema.decodeUnknownResult(EmailAddress)
const decodeReturnTo = Schema.decodeUnknownOption(ReturnTo)

export const emailOf = (
  fields: URLSearchParams,
  { t }: Frame
): Result.Result<EmailAddress, RejectedField & { readonly field: "email" }> => {
  const value = fields.get("email") ?? ""
  if (value.trim() === "") {
    return Result.fail({ field: "email", value: "", complaint: t.claiming.emailNeeded })
  }
  return Result.mapError(decodeEmail(value), () => ({
    field: "email",
    // Anything longer is not an address, and is not sent back.
    value: value.length <= 254 ? value : "",
    complaint: t.claiming.emailFaults[addressFault(value) ?? "form"]
  }))
}

/** The page of the account that the visitor asked for before signing in; otherwise the account. */
const wayBack = Effect.map(query, (parameters) =>
  Option.getOrElse(decodeReturnTo(parameters.get("return_to")), () => toAccount)
)

/** Begins a session in the browser and ends the previous one. */
export const enter = Effect.gen(function* () {
  const { cookies } = yield* Pages
  const operators = yield* Operators
  return Effect.fnUntraced(function* (visitor: Visitor, session: NewSession, response: Response) {
    if (visitor.session !== null) yield* operators.signOut(visitor.session)
    return response.pipe(
      cookies.set("session", session.secret, { from: yield* DateTime.now, until: session.expiresAt }),
      cookies.forget("form")
    )
  })
})

const byMail = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { cookies, personalPage, site, formPost } = yield* Pages
    const operators = yield* Operators
    const begin = yield* enter

    yield* router.add(
      "GET",
      pagePaths.signIn,
      personalPage(({ frame }) =>
        Effect.map(wayBack, (returnTo) =>
          frame.operator === null
            ? show(site, frame, signInView(frame, { returnTo }))
            : goTo(site, site.at(returnTo))
        )
      )
    )

    yield* router.add(
      "POST",
      pagePaths.signIn,
      formPost(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const email = emailOf(fields, frame)
          const returnTo = yield* wayBack
          if (Result.isFailure(email)) {
            return show(site, frame, signInView(frame, { returnTo, rejected: email.failure }), {
              status: 400
            })
          }
          const { address } = yield* CurrentRequest
          return yield* operators.requestSignIn({ email: email.success, returnTo, address }).pipe(
            Effect.as(show(site, frame, mailSentView(frame, email.success), { status: 202 })),
            Effect.catchTag("DisposableAddress", ({ detail }) =>
              Effect.succeed(
                show(
                  site,
                  frame,
                  signInView(frame, {
                    returnTo,
                    rejected: { value: email.success, complaint: inEnglish(detail) }
                  }),
                  { status: 400 }
                )
              )
            )
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.signInLink,
      personalPage(
        Effect.fnUntraced(function* ({ frame }) {
          const { token = "" } = yield* HttpRouter.params
          const view = yield* operators.viewSignIn(token)
          return show(site, frame, signInLinkView(frame, token, view), {
            status: view.state === "open" ? 200 : 410
          })
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.signInLink,
      formPost(
        Effect.fnUntraced(function* (visitor) {
          const { token = "" } = yield* HttpRouter.params
          return yield* operators.signIn(token).pipe(
            Effect.flatMap(({ returnTo, session }) => begin(visitor, session, goTo(site, site.at(returnTo)))),
            Effect.catchTag("SignInLinkEnded", ({ reason }) =>
              Effect.succeed(
                show(site, visitor.frame, signInLinkView(visitor.frame, token, { state: reason }), {
                  status: 410
                })
              )
            )
          )
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.signOut,
      formPost(
        Effect.fnUntraced(function* ({ session }) {
          if (session !== null) yield* operators.signOut(session)
          return goTo(site, site.at(pagePaths.signIn)).pipe(cookies.forget("session"))
        })
      )
    )
  })
)

const byProvider = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { cookies, personalPage, site } = yield* Pages
    const operators = yield* Operators
    const provider = yield* IdentityProvider
    const begin = yield* enter

    const offered = Option.match(provider.name, {
      onNone: () => new NotFound({ detail: "This service offers no identity provider: sign in by e-mail." }),
      onSome: () => Effect.void
    })

    // A link and not a form: browsers apply `form-action` to redirects as well, and only the provider knows where it
    // redirects to. The link changes nothing but the browser's own cookie.
    yield* router.add(
      "GET",
      pagePaths.provider,
      personalPage(
        Effect.fnUntraced(function* () {
          yield* offered
          const returnTo = decodeReturnTo((yield* query).get("return_to") ?? accountPage)
          if (Option.isNone(returnTo)) {
            return yield* InvalidRequest.of(
              "return_to",
              "Expected /account, a page of it, or the path of a claim page."
            )
          }
          const { expiresAt, pending, redirectTo } = yield* provider.begin({ returnTo: returnTo.value })
          return goTo(site, redirectTo).pipe(
            cookies.set("provider", pending, { from: yield* DateTime.now, until: expiresAt })
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.callback,
      personalPage(
        Effect.fnUntraced(function* (visitor) {
          yield* offered
          const pending = cookies.read(yield* HttpServerRequest.HttpServerRequest, "provider")
          const finished = Effect.gen(function* () {
            if (pending === undefined) {
              return yield* new SignInRejected({
                detail: "This sign-in was not begun in this browser, or took too long: begin again."
              })
            }
            const { identity, returnTo } = yield* provider.finish({ answer: yield* query, pending })
            const session = yield* operators.signInWithIdentity({
              ...identity,
              email: Option.getOrNull(Option.flatMap(Option.fromNullOr(identity.email), emailAddressOf))
            })
            const next = Option.getOrElse(decodeReturnTo(returnTo), () => toAccount)
            return yield* begin(visitor, session, goTo(site, site.at(next)))
          })
          const response = yield* finished.pipe(
            Effect.catch((error) =>
              Effect.succeed(
                show(site, visitor.frame, signInFailedView(visitor.frame, error.detail), {
                  status: errorStatus(error)
                })
              )
            )
          )
          return cookies.forget("provider")(response)
        })
      )
    )
  })
)

export const layer = Layer.merge(byMail, byProvider)

export interface RejectedField {
  readonly value: string
  readonly complaint: Html
}

/** Both ways to sign in. `action` receives the e-mail address. */
export const signInForms = (
  frame: Frame,
  options: { readonly action: string; readonly returnTo: string; readonly rejected?: RejectedField }
): Html => {
  const t = frame.t.claiming
  const byProvider =
    frame.providerName === null
      ? null
      : html`<p>
            <a class="button" href=${frame.at(`/sign-in/oidc/begin?return_to=${options.returnTo}`)}
              >${t.withProvider(frame.providerName)}</a
            >
          </p>
          <p class="or">${t.or}</p>`
  const byMail = form(
    frame,
    options.action,
    html`${field({
        name: "email",
        label: t.email,
        hint: t.emailHint,
        complaint: options.rejected?.complaint,
        input: {
          type: "email",
          autocomplete: "email",
          maxlength: "254",
          spellcheck: "false",
          ...(options.rejected !== undefined && { value: options.rejected.value })
        }
      })} <button class=${frame.providerName === null ? undefined : "secondary"}>${t.sendLink}</button>`
  )
  return html`${byProvider}${byMail}`
}

const signInView = (
  frame: Frame,
  options: { readonly returnTo: ReturnTo; readonly rejected?: RejectedField }
): Page => {
  const t = frame.t.claiming
  return {
    title: options.rejected === undefined ? t.signIn : t.signInError,
    content: html`
      <h1>${t.signIn}</h1>
      <p class="lead">${t.signInLead}</p>
      <div class="panel">
        ${signInForms(frame, {
          action: signInWith(options.returnTo),
          returnTo: options.returnTo,
          ...(options.rejected !== undefined && { rejected: options.rejected })
        })}
      </div>
      <p class="quiet small">${t.noSignUp}</p>
    `
  }
}

/** The page is the same whether or not the address has an account, or exists. */
export const mailSentView = (frame: Frame, email: string): Page => {
  const t = frame.t.claiming
  return {
    title: t.checkMail,
    content: html`
      <h1>${t.checkMail}</h1>
      <p class="lead">${t.sendingTo[0]}<strong>${email}</strong>${t.sendingTo[1]}</p>
      <div class="panel">
        <p>${t.openIt}</p>
        <p>${t.notThere}</p>
      </div>
      <p class="quiet small">${t.canClose}</p>
    `
  }
}

/** The page of the mail's link. Mail scanners follow links, so only the button signs in. */
const signInLinkView = (frame: Frame, token: string, view: SignInView): Page => {
  const t = frame.t.claiming
  if (view.state === "open") {
    return {
      title: t.signIn,
      content: html`
        <h1>${t.signInTo}</h1>
        <p class="lead">${t.willBe[0]}<strong>${view.email}</strong>${t.willBe[1]}</p>
        ${form(frame, signInPage(token), html`<button>${t.signIn}</button>`)}
        <p class="quiet small">${t.notAsked}</p>
      `
    }
  }
  const { title, what } = t.signInEnded[view.state]
  return {
    title,
    content: html`
      <h1>${title}</h1>
      <p class="lead">${what}</p>
      <p><a class="button" href=${frame.at("/sign-in")}>${t.again}</a></p>
    `
  }
}

const signInFailedView = (frame: Frame, detail: string): Page => {
  const t = frame.t.claiming
  return {
    title: t.notSignedIn,
    content: html`
      ${notice("problem", t.notSignedInYet, inEnglish(detail))}
      <h1>${t.signIn}</h1>
      <div class="panel">${signInForms(frame, { action: "/sign-in", returnTo: "/account" })}</div>
    `
  }
}
