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
import { freshWeek, millisBefore, moveTo, plus, resultsOf, settleDue } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { rowsOf } from "../support/database.ts"
import { answer, ask, askAnew, everyKind } from "../support/kinds.ts"
import type { Question, Kind } from "../support/kinds.ts"
import { audited } from "../support/loggedFixture.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const endedBy = (kind: Kind, { id }: Question, reason: string) =>
  Scoring.use((scoring) => scoring.void(kind.type, id, reason))
const scorecard = (agent: AgentId) => Scoring.use((scoring) => scoring.scorecard(agent, firstPage))
const amend = ({ id }: { readonly id: string }, amendment: Amendment) =>
  Amendments.use((amendments) => amendments.amend(id, amendment))

/** The verdict on each agent's latest answer. */
const verdictsOf = (question: Question, agents: ReadonlyArray<AgentId>) =>
  Effect.map(resultsOf(question), ({ predictions }) =>
    agents.map((agent) => {
      const found = predictions.find(({ agent_id }) => agent_id === agent)
      assert(found !== undefined)
      const { crps, is_correct, score, skill } = found
      return { crps, is_correct, score, skill }
    })
  )

/** The answers of two agents; the first has revised a bad one to the good one. */
const answered = Effect.fnUntraced(function* (kind: Kind, question: Question) {
  const [right, wrong] = [yield* claimedAgent(), yield* claimedAgent()]
  const [good, bad] = kind.answers
  yield* answer(right, kind, question, bad)
  yield* answer(right, kind, question, { ...good, is_revision: true })
  yield* answer(wrong, kind, question, bad)
  return [right, wrong] as const
})

const settled = Effect.fnUntraced(function* (kind: Kind) {
  const question = yield* askAnew(kind)
  const agents = yield* answered(kind, question)
  yield* moveTo(question.end)
  yield* kind.publish(question.end)
  yield* kind.settle(question)
  return { question, agents }
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
        const question = yield* askAnew(kind)
        const unanswered = yield* ask(kind)
        const agents = yield* answered(kind, question)
        yield* moveTo(millisBefore(question.deadline, 1))
        if (kind.type === "macro") {
          const early = yield* Effect.flip(kind.settle(question))
          assert.strictEqual(early.code, "challenge_state")
        }
        for (const moment of [millisBefore(question.end, 1), question.end]) {
          yield* moveTo(moment)
          const { cancelled, failed, resolved } = yield* settleDue
          assert.deepStrictEqual([cancelled, failed, resolved], [[], [], []])
        }
        yield* kind.publish(question.end)
        yield* Effect.all([kind.settle(question), kind.settle(question), kind.settle(question)], {
          concurrency: 3
        })
        yield* kind.settle(unanswered)

        const shown = yield* resultsOf(question)
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
          settled_at: DateTime.formatIso(question.end),
          source: kind.source,
          amended: false,
          void_reason: null
        })
        assert.strictEqual(shown.resolved_at, shown.settlement?.settled_at)
        assert.deepStrictEqual(yield* verdictsOf(question, agents), [...kind.verdicts])
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
        const { predictions, ...empty } = yield* resultsOf(unanswered)
        assert.deepStrictEqual(predictions, [])
        assert.deepInclude(empty, { ...kind.outcome, status: "resolved" })

        // A later run changes nothing.
        const before = yield* written
        yield* moveTo(plus(question.end, "3 days"))
        yield* settleDue
        yield* kind.settle(question)
        assert.deepStrictEqual(yield* written, before)
      })
  )

  it.effect.each(everyKind)("An answer that races the settlement is scored or refused: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      const agents = yield* claimedAgents(12)
      yield* moveTo(question.end)
      yield* kind.publish(question.end)
      const stamp = millisBefore(question.deadline, 1)
      const [exits] = yield* Effect.all(
        [
          Effect.forEach(
            agents,
            (agent) => Effect.exit(answer(agent, kind, question, kind.answers[0], stamp)),
            {
              concurrency: 12
            }
          ),
          Effect.replicateEffect(kind.settle(question), 3, { concurrency: 3 })
        ],
        { concurrency: 2 }
      )
      const { predictions } = yield* resultsOf(question)
      assert.strictEqual(predictions.length, exits.filter(Exit.isSuccess).length)
      assert.isTrue(predictions.every(({ score }) => score !== null))
    })
  )

  it.effect("The audits find nothing after the settlements of every kind", () => audited)
})

layer(testServices())("The end of every kind without a result", (it) => {
  const assertEnded = Effect.fnUntraced(function* (
    kind: Kind,
    question: Question,
    agents: ReadonlyArray<AgentId>
  ) {
    const shown = yield* resultsOf(question)
    assert.deepInclude(shown, {
      status: kind.ended,
      result: null,
      actual_value: null,
      settlement: null,
      prediction_count: 2
    })
    const listed = yield* Arenas.use((arenas) => arenas.list(kind.type, { status: kind.ended }, firstPage))
    assert.isTrue(listed.items.some(({ id }) => id === question.id))
    assert.deepStrictEqual(
      yield* verdictsOf(question, agents),
      agents.map(() => unscored)
    )
    const [scored, newcomer] = [agents[0], yield* claimedAgent()]
    assert(scored !== undefined)
    assert.strictEqual((yield* scorecard(scored)).overall.prediction_count, 0)
    const inTime = millisBefore(question.deadline, 1)
    for (const [agent, is_revision, receivedAt] of [
      [newcomer, false, inTime],
      [newcomer, false, undefined],
      [scored, false, inTime],
      [scored, true, inTime]
    ] as const) {
      const refused = yield* Effect.flip(
        answer(agent, kind, question, { ...kind.answers[0], is_revision }, receivedAt)
      )
      assert.strictEqual(refused.code, "challenge_cancelled")
    }
    return kind.ended === "void" ? shown.void_reason : shown.cancel_reason
  })

  it.effect.each(everyKind)(
    "A question without a value waits, then ends once and scores nobody: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const question = yield* askAnew(kind)
        const agents = yield* answered(kind, question)
        yield* moveTo(millisBefore(question.cancelAt, 1))
        assert.deepStrictEqual((yield* settleDue).cancelled, [])
        assert.strictEqual((yield* resultsOf(question)).status, "closed")
        yield* moveTo(question.cancelAt)
        const reports = yield* Effect.replicateEffect(settleDue, 3, { concurrency: 3 })
        assert.deepStrictEqual(
          reports.flatMap(({ cancelled }) => cancelled),
          [question.id]
        )
        // A value that comes later is too late.
        yield* kind.publish(question.end)
        if (kind.type === "macro") yield* Effect.flip(kind.settle(question))
        assert.deepStrictEqual((yield* settleDue).resolved, [])
        const { text, until } = kind.unknown(question)
        const reason = yield* assertEnded(kind, question, agents)
        assert.include(reason, `${text} ${inUtc(DateTime.toEpochMillis(until))}`)
      })
  )

  it.effect.each(everyKind)("A value that comes at the last moment of the wait settles: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      // An administrator's value has its moment from the request, a price from its import.
      yield* moveTo(kind.type === "macro" ? millisBefore(question.cancelAt, 1) : question.cancelAt)
      yield* kind.publish(question.end)
      yield* kind.settle(question)
      assert.deepInclude(yield* resultsOf(question), { status: "resolved", ...kind.outcome })
    })
  )

  it.effect.each(everyKind)("An administrator ends a question once, unless it has a result: %s", ([, kind]) =>
    Effect.gen(function* () {
      const [question, decided] = [yield* askAnew(kind), yield* ask(kind)]
      const agents = yield* answered(kind, question)
      const refused = (each: Question) =>
        Effect.map(Effect.flip(endedBy(kind, each, "another reason")), ({ code }) =>
          assert.strictEqual(code, "challenge_state")
        )
      if (kind.ended === "void") {
        yield* moveTo(millisBefore(question.deadline, 1))
        yield* refused(question)
      } else {
        const open = yield* ask(kind)
        yield* answered(kind, open)
        assert.strictEqual((yield* endedBy(kind, open, "early")).status, "cancelled")
        assert.deepStrictEqual((yield* resultsOf(open)).predictions, [])
      }
      yield* moveTo(question.deadline)
      const ended = yield* endedBy(kind, question, "The exchange was shut.")
      assert.strictEqual(ended.status, kind.ended)
      yield* refused(question)
      yield* moveTo(question.end)
      yield* kind.publish(question.end)
      if (kind.type === "macro") yield* Effect.flip(kind.settle(question))
      yield* kind.settle(decided)
      yield* refused(decided)
      assert.strictEqual((yield* resultsOf(decided)).status, "resolved")
      assert.strictEqual(yield* assertEnded(kind, question, agents), "The exchange was shut.")
      assert.isNull((yield* resultsOf(question)).log.settlement_proof)
    })
  )

  it.effect("The audits find nothing after the ends of every kind", () => audited)
})

layer(testServices())("An amendment of every kind", (it) => {
  const reason = "The source corrected it."

  it.effect.each(everyKind)("An amendment is a version that scores every answer again: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { agents, question } = yield* settled(kind)
      const before = yield* resultsOf(question)
      yield* moveTo(plus(question.end, "1 hour"))
      const amended = yield* amend(question, { ...kind.correction, reason })
      assert.deepInclude(amended, { type: kind.type, status: "resolved", ...kind.amended })
      const shown = yield* resultsOf(question)
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
          settled_at: DateTime.formatIso(question.end),
          source: kind.source,
          reason: null,
          leaf_index: null
        },
        { ...kind.amended, version: 2, settled_at: now, source: "admin", reason, leaf_index: null }
      ])
      assert.deepStrictEqual(yield* verdictsOf(question, agents), [...kind.amendedVerdicts])
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
             where challenge_id = ${question.id}::uuid and agent_id = ${agent}::uuid order by version`
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
      const { question } = yield* settled(kind)
      const { actual_value, close_price } = kind.outcome
      const decided = actual_value === null ? { close_price: close_price ?? NaN } : { actual_value }
      const assertCurrent = Effect.fnUntraced(function* (value: Omit<Amendment, "reason">, version: number) {
        const { code, detail } = yield* Effect.flip(amend(question, { ...value, reason: "another" }))
        assert.strictEqual(code, "challenge_state")
        assert.include(detail, `already, in version ${version}.`)
      })
      yield* assertCurrent(decided, 1)
      const amendment = { ...kind.correction, reason }
      const answers = yield* Effect.all(
        times(8, () => amend(question, amendment)),
        { concurrency: "unbounded" }
      )
      yield* moveTo(plus(question.end, "1 hour"))
      for (const each of [...answers, yield* amend(question, amendment)]) {
        assert.deepStrictEqual(each, answers[0])
      }
      yield* assertCurrent(kind.correction, 2)
      assert.lengthOf((yield* resultsOf(question)).versions, 2)
    })
  )

  it.effect.each(everyKind)("An amendment takes possible values of the fitting field alone: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { question } = yield* settled(kind)
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
        const refused = yield* Effect.flip(amend(question, { ...amendment, reason }))
        assert(refused._tag === "InvalidRequest")
        assert.deepStrictEqual(
          refused.errors.map(({ path }) => path),
          [field]
        )
      }
      assert.lengthOf((yield* resultsOf(question)).versions, 1)
    })
  )

  it.effect.each(everyKind)("Only a resolved question can be amended: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      const assertRefused = Effect.fnUntraced(function* (status: string) {
        const { code, detail } = yield* Effect.flip(amend(question, { ...kind.correction, reason }))
        const expected = `The challenge is ${status}; only one that is resolved can be amended.`
        assert.deepStrictEqual([code, detail], ["challenge_state", expected])
      })
      yield* assertRefused("open")
      yield* moveTo(question.deadline)
      yield* assertRefused("closed")
      yield* endedBy(kind, question, "why")
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
