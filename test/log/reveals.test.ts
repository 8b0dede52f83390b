/** Reveals: once for each prediction, in chunks, and not before the deadline. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { predictionReveal } from "../../src/layers/postgres/log/entries.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { times } from "../support/concurrently.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import { freshWeek, moveTo, newChallenge, plus, predict, settleDue } from "../support/challenges.ts"
import { countOf, rowsOf } from "../support/database.ts"
import { held } from "../support/locking.ts"
import { entries, oneTree } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"

const sequence = Effect.repeat(
  LogSequencer.use((sequencer) => sequencer.sequence),
  { while: (count) => count > 0 }
)
const revealDue = LogSequencer.use((sequencer) => sequencer.revealDue)

const pendingReveals = countOf(
  (sql) => sql`select count(*)::int as count from log_pending where type = 'prediction.reveal'`
)
const waitingChallenges = countOf((sql) => sql`select count(*)::int as count from log_reveals`)

const sha256 = (...parts: ReadonlyArray<Uint8Array>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}

/** Exactly one reveal after its close opens every commit of the challenge. Answers their bodies. */
const opened = Effect.fnUntraced(function* (challenge: { readonly id: string }) {
  const all = yield* entries
  const close = all.find(
    ({ challenge_id, type }) => type === "challenge.close" && challenge_id === challenge.id
  )
  const commits = all.filter(
    ({ challenge_id, type }) => type === "prediction.commit" && challenge_id === challenge.id
  )
  const reveals = all.filter(({ type }) => type === "prediction.reveal")
  return commits.map((commit) => {
    const [reveal, ...more] = reveals.filter(({ json }) => json["commit_index"] === commit.index)
    assert(reveal !== undefined && close !== undefined)
    assert.lengthOf(more, 0)
    assert.isAbove(reveal.index, close.index)
    const body = String(reveal.json["body"])
    const prefix = Buffer.from("auspex/commit/v1\0")
    const salt = Buffer.from(String(reveal.json["salt"]), "hex")
    assert.strictEqual(sha256(prefix, salt, Buffer.from(body)), commit.json["c"])
    return body
  })
})

layer(testServices())("A prediction", (it) => {
  it.effect("A closed challenge's predictions are revealed: every revision, with the committed body", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agents = yield* claimedAgents(3)
      const challenge = yield* newChallenge({ deadline })
      for (const agent of agents) yield* predict(agent, challenge, { reasoning: 'it "says" so\n' })
      for (const agent of agents) yield* predict(agent, challenge, { is_revision: true, confidence: 0.9 })
      yield* sequence
      assert.strictEqual(yield* revealDue, 0)
      yield* moveTo(plus(deadline, "1 minute"))
      assert.strictEqual(yield* revealDue, 0, "not closed yet")
      yield* settleDue
      assert.strictEqual(yield* revealDue, 0, "not closed in the log yet")
      yield* sequence
      assert.strictEqual(yield* revealDue, 6)
      assert.strictEqual(yield* revealDue, 0)
      yield* sequence
      const bodies = yield* opened(challenge)
      assert.lengthOf(bodies, 6)
      assert.lengthOf(
        bodies.filter((body) => body.includes(`"revision":1`)),
        3
      )
      assert.strictEqual(yield* waitingChallenges, 0)
      yield* oneTree
    })
  )

  it.effect("A prediction on a cancelled challenge stays sealed until the deadline that it had", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* predict(yield* claimedAgent(), challenge)
      yield* Scoring.use((scoring) => scoring.void("directional", challenge.id, "why"))
      yield* sequence
      yield* moveTo(plus(deadline, "-1 millis"))
      assert.strictEqual(yield* revealDue, 0)
      yield* moveTo(deadline)
      assert.strictEqual(yield* revealDue, 1)
      yield* sequence
      assert.lengthOf(yield* opened(challenge), 1)
    })
  )
})

layer(testServices())("A reveal", (it) => {
  it.effect("A reveal of an open challenge is found by the audit before it gets into the log", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const challenge = yield* newChallenge({ deadline: plus(yield* freshWeek, "1 hour") })
      yield* predict(yield* claimedAgent(), challenge)
      yield* sequence
      const [sealed] = yield* rowsOf(
        Schema.Struct({ body: Schema.String, salt: Schema.Uint8Array, commit_index: Schema.Int }),
        (sql) => sql`
          select convert_from(p.body, 'UTF8') as body, p.salt, e.index::int as commit_index
            from predictions p join log_entries e on e.commit = p.commit
           where p.challenge_id = ${challenge.id}::uuid`
      )
      assert.isDefined(sealed)
      yield* sql`
        insert into log_pending (type, commit_index, entry)
        values ('prediction.reveal', ${BigInt(sealed.commit_index)}, ${predictionReveal(sealed)})`
      const { differences } = yield* Audit.use(({ verifyLog }) => verifyLog)
      assert.lengthOf(differences, 1)
      assert.include(differences[0], "a pending entry reveals it before its challenge is closed")
    })
  )
})

layer(testServices())("Reveals", (it) => {
  it.effect("Reveals of many challenges are added once, however many replicas add them at once", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agents = yield* claimedAgents(4)
      const challenges = yield* Effect.replicateEffect(newChallenge({ deadline }), 6)
      for (const challenge of challenges) {
        yield* Effect.forEach(agents, (agent) => predict(agent, challenge), { concurrency: 4 })
      }
      yield* moveTo(plus(deadline, "1 minute"))
      yield* settleDue
      yield* sequence
      const rounds = yield* Effect.all(
        times(12, () => revealDue),
        { concurrency: "unbounded" }
      )
      const rest = yield* Effect.replicateEffect(revealDue, 6)
      assert.strictEqual(
        [...rounds, ...rest].reduce((sum, count) => sum + count, 0),
        24
      )
      yield* sequence
      for (const challenge of challenges) assert.lengthOf(yield* opened(challenge), 4)
    })
  )

  it.effect("A replica reveals nothing before its deadline while another one reveals what is due", () =>
    Effect.gen(function* () {
      const deadline = plus(yield* freshWeek, "1 hour")
      const agent = yield* claimedAgent()
      const due = yield* newChallenge({ deadline })
      const sealed = yield* newChallenge({ deadline: plus(deadline, "1 hour") })
      for (const challenge of [due, sealed]) yield* predict(agent, challenge)
      // The close of a cancelled challenge is in the log before its deadline.
      yield* Scoring.use((scoring) => scoring.void("directional", sealed.id, "why"))
      yield* moveTo(plus(deadline, "1 minute"))
      yield* settleDue
      yield* sequence
      assert.strictEqual(yield* waitingChallenges, 2)
      const other = yield* held(revealDue)
      assert.strictEqual(yield* revealDue, 0)
      assert.strictEqual(yield* other.commit, 1)
      yield* moveTo(plus(deadline, "1 hour"))
      assert.strictEqual(yield* revealDue, 1)
      yield* sequence
    })
  )

  it.effect(
    "Reveals of more than a chunk go on after the last chunk, also after one that came to nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const deadline = plus(yield* freshWeek, "1 hour")
        const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
        const challenge = yield* newChallenge({ deadline })
        yield* predict(agent, challenge)
        yield* predict(other, challenge)
        // Only a patient agent makes this many revisions.
        yield* sql`
        with written as (
          insert into predictions
            (challenge_id, agent_id, revision, id, direction, confidence, reasoning, received_at, deadline, salt, body,
             commit)
          select p.challenge_id, p.agent_id, n, uuidv7(), p.direction, p.confidence, p.reasoning, p.received_at,
                 p.deadline, s.salt, p.body, sha256(convert_to('auspex/commit/v1', 'UTF8') || '\\x00' || s.salt || p.body)
            from predictions p
           cross join generate_series(1, 1999) n
           cross join lateral (select sha256(convert_to(p.agent_id || '/' || n, 'UTF8')) as salt) s
           where p.challenge_id = ${challenge.id}::uuid
          returning challenge_id, commit
        )
        insert into log_pending (type, challenge_id, commit, entry)
        select 'prediction.commit', challenge_id, commit,
               convert_to('{"c":"' || encode(commit, 'hex') || '"}', 'UTF8') from written`
        yield* moveTo(plus(deadline, "1 minute"))
        yield* settleDue
        yield* sequence
        assert.strictEqual(yield* revealDue, 2000)
        yield* revealDue.pipe(Effect.andThen(Effect.fail("killed")), sql.withTransaction, Effect.flip)
        assert.strictEqual(yield* pendingReveals, 2000)
        // Exactly two chunks: nothing is left for a third.
        assert.strictEqual(yield* revealDue, 2000)
        assert.strictEqual(yield* waitingChallenges, 0)
        assert.strictEqual(yield* revealDue, 0)
        yield* sequence
        const [counted] = yield* rowsOf(
          Schema.Struct({ commits: Schema.Int, revealed: Schema.Int }),
          () => sql`
          select count(*)::int as commits, count(r.index)::int as revealed
            from log_entries e left join log_entries r on r.commit_index = e.index
           where e.type = 'prediction.commit' and e.challenge_id = ${challenge.id}::uuid`
        )
        assert.deepStrictEqual(counted, { commits: 4000, revealed: 4000 })
      })
  )

  it.effect("Reveals let a long backlog get its indices first", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const deadline = plus(yield* freshWeek, "1 hour")
      const challenge = yield* newChallenge({ deadline })
      yield* predict(yield* claimedAgent(), challenge)
      yield* moveTo(plus(deadline, "1 minute"))
      yield* settleDue
      yield* sequence
      yield* sql`
        insert into log_pending (type, entry)
        select 'key.rotate', convert_to('{"n":' || i || '}', 'UTF8') from generate_series(1, 10000) i`
      assert.strictEqual(yield* revealDue, 0)
      yield* sequence
      assert.strictEqual(yield* revealDue, 1)
    })
  )
})
