/** An owner's keys of the language-model gateway. */
import { DateTime, Effect, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { TypedAmount } from "../../../services/Credits.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { GatewayUsage } from "../../../services/Gateway.ts"
import { GatewayKeys, NewGatewayKey } from "../../../services/GatewayKeys.ts"
import { Operators } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { Pages } from "../Pages.ts"
import { apiKeysPage, pagePaths } from "../paths.ts"
import { goTo, listPage, query, show } from "../responses.ts"
import { errorStatus } from "../../errorStatus.ts"
import * as views from "../views/apiKeys.ts"
import type { Frame } from "../views/layout.ts"

/** So many days of use are shown, today included. */
const shownDays = 30

const decodeLimit = Schema.decodeUnknownResult(TypedAmount)
const decodeName = Schema.decodeUnknownResult(Schema.Struct({ name: NewGatewayKey.fields.name }))

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { shown, site, submitted } = yield* Pages
    const settings = yield* Settings
    const keys = yield* GatewayKeys
    const usage = yield* GatewayUsage
    const operators = yield* Operators
    const toSignIn = goTo(site, site.at(pagePaths.signIn))

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      refused?: { readonly refusal: views.RefusedKey; readonly status: number }
    ) {
      const holder = { kind: "owner", id: operator.operatorId } as const
      const today = DateTime.startOf(yield* DateTime.now, "day")
      const days = Array.from({ length: shownDays }, (_, index) =>
        DateTime.toDateUtc(DateTime.subtract(today, { days: shownDays - 1 - index }))
      )
      const since = DateTime.subtract(today, { days: shownDays - 1 })
      const asked = yield* query
      const listed = yield* listPage
      const view = views.apiKeys(frame, {
        own: yield* operators.account(operator.operatorId),
        terms: settings,
        keys: yield* keys.list(holder, listed),
        cursor: listed.cursor,
        usage: {
          days,
          rows: yield* usage.days(holder, { since, until: undefined }),
          key: asked.get("key") ?? undefined,
          model: asked.get("model") ?? undefined
        },
        base: `${settings.baseUrl}/api/v1/llm`,
        ...(refused !== undefined && { refused: refused.refusal })
      })
      return show(site, frame, view, { status: refused?.status ?? 200 })
    })

    const expiryOf = Effect.fnUntraced(function* (lifetime: string) {
      if (!views.lifetimes(settings).some(([days]) => days === lifetime)) {
        return yield* InvalidRequest.of("lifetime", "Expected one of those that the page offers.")
      }
      return lifetime === "" ? null : DateTime.add(yield* DateTime.now, { days: Number(lifetime) })
    })

    const create = Effect.fnUntraced(function* (frame: Frame, operator: Operator, fields: URLSearchParams) {
      const values = {
        agent_id: fields.get("agent_id") ?? "",
        name: (fields.get("name") ?? "").trim(),
        credit_limit: (fields.get("credit_limit") ?? "").trim(),
        lifetime: fields.get("lifetime") ?? ""
      }
      const refuse = (field: views.RefusedKey["field"], complaint: string, status: number) =>
        page(frame, operator, { refusal: { field, complaint, values }, status })
      const name = decodeName({ name: values.name })
      if (Result.isFailure(name)) {
        return yield* refuse("name", "Enter a name of 1 to 100 characters.", 400)
      }
      const limit = values.credit_limit === "" ? undefined : decodeLimit(values.credit_limit)
      if (limit !== undefined && Result.isFailure(limit)) {
        return yield* refuse("credit_limit", "Enter an amount such as 25 or 12.5, or nothing.", 400)
      }
      const key = {
        ...name.success,
        expires_at: yield* expiryOf(values.lifetime),
        credit_limit: limit === undefined ? null : limit.success
      }
      return yield* keys.create({ kind: "owner", id: operator.operatorId }, values.agent_id, key).pipe(
        Effect.flatMap((made) =>
          Effect.map(operators.account(operator.operatorId), (own) =>
            show(site, frame, views.madeKey(frame, own, made))
          )
        ),
        Effect.catchTags({
          GatewayDisabled: (error) => refuse(null, error.detail, errorStatus(error)),
          GatewayKeyLimitReached: (error) => refuse(null, error.detail, errorStatus(error))
        })
      )
    })

    yield* router.add(
      "GET",
      pagePaths.apiKeys,
      shown(({ frame }) => (frame.operator === null ? Effect.succeed(toSignIn) : page(frame, frame.operator)))
    )

    yield* router.add(
      "POST",
      pagePaths.apiKeys,
      submitted(({ frame }, fields) =>
        frame.operator === null ? Effect.succeed(toSignIn) : create(frame, frame.operator, fields)
      )
    )

    yield* router.add(
      "POST",
      pagePaths.revokeKey,
      submitted(
        Effect.fnUntraced(function* ({ frame }) {
          if (frame.operator === null) return toSignIn
          const { key_id: keyId = "" } = yield* HttpRouter.params
          yield* keys.revoke({ kind: "owner", id: frame.operator.operatorId }, keyId)
          return goTo(site, site.at(apiKeysPage()))
        })
      )
    )
  })
)
