/** An owner's credit: moving it to an agent. */
import { randomUUID } from "node:crypto"
import { Effect, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Credits, creditsOf, IdempotencyKey, NewTopUp } from "../../../services/Credits.ts"
import type { InsufficientCredit, TopUp } from "../../../services/Credits.ts"
import { InvalidRequest, NotFound } from "../../../services/errors.ts"
import { Operators } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { topUpPage } from "../../../services/pages.ts"
import { Pages } from "../../browser/Pages.ts"
import { pagePaths } from "../../browser/paths.ts"
import { goTo, query, show } from "../../browser/responses.ts"
import { errorStatus } from "../../errorStatus.ts"
import * as views from "../../pages/credit.ts"
import type { Frame } from "../../pages/layout.ts"

const decodeAmount = Schema.decodeUnknownResult(NewTopUp.fields.amount)
const decodeKey = Schema.decodeUnknownOption(IdempotencyKey)

const noAmount =
  "Enter an amount such as 25 or 12.5: more than nothing, at most 10000000, and with at most 6 decimals."

const tooLittle = ({ available }: InsufficientCredit) =>
  available === 0n
    ? "Your account is empty, so there is nothing to move."
    : `Enter at most ${creditsOf(available)}: your account has no more.`

export const layer = HttpRouter.use(
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
          const key = decodeKey(fields.get("idempotency_key"))
          if (Option.isNone(key)) {
            return yield* InvalidRequest.of("idempotency_key", "Expected the one that the page's form holds.")
          }
          const refuse = (complaint: string, status: number) =>
            page(frame, operator, { refused: { value: typed.slice(0, 15), complaint }, status })
          const amount = decodeAmount(typed)
          if (Result.isFailure(amount)) return yield* refuse(noAmount, 400)
          const agentId = yield* agentInPath
          const asked = { amount: amount.success, idempotency_key: key.value }
          return yield* credits.topUp(operator.operatorId, agentId, asked).pipe(
            Effect.as(goTo(site, site.at(topUpPage(agentId, key.value)))),
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
