/** Batches and single answers of one agent that race: the cap and the limit let in exactly as many as they say. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { onboard } from "../support/agents.ts"
import { breadth, seedOfRun } from "../support/breadth.ts"
import { freshWeek, newMacro } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { deadlocks, rowsOf } from "../support/database.ts"
import { member, post, testServer } from "../support/server.ts"

/** A provisional agent that registered through the API. */
const cap = 10
const limit = 12
/** The first answer to a question and its revisions. */
const answersEach = 6

const Item = Schema.Struct({
  challenge: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 13 })),
  isRight: Schema.Literals([true, true, true, false])
})

const Sending = Schema.Struct({
  how: Schema.Literals(["batch", "batch with a key", "one by one"]),
  items: Schema.Array(Item).check(Schema.isMinLength(1), Schema.isMaxLength(8))
})

interface Told {
  readonly challenge: number
  readonly isRight: boolean
  /** The outcome, or the code of the error. */
  readonly outcome: unknown
}

const bodyOf = ({ isRight }: typeof Item.Type) => ({
  predicted_value: 3.1,
  ...(isRight && { predicted_std: 0.1 })
})

const sendIn = Effect.fnUntraced(function* (
  { how, items }: typeof Sending.Type,
  nth: number,
  { ids, token }: { readonly ids: ReadonlyArray<string>; readonly token: string }
) {
  if (how === "one by one") {
    return yield* Effect.forEach(
      items,
      (item) =>
        Effect.map(
          post(`/api/v1/eval/challenges/${ids[item.challenge]}/predict`, { token, json: bodyOf(item) }),
          ({ json, status }): Told => ({
            ...item,
            outcome: json["code"] ?? (status === 201 ? "recorded" : "revised")
          })
        ),
      { concurrency: "unbounded" }
    )
  }
  const { json } = yield* post("/api/v1/eval/predictions", {
    token,
    headers: how === "batch" ? {} : { "idempotency-key": `batch-${nth}` },
    json: { predictions: items.map((item) => ({ challenge_id: ids[item.challenge], ...bodyOf(item) })) }
  })
  return items.map((item, place): Told => ({
    ...item,
    outcome:
      json["code"] ?? member(json, "items", place, "error", "code") ?? member(json, "items", place, "outcome")
  }))
})

const stored = (agentId: string) =>
  rowsOf(
    Schema.Struct({ challenge_id: Schema.String, revisions: Schema.Array(Schema.Int) }),
    (sql) => sql`
      select challenge_id::text, array_agg(revision order by revision) as revisions from predictions
       where agent_id = ${agentId}::uuid group by challenge_id`
  )

const limited = testServer({ environment: { AUSPEX_LIMIT_PREDICTIONS: `${limit}/minute` } })

layer(limited)("Answers of a provisional agent that race", (it) => {
  it.effect.prop(
    "Racing answers fill cap, limit and revisions exactly, and none is refused too early",
    [Schema.Array(Sending).check(Schema.isMinLength(2), Schema.isMaxLength(6))],
    ([sendings]) =>
      Effect.gen(function* () {
        yield* freshWeek
        const sql = yield* SqlClient.SqlClient
        const ids = (yield* Effect.all(times(14, () => newMacro()))).map(({ id }) => id)
        const { agentId, token } = yield* onboard()
        const before = yield* deadlocks
        const told = (yield* Effect.forEach(sendings, (each, nth) => sendIn(each, nth, { ids, token }), {
          concurrency: "unbounded"
        })).flat()

        const all = (outcome: string) => told.filter((each) => each.outcome === outcome)
        const [recorded, revised] = [all("recorded"), all("revised")]
        const accepted = [...recorded, ...revised]
        const overRevised = all("revision_limit")
        const refused = [
          ...all("provisional_limit"),
          ...all("rate_limited"),
          ...all("invalid_request"),
          ...overRevised
        ]
        assert.lengthOf(told, accepted.length + refused.length, JSON.stringify(told))
        assert.isTrue(accepted.every(({ isRight }) => isRight))
        assert.isTrue(all("invalid_request").every(({ isRight }) => !isRight))

        assert.isAtMost(recorded.length, cap)
        assert.isAtMost(accepted.length, limit)
        if (all("provisional_limit").length > 0) assert.lengthOf(recorded, cap)
        if (all("rate_limited").length > 0) assert.lengthOf(accepted, limit)
        for (const { challenge } of overRevised) {
          assert.lengthOf(
            accepted.filter((each) => each.challenge === challenge),
            answersEach
          )
        }

        const rows = yield* stored(agentId)
        assert.deepStrictEqual(
          new Map(rows.map(({ challenge_id, revisions }) => [challenge_id, revisions])),
          new Map(
            recorded.map(({ challenge }) => [
              ids[challenge] ?? "",
              times(accepted.filter((each) => each.challenge === challenge).length, (revision) => revision)
            ])
          )
        )
        const [used] = yield* sql`select predictions_used from agents where id = ${agentId}::uuid`.values
        assert.deepStrictEqual(used, [recorded.length])
        assert.strictEqual(yield* deadlocks, before, "deadlocks")
      }),
    { arbitrary: { runs: breadth(10, 100), size: 60, seed: seedOfRun } }
  )
})
