/**
 * Practice questions. Their slots follow from the clock, so questions are made ahead, and a second instance finds them made. The
 * outcome is drawn with the question and shown from its deadline on, so nothing has to be settled, and no job has to be in time.
 */
import { createHash, randomBytes, randomInt } from "node:crypto"
import { readFile } from "node:fs/promises"
import { Array as Arr, BigDecimal, DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { directionalResult, directionalScore, isCorrect } from "../../../scoring/directional.ts"
import type { Predicted, Submission } from "../../../services/Arenas.ts"
import { choiceOf, formProblems, reasonOf, valueNames } from "../../../services/domain/Answer.ts"
import { ChallengeClosed, Direction, unknownChallenge } from "../../../services/domain/Challenge.ts"
import { ChallengeId, isUuid, PredictionId } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { emptyAnswer } from "../../../services/domain/Prediction.ts"
import {
  Practice,
  PracticeRecord,
  practiceHours,
  practiceLength,
  practiceMemory,
  practiceQuestion,
  practiceSlot
} from "../../../services/Practice.ts"
import type { Candle } from "../../../services/Prices.ts"
import { failingAtLimits } from "../../../services/RateLimiter.ts"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { candlesOf } from "../../prices/Replay.ts"
import { floatOf, submittedValues } from "../challenges/challengeRows.ts"
import { saltBytes } from "../challenges/predictions/predictions.ts"
import { rejection } from "../challenges/predictions/rejections.ts"
import { makeAcceptance } from "../RateLimiter.ts"
import {
  arrayParam,
  boundNow,
  boundTime,
  decimal,
  execute,
  findAll,
  findOne,
  findOption,
  isoTimestamp,
  pageAfter,
  rowsOf,
  savepoint,
  timestamp
} from "../sql.ts"

const assets = ["BTC", "ETH", "GC"]

const anHour = Duration.toMillis(Duration.hours(1))

/** Recorded prices are multiplied by 0.5 to 2, so that neither the level of the asset nor the hour is recognizable. */
const scales = { minimum: 5000, maximum: 20_000, unit: 10_000 }

/** The significant digits of the shown prices, which also settle the question. */
const precision = 7

const outcomes = ["bullish", "neutral", "bearish"]
const question = { type: "directional", kind: "practice", outcomes } as const
const noLimits = {
  prediction_limit: null,
  max_revisions: null,
  max_bytes: null,
  is_provisional: null,
  max_std: null
}

/** The number of newest settled answers that an agent's scorecard uses. */
const scored = 200

/** The number of questions deleted at once: several times as many as a minute makes. */
const trimmed = 20

const readRecording = (asset: string) =>
  Effect.promise(() =>
    readFile(new URL(`../../prices/practice/${asset}-1h-practice.csv`, import.meta.url), "utf8")
  ).pipe(
    Effect.flatMap((text) => candlesOf("1h", text)),
    Effect.orDie
  )

const Missing = Schema.Struct({
  asset: Schema.String,
  opened_at: Schema.DateTimeUtcFromDate,
  dead_zone_pct: Schema.BigDecimalFromString
})

/** Draws a place in the recording and makes the question of it. */
const draw = ({ asset, dead_zone_pct, opened_at }: typeof Missing.Type, recording: ReadonlyArray<Candle>) => {
  const first = randomInt(practiceHours, recording.length - practiceHours)
  const scale = randomInt(scales.minimum, scales.maximum + 1) / scales.unit
  const shown = (price: number) => Number((price * scale).toPrecision(precision))
  const exact = (price: number) => BigDecimal.fromStringUnsafe(decimal(shown(price)))
  const closeAt = (index: number) => exact(Arr.getUnsafe(recording, index).close)
  const lastHour = Math.floor(DateTime.toEpochMillis(opened_at) / anHour) * anHour
  const candles = recording.slice(first - practiceHours, first).map(({ close, high, low, open }, index) => ({
    time: DateTime.formatIso(DateTime.makeUnsafe(lastHour - (practiceHours - index) * anHour)),
    open: shown(open),
    high: shown(high),
    low: shown(low),
    close: shown(close)
  }))
  const [openPrice, closePrice] = [closeAt(first - 1), closeAt(first - 1 + practiceHours)]
  return {
    asset,
    openedAt: opened_at,
    deadline: DateTime.addDuration(opened_at, practiceLength),
    openPrice: BigDecimal.format(openPrice),
    closePrice: BigDecimal.format(closePrice),
    deadZonePct: BigDecimal.format(dead_zone_pct),
    result: directionalResult(openPrice, closePrice, dead_zone_pct),
    candles: JSON.stringify(candles.toReversed())
  }
}

/** A question with the answer to it, and the revision that stands. */
const Answered = Schema.Struct({
  deadline: Schema.DateTimeUtcFromDate,
  asset: Schema.String,
  result: Direction,
  current_revision: Schema.NullOr(Schema.Int)
})

const { question: _, receipt, ...ownColumns } = PracticeRecord.fields.items.value.fields
const { leaf_index: __, ...sealed } = receipt.fields
const OwnRow = Schema.Struct({ ...ownColumns, ...sealed })

/** Each conflict means that another answer of the same agent has won. */
const maxAttempts = 20

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const accept = yield* makeAcceptance
  const pages = (yield* Cursors).listById("practice")
  const missing = findAll(Missing)
  const known = findAll(Schema.Struct({ id: Schema.String }))
  const answered = findOption(Answered)
  const written = findAll(Schema.Struct({ commit: Schema.String }))
  const ownRows = findAll(OwnRow)
  const scorecard = findOne(PracticeRecord.fields.scorecard)
  const recordings = yield* Effect.cached(
    Effect.all(Object.fromEntries(assets.map((asset) => [asset, readRecording(asset)])))
  )

  const makeDue = Effect.gen(function* () {
    const slot = practiceSlot(yield* boundNow(sql))
    const slots = [slot, DateTime.addDuration(slot, practiceLength)]
    const due = yield* missing(sql`
      select t.key as asset, s.opened_at, t.dead_zone_pct::text as dead_zone_pct
        from targets t
       cross join ${rowsOf(sql, "s", slots, { opened_at: ["timestamptz", timestamp] })}
       where ${sql.in("t.key", assets)}
         and not exists (select from practice_questions q where q.asset = t.key and q.opened_at = s.opened_at)`)
    if (due.length === 0) return
    const recorded = yield* recordings
    const drawn = yield* Effect.forEach(due, (each) =>
      Effect.map(random.uuidV7(), (id) => ({ id, ...draw(each, recorded[each.asset] ?? []) }))
    )
    yield* execute(sql`
      insert into practice_questions
        (id, asset, opened_at, deadline, open_price, close_price, dead_zone_pct, result, candles)
      select id, asset, opened_at, deadline, open_price, close_price, dead_zone_pct, result, candles::jsonb
        from ${rowsOf(sql, "q", drawn, {
          id: ["uuid", ({ id }) => id],
          asset: ["text", ({ asset }) => asset],
          opened_at: ["timestamptz", ({ openedAt }) => timestamp(openedAt)],
          deadline: ["timestamptz", ({ deadline }) => timestamp(deadline)],
          open_price: ["numeric", ({ openPrice }) => openPrice],
          close_price: ["numeric", ({ closePrice }) => closePrice],
          dead_zone_pct: ["numeric", ({ deadZonePct }) => deadZonePct],
          result: ["text", ({ result }) => result],
          candles: ["text", ({ candles }) => candles]
        })}
      on conflict (opened_at, asset) do nothing`)
  }).pipe(Effect.withSpan("Practice.makeDue"))

  /** Records an answer once; the result is none if another answer of the agent came first. */
  const attempt = Effect.fnUntraced(function* ({
    agentId,
    answer,
    challengeId,
    owed,
    receivedAt
  }: Submission) {
    const found = yield* answered(sql`
      select q.deadline, q.asset, q.result, p.revision as current_revision
        from practice_questions q
        left join practice_predictions p on p.question_id = q.id and p.agent_id = ${agentId}::uuid
       where q.id = ${challengeId}::uuid`)
    if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
    const { asset, current_revision, deadline, result } = found.value
    const choice = choiceOf(answer)
    const { confidence, direction } = choice?.values ?? {}
    const refused = (outcome: Parameters<typeof rejection>[1]["outcome"]) =>
      rejection(
        { receivedAt, values: answer },
        { ...question, ...noLimits, outcome, current_revision, target: asset }
      )
    if (answer.amount !== undefined && answer.amount !== null) return yield* refused("no_pool")
    if (
      choice === undefined ||
      direction === undefined ||
      confidence === undefined ||
      formProblems(question, answer).length > 0
    ) {
      return yield* refused("form_problems")
    }
    if (DateTime.isGreaterThanOrEqualTo(receivedAt, deadline)) {
      return yield* new ChallengeClosed({
        detail: "The deadline of this practice question has passed: GET /api/v1/eval/open has the next one."
      })
    }
    if (current_revision !== null && answer.is_revision !== true) return yield* refused("duplicate")
    if (answer.expected_revision !== undefined && answer.expected_revision !== (current_revision ?? -1)) {
      return yield* refused("other_revision")
    }
    const reasoning = reasonOf(answer)
    const revision = current_revision === null ? 0 : current_revision + 1
    const id = yield* random.uuidV7()
    const salt = randomBytes(saltBytes)
    const body = canonicalJson({
      agent_id: agentId,
      challenge_id: challengeId.toLowerCase(),
      kind: "practice",
      reasoning_sha256: reasoning === null ? null : createHash("sha256").update(reasoning).digest("hex"),
      received_at: DateTime.formatIso(receivedAt),
      revision,
      values: choice.sealed
    })
    const right = isCorrect(direction, result)
    const score = directionalScore(right, BigDecimal.fromStringUnsafe(decimal(confidence)))
    const accepted = yield* accept({ owed: [owed], recorded: sql`select 1 from written` })
    const [row] = yield* written(
      savepoint(sql)(sql`
        with written as (
          insert into practice_predictions as p
            (question_id, agent_id, id, revision, form, direction, confidence, reasoning, received_at, deadline, salt,
             body, commit, is_correct, score)
          values (${challengeId}::uuid, ${agentId}::uuid, ${id}::uuid, ${revision}::int, ${choice.form}, ${direction},
                  ${decimal(confidence)}::numeric, ${reasoning}, ${timestamp(receivedAt)}, ${timestamp(deadline)},
                  ${salt}::bytea, convert_to(${body}, 'UTF8'),
                  sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || ${salt}::bytea || convert_to(${body}, 'UTF8')),
                  ${right}, ${BigDecimal.format(score)}::numeric)
          on conflict (question_id, agent_id) do update
             set id = excluded.id, revision = excluded.revision, form = excluded.form, direction = excluded.direction,
                 confidence = excluded.confidence, reasoning = excluded.reasoning, received_at = excluded.received_at,
                 salt = excluded.salt, body = excluded.body, commit = excluded.commit,
                 is_correct = excluded.is_correct, score = excluded.score
           where p.revision + 1 = excluded.revision
          returning commit
        ),
        accepted as (${accepted})
        select encode(commit, 'hex') as commit from written cross join accepted`)
    )
    return Option.map(Option.fromUndefinedOr(row), ({ commit }): Predicted => ({
      answer: {
        prediction_id: PredictionId.make(id),
        challenge_id: ChallengeId.make(challengeId.toLowerCase()),
        ...emptyAnswer,
        ...choice.values,
        created_at: DateTime.formatIso(receivedAt),
        counts_for_score: false,
        note: "Practice: GET /api/v1/agent/practice tells how it came out, from the deadline on.",
        revision_count: revision,
        receipt: { commit, salt: salt.toString("hex"), body, leaf_index: null }
      },
      replaced: revision > 0,
      ignored: valueNames.filter((name) => answer[name] !== undefined && choice.values[name] === undefined)
    }))
  })

  const record = (submission: Submission) =>
    attempt(submission).pipe(
      Effect.repeat({ until: Option.isSome, times: maxAttempts }),
      Effect.map(Option.getOrThrowWith(() => new Error("a practice prediction met too many conflicts")))
    )

  const predict: Practice["Service"]["predict"] = Effect.fn("Practice.predict")(function* (submissions) {
    const ids = submissions.map(({ challengeId }) => challengeId.toLowerCase()).filter(isUuid)
    if (ids.length === 0) return submissions.map(() => Option.none())
    const found = yield* known(sql`
      select id::text as id from practice_questions
       where id = any(${arrayParam("uuid", ids)}) and opened_at <= ${timestamp(yield* DateTime.now)}`)
    const questions = new Set(found.map(({ id }) => id))
    return yield* Effect.forEach(submissions, (submission) =>
      questions.has(submission.challengeId.toLowerCase())
        ? Effect.asSome(Effect.result(failingAtLimits(record(submission))))
        : Effect.succeedNone
    )
  })

  const own: Practice["Service"]["own"] = Effect.fn("Practice.own")(function* (agentId, page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const now = timestamp(yield* DateTime.now)
    const rows = yield* ownRows(sql`
      select p.id::text as prediction_id, p.question_id::text as challenge_id, 'directional' as type, q.asset,
             case when p.is_over then 'resolved' else 'open' end as challenge_status,
             ${isoTimestamp(sql, "p.deadline")} as deadline, p.direction, ${floatOf(sql, "p.confidence")} as confidence,
             ${submittedValues(sql)} -> 'probabilities' as probabilities, null::float8 as predicted_value,
             null::float8 as predicted_std, null as quantiles, null as samples, p.reasoning, p.revision as revision_count,
             ${isoTimestamp(sql, "p.received_at")} as created_at, case when p.is_over then p.is_correct end as is_correct,
             null::float8 as crps, null::float8 as skill, case when p.is_over then p.score::float8 end as score,
             case when p.is_over then q.result end as result, q.open_price::float8 as open_price,
             case when p.is_over then q.close_price::float8 end as close_price,
             encode(p.commit, 'hex') as commit, encode(p.salt, 'hex') as salt, convert_from(p.body, 'UTF8') as body
        from (
          select *, deadline <= ${now} as is_over from practice_predictions
           where agent_id = ${agentId}::uuid ${pageAfter(sql, "id <", after)}
           order by id desc
           limit ${limit}) p
       cross join lateral (select * from practice_questions where id = p.question_id limit 1) q
       order by p.id desc`)
    const { items, next_cursor } = toPage(rows, (last) => last.prediction_id)
    return {
      scorecard: yield* scorecard(sql`
        select count(*)::int as prediction_count, count(*) filter (where is_correct)::int as correct_count,
               avg(is_correct::int)::float8 as accuracy_rate, avg(score)::float8 as avg_score
          from (
            select is_correct, score from practice_predictions
             where agent_id = ${agentId}::uuid and deadline <= ${now}
             order by id desc
             limit ${scored}) p`),
      items: items.map(({ body, commit, salt, ...own }) => ({
        ...own,
        question: practiceQuestion(own.asset),
        receipt: { commit, salt, body, leaf_index: null }
      })),
      next_cursor
    }
  })

  const trim = DateTime.now.pipe(
    Effect.flatMap((now) =>
      execute(sql`
        with old as (
          select id from practice_questions
           where opened_at < ${boundTime(sql, now, practiceMemory)}
           order by opened_at, asset
           limit ${trimmed}),
        answers as (delete from practice_predictions p using old where p.question_id = old.id)
        delete from practice_questions q using old where q.id = old.id`)
    ),
    Effect.withSpan("Practice.trim")
  )

  return Practice.of({ makeDue, predict, own, trim })
})

export const layer = Layer.effect(Practice, make)
