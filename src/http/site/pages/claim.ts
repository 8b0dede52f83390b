/** The claim page, and the pages that a claim mail links to. */
import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { claimPage, mailClaimPage, Claims } from "../../../services/Claims.ts"
import type { ClaimState, MailClaimState } from "../../../services/Claims.ts"
import { NotFound } from "../../../services/errors.ts"
import { Operators, ReturnTo } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { text } from "../../../services/text.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { goTo, show } from "../responses.ts"
import { CurrentRequest } from "../../CurrentRequest.ts"
import * as views from "../views/claim.ts"
import type { Frame } from "../views/layout.ts"
import * as mailViews from "../views/mailClaim.ts"
import { mailOnItsWay } from "../views/signIn.ts"
import { emailOf, enter } from "./signIn.ts"

const statuses: Readonly<Record<(ClaimState | MailClaimState)["state"], number>> = {
  open: 200,
  claimed: 200,
  locked: 403,
  expired: 410,
  replaced: 410,
  declined: 410
}

const decodeCode = Schema.decodeUnknownOption(text({ minimum: 1, maximum: 64 }))

/** The code as people type it: with space around it or within. Whether it is the right one is the service's to say. */
const codeOf = (fields: URLSearchParams): Option.Option<string> =>
  decodeCode(fields.get("pairing_code")?.replaceAll(/\s/g, ""))

const unknownLink = () =>
  new NotFound({
    detail: "There is no such claim link. Was it cut off when it was copied?"
  })

/** The secret of the link. */
const tokenInPath = Effect.map(HttpRouter.params, ({ token = "" }) => token)

const byLink = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const claims = yield* Claims
    const operators = yield* Operators

    const page = Effect.fnUntraced(function* (frame: Frame, token: string, refused?: views.ClaimRefusal) {
      const view = yield* Effect.mapError(claims.view(token), unknownLink)
      const status = view.state === "open" && refused !== undefined ? 400 : statuses[view.state]
      return show(site, frame, views.claim(frame, token, view, refused), { status })
    })

    const sendLink = Effect.fnUntraced(function* (frame: Frame, token: string, fields: URLSearchParams) {
      const email = emailOf(fields)
      if (Result.isFailure(email)) return yield* page(frame, token, email.failure)
      const { state } = yield* Effect.mapError(claims.view(token), unknownLink)
      if (state !== "open") return yield* page(frame, token)
      const { address } = yield* CurrentRequest
      const returnTo = ReturnTo.make(claimPage(token))
      return yield* operators.requestSignIn({ email: email.success, returnTo, address }).pipe(
        Effect.as(show(site, frame, mailOnItsWay(email.success), { status: 202 })),
        Effect.catchTag("DisposableAddress", ({ detail }) =>
          page(frame, token, { field: "email", value: email.success, complaint: detail })
        )
      )
    })

    const tryCode = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      token: string,
      fields: URLSearchParams
    ) {
      const refusal = (complaint: string): views.ClaimRefusal => ({
        field: "pairing_code",
        value: "",
        complaint
      })
      const code = codeOf(fields)
      if (Option.isNone(code)) return yield* page(frame, token, refusal("Enter the pairing code."))
      const claim = { token, pairingCode: code.value, operatorId: operator.operatorId }
      return yield* claims.claimWithCode(claim).pipe(
        Effect.as(goTo(site, site.at(claimPage(token)))),
        Effect.catchTags({
          NotFound: unknownLink,
          WrongPairingCode: () =>
            page(frame, token, refusal("That is not the code that came with this link.")),
          ClaimLocked: () => page(frame, token),
          ClaimLinkEnded: () => page(frame, token),
          AlreadyClaimed: () => page(frame, token)
        })
      )
    })

    yield* router.add(
      "GET",
      pagePaths.claim,
      shown(({ frame }) => Effect.flatMap(tokenInPath, (token) => page(frame, token)))
    )

    yield* router.add(
      "POST",
      pagePaths.claim,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const token = yield* tokenInPath
          return yield* frame.operator === null
            ? sendLink(frame, token, fields)
            : tryCode(frame, frame.operator, token, fields)
        })
      )
    )
  })
)

const byMail = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const claims = yield* Claims
    const begin = yield* enter

    const page = Effect.fnUntraced(function* (frame: Frame, token: string) {
      const view = yield* Effect.mapError(claims.viewMailClaim(token), unknownLink)
      return show(site, frame, mailViews.mailClaim(frame, token, view), { status: statuses[view.state] })
    })

    yield* router.add(
      "GET",
      pagePaths.mailClaim,
      shown(({ frame }) => Effect.flatMap(tokenInPath, (token) => page(frame, token)))
    )

    yield* router.add(
      "POST",
      pagePaths.mailClaim,
      submitted(
        Effect.fnUntraced(function* (visitor) {
          const token = yield* tokenInPath
          return yield* claims.claimByMail(token).pipe(
            Effect.flatMap(({ session }) =>
              begin(visitor, session, goTo(site, site.at(mailClaimPage(token))))
            ),
            Effect.catchTags({
              NotFound: unknownLink,
              ClaimLinkEnded: () => page(visitor.frame, token),
              AlreadyClaimed: () => page(visitor.frame, token)
            })
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.notMine,
      shown(
        Effect.fnUntraced(function* ({ frame }) {
          const token = yield* tokenInPath
          const view = yield* Effect.mapError(claims.viewMailClaim(token), unknownLink)
          const shownPage =
            view.state === "declined" ? mailViews.declined(view.email) : mailViews.notMine(frame, token, view)
          return show(site, frame, shownPage)
        })
      )
    )

    // Mail programs post here by themselves, with no cookie and no token (RFC 8058): holding the link is enough.
    yield* router.add(
      "POST",
      pagePaths.notMine,
      shown(
        Effect.fnUntraced(function* ({ frame }) {
          const token = yield* tokenInPath
          const email = yield* Effect.mapError(claims.notMine(token), unknownLink)
          return show(site, frame, mailViews.declined(email))
        })
      )
    )
  })
)

export const layer = Layer.merge(byLink, byMail)
