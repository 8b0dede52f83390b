/** The rules of endings that hold for every kind: settled once and exactly, void without a value, amended by a new version. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Exit, Schema } from "effect"
import { inUtc } from "../../src/scoring/wording.ts"
import { Amendments } from "../../src/services/Amendments.ts"
import type { Amendment } from "../../src/services/Amendments.ts"
import { Arenas } from "../../src/services/Arenas.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import { freshWeek, millisBefore, moveTo, plus } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { rowsOf } from "../support/database.ts"
import { answer, ask, askAnew, everyKind, settleDue } from "../support/kinds.ts"
import type { Asked, Kind } from "../support/kinds.ts"
import { audited } from "../support/loggedFixture.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const results = ({ id }: { readonly id: string }) => Arenas.use((arenas) => arenas.results(id, firstPage))
const endedBy = (kind: Kind, { id }: Asked, reason: string) =>
  Scoring.use((scoring) => scoring.void(kind.type, id, reason))
const scorecard = (agent: AgentId) => Scoring.use((scoring) => scoring.scorecard(agent, firstPage))
const amend = ({ id }: { readonly id: string }, amendment: Amendment) =>
  Amendments.use((amendments) => amendments.amend(id, amendment))

/** The verdict on each agent's latest answer. */
const verdictsOf = (asked: Asked, agents: ReadonlyArray<AgentId>) =>
  Effect.map(results(asked), ({ predictions }) =>
    agents.map((agent) => {
      const found = predictions.find(({ agent_id }) => agent_id === agent)
      assert(found !== undefined)
      const { crps, is_correct, score, skill } = found
      return { crps, is_correct, score, skill }
    })
  )

/** The answers of two agents; the first has revised a bad one to the good one. */
const answered = Effect.fnUntraced(function* (kind: Kind, asked: Asked) {
  const [right, wrong] = [yield* claimedAgent(), yield* claimedAgent()]
  const [good, bad] = kind.answers
  yield* answer(right, kind, asked, bad)
  yield* answer(right, kind, asked, { ...good, is_revision: true })
  yield* answer(wrong, kind, asked, bad)
  return [right, wrong] as const
})

const settled = Effect.fnUntraced(function* (kind: Kind) {
  const asked = yield* askAnew(kind)
  const agents = yield* answered(kind, asked)
  yield* moveTo(asked.end)
  yield* kind.publish(asked.end)
  yield* kind.settle(asked)
  return { asked, agents }
})

/** Everything that a settlement writes. */
const written = Effect.forEach(
  ["settlements", "prediction_scores", "agent_stats", "boards", "calibration_stats", "challenges"],
  (table) =>
    rowsOf(
      Schema.Struct({ hash: Schema.NullOr(Schema.String) }),
      (sql) => sql`select md5(string_agg(t::text, '|' order by t::text)) as hash from ${sql(table)} t`
    )
)

const unscored = { crps: null, is_correct: null, score: null, skill: null }

layer(testServices())("The settlement of every kind", (it) => {
  it.effect.each(everyKind)(
    "A question settles at its end, once, and scores the latest answers: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const asked = yield* askAnew(kind)
        const unanswered = yield* ask(kind)
        const agents = yield* answered(kind, asked)
        yield* moveTo(millisBefore(asked.deadline, 1))
        if (kind.type === "macro") {
          const early = yield* Effect.flip(kind.settle(asked))
          assert.strictEqual(early.code, "challenge_state")
        }
        for (const moment of [millisBefore(asked.end, 1), asked.end]) {
          yield* moveTo(moment)
          const { cancelled, failed, resolved } = yield* settleDue
          assert.deepStrictEqual([cancelled, failed, resolved], [[], [], []])
        }
        yield* kind.publish(asked.end)
        yield* Effect.all([kind.settle(asked), kind.settle(asked), kind.settle(asked)], { concurrency: 3 })
        yield* kind.settle(unanswered)

        const shown = yield* results(asked)
        assert.deepInclude(shown, {
          ...kind.outcome,
          type: kind.type,
          status: "resolved",
          resolution_source: kind.source,
          prediction_count: 2,
          cancel_reason: null,
          void_reason: null
        })
        assert.deepStrictEqual(shown.settlement, {
          version: 1,
          settled_at: DateTime.formatIso(asked.end),
          source: kind.source,
          amended: false,
          void_reason: null
        })
        assert.strictEqual(shown.resolved_at, shown.settlement?.settled_at)
        assert.deepStrictEqual(yield* verdictsOf(asked, agents), [...kind.verdicts])
        for (const [index, agent] of agents.entries()) {
          const verdict = kind.verdicts[index]
          const { categories, overall, predictions, targets } = yield* scorecard(agent)
          assert.deepStrictEqual([categories.length, targets.length], [1, 1])
          for (const stats of [overall, ...categories, ...targets]) {
            assert.deepInclude(stats, {
              prediction_count: 1,
              correct_count: Number(verdict?.is_correct === true),
              mean_skill: verdict?.skill ?? null
            })
            assert.closeTo(stats.avg_score ?? NaN, verdict?.score ?? NaN, 1e-12)
          }
          assert.deepInclude(predictions[0], {
            type: kind.type,
            score: verdict?.score ?? NaN,
            amended: false
          })
        }
        const { predictions, ...empty } = yield* results(unanswered)
        assert.deepStrictEqual(predictions, [])
        assert.deepInclude(empty, { ...kind.outcome, status: "resolved" })

        // A later run changes nothing.
        const before = yield* written
        yield* moveTo(plus(asked.end, "3 days"))
        yield* settleDue
        yield* kind.settle(asked)
        assert.deepStrictEqual(yield* written, before)
      })
  )

  it.effect.each(everyKind)("An answer that races the settlement is scored or refused: %s", ([, kind]) =>
    Effect.gen(function* () {
      const asked = yield* askAnew(kind)
      const agents = yield* claimedAgents(12)
      yield* moveTo(asked.end)
      yield* kind.publish(asked.end)
      const stamp = millisBefore(asked.deadline, 1)
      const [exits] = yield* Effect.all(
        [
          Effect.forEach(agents, (agent) => Effect.exit(answer(agent, kind, asked, kind.answers[0], stamp)), {
            concurrency: 12
          }),
          Effect.replicateEffect(kind.settle(asked), 3, { concurrency: 3 })
        ],
        { concurrency: 2 }
      )
      const { predictions } = yield* results(asked)
      assert.strictEqual(predictions.length, exits.filter(Exit.isSuccess).length)
      assert.isTrue(predictions.every(({ score }) => score !== null))
    })
  )

  it.effect("The audits find nothing after the settlements of every kind", () => audited)
})

layer(testServices())("The end of every kind without a result", (it) => {
  const assertEnded = Effect.fnUntraced(function* (kind: Kind, asked: Asked, agents: ReadonlyArray<AgentId>) {
    const shown = yield* results(asked)
    assert.deepInclude(shown, {
      status: kind.ended,
      result: null,
      actual_value: null,
      settlement: null,
      prediction_count: 2
    })
    const listed = yield* Arenas.use((arenas) => arenas.list(kind.type, { status: kind.ended }, firstPage))
    assert.isTrue(listed.items.some(({ id }) => id === asked.id))
    assert.deepStrictEqual(
      yield* verdictsOf(asked, agents),
      agents.map(() => unscored)
    )
    const [scored, newcomer] = [agents[0], yield* claimedAgent()]
    assert(scored !== undefined)
    assert.strictEqual((yield* scorecard(scored)).overall.prediction_count, 0)
    const inTime = millisBefore(asked.deadline, 1)
    for (const [agent, is_revision, receivedAt] of [
      [newcomer, false, inTime],
      [newcomer, false, undefined],
      [scored, false, inTime],
      [scored, true, inTime]
    ] as const) {
      const refused = yield* Effect.flip(
        answer(agent, kind, asked, { ...kind.answers[0], is_revision }, receivedAt)
      )
      assert.strictEqual(refused.code, "challenge_cancelled")
    }
    return kind.ended === "void" ? shown.void_reason : shown.cancel_reason
  })

  it.effect.each(everyKind)(
    "A question without a value waits, then ends once and scores nobody: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const asked = yield* askAnew(kind)
        const agents = yield* answered(kind, asked)
        yield* moveTo(millisBefore(asked.cancelAt, 1))
        assert.deepStrictEqual((yield* settleDue).cancelled, [])
        assert.strictEqual((yield* results(asked)).status, "closed")
        yield* moveTo(asked.cancelAt)
        const reports = yield* Effect.replicateEffect(settleDue, 3, { concurrency: 3 })
        assert.deepStrictEqual(
          reports.flatMap(({ cancelled }) => cancelled),
          [asked.id]
        )
        // A value that comes later is too late.
        yield* kind.publish(asked.end)
        if (kind.type === "macro") yield* Effect.flip(kind.settle(asked))
        assert.deepStrictEqual((yield* settleDue).resolved, [])
        const { text, until } = kind.unknown(asked)
        const reason = yield* assertEnded(kind, asked, agents)
        assert.include(reason, `${text} ${inUtc(DateTime.toEpochMillis(until))}`)
      })
  )

  it.effect.each(everyKind)("A value that comes at the last moment of the wait settles: %s", ([, kind]) =>
    Effect.gen(function* () {
      const asked = yield* askAnew(kind)
      // An administrator's value has its moment from the request, a price from its import.
      yield* moveTo(kind.type === "macro" ? millisBefore(asked.cancelAt, 1) : asked.cancelAt)
      yield* kind.publish(asked.end)
      yield* kind.settle(asked)
      assert.deepInclude(yield* results(asked), { status: "resolved", ...kind.outcome })
    })
  )

  it.effect.each(everyKind)("An administrator ends a question once, unless it has a result: %s", ([, kind]) =>
    Effect.gen(function* () {
      const [asked, decided] = [yield* askAnew(kind), yield* ask(kind)]
      const agents = yield* answered(kind, asked)
      const refused = (each: Asked) =>
        Effect.map(Effect.flip(endedBy(kind, each, "another reason")), ({ code }) =>
          assert.strictEqual(code, "challenge_state")
        )
      if (kind.ended === "void") {
        yield* moveTo(millisBefore(asked.deadline, 1))
        yield* refused(asked)
      } else {
        const open = yield* ask(kind)
        yield* answered(kind, open)
        assert.strictEqual((yield* endedBy(kind, open, "early")).status, "cancelled")
        assert.deepStrictEqual((yield* results(open)).predictions, [])
      }
      yield* moveTo(asked.deadline)
      const ended = yield* endedBy(kind, asked, "The exchange was shut.")
      assert.strictEqual(ended.status, kind.ended)
      yield* refused(asked)
      yield* moveTo(asked.end)
      yield* kind.publish(asked.end)
      if (kind.type === "macro") yield* Effect.flip(kind.settle(asked))
      yield* kind.settle(decided)
      yield* refused(decided)
      assert.strictEqual((yield* results(decided)).status, "resolved")
      assert.strictEqual(yield* assertEnded(kind, asked, agents), "The exchange was shut.")
      assert.isNull((yield* results(asked)).log.settlement_proof)
    })
  )

  it.effect("The audits find nothing after the ends of every kind", () => audited)
})

layer(testServices())("An amendment of every kind", (it) => {
  const reason = "The source corrected it."

  it.effect.each(everyKind)("An amendment is a version that scores every answer again: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { agents, asked } = yield* settled(kind)
      const before = yield* results(asked)
      yield* moveTo(plus(asked.end, "1 hour"))
      const amended = yield* amend(asked, { ...kind.correction, reason })
      assert.deepInclude(amended, { type: kind.type, status: "resolved", ...kind.amended })
      const shown = yield* results(asked)
      assert.deepInclude(shown, { ...kind.amended, resolved_at: before.resolved_at })
      const now = DateTime.formatIso(yield* DateTime.now)
      assert.deepStrictEqual(shown.settlement, {
        version: 2,
        settled_at: now,
        source: "admin",
        amended: true,
        void_reason: null
      })
      assert.deepStrictEqual([amended.settlement, amended.versions], [shown.settlement, shown.versions])
      assert.deepStrictEqual(shown.versions, [
        {
          ...kind.outcome,
          version: 1,
          settled_at: DateTime.formatIso(asked.end),
          source: kind.source,
          reason: null,
          leaf_index: null
        },
        { ...kind.amended, version: 2, settled_at: now, source: "admin", reason, leaf_index: null }
      ])
      assert.deepStrictEqual(yield* verdictsOf(asked, agents), [...kind.amendedVerdicts])
      for (const [index, agent] of agents.entries()) {
        const score = kind.amendedVerdicts[index]?.score ?? NaN
        const { overall, predictions } = yield* scorecard(agent)
        assert.deepInclude(predictions[0], { score, amended: true, settled_at: now })
        assert.strictEqual(overall.prediction_count, 1)
        assert.closeTo(overall.avg_score ?? NaN, score, 1e-12)
        const kept = yield* rowsOf(
          Schema.Struct({ version: Schema.Int, score: Schema.Finite }),
          (sql) => sql`
            select version, score::float8 as score from prediction_scores
             where challenge_id = ${asked.id}::uuid and agent_id = ${agent}::uuid order by version`
        )
        assert.deepStrictEqual(kept, [
          { version: 1, score: kind.verdicts[index]?.score ?? NaN },
          { version: 2, score }
        ])
      }
    })
  )

  it.effect.each(everyKind)("An amendment is made once, however often it is sent: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { asked } = yield* settled(kind)
      const { actual_value, close_price } = kind.outcome
      const decided = actual_value === null ? { close_price: close_price ?? NaN } : { actual_value }
      const assertCurrent = Effect.fnUntraced(function* (value: Omit<Amendment, "reason">, version: number) {
        const { code, detail } = yield* Effect.flip(amend(asked, { ...value, reason: "another" }))
        assert.strictEqual(code, "challenge_state")
        assert.include(detail, `already, in version ${version}.`)
      })
      yield* assertCurrent(decided, 1)
      const amendment = { ...kind.correction, reason }
      const answers = yield* Effect.all(
        times(8, () => amend(asked, amendment)),
        { concurrency: "unbounded" }
      )
      yield* moveTo(plus(asked.end, "1 hour"))
      for (const each of [...answers, yield* amend(asked, amendment)]) {
        assert.deepStrictEqual(each, answers[0])
      }
      yield* assertCurrent(kind.correction, 2)
      assert.lengthOf((yield* results(asked)).versions, 2)
    })
  )

  it.effect.each(everyKind)("An amendment takes possible values of the fitting field alone: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { asked } = yield* settled(kind)
      const [right, wrong] =
        kind.outcome.result === null
          ? (["actual_value", "close_price"] as const)
          : (["close_price", "actual_value"] as const)
      for (const [amendment, field] of [
        [{}, right],
        [{ [wrong]: 98 }, wrong],
        [{ ...kind.correction, [wrong]: 98 }, wrong],
        ...kind.impossible.map((value) => [{ [right]: value }, right] as const)
      ] as const) {
        const refused = yield* Effect.flip(amend(asked, { ...amendment, reason }))
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(
          refused.errors.map(({ path }) => path),
          [field]
        )
      }
      assert.lengthOf((yield* results(asked)).versions, 1)
    })
  )

  it.effect.each(everyKind)("Only a resolved question can be amended: %s", ([, kind]) =>
    Effect.gen(function* () {
      const asked = yield* askAnew(kind)
      const assertRefused = Effect.fnUntraced(function* (status: string) {
        const { code, detail } = yield* Effect.flip(amend(asked, { ...kind.correction, reason }))
        const expected = `The challenge is ${status}; only one that is resolved can be amended.`
        assert.deepStrictEqual([code, detail], ["challenge_state", expected])
      })
      yield* assertRefused("open")
      yield* moveTo(asked.deadline)
      yield* assertRefused("closed")
      yield* endedBy(kind, asked, "why")
      yield* assertRefused(kind.ended)
    })
  )

  it.effect("A challenge that does not exist cannot be amended", () =>
    Effect.gen(function* () {
      yield* freshWeek
      for (const id of ["nothing", "0190f000-0000-7000-8000-000000000000"]) {
        const refused = yield* Effect.flip(amend({ id }, { close_price: 98, reason }))
        assert.strictEqual(refused.code, "not_found")
      }
    })
  )

  it.effect("The audits find nothing after the amendments of every kind", () => audited)
})
