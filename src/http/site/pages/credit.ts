/** An owner's credit: what moved it, buying more, and moving it to an agent. */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Credits, creditsOf, IdempotencyKey, NewTopUp } from "../../../services/Credits.ts"
import type { InsufficientCredit, TopUp } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/errors.ts"
import { Operators } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { creditPage, Payments } from "../../../services/Payments.ts"
import { Pages } from "../Pages.ts"
import { pagePaths, topUpPage } from "../paths.ts"
import { goTo, listPage, query, show, withFormsTo } from "../responses.ts"
import { errorStatus } from "../../errorStatus.ts"
import * as views from "../views/credit.ts"
import { creditAccount as accountView } from "../views/creditAccount.ts"
import type { Frame } from "../views/layout.ts"

const decodeAmount = Schema.decodeUnknownResult(NewTopUp.fields.amount)
const decodeKey = Schema.decodeUnknownOption(IdempotencyKey)

const noAmount =
  "Enter an amount such as 25 or 12.5: more than nothing, at most 10000000, and with at most 6 decimals."

/** What makes the form that it stands in one. */
const keyOf = (fields: URLSearchParams) =>
  Effect.fromOption(decodeKey(fields.get("idempotency_key"))).pipe(
    Effect.mapError(() =>
      InvalidRequest.of("idempotency_key", "Expected the one that the page's form holds.")
    )
  )

const tooLittle = ({ available }: InsufficientCredit) =>
  available === 0n
    ? "Your account is empty, so there is nothing to move."
    : `Enter at most ${creditsOf(available)}: your account has no more.`

const topUps = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const credits = yield* Credits
    const operators = yield* Operators
    const toSignIn = goTo(site, site.at(pagePaths.signIn))

    const agentInPath = Effect.map(HttpRouter.params, ({ agent_id: agentId = "" }) => agentId.toLowerCase())

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      more: { readonly moved?: TopUp; readonly refused?: views.RefusedAmount; readonly status?: number } = {}
    ) {
      const agentId = yield* agentInPath
      const own = yield* operators.account(operator.operatorId)
      const agent = own.agents.find((each) => each.agentId === agentId)
      if (agent === undefined) {
        return yield* new NotFound({ detail: "You own no agent with this identifier." })
      }
      const { status = 200, ...rest } = more
      return show(site, frame, views.topUp(frame, { own, agent, key: randomUUID(), ...rest }), { status })
    })

    yield* router.add(
      "GET",
      pagePaths.topUp,
      shown(
        Effect.fnUntraced(function* ({ frame }) {
          if (frame.operator === null) return toSignIn
          const { operatorId } = frame.operator
          const agentId = yield* agentInPath
          const key = decodeKey((yield* query).get("moved"))
          const known = Option.isSome(key) ? yield* credits.topUpOf(operatorId, key.value) : Option.none()
          const moved = Option.filter(known, (topUp) => topUp.agentId === agentId)
          return yield* page(frame, frame.operator, Option.isSome(moved) ? { moved: moved.value } : {})
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.topUp,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const { operator } = frame
          if (operator === null) return toSignIn
          const typed = (fields.get("amount") ?? "").trim()
          const key = yield* keyOf(fields)
          const refuse = (complaint: string, status: number) =>
            page(frame, operator, { refused: { value: typed.slice(0, 15), complaint }, status })
          const amount = decodeAmount(typed)
          if (Result.isFailure(amount)) return yield* refuse(noAmount, 400)
          const agentId = yield* agentInPath
          const asked = { amount: amount.success, idempotency_key: key }
          return yield* credits.topUp(operator.operatorId, agentId, asked).pipe(
            Effect.as(goTo(site, site.at(topUpPage(agentId, key)))),
            Effect.catchTags({
              InsufficientCredit: (error) => refuse(tooLittle(error), errorStatus(error)),
              InvalidRequest: (error) => refuse(error.detail.replace("amount: ", ""), errorStatus(error)),
              IdempotencyKeyReused: (error) => refuse(error.detail, errorStatus(error))
            })
          )
        })
      )
    )
  })
)

const account = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const credits = yield* Credits
    const operators = yield* Operators
    const payments = yield* Payments
    const toSignIn = goTo(site, site.at(pagePaths.signIn))

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      more: { readonly complaint?: string; readonly status?: number } = {}
    ) {
      const { operatorId } = operator
      const own = yield* operators.account(operatorId)
      const movements = yield* credits.movements(operatorId, yield* listPage)
      const purchaseId = (yield* query).get("purchase")
      const found = purchaseId === null ? Option.none() : yield* payments.purchaseOf(operatorId, purchaseId)
      const offers = payments.packages.map((each) => ({ package: each, key: randomUUID() }))
      const { status = 200, ...rest } = more
      const view = accountView(frame, {
        own,
        offers,
        movements,
        ...rest,
        ...(Option.isSome(found) && { purchase: found.value })
      })
      const headers = Option.match(payments.checkoutOrigin, { onNone: () => ({}), onSome: withFormsTo })
      return show(site, frame, view, { status, headers })
    })

    yield* router.add(
      "GET",
      pagePaths.credit,
      shown(({ frame }) => (frame.operator === null ? Effect.succeed(toSignIn) : page(frame, frame.operator)))
    )

    yield* router.add(
      "POST",
      pagePaths.credit,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const { operator } = frame
          if (operator === null) return toSignIn
          const refuse = (error: { readonly detail: string }) =>
            page(frame, operator, { complaint: error.detail, status: errorStatus(error) })
          const key = yield* keyOf(fields)
          return yield* payments.begin(operator, { package: fields.get("package") ?? "", key }).pipe(
            Effect.map(({ payAt, purchaseId }) => goTo(site, payAt ?? site.at(creditPage(purchaseId)))),
            Effect.catchTags({
              IdempotencyKeyReused: refuse,
              InvalidRequest: refuse,
              PaymentsUnavailable: refuse
            })
          )
        })
      )
    )
  })
)

export const layer = Layer.merge(account, topUps)
