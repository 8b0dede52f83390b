/**
 * Reservations are pending transfers from the agent to the gateway's revenue, and a row each while their call is under
 * way. Calls that begin or end together are written by one statement. Locks are taken in one order everywhere:
 * reservations, accounts, keys, sums by day, each by its ids.
 */
import { Array as Arr, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { creditsOf } from "../../../services/Credits.ts"
import { CreditTooLow, Style } from "../../../services/Gateway.ts"
import { GatewayBilling } from "../../../services/GatewayBilling.ts"
import type { EndedCall, OpenCall } from "../../../services/GatewayBilling.ts"
import { GatewayDisabled, GatewayKeyId, InvalidGatewayKey } from "../../../services/GatewayKeys.ts"
import { AgentId } from "../../../services/identifiers.ts"
import { Settings } from "../../../services/Settings.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import { arrayParam, execute, findAll, findOption, timestamp } from "../sql.ts"
import { makeReserve } from "./reserve.ts"
import { recordFree, settle as settleAll } from "./settle.ts"

/** So long after a process last said that it is making a call, its reservation is let go. */
const sweepAfter = Duration.minutes(10)
const maxSwept = 500

const Abandoned = Schema.Struct({
  call_id: Schema.String,
  key_id: GatewayKeyId,
  agent_id: AgentId,
  request_id: Schema.String,
  model: Schema.String,
  style: Style,
  stream: Schema.Boolean,
  amount: Schema.BigInt,
  created_at: Schema.DateTimeUtcFromDate
})

const Funds = Schema.Struct({ left_of_limit: Schema.NullOr(Schema.BigInt), available: Schema.BigInt })

const overLimit = (needs: string, left: bigint) =>
  new CreditTooLow({ detail: `${needs}, and the key's credit_limit leaves ${creditsOf(left)}.` })

const overCredit = (needs: string, available: bigint, remedy: string) =>
  new CreditTooLow({ detail: `${needs}, and the agent has ${creditsOf(available)} available: ${remedy}.` })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const abandoned = findAll(Abandoned)
  const funds = findOption(Funds)
  const maxSize = settings.maxBatch
  const reserveOne = yield* RequestBatcher.make({ run: makeReserve(), maxSize })
  const settleOne = yield* RequestBatcher.make({ run: settleAll, maxSize })
  const recordOne = yield* RequestBatcher.make({ run: recordFree, maxSize })

  const covers: GatewayBilling["Service"]["covers"] = Effect.fn("GatewayBilling.covers")(function* (
    { agentId, keyId },
    amount
  ) {
    const found = yield* funds(sql`
        select case when k.credit_limit is not null then greatest(k.credit_limit - k.spent - k.held, 0) end as left_of_limit,
               coalesce((select posted - held from accounts where id = 'agent:' || k.agent_id), 0) as available
          from gateway_keys k
         where k.id = ${keyId}::uuid and k.agent_id = ${agentId}::uuid`)
    // One that is gone meanwhile is refused when it reserves.
    if (Option.isNone(found)) return
    const { available, left_of_limit } = found.value
    const needs = `Even the smallest call may cost up to ${creditsOf(amount)} credits`
    if (left_of_limit !== null && left_of_limit < amount) return yield* overLimit(needs, left_of_limit)
    if (available < amount) return yield* overCredit(needs, available, "have the owner add credit")
  })

  const reserve: GatewayBilling["Service"]["reserve"] = Effect.fnUntraced(function* (call: OpenCall) {
    // One that had company that it competes with is judged anew, at the latest when it comes first.
    let judged = yield* reserveOne(call)
    while (judged.outcome === "again") judged = yield* reserveOne(call)
    const needs = `The call may cost up to ${creditsOf(call.reserved)} credits`
    switch (judged.outcome) {
      case "reserved":
        return
      case "ended":
        return yield* new InvalidGatewayKey({ detail: "The gateway key has been revoked or has expired." })
      case "disabled":
        return yield* new GatewayDisabled({ detail: "The gateway has been disabled for this agent." })
      case "limit":
        return yield* overLimit(needs, judged.left)
      case "credit":
        return yield* overCredit(needs, judged.left, "lower max_tokens, or have the owner add credit")
    }
  }, cheapSpan("GatewayBilling.reserve"))

  const settle: GatewayBilling["Service"]["settle"] = Effect.fnUntraced(function* (call: EndedCall) {
    return yield* call.reserved > 0n ? settleOne(call) : recordOne(call)
  }, cheapSpan("GatewayBilling.settle"))

  const keepAlive: GatewayBilling["Service"]["keepAlive"] = Effect.fn("GatewayBilling.keepAlive")(
    function* (callIds) {
      if (!Arr.isReadonlyArrayNonEmpty(callIds)) return
      const now = yield* DateTime.now
      // One that is being settled has no need of it.
      yield* execute(sql`
        update gateway_reservations set alive_at = ${timestamp(now)}
         where call_id in (select call_id from gateway_reservations where call_id = any(${arrayParam("uuid", callIds)})
                            order by call_id for update skip locked)`)
    }
  )

  const sweep: GatewayBilling["Service"]["sweep"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const rows = yield* abandoned(sql`
      select call_id::text, key_id::text, agent_id::text, request_id, model, style, stream, amount, created_at
        from gateway_reservations
       where alive_at <= ${timestamp(DateTime.subtractDuration(now, sweepAfter))}
       order by alive_at limit ${maxSwept}`)
    yield* Effect.forEach(
      rows,
      (row) =>
        settle({
          callId: row.call_id,
          holder: { keyId: row.key_id, agentId: row.agent_id },
          requestId: row.request_id,
          model: row.model,
          style: row.style,
          stream: row.stream,
          reserved: row.amount,
          createdAt: DateTime.toEpochMillis(row.created_at),
          provider: null,
          promptTokens: 0,
          completionTokens: 0,
          cost: 0n,
          status: 500,
          error: "abandoned",
          latencyMs: 0,
          firstByteMs: null,
          attempts: 0,
          estimated: false
        }),
      { concurrency: "unbounded", discard: true }
    )
    if (rows.length > 0) {
      yield* Effect.logWarning(
        "gateway calls ended with their process: what they had reserved is free again"
      ).pipe(Effect.annotateLogs({ calls: rows.length }))
    }
    return rows.length
  }).pipe(Effect.withSpan("GatewayBilling.sweep"))

  return GatewayBilling.of({
    covers,
    reserve,
    settle,
    keepAlive,
    sweep
  })
})

export const layer = Layer.effect(GatewayBilling, make)
