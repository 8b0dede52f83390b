/** The rules of questions and answers that hold for every kind: where a question is listed, and which answers count. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import canonicalize from "canonicalize"
import { DateTime, Effect, Exit, Schema } from "effect"
import { Arenas } from "../../src/services/Arenas.ts"
import { emptyAnswer } from "../../src/services/domain/Prediction.ts"
import { AnyStatus, ChallengeType } from "../../src/services/domain/Challenge.ts"
import type { NewAnswer } from "../../src/services/domain/Answer.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent, provisionalAgent } from "../support/agents.ts"
import { freshWeek, millisBefore, moveTo, plus, resultsOf, settleDue, submit } from "../support/challenges.ts"
import { times } from "../support/concurrently.ts"
import { rowsOf } from "../support/database.ts"
import { answer, ask, askAnew, everyKind } from "../support/kinds.ts"
import type { Question, Kind } from "../support/kinds.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"

const counted = ({ id }: Question) =>
  Effect.map(
    Arenas.use((arenas) => arenas.get(id)),
    ({ prediction_count }) => prediction_count
  )

/** After the deadline an answer is refused; on a direction it is a paper-trade signal. */
const assertTooLate = Effect.fnUntraced(function* (kind: Kind, late: ReturnType<typeof answer>) {
  if (kind.type !== "directional") {
    return assert.strictEqual((yield* Effect.flip(late)).code, "challenge_closed")
  }
  const signal = yield* late
  assert.isFalse(signal.replaced)
  assert.deepInclude(signal.answer, { counts_for_score: false, receipt: null })
})

layer(testServices())("A question of every kind", (it) => {
  it.effect.each(everyKind)("A question is in the list of its type, and in no other arena: %s", ([, kind]) =>
    Effect.gen(function* () {
      const [arenas, scoring] = [yield* Arenas, yield* Scoring]
      const { id } = yield* askAnew(kind)
      const agent = yield* claimedAgent()
      for (const type of ChallengeType.literals) {
        const { items } = yield* arenas.list(type, { status: "open" }, firstPage)
        assert.strictEqual(
          items.some((each) => each.id === id),
          type === kind.type
        )
        if (type === kind.type) continue
        for (const refused of [
          yield* Effect.flip(arenas.getOf(type, id)),
          yield* Effect.flip(scoring.void(type, id, "why")),
          yield* Effect.flip(answer(agent, { ...kind, type }, { id }, kind.answers[0]))
        ]) {
          assert.strictEqual(refused._tag, "NotFound")
        }
      }
      if (kind.type !== "macro") {
        assert.strictEqual((yield* Effect.flip(scoring.resolveMacro(id, 3))).code, "not_found")
      }
    })
  )

  it.effect.each(everyKind)("The status of a question follows the clock, without any job: %s", ([, kind]) =>
    Effect.gen(function* () {
      const arenas = yield* Arenas
      const question = yield* askAnew(kind)
      const assertIs = Effect.fnUntraced(function* (status: AnyStatus) {
        assert.strictEqual((yield* arenas.get(question.id)).status, status)
        assert.strictEqual((yield* resultsOf(question)).status, status)
        for (const each of AnyStatus.literals) {
          const { items } = yield* arenas.list(kind.type, { status: each }, firstPage)
          assert.strictEqual(
            items.some(({ id }) => id === question.id),
            each === status,
            each
          )
        }
      })
      yield* moveTo(millisBefore(question.deadline, 1))
      yield* assertIs("open")
      yield* moveTo(question.deadline)
      yield* assertIs("closed")
      yield* moveTo(question.end)
      yield* kind.publish(question.end)
      yield* assertIs("closed")
      yield* kind.settle(question)
      yield* assertIs("resolved")
    })
  )
})

const Kept = Schema.Struct({
  revision: Schema.Int,
  reasoning: Schema.NullOr(Schema.String),
  commit: Schema.String
})

const reasons = ['Gold \u{1f947}, "quoted" \\ line\nbreak, Überraschung', undefined, "three"]

const sha256 = (...parts: ReadonlyArray<string | Uint8Array>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}

layer(testServices())("An answer to a question of every kind", (it) => {
  it.effect.each(everyKind)(
    "An answer is sealed, counts once, and is replaced by revisions: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const question = yield* askAnew(kind)
        const now = DateTime.formatIso(yield* DateTime.now)
        const agent = yield* claimedAgent()
        const [good, bad] = kind.answers
        const sealed = Effect.fnUntraced(function* (
          revision: number,
          values: NewAnswer,
          isRevision: boolean
        ) {
          const reasoning = reasons[revision]
          const recorded = yield* answer(agent, kind, question, {
            ...values,
            ...(reasoning !== undefined && { reasoning }),
            ...(isRevision && { is_revision: true })
          })
          const { prediction_id, receipt, stake: _, ...shown } = recorded.answer
          assert.strictEqual(recorded.replaced, revision > 0)
          assert.deepStrictEqual(shown, {
            challenge_id: question.id,
            ...emptyAnswer,
            ...values,
            created_at: now,
            counts_for_score: true,
            note: null,
            revision_count: revision
          })
          assert(receipt !== null)
          assert.isNull(receipt.leaf_index)
          const body = {
            agent_id: agent,
            challenge_id: question.id,
            kind: kind.type,
            reasoning_sha256: reasoning === undefined ? null : sha256(reasoning),
            received_at: now,
            revision,
            values
          }
          assert.strictEqual(receipt.body, canonicalize(body))
          assert.strictEqual(
            receipt.commit,
            sha256("auspex/commit/v1\0", Buffer.from(receipt.salt, "hex"), receipt.body)
          )
          return { prediction_id, receipt }
        })

        // A revision of nothing is the first answer.
        const first = yield* sealed(0, bad, true)
        for (const again of kind.isReplaced ? [] : [good, { ...good, is_revision: false }]) {
          const refused = yield* Effect.flip(answer(agent, kind, question, again))
          assert.strictEqual(refused.code, "duplicate_prediction")
        }
        const second = yield* sealed(1, good, !kind.isReplaced)
        const third = yield* sealed(2, good, true)

        assert.strictEqual(yield* counted(question), 1)
        assert.deepStrictEqual((yield* resultsOf(question)).predictions, [])
        const own = yield* Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
        assert.lengthOf(own.items, 1)
        assert.deepInclude(own.items[0], {
          ...emptyAnswer,
          ...good,
          ...third,
          type: kind.type,
          challenge_status: "open",
          reasoning: "three",
          revision_count: 2,
          is_correct: null,
          score: null
        })
        const kept = yield* rowsOf(
          Kept,
          (sql) => sql`
          select revision, reasoning, encode(commit, 'hex') as commit
            from predictions where challenge_id = ${question.id}::uuid order by revision`
        )
        assert.deepStrictEqual(
          kept,
          [first, second, third].map(({ receipt: { commit } }, revision) => ({
            revision,
            reasoning: reasons[revision] ?? null,
            commit
          }))
        )
        assert.strictEqual(new Set([first, second, third].map(({ receipt }) => receipt.salt)).size, 3)
      })
  )

  it.effect.each(everyKind)("An answer counts until a millisecond before the deadline: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      const [early, late, later] = [yield* claimedAgent(), yield* claimedAgent(), yield* claimedAgent()]
      const { deadline } = question
      const [good, bad] = kind.answers
      const counts = yield* answer(early, kind, question, good, millisBefore(deadline, 1))
      assert.isTrue(counts.answer.counts_for_score)
      yield* assertTooLate(kind, answer(late, kind, question, good, deadline))
      yield* assertTooLate(kind, answer(later, kind, question, good, plus(deadline, "1 hour")))
      yield* assertTooLate(kind, answer(early, kind, question, { ...bad, is_revision: true }, deadline))
      assert.strictEqual(yield* counted(question), 1)
      yield* moveTo(deadline)
      const { predictions } = yield* resultsOf(question)
      assert.lengthOf(predictions, 1)
      assert.deepInclude(predictions[0], { agent_id: early, ...good })
    })
  )

  it.effect.each(everyKind)("An answer in time counts until the close, and is refused then: %s", ([, kind]) =>
    Effect.gen(function* () {
      const question = yield* askAnew(kind)
      const [onItsWay, tooLate] = [yield* claimedAgent(), yield* claimedAgent()]
      const stamp = millisBefore(question.deadline, 1)
      const close = plus(question.deadline, "15 seconds")
      yield* moveTo(millisBefore(close, 1))
      yield* settleDue
      const taken = yield* answer(onItsWay, kind, question, kind.answers[0], stamp)
      assert.isTrue(taken.answer.counts_for_score)
      yield* moveTo(close)
      yield* settleDue
      const refused = yield* Effect.flip(answer(tooLate, kind, question, kind.answers[0], stamp))
      assert.strictEqual(refused._tag, "NotRecordedInTime")
      assert.include("detail" in refused ? refused.detail : "", `received at ${DateTime.formatIso(stamp)}`)
      yield* assertTooLate(kind, answer(tooLate, kind, question, kind.answers[0]))
      assert.strictEqual(yield* counted(question), 1)
    })
  )

  it.effect.each(everyKind)("Answers of one agent at once are recorded one after the other: %s", ([, kind]) =>
    Effect.gen(function* () {
      const [question, other] = [yield* askAnew(kind), yield* ask(kind)]
      const agent = yield* claimedAgent()
      const eight = times(8, (index) => index)
      const sent = yield* Effect.forEach(
        eight,
        (index) => answer(agent, kind, question, { ...kind.answers[index % 2], is_revision: true }),
        { concurrency: 8 }
      )
      assert.sameMembers(
        sent.map((each) => each.answer.revision_count),
        eight
      )
      const exits = yield* Effect.forEach(
        eight,
        () => Effect.exit(answer(agent, kind, other, kind.answers[0])),
        { concurrency: 8 }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, kind.isReplaced ? 8 : 1)
      assert.deepStrictEqual([yield* counted(question), yield* counted(other)], [1, 1])
    })
  )

  it.effect.each(everyKind)(
    "An answer that does not fit is refused by the names of its fields: %s",
    ([, kind]) =>
      Effect.gen(function* () {
        const question = yield* askAnew(kind)
        const agent = yield* claimedAgent()
        for (const [misfit, paths] of kind.misfits) {
          const refused = yield* Effect.flip(answer(agent, kind, question, misfit))
          assert(refused._tag === "InvalidRequest")
          assert.deepStrictEqual(
            refused.errors.map(({ path }) => path).toSorted(),
            paths,
            JSON.stringify(misfit)
          )
        }
        assert.strictEqual(yield* counted(question), 0)
      })
  )

  it.effect.each(everyKind)("Only an answer to a price event needs the asset's scope: %s", ([, kind]) =>
    Effect.gen(function* () {
      const { id } = yield* askAnew(kind)
      const agentId = yield* claimedAgent()
      yield* Targets.use((targets) => targets.subscribe(agentId, "BTC"))
      const sent = submit({
        agentId,
        challengeId: id,
        answer: kind.answers[0],
        receivedAt: yield* DateTime.now
      })
      if (kind.type === "price_event") {
        assert.strictEqual((yield* Effect.flip(sent)).code, "scope_not_subscribed")
        yield* Targets.use((targets) => targets.subscribe(agentId, "ETH"))
      }
      yield* sent
    })
  )

  it.effect(
    "Answers of a provisional agent to all kinds at once are taken up to its cap, revisions besides",
    () =>
      Effect.gen(function* () {
        yield* freshWeek
        const agent = yield* provisionalAgent()
        const questions = yield* Effect.forEach([...everyKind, ...everyKind], ([, kind]) =>
          Effect.map(ask(kind), (question) => ({ question, kind }))
        )
        const sent = yield* Effect.forEach(
          questions,
          ({ question, kind }) => Effect.exit(answer(agent, kind, question, kind.answers[0])),
          { concurrency: questions.length }
        )
        assert.strictEqual(sent.filter(Exit.isSuccess).length, 10)
        for (const [index, { question, kind }] of questions.entries()) {
          const again = answer(agent, kind, question, { ...kind.answers[1], is_revision: true })
          const exit = sent[index]
          if (exit !== undefined && Exit.isSuccess(exit)) assert.isTrue((yield* again).replaced)
          else assert.strictEqual((yield* Effect.flip(again)).code, "provisional_limit")
        }
      })
  )
})
