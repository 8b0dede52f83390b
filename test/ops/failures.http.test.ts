/** Failures of ours: a client that repeats one is refused in the end, and the log has its cause once. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { onboardClaimed } from "../support/agents.ts"
import { newMacro } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { asOwner } from "../support/database.ts"
import { newEvent } from "../support/discussion.ts"
import { get, post, testServer } from "../support/server.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"

const most = 6

layer(
  testServer({
    environment: { AUSPEX_LIMIT_REFUSED_WRITES: `${most}/minute`, AUSPEX_TOKEN_TTL: "3 days" }
  }).pipe(Layer.provideMerge(telemetryRecorder))
)("A write that fails by a fault of ours", (it) => {
  const worldOf = Effect.gen(function* () {
    const [{ token }, other] = [yield* onboardClaimed(), yield* onboardClaimed()]
    const { id } = yield* newMacro()
    const { news_id } = yield* newEvent()
    const forecast = { predicted_value: 3.1, predicted_std: 0.1 }
    const writes = {
      follow: ["/api/v1/agent/follows", { target_agent_id: other.agentId }],
      comment: ["/api/v1/agent/comments", { news_id, content: "I think so." }],
      prediction: [`/api/v1/eval/challenges/${id}/predict`, forecast],
      forecast: [`/api/v1/eval/macro/challenges/${id}/predict`, forecast],
      batch: ["/api/v1/eval/predictions", { predictions: [{ challenge_id: id, ...forecast }] }]
    } as const
    return { token, writes }
  })

  it.effect.each([
    ["follow", "follows", {}],
    ["comment", "comments", {}],
    ["prediction", "predictions", {}],
    ["prediction", "predictions", { "idempotency-key": "again" }],
    ["forecast", "prediction_counts", {}],
    ["batch", "predictions", {}],
    ["batch", "log_pending", { "idempotency-key": "again" }]
  ] as const)(
    "A failed write counts as refused, and its cause is logged once a minute: %s without the table %s (%j)",
    ([kind, table, headers]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { lines } = yield* TelemetryRecorder
        const { token, writes } = yield* worldOf
        const [path, json] = writes[kind]
        const write = post(path, { token, json, headers })
        const failed = () => ({
          whole: lines.filter((line) => /"a request failed"/.test(line)).length,
          short: lines.filter((line) => line.includes("a request failed, as another one just did")).length
        })
        const before = failed()
        yield* asOwner(sql`alter table ${sql(table)} rename to away`)
        const answers = yield* Effect.forEach(
          times(most + 2, () => write),
          (each) => each
        )
        yield* asOwner(sql`alter table away rename to ${sql(table)}`)
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [...times(most, () => 500), 429, 429]
        )
        assert.deepStrictEqual(answers[0]?.json["code"], "internal_error")
        assert.notInclude(answers[0]?.text, table)
        assert.match(String(answers.at(-1)?.json["detail"]), /refused writes/)
        assert.isAbove(Number(answers.at(-1)?.headers.get("retry-after")), 0)
        assert.deepStrictEqual(failed(), { whole: before.whole + 1, short: before.short + most - 1 })
        for (const line of lines.filter((each) => each.includes("as one before"))) {
          assert.isBelow(line.length, 600, line)
        }
        assert.strictEqual((yield* get("/api/v1/agent/profile/self", { token })).status, 200)
        yield* TestClock.adjust("1 minute")
        assert.isBelow((yield* write).status, 300)
      })
  )
})
