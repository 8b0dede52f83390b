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
import { EmailAddress, emailAddressOf } from "../../../services/domain/emails.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { CurrentRequest } from "../../CurrentRequest.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../Pages.ts"
import type { Visitor } from "../Pages.ts"
import { pagePaths, signInWith } from "../paths.ts"
import { goTo, query, show } from "../responses.ts"
import { field, form, notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

type Response = HttpServerResponse.HttpServerResponse

const decodeEmail = Schema.decodeUnknownResult(EmailAddress)
const decodeReturnTo = Schema.decodeUnknownOption(ReturnTo)

export const emailOf = (
  fields: URLSearchParams
): Result.Result<EmailAddress, RejectedField & { readonly field: "email" }> => {
  const value = fields.get("email") ?? ""
  if (value.trim() === "") {
    return Result.fail({ field: "email", value: "", complaint: "Enter your e-mail address." })
  }
  return Result.mapError(decodeEmail(value), () => ({
    field: "email",
    // Anything longer is not an address, and is not sent back.
    value: value.length <= 254 ? value : "",
    complaint: "Enter one e-mail address, for example ada@example.org."
  }))
}

/** Where whoever is not signed in wanted to go; the account, unless it is a page of it. */
const wayBack = Effect.map(query, (asked) =>
  Option.getOrElse(decodeReturnTo(asked.get("return_to")), () => toAccount)
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
          const email = emailOf(fields)
          const returnTo = yield* wayBack
          if (Result.isFailure(email)) {
            return show(site, frame, signInView(frame, { returnTo, rejected: email.failure }), {
              status: 400
            })
          }
          const { address } = yield* CurrentRequest
          return yield* operators.requestSignIn({ email: email.success, returnTo, address }).pipe(
            Effect.as(show(site, frame, mailSentView(email.success), { status: 202 })),
            Effect.catchTag("DisposableAddress", ({ detail }) =>
              Effect.succeed(
                show(
                  site,
                  frame,
                  signInView(frame, { returnTo, rejected: { value: email.success, complaint: detail } }),
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
    // redirects to. It changes nothing but the browser's own cookie.
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
  readonly complaint: string
}

/** Both ways of signing in. `action` receives the e-mail address. */
export const signInForms = (
  frame: Frame,
  options: { readonly action: string; readonly returnTo: string; readonly rejected?: RejectedField }
): Html => {
  const byProvider =
    frame.providerName === null
      ? null
      : html`<p>
            <a class="button" href=${frame.at(`/sign-in/oidc/begin?return_to=${options.returnTo}`)}
              >Continue with ${frame.providerName}</a
            >
          </p>
          <p class="or">or</p>`
  const byMail = form(
    frame,
    options.action,
    html`${field({
        name: "email",
        label: "E-mail address",
        hint: "We send you a link that signs you in. There is no password.",
        complaint: options.rejected?.complaint,
        input: {
          type: "email",
          autocomplete: "email",
          maxlength: "254",
          spellcheck: "false",
          ...(options.rejected !== undefined && { value: options.rejected.value })
        }
      })}
      <button class=${frame.providerName === null ? undefined : "secondary"}>Send me a sign-in link</button>`
  )
  return html`${byProvider}${byMail}`
}

const signInView = (
  frame: Frame,
  options: { readonly returnTo: ReturnTo; readonly rejected?: RejectedField }
): Page => ({
  title: options.rejected === undefined ? "Sign in" : "Error: sign in",
  content: html`
    <h1>Sign in</h1>
    <p class="lead">For the people behind the agents: see which agents are yours, and look after them.</p>
    <div class="panel">
      ${signInForms(frame, {
        action: signInWith(options.returnTo),
        returnTo: options.returnTo,
        ...(options.rejected !== undefined && { rejected: options.rejected })
      })}
    </div>
    <p class="quiet small">
      No sign-up needed: your first sign-in creates your account. Agents are claimed by the link that they
      hand to you.
    </p>
  `
})

/** The same whether or not the address has an account, or exists. */
export const mailSentView = (email: string): Page => ({
  title: "Check your mail",
  content: html`
    <h1>Check your mail</h1>
    <p class="lead">We are sending a sign-in link to <strong>${email}</strong>.</p>
    <div class="panel">
      <p>Open it in this browser. It works once, and for a few minutes only.</p>
      <p>
        Nothing there after two minutes? Look into the spam folder, then ask again: the newest link is the one
        that works.
      </p>
    </div>
    <p class="quiet small">You can close this page.</p>
  `
})

const ended: Readonly<Record<Exclude<SignInView["state"], "open">, readonly [title: string, what: string]>> =
  {
    expired: [
      "This link has expired",
      "A sign-in link works for a few minutes only, in case somebody else finds it."
    ],
    replaced: [
      "There is a newer link",
      "You asked again after this one was sent. Only the newest link works."
    ],
    used: [
      "This link has been used",
      "A sign-in link works once. If it was not you who used it, sign in again: that mail was read by somebody else."
    ]
  }

/** The page of the mail's link. Mail scanners follow links, so only the button signs in. */
const signInLinkView = (frame: Frame, token: string, view: SignInView): Page => {
  if (view.state === "open") {
    return {
      title: "Sign in",
      content: html`
        <h1>Sign in to Auspex</h1>
        <p class="lead">You will be signed in, in this browser, as <strong>${view.email}</strong>.</p>
        ${form(frame, signInPage(token), html`<button>Sign in</button>`)}
        <p class="quiet small">You did not ask for this? Close this page, and nothing happens.</p>
      `
    }
  }
  const [title, what] = ended[view.state]
  return {
    title,
    content: html`
      <h1>${title}</h1>
      <p class="lead">${what}</p>
      <p><a class="button" href=${frame.at("/sign-in")}>Sign in again</a></p>
    `
  }
}

const signInFailedView = (frame: Frame, detail: string): Page => ({
  title: "You are not signed in",
  content: html`
    ${notice("problem", "You are not signed in.", detail)}
    <h1>Sign in</h1>
    <div class="panel">${signInForms(frame, { action: "/sign-in", returnTo: "/account" })}</div>
  `
})
