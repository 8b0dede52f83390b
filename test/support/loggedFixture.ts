/** A small set of data that is completely in the public log, or pending for it: for tests that look for differences. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Amendments } from "../../src/services/Amendments.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { claimedAgents } from "./agents.ts"
import {
  answerPriceEvent,
  forecast,
  freshWeek,
  importCandles,
  importQuotes,
  moveTo,
  newChallenge,
  newMacro,
  newPriceEvent,
  plus,
  predict
} from "./challenges.ts"
import { credits, creditFor, stakeOn } from "./credit.ts"

/** Sequences everything that is pending, and signs the log up to its end. */
export const sequenceAll = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  while ((yield* sequencer.sequence) > 0) continue
  yield* sequencer.publish
})

/** Makes all due reveals and sequences them. */
export const revealAll = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  yield* sequenceAll
  // Reveals wait while there are many other pending entries.
  while ((yield* sequencer.revealDue) > 0) yield* sequenceAll
})

/** The audits of the log and of the kept sums must find nothing. */
export const audited = Effect.gen(function* () {
  yield* revealAll
  assert.deepStrictEqual((yield* Audit.use(({ verifyLog }) => verifyLog)).differences, [])
  assert.deepStrictEqual((yield* Audit.use(({ verifyStats }) => verifyStats)).differences, [])
})

/** Adds two revisions with reasons after the first prediction. */
const revised = (
  agent: Parameters<typeof predict>[0],
  challenge: { readonly id: string },
  revisions: number
) =>
  Effect.gen(function* () {
    yield* predict(agent, challenge, { reasoning: "Yields fall." })
    for (let turn = 1; turn <= revisions; turn++) {
      yield* predict(agent, challenge, { direction: "bearish", confidence: turn / 100, is_revision: true })
    }
  })

/**
 * A settled macro challenge with a credit pool, one that is void and one that is open, a yes-or-no and a numeric price event that are
 * settled, one that is void and one that is open, a settled and amended challenge whose commits and reveals fill more than one tile,
 * another settled one, one that was cancelled in time, one that is open, and one that is not in the log yet.
 */
export const loggedFixture = Effect.gen(function* () {
  const monday = yield* freshWeek
  const deadline = plus(monday, "1 hour")
  const agents = yield* claimedAgents(6)

  const earlier = yield* newChallenge({ deadline, asset: "ES" })
  for (const agent of agents.slice(0, 3)) yield* revised(agent, earlier, 1)
  yield* sequenceAll

  const settled = yield* newChallenge({ deadline })
  for (const agent of agents) yield* revised(agent, settled, 21)
  const macro = yield* newMacro({ deadline, decimal_step: 0.1, unit: "%", reward_pool: 1000 })
  for (const agent of agents.slice(3)) {
    yield* forecast(agent, macro, { rationale: "Rents." })
    yield* forecast(agent, macro, { predicted_std: 0.25 })
  }
  const voided = yield* newMacro({ deadline, reward_pool: 10 })
  const openPool = yield* newMacro({ deadline: plus(monday, "3 days") })
  yield* creditFor(agents)
  for (const agent of agents.slice(4)) {
    yield* forecast(agent, voided)
    yield* forecast(agent, openPool)
  }
  yield* stakeOn(
    macro,
    agents
      .slice(3)
      .map((agentId, index) => ({ agentId, bin: [3, 2, 1][index] ?? 0, amount: credits(100 - index) }))
  )
  for (const pool of [voided, openPool]) {
    yield* stakeOn(
      pool,
      agents.slice(4).map((agentId, index) => ({ agentId, bin: index, amount: credits(50) }))
    )
  }
  const past = { deadline, resolve_at: monday }
  const [threshold, count, missed] = [
    yield* newPriceEvent({ kind: "threshold", ...past }),
    yield* newPriceEvent({ kind: "count_days", ...past }),
    yield* newPriceEvent({ kind: "barrier", ...past })
  ]
  const touch = yield* newPriceEvent({ kind: "barrier", deadline: plus(monday, "3 days") })
  for (const agent of agents.slice(4)) {
    for (const event of [threshold, count, missed, touch]) {
      yield* answerPriceEvent(agent, event)
      yield* answerPriceEvent(agent, event, { is_revision: true, reasoning: "Flows." })
    }
  }
  const open = yield* newChallenge({ deadline: plus(monday, "3 days"), dead_zone_pct: null })
  for (const agent of agents.slice(2)) yield* revised(agent, open, 1)
  const cancelled = yield* newChallenge({ deadline: plus(monday, "2 days") })
  for (const agent of agents.slice(0, 2)) yield* revised(agent, cancelled, 0)
  yield* sequenceAll
  yield* Scoring.use((scoring) => scoring.void("directional", cancelled.id, "the exchange closed early"))
  yield* sequenceAll

  yield* moveTo(deadline)
  yield* importQuotes("GC", [[deadline, 102]])
  yield* importQuotes("ES", [[deadline, 98]])
  const closes = Array.from(
    { length: 8 },
    (_, day) => [plus(monday, { hours: -1 - 24 * day }), 90 - day] as const
  )
  yield* importCandles("ETH", "1h", closes)
  yield* Scoring.use((scoring) => scoring.settleDue)
  yield* Scoring.use((scoring) => scoring.resolveMacro(macro.id, 3.2))
  yield* Scoring.use((scoring) => scoring.void("macro", voided.id, "never published"))
  yield* Scoring.use((scoring) => scoring.void("price_event", missed.id, "a wrong level"))
  yield* Amendments.use((amendments) =>
    amendments.amend(settled.id, { close_price: 98, reason: "the exchange corrected it" })
  )
  yield* revealAll

  const waiting = yield* newChallenge({ deadline: plus(monday, "4 days") })
  for (const agent of agents.slice(0, 1)) yield* revised(agent, waiting, 1)
  return { agents, earlier, settled, macro, voided, openPool, threshold, open, cancelled, waiting }
})
