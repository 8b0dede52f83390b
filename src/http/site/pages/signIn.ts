/** Signing in and out: by a link in a mail, or at the identity provider. */
import { DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"
import { EmailAddress, emailAddressOf } from "../../../services/emails.ts"
import { InvalidRequest, NotFound } from "../../../services/errors.ts"
import { IdentityProvider, SignInRefused } from "../../../services/IdentityProvider.ts"
import { accountPage, toAccount, Operators, ReturnTo } from "../../../services/Operators.ts"
import type { NewSession } from "../../../services/Operators.ts"
import { Pages } from "../Pages.ts"
import type { Visitor } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { goTo, query, show } from "../responses.ts"
import { CurrentRequest } from "../../CurrentRequest.ts"
import { errorStatus } from "../../errorStatus.ts"
import * as views from "../views/signIn.ts"

type Response = HttpServerResponse.HttpServerResponse

const decodeEmail = Schema.decodeUnknownResult(EmailAddress)
const decodeReturnTo = Schema.decodeUnknownOption(ReturnTo)

/** The address that a form gave, or why it is none. */
export const emailOf = (
  fields: URLSearchParams
): Result.Result<EmailAddress, views.RefusedField & { readonly field: "email" }> => {
  const value = fields.get("email") ?? ""
  if (value.trim() === "") {
    return Result.fail({ field: "email", value: "", complaint: "Enter your e-mail address." })
  }
  return Result.mapError(decodeEmail(value), () => ({
    field: "email",
    // What is no text must not come back as if it were.
    value: value.length <= 254 ? value : "",
    complaint: "Enter one e-mail address, for example ada@example.org."
  }))
}

/** Begins a session in the browser, and ends the one it was in. */
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
    const { cookies, shown, site, submitted } = yield* Pages
    const operators = yield* Operators
    const begin = yield* enter

    yield* router.add(
      "GET",
      pagePaths.signIn,
      shown(({ frame }) =>
        Effect.succeed(
          frame.operator === null ? show(site, frame, views.signIn(frame)) : goTo(site, site.at(accountPage))
        )
      )
    )

    yield* router.add(
      "POST",
      pagePaths.signIn,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const email = emailOf(fields)
          if (Result.isFailure(email)) {
            return show(site, frame, views.signIn(frame, { refused: email.failure }), { status: 400 })
          }
          const { address } = yield* CurrentRequest
          return yield* operators.requestSignIn({ email: email.success, returnTo: toAccount, address }).pipe(
            Effect.as(show(site, frame, views.mailOnItsWay(email.success), { status: 202 })),
            Effect.catchTag("DisposableAddress", ({ detail }) =>
              Effect.succeed(
                show(
                  site,
                  frame,
                  views.signIn(frame, { refused: { value: email.success, complaint: detail } }),
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
      shown(
        Effect.fnUntraced(function* ({ frame }) {
          const { token = "" } = yield* HttpRouter.params
          const view = yield* operators.viewSignIn(token)
          return show(site, frame, views.signInLink(frame, token, view), {
            status: view.state === "open" ? 200 : 410
          })
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.signInLink,
      submitted(
        Effect.fnUntraced(function* (visitor) {
          const { token = "" } = yield* HttpRouter.params
          return yield* operators.signIn(token).pipe(
            Effect.flatMap(({ returnTo, session }) => begin(visitor, session, goTo(site, site.at(returnTo)))),
            Effect.catchTag("SignInLinkEnded", ({ reason }) =>
              Effect.succeed(
                show(site, visitor.frame, views.signInLink(visitor.frame, token, { state: reason }), {
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
      submitted(
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
    const { cookies, shown, site } = yield* Pages
    const operators = yield* Operators
    const provider = yield* IdentityProvider
    const begin = yield* enter

    const offered = Option.match(provider.name, {
      onNone: () => new NotFound({ detail: "This service offers no identity provider: sign in by e-mail." }),
      onSome: () => Effect.void
    })

    // A link and not a form, because a policy for forms also holds for where they are redirected to, and only the
    // provider knows where it sends people on to. It changes nothing but the browser's own cookie.
    yield* router.add(
      "GET",
      pagePaths.provider,
      shown(
        Effect.fnUntraced(function* () {
          yield* offered
          const returnTo = decodeReturnTo((yield* query).get("return_to") ?? accountPage)
          if (Option.isNone(returnTo)) {
            return yield* InvalidRequest.of("return_to", "Expected /account or the path of a claim page.")
          }
          const { expiresAt, kept, redirectTo } = yield* provider.begin({ returnTo: returnTo.value })
          return goTo(site, redirectTo).pipe(
            cookies.set("provider", kept, { from: yield* DateTime.now, until: expiresAt })
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.callback,
      shown(
        Effect.fnUntraced(function* (visitor) {
          yield* offered
          const kept = cookies.read(yield* HttpServerRequest.HttpServerRequest, "provider")
          const finished = Effect.gen(function* () {
            if (kept === undefined) {
              return yield* new SignInRefused({
                detail: "This sign-in was not begun in this browser, or took too long: begin again."
              })
            }
            const { identity, returnTo } = yield* provider.finish({ answer: yield* query, kept })
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
                show(site, visitor.frame, views.signInFailed(visitor.frame, error.detail), {
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
