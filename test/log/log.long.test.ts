/**
 * The public log at the size that it is built for: it keeps up with predictions as they are written, and a million entries,
 * made by the services that make them in production, are audited in bounded memory.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer, maxPerPass } from "../../src/services/LogSequencer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus } from "../support/challenges.ts"
import { manyAgents, predictionsOn } from "../support/manyPredictions.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf } from "../support/database.ts"
import { readUntil } from "../support/waiting.ts"

/** Prints a measurement for the person who runs the test. */
const tell = (line: string) => Effect.sync(() => process.stdout.write(`  ${line}\n`))

/** The real time, whatever the clock of the test says. */
const seconds = Effect.sync(() => performance.now() / 1000)

const took = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const from = yield* seconds
  const result = yield* effect
  return [(yield* seconds) - from, result] as const
})

/** Full batches follow one another at once, as in the job. */
const sequenceAndPublish = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  let done = 0
  let passed = 0
  do {
    passed = yield* sequencer.sequence
    done += passed
    yield* sequencer.publish
  } while (passed === maxPerPass)
  return done
})

const waiting = countOf((sql) => sql`select count(*)::int as count from log_pending`)

/** Analysing a million rows takes longer on a busy machine than a statement of the service may. */
const analyze = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* asOwner(Effect.andThen(sql`set local statement_timeout = 0`, sql`analyze`))
})

/** Reveals wait while much else does, so both take turns. */
const revealAll = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  let revealed = 0
  for (let left = true; left;) {
    const before = revealed
    for (let chunk = yield* sequencer.revealDue; chunk > 0; chunk = yield* sequencer.revealDue)
      revealed += chunk
    yield* sequenceAndPublish
    left = revealed > before
  }
  return revealed
})

layer(testServices())("The public log under load", (it) => {
  it.effect("The public log keeps up with predictions as they are written", () =>
    Effect.gen(function* () {
      const monday = yield* freshWeek
      const agents = 2000
      yield* manyAgents(agents)
      const challenges = yield* Effect.forEach(Array.from({ length: 15 }), () =>
        newChallenge({ deadline: plus(monday, "1 hour") })
      )
      const onceASecond = sequenceAndPublish.pipe(Effect.repeat(Schedule.spaced("1 second")))
      const job = yield* Effect.forkChild(TestClock.withLive(onceASecond))
      const [inserting] = yield* took(
        Effect.forEach(challenges, ({ id }) =>
          Effect.all(
            // A second's predictions come in twenty statements, as their batches do.
            Array.from({ length: 20 }, (_, part) =>
              predictionsOn(id, { from: part * 100, to: part * 100 + 99 }, monday).pipe(
                Effect.delay(`${part * 50} millis`),
                TestClock.withLive
              )
            ),
            { concurrency: "unbounded" }
          )
        )
      )
      const sent = challenges.length * agents
      const behind = yield* waiting
      const [lag] = yield* took(readUntil(waiting, (left) => left === 0))
      yield* Fiber.interrupt(job)
      yield* tell(
        `${(sent / inserting).toFixed(0)} predictions/s for ${inserting.toFixed(0)} s: ${behind} waited at the end, for ${lag.toFixed(1)} s`
      )
      assert.isBelow(lag, inserting / 4)
      const logged = yield* countOf(
        (sql) => sql`select count(*)::int as count from log_entries where type = 'prediction.commit'`
      )
      assert.strictEqual(logged, sent)
    })
  )
})

layer(testServices())("A log of a million entries", (it) => {
  it.effect("A log of a million entries is audited in bounded memory, and a changed byte is found", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const monday = yield* freshWeek
      const deadline = plus(monday, "1 hour")
      const agents = 10_000
      yield* manyAgents(agents)
      const challenges = yield* Effect.forEach(Array.from({ length: 50 }), () => newChallenge({ deadline }))
      for (const { id } of challenges) yield* predictionsOn(id, { from: 0, to: agents - 1 }, monday)
      yield* analyze
      const [committing, commits] = yield* took(sequenceAndPublish)
      yield* tell(`${(commits / committing).toFixed(0)} commits sequenced a second`)

      yield* moveTo(deadline)
      yield* importQuotes("GC", [[deadline, 102]])
      const settled = yield* Scoring.use((scoring) => scoring.settleDue)
      assert.lengthOf(settled.resolved, challenges.length)
      yield* sequenceAndPublish
      const [revealing, revealed] = yield* took(revealAll)
      assert.strictEqual(revealed, challenges.length * agents)
      yield* tell(`${(revealed / revealing).toFixed(0)} predictions revealed and sequenced a second`)
      yield* analyze

      const before = process.memoryUsage().rss
      const [auditing, report] = yield* took(Audit.use(({ verifyLog }) => verifyLog))
      const grown = (process.memoryUsage().rss - before) / 2 ** 20
      yield* tell(
        `${report.entries} entries audited in ${auditing.toFixed(1)} s; the process grew by ${grown.toFixed(0)} MiB`
      )
      assert.deepStrictEqual(report.differences, [])
      assert.isAtLeast(report.entries, 1_000_000)
      assert.strictEqual(report.predictions, 500_000)
      assert.strictEqual(report.scores, 500_000)
      assert.isBelow(grown, 300)

      yield* asOwner(sql`alter table predictions disable trigger user`)
      yield* asOwner(sql`
        update predictions set reasoning = 'another reason'
         where challenge_id = ${challenges[30]?.id ?? ""}::uuid
           and agent_id = '0190a000-0000-7000-8000-00000000270f'`)
      const found = yield* Audit.use(({ verifyLog }) => verifyLog)
      assert.strictEqual(found.difference_count, 1)
      assert.include(found.differences[0], "reasoning is not what its sealed body says")
    })
  )
})
