import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { SubmissionOutcome } from "../../src/services/Registry.ts"
import { askForToken, onboard, pass, register, submit, submitPath } from "../support/agents.ts"
import { failingAnswer, passingAnswer } from "../support/responses.ts"
import { member, post, testServer, wrongFields } from "../support/server.ts"
import type { Answer } from "../support/server.ts"

const twenty = Array.from({ length: 20 }, (_, index) => index)
const withStatus = (answers: ReadonlyArray<Answer>, status: number) =>
  answers.filter((answer) => answer.status === status)

const readAgain = (challengeId: string, agentId: string, secret: string) =>
  post(`/api/v1/agent/challenge/${challengeId}/prompt`, {
    json: { agent_id: agentId, client_secret: secret }
  })

const failTimes = Effect.fnUntraced(function* (challengeId: string, times: number) {
  for (let attempt = 0; attempt < times; attempt++) {
    assert.strictEqual((yield* submit(challengeId, failingAnswer)).status, 200)
  }
})

layer(testServer({ environment: { AUSPEX_BASE_URL: "https://arena.example" } }))(
  "The registration challenge",
  (it) => {
    it.effect("A failing answer is 200 with passed=false, what was lacking and the attempts left", () =>
      Effect.gen(function* () {
        const { challenge_id } = yield* register()
        for (const remaining of [4, 3]) {
          const answer = yield* submit(challenge_id, failingAnswer)
          assert.strictEqual(answer.status, 200)
          assert.strictEqual(answer.headers.get("cache-control"), "no-store")
          const outcome = yield* Schema.decodeUnknownEffect(SubmissionOutcome)(answer.json)
          assert.isFalse(outcome.passed)
          assert.strictEqual(outcome.attempts_remaining, remaining)
          assert.strictEqual(outcome.threshold, 60)
          assert.isBelow(outcome.score, 60)
          assert.approximately(
            outcome.feedback.reduce((sum, { points }) => sum + points, 0),
            outcome.score,
            1e-9
          )
          assert(
            outcome.feedback.every(
              ({ comment, points, max_points }) => comment !== "" || points === max_points
            )
          )
          for (const field of ["claim_url", "pairing_code"]) assert.notProperty(answer.json, field)
        }
      })
    )

    it.effect("An answer with all fields full is judged, also with every character escaped", () =>
      Effect.gen(function* () {
        const { challenge_id } = yield* register()
        const prose = "\u4e00".repeat(4000)
        const entries = Array.from({ length: 50 }, () => "\u4e00".repeat(100))
        const answer = {
          event_summary: prose,
          market_impact: {
            affected_assets: entries,
            direction: "bullish",
            magnitude: "low",
            reasoning: prose
          },
          trading_implications: { short_term: prose, medium_term: prose },
          confidence: 0.5,
          related_events: entries
        }
        const body = JSON.stringify({ answer }).replaceAll("\u4e00", "\\u4e00")
        assert.isAbove(body.length, 150 * 1024)
        const headers = { "content-type": "application/json" }
        assert.strictEqual((yield* post(submitPath(challenge_id), { body, headers })).status, 200)
      })
    )

    it.effect("Of 20 failing answers at once 5 are judged, and the others are 403 challenge_locked", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { challenge_id } = yield* register()
        const answers = yield* Effect.forEach(twenty, () => submit(challenge_id, failingAnswer), {
          concurrency: "unbounded"
        })
        const judged = withStatus(answers, 200)
        assert.deepStrictEqual(
          judged.map(({ json }) => Number(json["attempts_remaining"])).sort(),
          [0, 1, 2, 3, 4]
        )
        const locked = withStatus(answers, 403)
        assert.strictEqual(locked.length, 15)
        for (const { json } of locked) assert.strictEqual(json["code"], "challenge_locked")
        const kept =
          yield* sql`select 1 from registration_attempts where challenge_id = ${challenge_id}::uuid`
        assert.strictEqual(kept.length, 5)
      })
    )

    it.effect("After the last failed attempt even a passing answer is 403 challenge_locked", () =>
      Effect.gen(function* () {
        const { challenge_id, challenge_prompt } = yield* register()
        yield* failTimes(challenge_id, 5)
        const answer = yield* submit(challenge_id, passingAnswer(challenge_prompt))
        assert.strictEqual(answer.status, 403)
        assert.strictEqual(answer.json["code"], "challenge_locked")
        assert.include(answer.json["detail"], "register again")
      })
    )

    it.effect("Every message from the last failed attempt on says to register again", () =>
      Effect.gen(function* () {
        const { agent_id, challenge_id, client_secret } = yield* register()
        const before = yield* askForToken(agent_id, client_secret)
        assert.strictEqual(before.json["code"], "challenge_pending")
        assert.include(before.json["detail"], `https://arena.example${submitPath(challenge_id)}`)
        yield* failTimes(challenge_id, 4)
        const last = yield* submit(challenge_id, failingAnswer)
        assert.include(last.json["note"], "register again")
        const token = yield* askForToken(agent_id, client_secret)
        assert.strictEqual(token.status, 403)
        const answers = [
          token,
          yield* submit(challenge_id, failingAnswer),
          yield* readAgain(challenge_id, agent_id, client_secret)
        ]
        for (const { json } of answers) assert.include(json["detail"], "register again")
      })
    )

    it.effect("The third failed attempt and later ones tell points, and no more what was lacking", () =>
      Effect.gen(function* () {
        const { challenge_id } = yield* register()
        const comments: Array<string> = []
        for (let attempt = 1; attempt <= 5; attempt++) {
          const answer = yield* submit(challenge_id, failingAnswer)
          const outcome = yield* Schema.decodeUnknownEffect(SubmissionOutcome)(answer.json)
          const lost = outcome.feedback.filter(({ max_points, points }) => points < max_points)
          comments.push([...new Set(lost.map(({ comment }) => comment))].join(" "))
        }
        const [first = "", second, ...later] = comments
        assert.include(first, "No asset is named")
        assert.strictEqual(second, first)
        for (const comment of later) {
          assert.strictEqual(
            comment,
            "Points were lost here: read what instructions.criteria says of this criterion."
          )
        }
      })
    )

    it.effect("An agent reads its prompt again with its secret while the challenge is unfinished", () =>
      Effect.gen(function* () {
        const registered = yield* register()
        const { agent_id, challenge_id, client_secret } = registered
        yield* failTimes(challenge_id, 2)
        const again = yield* readAgain(challenge_id, agent_id, client_secret)
        assert.strictEqual(again.status, 200)
        assert.strictEqual(again.headers.get("cache-control"), "no-store")
        assert.deepStrictEqual(again.json, {
          challenge_id,
          challenge_prompt: registered.challenge_prompt,
          submit_url: registered.submit_url,
          instructions: registered.instructions,
          attempts_remaining: 3
        })
        yield* pass(registered)
        const passed = yield* readAgain(challenge_id, agent_id, client_secret)
        assert.strictEqual(passed.status, 400)
        assert.strictEqual(passed.json["code"], "challenge_already_passed")
      })
    )

    it.effect("A wrong secret, or another agent's, shows nobody a prompt", () =>
      Effect.gen(function* () {
        const one = yield* register()
        const other = yield* register()
        const wrong = yield* readAgain(one.challenge_id, one.agent_id, other.client_secret)
        assert.strictEqual(wrong.status, 401)
        assert.strictEqual(wrong.json["code"], "invalid_client")
        for (const id of [other.challenge_id, "nonsense"]) {
          const answer = yield* readAgain(id, one.agent_id, one.client_secret)
          assert.strictEqual(answer.status, 404, id)
          assert.notInclude(JSON.stringify(answer.json), other.challenge_prompt)
        }
      })
    )

    it.effect("The challenge can be passed at the last attempt", () =>
      Effect.gen(function* () {
        const registered = yield* register()
        yield* failTimes(registered.challenge_id, 4)
        const outcome = yield* pass(registered)
        assert.isTrue(outcome.passed)
        assert.strictEqual(outcome.attempts_remaining, 0)
      })
    )

    it.effect("A passing answer is 200 with all four claim fields", () =>
      Effect.gen(function* () {
        const registered = yield* register()
        // The answer comes two days later: the window began at registration.
        yield* TestClock.adjust("2 days")
        const answer = yield* submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
        assert.strictEqual(answer.json["passed"], true)
        assert.match(String(answer.json["claim_url"]), /^https:\/\/arena\.example\/claim\/aus_cl_[\w-]{43}$/)
        assert.match(
          String(answer.json["pairing_code"]),
          /^[23456789ABCDEFGHJKMNPQRSTVWXYZ]{3}-[23456789ABCDEFGHJKMNPQRSTVWXYZ]{3}$/
        )
        assert.strictEqual(answer.json["provisional_until"], "1970-01-08T00:00:00.000Z")
        assert.strictEqual(answer.json["provisional_prediction_limit"], 10)
      })
    )

    it.effect("A second passing answer is 400 challenge_already_passed, and makes no second claim link", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const registered = yield* register()
        yield* pass(registered)
        const again = yield* submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
        assert.strictEqual(again.status, 400)
        assert.strictEqual(again.json["code"], "challenge_already_passed")
        const links = yield* sql`select 1 from claim_links where agent_id = ${registered.agent_id}::uuid`
        assert.strictEqual(links.length, 1)
      })
    )

    it.effect("Of 20 passing answers at once one passes the challenge", () =>
      Effect.gen(function* () {
        const { challenge_id, challenge_prompt } = yield* register()
        const answers = yield* Effect.forEach(
          twenty,
          () => submit(challenge_id, passingAnswer(challenge_prompt)),
          {
            concurrency: "unbounded"
          }
        )
        assert.strictEqual(withStatus(answers, 200).length, 1)
        assert.strictEqual(withStatus(answers, 400).length + withStatus(answers, 403).length, 19)
      })
    )

    it.effect("The database has hashes of the secrets, and nothing has a secret as it is", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const registered = yield* register()
        const outcome = yield* pass(registered)
        assert(outcome.passed)
        const token = outcome.claim_url.replace(/.*\//, "")
        const [link] = yield* sql`
        select encode(token_hash, 'hex') as token_hash, encode(code_hmac, 'hex') as code_hmac
          from claim_links where agent_id = ${registered.agent_id}::uuid`
        const hash = (text: string) => createHash("sha256").update(text).digest("hex")
        assert.strictEqual(member(link, "token_hash"), hash(token))
        // A bare hash of a code of 29 bits could be guessed offline.
        const code = outcome.pairing_code
        assert.notInclude([hash(code), hash(code.replace("-", ""))], member(link, "code_hmac"))

        const tables = yield* sql`select tablename from pg_tables where schemaname = 'public'`
        const secrets = [registered.client_secret, token, outcome.pairing_code, code.replace("-", "")]
        for (const table of tables) {
          const name = String(member(table, "tablename"))
          const [dump] =
            yield* sql`select coalesce(string_agg(t::text, ' '), '') as content from ${sql(name)} t`
          const content = String(member(dump, "content"))
          for (const secret of secrets) {
            assert.notInclude(content, secret, name)
            assert.notInclude(content, Buffer.from(secret).toString("hex"), name)
          }
        }
        assert.isAbove(tables.length, 5)
      })
    )

    it.effect("An answer that is not well-formed is 400, and costs no attempt", () =>
      Effect.gen(function* () {
        const { challenge_id } = yield* register()
        const malformed = yield* submit(challenge_id, {
          ...failingAnswer,
          event_summary: "a\u0000b",
          market_impact: { affected_assets: "GC", direction: "sideways", magnitude: "huge", reasoning: 5 },
          trading_implications: { short_term: "x".repeat(4001), medium_term: null },
          confidence: 1.01
        })
        assert.strictEqual(malformed.status, 400)
        assert.deepStrictEqual(wrongFields(malformed), [
          "answer.confidence",
          "answer.event_summary",
          "answer.market_impact.affected_assets",
          "answer.market_impact.direction",
          "answer.market_impact.magnitude",
          "answer.market_impact.reasoning",
          "answer.trading_implications.medium_term",
          "answer.trading_implications.short_term"
        ])
        for (const json of [{}, { answer: null }, { answer: "bullish" }, []]) {
          assert.strictEqual((yield* post(submitPath(challenge_id), { json })).status, 400)
        }
        const judged = yield* submit(challenge_id, failingAnswer)
        assert.strictEqual(judged.json["attempts_remaining"], 4)
      })
    )

    it.effect("An unknown challenge and a malformed id are the same 404", () =>
      Effect.gen(function* () {
        const { agentId } = yield* onboard()
        for (const id of ["0190f000-0000-7000-8000-000000000000", agentId, "nonsense", "%00", "a%2Fb"]) {
          const answer = yield* submit(id, failingAnswer)
          assert.strictEqual(answer.status, 404, id)
          assert.strictEqual(answer.json["code"], "not_found")
        }
      })
    )
  }
)
