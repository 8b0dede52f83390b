/** `Idempotency-Key` of a registration, whose answer holds a secret and whose caller nobody knows yet. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { times } from "../support/concurrently.ts"
import { post, testServer, wrongFields } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

const key = "0190b0a0-0000-7000-8000-000000000000"

const registerWith = (
  sent: string,
  json: Readonly<Record<string, unknown>> = { name: "Ada" },
  address = "192.0.2.1"
) =>
  post("/api/v1/agent/registry/register", {
    headers: { "idempotency-key": sent, "x-forwarded-for": address },
    json
  })

const behindProxy = { AUSPEX_TRUSTED_PROXIES: "127.0.0.0/8" }

const agentCount = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`select 1 from agents`, (rows) => rows.length)
)

layer(testServer({ environment: behindProxy }))(
  "A registration sent again with its Idempotency-Key",
  (it) => {
    it.effect("A registration sent again is the same agent with the same secret, and makes no other", () =>
      Effect.gen(function* () {
        const first = yield* registerWith(key)
        const before = yield* agentCount
        const again = yield* registerWith(`"${key}"`)
        assert.deepStrictEqual([first.status, again.status, again.text], [201, 201, first.text])
        assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        assert.strictEqual(again.headers.get("cache-control"), "no-store")
        assert.strictEqual(yield* agentCount, before)
      })
    )

    it.effect("A registration sent again with another body is an error (422)", () =>
      Effect.gen(function* () {
        yield* registerWith("the-key-of-two-bodies")
        const other = yield* registerWith("the-key-of-two-bodies", { name: "Eve" })
        assert.deepStrictEqual([other.status, other.json["code"]], [422, "idempotency_key_mismatch"])
        assert.notInclude(other.text, "aus_cs_")
      })
    )

    it.effect("The same key from another address makes another agent with a secret of its own", () =>
      Effect.gen(function* () {
        const shared = "the-key-that-two-callers-chose"
        const one = yield* registerWith(shared)
        const other = yield* registerWith(shared, { name: "Ada" }, "198.51.100.7")
        assert.deepStrictEqual([one.status, other.status], [201, 201])
        assert.isFalse(other.headers.has("idempotency-replayed"))
        assert.notStrictEqual(other.json["agent_id"], one.json["agent_id"])
        assert.notStrictEqual(other.json["client_secret"], one.json["client_secret"])
      })
    )

    it.effect("A registration's key has 16 characters or more, which nobody else chooses by chance", () =>
      Effect.gen(function* () {
        for (const short of ["1", "x".repeat(15), `"${"x".repeat(15)}"`]) {
          const refused = yield* registerWith(short)
          assert.deepStrictEqual([refused.status, wrongFields(refused)], [400, ["Idempotency-Key"]])
        }
        assert.strictEqual((yield* registerWith("x".repeat(16))).status, 201)
      })
    )

    it.effect("A registration sent many times at once makes one agent", () =>
      Effect.gen(function* () {
        const before = yield* agentCount
        const answers = yield* Effect.all(
          times(20, () => registerWith("many-times-at-once")),
          { concurrency: 20 }
        )
        const made = answers.filter(({ status }) => status === 201)
        assert.strictEqual(new Set(made.map(({ text }) => text)).size, 1)
        for (const { json, status } of answers.filter((answer) => answer.status !== 201)) {
          assert.deepStrictEqual([status, json["code"]], [409, "idempotency_key_in_use"])
        }
        assert.strictEqual(yield* agentCount, before + 1)
      })
    )

    it.effect("A registration is kept encrypted for ten minutes, and then makes another agent", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const first = yield* registerWith("kept-for-ten-minutes")
        const kept = yield* sql`select key, encode(answer, 'escape') as answer from idempotency_keys`
        const stored = JSON.stringify(kept)
        assert.notInclude(stored, String(first.json["client_secret"]))
        assert.notInclude(stored, "kept-for-ten-minutes")
        assert.notInclude(stored, "192.0.2.1")
        yield* TestClock.adjust("599 seconds")
        assert.strictEqual((yield* registerWith("kept-for-ten-minutes")).text, first.text)
        yield* TestClock.adjust("1 second")
        const later = yield* registerWith("kept-for-ten-minutes")
        assert.strictEqual(later.status, 201)
        assert.notStrictEqual(later.json["agent_id"], first.json["agent_id"])
      })
    )

    it.effect("The keys of registrations and of administrators are independent", () =>
      Effect.gen(function* () {
        const deadline = "2099-01-01T00:00:00Z"
        const shared = "one-key-for-both-of-them"
        yield* registerWith(shared)
        const made = yield* post("/api/v1/admin/challenges", {
          token: testAdminToken,
          headers: { "idempotency-key": shared },
          json: { asset: "GC", open_price: 100, deadline, resolve_at: deadline }
        })
        assert.deepStrictEqual([made.status, made.headers.has("idempotency-replayed")], [201, false])
      })
    )

    it.effect("A registration that was refused leaves its key free", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* registerWith("refused-at-first", { name: "" })).status, 400)
        assert.strictEqual((yield* registerWith("refused-at-first")).status, 201)
      })
    )
  }
)

layer(testServer({ environment: { ...behindProxy, AUSPEX_LIMIT_REGISTRATIONS: "2/hour" } }))(
  "An address at its limit of registrations",
  (it) => {
    it.effect("An address at its limit gets its earlier registrations again, any number of times", () =>
      Effect.gen(function* () {
        const first = yield* registerWith(key)
        for (let again = 0; again < 3; again++) {
          assert.strictEqual((yield* registerWith(key)).text, first.text)
        }
        assert.strictEqual((yield* registerWith("another-registration")).status, 201)
        assert.strictEqual((yield* registerWith("one-registration-more")).status, 429)
        assert.strictEqual((yield* registerWith(key)).text, first.text)
      })
    )
  }
)
