/** An operator's account. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { InvalidRequest } from "../../../services/errors.ts"
import { accountPage, Operators } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { goTo, show } from "../responses.ts"
import * as views from "../views/account.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const operators = yield* Operators
    const { planCredit } = yield* Settings
    const toSignIn = goTo(site, site.at(pagePaths.signIn))

    yield* router.add(
      "GET",
      pagePaths.account,
      shown(
        Effect.fnUntraced(function* ({ frame }) {
          if (frame.operator === null) return toSignIn
          const account = yield* operators.account(frame.operator.operatorId)
          return show(site, frame, views.account(frame, account, planCredit))
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.rotateSecret,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          if (frame.operator === null) return toSignIn
          const { agent_id: agentId = "" } = yield* HttpRouter.params
          const { operatorId } = frame.operator
          const gatewayKeys = fields.get("gateway_keys") === "revoke" ? "revoke" : "keep"
          const rotated = yield* operators.rotateSecret({ operatorId, agentId, gatewayKeys })
          return show(site, frame, views.newSecret(frame, rotated))
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.spending,
      submitted(
        Effect.fnUntraced(function* ({ frame }, fields) {
          if (frame.operator === null) return toSignIn
          const { agent_id: agentId = "" } = yield* HttpRouter.params
          const { operatorId } = frame.operator
          const answer = fields.get("spending")
          if (answer !== "on" && answer !== "off") {
            return yield* InvalidRequest.of("spending", "Expected on or off.")
          }
          yield* operators.allowSpending({ operatorId, agentId, isAllowed: answer === "on" })
          return goTo(site, site.at(accountPage))
        })
      )
    )
  })
)
