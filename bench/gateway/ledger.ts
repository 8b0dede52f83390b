/** The two ledger transactions of a call alone: reserved and settled as the service does it, without HTTP and provider. */
import { Clock, Effect, Layer, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { many } from "../../src/layers/postgres/query.ts"
import * as GatewayBilling from "../../src/layers/postgres/gateway/GatewayBilling.ts"
import { client } from "../../src/layers/postgres/Database.ts"
import { GatewayBilling as Billing } from "../../src/services/GatewayBilling.ts"
import { GatewayKeyId } from "../../src/services/GatewayKeys.ts"
import { AgentId } from "../../src/services/identifiers.ts"
import { settings } from "../settings.ts"

const Holder = Schema.Struct({ keyId: GatewayKeyId, agentId: AgentId })

const holders = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* many(Holder)(
    sql`select id::text as "keyId", agent_id::text as "agentId" from gateway_keys order by agent_id`
  )
})

/** Calls a second with so many at once. */
export const ledgerAlone = Effect.fnUntraced(
  function* (_url: string, connections: number, seconds: number) {
    const billing = yield* Billing
    const random = yield* SecureRandom.SecureRandom
    const who = yield* holders
    const begun = yield* Clock.currentTimeMillis
    let calls = 0
    const one = (number: number) =>
      Effect.gen(function* () {
        const holder = who[number % who.length]
        if (holder === undefined) return
        const call = {
          callId: yield* random.uuidV7(),
          holder,
          requestId: "bench",
          model: "paid",
          style: "openai" as const,
          stream: false,
          reserved: 1000n,
          createdAt: yield* Clock.currentTimeMillis
        }
        yield* billing.reserve(call)
        yield* billing.settle({
          ...call,
          provider: "north",
          promptTokens: 25,
          completionTokens: 50,
          cost: 125n,
          status: 200,
          error: null,
          latencyMs: 1,
          firstByteMs: 1,
          attempts: 1,
          estimated: false
        })
        calls += 1
      })
    const until = begun + seconds * 1000
    yield* Effect.forEach(
      Array.from({ length: connections }, (_, number) => number),
      (number) =>
        Effect.repeat(one(number), {
          while: () => Effect.map(Clock.currentTimeMillis, (now) => now < until)
        }),
      { concurrency: "unbounded", discard: true }
    )
    return (calls / ((yield* Clock.currentTimeMillis) - begun)) * 1000
  },
  (effect, url) =>
    effect.pipe(
      Effect.provide(
        GatewayBilling.layer.pipe(
          Layer.provideMerge(
            Layer.mergeAll(client(Redacted.make(url)), settings(url), SecureRandom.layerWebCrypto)
          )
        )
      )
    )
)
