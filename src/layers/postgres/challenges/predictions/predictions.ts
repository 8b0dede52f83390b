/**
 * The one statement that records predictions of every type. It takes any number of items and gives each its own
 * outcome; the check of the deadline and the insert are one statement.
 *
 * No race can get a late prediction in: `for key share` on the challenge waits for a resolver (which locks `for
 * update`) and then reads the row as the resolver left it, and makes a resolver wait until this insert has committed.
 * Two concurrent first predictions of one agent meet in the primary key, two last ones of a provisional agent in
 * `agents_provisional_limit`, and two that use the day's last bytes in `agent_bytes_budget`. The loser gets the outcome
 * `conflict`, tries again, and then sees the winner. Rows are locked and written in the order of their keys, so
 * statements cannot deadlock. A transaction that loses rolls back as a whole: with its earlier locks it could deadlock
 * with a transaction that waits for them.
 *
 * Rows are found by key, one probe an item: the planner knows neither the number of items nor how the table has grown
 * since, and this plan is right for all of them.
 */
import { hash, randomBytes } from "node:crypto"
import { Array as Arr, DateTime, Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { countingKinds } from "../../../../scoring/kinds/facts.ts"
import { choiceOf, hasTies, isInForm, isOfCount, numberOf } from "../../../../services/domain/Answer.ts"
import type { AnswerValues } from "../../../../services/domain/Answer.ts"
import { unknownChallenge } from "../../../../services/domain/Challenge.ts"
import type { ChallengeType } from "../../../../services/domain/Challenge.ts"
import type { Receipt } from "../../../../services/domain/Prediction.ts"
import { isUuid } from "../../../../services/domain/ids.ts"
import type { AgentId, PredictionId } from "../../../../services/domain/ids.ts"
import { Instances } from "../../../../services/Instances.ts"
import { LimitReached } from "../../../../services/RateLimiter.ts"
import type { Use } from "../../../../services/RateLimiter.ts"
import { Settings } from "../../../../services/Settings.ts"
import { canonicalJson } from "../../../crypto/canonicalJson.ts"
import { makeAcceptance } from "../../RateLimiter.ts"
import * as RequestBatcher from "../../RequestBatcher.ts"
import { decimal, isInTransaction, LockHeld, orDie, rowsOf, savepoint, timestamp } from "../../sql.ts"
import { budgetOf, dayOf, isOverBudget, storeBytes, violatedBy } from "./agentBytes.ts"
import type { Budgets } from "./agentBytes.ts"
import { isOvertaken, outcomesOf, scoringScale } from "../challengeRows.ts"
import { questionFields, Rejected, rejection } from "./rejections.ts"
import type { PredictionRejected } from "./rejections.ts"

export interface NewRecord {
  readonly id: PredictionId
  /** A challenge of another type counts as unknown; null takes every type. */
  readonly type: ChallengeType | null
  /** The id as the caller sent it. */
  readonly challengeId: string
  readonly agentId: AgentId
  /** The values in one form or several; the challenge takes one of these forms. */
  readonly values: AnswerValues
  /** True of an answer with a stake, which only a macro challenge takes. */
  readonly hasStake: boolean
  readonly reasoning: string | null
  /** True if the record may replace an earlier direction of the agent; a number always may. */
  readonly mayRevise: boolean
  /** The revision of the prediction that the record replaces. */
  readonly expectedRevision: number | null
  readonly receivedAt: DateTime.Utc
  /** The limits that the record uses once it is written. */
  readonly owed: ReadonlyArray<Use>
}

/** The part of an answer that a recently seen instance could not score; null if every instance could score all of it. */
type Unread = "forms" | "ties" | null

interface Item extends NewRecord {
  readonly unread: Unread
  /** True if a later item of the agent answers the same challenge. */
  readonly hasLater: boolean
}

export interface RecordedPrediction {
  readonly type: ChallengeType
  /** The names of the outcomes; null for a number. */
  readonly outcomes: ReadonlyArray<string> | null
  /** The values in the form that the challenge takes. */
  readonly values: AnswerValues
  readonly revision: number
  /** It is null if a directional challenge has closed: nothing is recorded, but the challenge takes paper-trade signals. */
  readonly receipt: typeof Receipt.Type | null
}

const Recorded = Schema.Struct({
  outcome: Schema.Literals(["recorded", "revised"]),
  ...questionFields,
  revision: Schema.Int,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String
})

/**
 * `conflict`: another prediction of the agent came first; the item is tried again. `postponed`: an item of the agent is
 * rejected and a later one answers the same challenge, so the later one has to share a statement with the others; or an
 * earlier item has no room left in the day's bytes, which this one may have. Recording it in a second statement could
 * deadlock with a transaction waiting for this one.
 */
const Other = Schema.Struct({ outcome: Schema.Literals(["unknown", "conflict", "postponed"]) })

const Outcome = Schema.Union([Recorded, Rejected, Other])
/** `limited`: a full limit keeps the item from being recorded. */
type Outcome = typeof Outcome.Type | { readonly outcome: "limited" }

/** A standard deviation is at most this many reference scales. */
const maxReferenceScales = 1e12

export const saltBytes = 32

/** Salts in hexadecimal, drawn at once: a call of the generator costs more than the bytes. */
const salts = (count: number): ReadonlyArray<string> => {
  const drawn = randomBytes(saltBytes * count).toString("hex")
  return Array.from({ length: count }, (_, index) =>
    drawn.slice(index * saltBytes * 2, (index + 1) * saltBytes * 2)
  )
}

/**
 * The parts of the canonical body (RFC 8785) around those that only the statement knows: the type of the challenge, the
 * revision, and the form that it takes. Members stand in the order of their names.
 */
const bodyAround = (item: NewRecord) => {
  const head = canonicalJson({ agent_id: item.agentId, challenge_id: item.challengeId.toLowerCase() })
  const middle = canonicalJson({
    reasoning_sha256: item.reasoning === null ? null : hash("sha256", item.reasoning, "hex"),
    received_at: DateTime.formatIso(item.receivedAt)
  })
  return { head: `${head.slice(0, -1)},"kind":"`, middle: `",${middle.slice(1, -1)},"revision":` }
}

/** The end of the body, with the values of a form. */
const tailOf = (values: AnswerValues): string => `,"values":${canonicalJson(values)}}`

const decimalOf = (value: number | undefined): string | null => (value === undefined ? null : decimal(value))

const rowOf = (item: Item) => {
  const choice = choiceOf(item.values)
  const number = numberOf(item.values)
  const { probabilities } = item.values
  return {
    ...item,
    ...bodyAround(item),
    choice: choice === undefined ? null : tailOf(choice.sealed),
    choiceForm: choice?.form ?? null,
    names: probabilities === undefined ? null : JSON.stringify(Object.keys(probabilities)),
    direction: choice?.values.direction ?? null,
    confidence: decimalOf(choice?.values.confidence),
    number: number === undefined ? null : tailOf(number.sealed),
    numberForm: number?.form ?? null,
    isOfCount: isOfCount(item.values),
    hasTies: hasTies(item.values),
    value: decimalOf(number?.values.predicted_value),
    std: decimalOf(number?.values.predicted_std)
  }
}

/** An agent appears at most once for a challenge among the items; a row of the answer is an `Outcome`, in the order of the items. */
const recordPredictions = (
  sql: SqlClient.SqlClient,
  items: Arr.NonEmptyReadonlyArray<Item>,
  accepted: Statement.Fragment,
  rules: Budgets & Pick<Settings["Service"], "closeGrace">
) => {
  const drawn = salts(items.length)
  const rows = items.map((item, index) => ({ ...rowOf(item), salt: drawn[index] ?? null }))
  return sql`
    with item as (
      select * from ${rowsOf(sql, "i", rows, {
        id: ["uuid", (row) => row.id],
        type: ["text", (row) => row.type],
        challenge_id: ["uuid", (row) => row.challengeId],
        agent_id: ["uuid", (row) => row.agentId],
        choice: ["text", (row) => row.choice],
        choice_form: ["text", (row) => row.choiceForm],
        names: ["text", (row) => row.names],
        direction: ["text", (row) => row.direction],
        confidence: ["numeric", (row) => row.confidence],
        number: ["text", (row) => row.number],
        number_form: ["text", (row) => row.numberForm],
        is_of_count: ["bool", (row) => row.isOfCount],
        has_ties: ["bool", (row) => row.hasTies],
        unread: ["text", (row) => row.unread],
        predicted_value: ["numeric", (row) => row.value],
        predicted_std: ["numeric", (row) => row.std],
        reasoning: ["text", (row) => row.reasoning],
        has_stake: ["bool", (row) => row.hasStake],
        may_revise: ["bool", (row) => row.mayRevise],
        expected_revision: ["int4", (row) => row.expectedRevision],
        has_later: ["bool", (row) => row.hasLater],
        received_at: ["timestamptz", (row) => timestamp(row.receivedAt)],
        salt: ["text", (row) => row.salt],
        head: ["text", (row) => row.head],
        middle: ["text", (row) => row.middle]
      })}
    ),
    challenge as (
      select c.*
        from (select distinct challenge_id from item order by challenge_id) i
       cross join lateral (
         select c.id, c.type, c.kind, c.target, c.deadline, c.closed_at, c.cancelled_at, ${outcomesOf(sql)} as outcomes,
                ${scoringScale(sql)} * ${decimal(maxReferenceScales)}::numeric as max_std
           from challenges c
          where c.id = i.challenge_id
            for key share) c
    ),
    fitted as (
      select i.position, i.id, i.challenge_id, i.agent_id, i.received_at, i.reasoning, i.salt, i.head, i.middle,
             i.has_stake, i.expected_revision, i.has_later, i.is_of_count, i.has_ties, i.unread, c.type, c.kind, c.target, c.deadline, c.closed_at, c.cancelled_at, c.outcomes, c.max_std,
             case when c.outcomes is null then i.number else i.choice end as tail,
             case when c.outcomes is null then i.number_form else i.choice_form end as form,
             case when c.outcomes is not null then i.names::jsonb end as names,
             case when c.outcomes is not null then i.direction end as direction,
             case when c.outcomes is not null then i.confidence end as confidence,
             case when c.outcomes is null then i.predicted_value end as predicted_value,
             case when c.outcomes is null then i.predicted_std end as predicted_std,
             i.may_revise or c.outcomes is null or c.type = 'macro' as may_revise
        from item i left join challenge c on c.id = i.challenge_id and c.type = coalesce(i.type, c.type)
    ),
    judged as (
      select i.*, a.prediction_limit, a.predictions_used, a.is_provisional, a.max_revisions, a.max_bytes, a.bytes_used,
             octet_length(i.head || i.type || i.middle || coalesce(l.revision + 1, 0) || i.tail || coalesce(i.reasoning, '')) as bytes,
             l.direction as replaces, l.revision as current_revision, coalesce(l.revision + 1, 0) as revision,
             case
               when i.type is null then 'unknown'
               when i.has_stake and i.type <> 'macro' then 'no_pool'
               when i.tail is null or i.direction <> all(i.outcomes)
                    or not (i.names @> to_jsonb(i.outcomes) and i.names <@ to_jsonb(i.outcomes))
                    or (i.type = 'macro' and i.outcomes is not null and i.names is null) then 'form_problems'
               when i.kind in ${sql.in(countingKinds)} and not i.is_of_count then 'out_of_range'
               when i.outcomes is null and i.has_ties and i.type <> 'macro' and i.kind not in ${sql.in(countingKinds)} then 'tied'
               when i.predicted_std > i.max_std then 'too_wide'
               when i.type = 'price_event' and not exists (
                 select from prediction_scopes s where s.agent_id = i.agent_id and s.target = i.target)
                 then 'not_subscribed'
               when i.cancelled_at is not null then 'cancelled'
               when i.received_at >= i.deadline then 'closed'
               when i.closed_at is not null or ${isOvertaken(sql, "i.deadline", rules.closeGrace)} then 'overtaken'
               when i.unread = 'forms' and i.form is not null then 'unread_form'
               when i.unread = 'ties' and i.form = 'quantiles' and i.has_ties then 'unread_ties'
               when l.revision is not null and not i.may_revise then 'duplicate'
               when i.expected_revision <> coalesce(l.revision, -1) then 'other_revision'
               when l.revision >= a.max_revisions then 'revised_often'
               when l.revision is not null then 'revised'
               else 'recorded'
             end as outcome
        from fitted i
        left join lateral (
          select a.prediction_limit, a.predictions_used, budget.*, coalesce(b.bytes, 0) as bytes_used
            from agents a
           ${budgetOf(sql, rules)}
            left join agent_bytes b on b.agent_id = a.id and b.day >= ${dayOf(sql, "i.received_at")}
           where a.id = i.agent_id limit 1) a on true
        left join lateral (
          select p.revision, p.direction from predictions p
           where p.challenge_id = i.challenge_id and p.agent_id = i.agent_id
           order by p.revision desc limit 1) l on true
    ),
    capped as (
      select *,
             outcome = 'recorded'
               and predictions_used + count(*) filter (where outcome = 'recorded')
                     over (partition by agent_id order by position) > prediction_limit as is_capped,
             bool_or(has_later and outcome not in ('recorded', 'revised')) over (partition by agent_id) as waits
        from judged
    ),
    sized as (
      select *, outcome in ('recorded', 'revised') and is_capped is not true as is_taken,
             bytes_used + bytes > max_bytes as is_too_large
        from capped
    ),
    weighed as (
      select *, bytes_used + sum(bytes) filter (where is_taken and is_too_large is not true)
                               over (partition by agent_id order by position) > max_bytes as is_full
        from sized
    ),
    -- An item after one without room may have room: it is decided once that one is.
    decided as (
      select *, is_taken and (is_too_large or is_full) is true as is_over_budget,
             waits or coalesce(bool_or(is_taken and is_full and is_too_large is not true) over (
               partition by agent_id order by position rows between unbounded preceding and 1 preceding), false) as is_postponed
        from weighed
    ),
    sealed as (
      select *, decode(salt, 'hex') as salt_bytes,
             convert_to(head || type || middle || revision || tail, 'UTF8') as body
        from decided where is_taken and not is_over_budget and not is_postponed
    ),
    -- "auspex/commit/v1" and a zero byte. \`offset 0\` keeps the planner from computing body and commit wherever they are named.
    committed as (
      select *, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt_bytes || body) as commit
        from (select * from sealed offset 0) s
      offset 0
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, form, direction, confidence, predicted_value, predicted_std, reasoning,
         received_at, deadline, salt, body, commit)
      select challenge_id, agent_id, revision, id, form, direction, confidence, predicted_value, predicted_std, reasoning,
             received_at, deadline, salt_bytes, body, commit
        from committed
       order by challenge_id, agent_id
      on conflict on constraint predictions_one_per_agent_and_challenge do nothing
      returning challenge_id, agent_id, revision, direction, salt, body, commit
    ),
    accepted as (${accepted}),
    -- The challenge is locked, so ids of its commits are smaller than that of its close.
    logged as (
      insert into log_pending (type, challenge_id, commit, entry)
      select 'prediction.commit', challenge_id, commit, log_commit_entry(challenge_id, commit) from written
    ),
    limited as (
      select a.id from agents a
       where a.id in (select agent_id from written where revision = 0) and a.prediction_limit is not null
       order by a.id
         for no key update
    ),
    used as (
      update agents a
         set predictions_used = a.predictions_used
               + (select count(*) from written w where w.agent_id = a.id and w.revision = 0)
        from limited l where a.id = l.id
    ),
    stored as (${storeBytes(sql, rules, sql`select agent_id, d.received_at, d.bytes from written join decided d using (challenge_id, agent_id)`)}),
    counted as (
      insert into prediction_counts as n (challenge_id, shard, bullish, bearish, neutral, forecasts)
      select w.challenge_id, pg_backend_pid() % 16,
             sum((w.direction is not distinct from 'bullish')::int - (d.replaces is not distinct from 'bullish')::int),
             sum((w.direction is not distinct from 'bearish')::int - (d.replaces is not distinct from 'bearish')::int),
             sum((w.direction is not distinct from 'neutral')::int - (d.replaces is not distinct from 'neutral')::int),
             sum((w.direction is null)::int)
        from written w join decided d using (challenge_id, agent_id)
       where w.revision = 0 or w.direction is distinct from d.replaces
       group by w.challenge_id
       order by w.challenge_id
      on conflict (challenge_id, shard) do update set
        bullish = n.bullish + excluded.bullish,
        bearish = n.bearish + excluded.bearish,
        neutral = n.neutral + excluded.neutral,
        forecasts = n.forecasts + excluded.forecasts
    )
    select d.type, d.kind, d.outcomes, d.target, d.prediction_limit, d.current_revision, d.max_std::float8 as max_std,
           d.max_revisions, d.max_bytes, d.is_provisional,
           case when d.outcome in ('recorded', 'revised') and d.is_postponed then 'postponed'
                when d.is_capped then 'capped'
                when d.is_over_budget then 'over_budget'
                when d.outcome in ('recorded', 'revised') and w.agent_id is null then 'conflict'
                else d.outcome end as outcome,
           w.revision, encode(w.salt, 'hex') as salt, convert_from(w.body, 'UTF8') as body,
           encode(w.commit, 'hex') as commit
      from decided d
     cross join accepted
      left join written w on w.challenge_id = d.challenge_id and w.agent_id = d.agent_id
     order by d.position`
}

/** True if a concurrent prediction has used the agent's last prediction or its last bytes of the day. */
const isUsedUp = (error: unknown): boolean =>
  violatedBy(error) === "agents_provisional_limit" || isOverBudget(error)

/** Each conflict means that another prediction of the same agent has won. */
const maxAttempts = 20

type Recording = Result.Result<RecordedPrediction, PredictionRejected | LimitReached>

/** The result of a record; undefined if it is to be tried again. */
const recordingOf = (item: NewRecord, result: Outcome): Recording | undefined => {
  switch (result.outcome) {
    case "conflict":
    case "postponed":
      return undefined
    case "unknown":
      return Result.fail(unknownChallenge(item.challengeId))
    case "limited":
      return Result.fail(new LimitReached({ places: [1] }))
  }
  const { outcomes, type } = result
  const taken = {
    type,
    outcomes,
    values: (outcomes === null ? numberOf : choiceOf)(item.values)?.values ?? {}
  }
  if (!("commit" in result)) {
    return type === "directional" && result.outcome === "closed"
      ? Result.succeed({ ...taken, revision: 0, receipt: null })
      : Result.fail(rejection(item, result))
  }
  const { body, commit, revision, salt } = result
  return Result.succeed({ ...taken, revision, receipt: { commit, salt, body, leaf_index: null } })
}

const keyOf = ({ agentId, challengeId }: NewRecord): string => `${agentId} ${challengeId.toLowerCase()}`

/** Records predictions, in batches with those of other callers. Predictions of one agent on one challenge follow each other. */
export const makeRecordPredictions = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const instances = yield* Instances
  const outcomesIn = Schema.decodeUnknownEffect(Schema.Array(Outcome))
  const accept = yield* makeAcceptance

  /** Records the items but for those at the places that a limit rejects. */
  const recordOthers = Effect.fnUntraced(function* (
    items: ReadonlyArray<Item>,
    refused: ReadonlyArray<number>,
    client: SqlClient.SqlClient
  ) {
    const outcomes = new Map<Item, Outcome>()
    const others = items.filter((_, index) => !refused.includes(index + 1))
    if (Arr.isReadonlyArrayNonEmpty(others)) {
      const recorded = yield* recordAll(others, client)
      for (const [item, outcome] of Arr.zip(others, recorded)) outcomes.set(item, outcome)
    }
    return items.map((item) => outcomes.get(item) ?? { outcome: "limited" as const })
  })

  const recordAll = (
    items: Arr.NonEmptyReadonlyArray<Item>,
    client: SqlClient.SqlClient
  ): Effect.Effect<ReadonlyArray<Outcome>> =>
    accept({
      owed: items.map(({ owed }) => owed),
      recorded: client`select d.position from decided d join written w using (challenge_id, agent_id)`
    }).pipe(
      Effect.flatMap((accepted) => savepoint(client)(recordPredictions(client, items, accepted, settings))),
      Effect.flatMap(outcomesIn),
      // Nobody knows whose limit was hit among several items: the batcher runs them one by one, a transaction repeats
      // all of them.
      Effect.catchIf(isUsedUp, (error) =>
        Effect.flatMap(isInTransaction(client), (isPart) =>
          isPart || items.length === 1
            ? Effect.succeed(items.map(() => ({ outcome: "conflict" }) as const))
            : Effect.fail(error)
        )
      ),
      orDie,
      Effect.catchDefect((defect) =>
        defect instanceof LimitReached ? recordOthers(items, defect.places, client) : Effect.die(defect)
      )
    )

  const submit = yield* RequestBatcher.make({
    run: recordAll,
    exclusive: keyOf,
    maxSize: settings.maxBatch
  })

  const unreadOf = Effect.fnUntraced(function* (items: ReadonlyArray<NewRecord>) {
    if (items.some(({ values }) => isInForm(values)) && !(yield* instances.allRead("forms"))) return "forms"
    if (items.some(({ values }) => hasTies(values)) && !(yield* instances.allRead("ties"))) return "ties"
    return null
  })

  return Effect.fnUntraced(function* (items: ReadonlyArray<NewRecord>) {
    const isPart = yield* isInTransaction(sql)
    const unread = yield* unreadOf(items)
    const recordings = new Map<NewRecord, Recording>()
    let left = items.filter((item) => {
      if (isUuid(item.challengeId)) return true
      recordings.set(item, Result.fail(unknownChallenge(item.challengeId)))
      return false
    })
    let attempts = 0
    while (left.length > 0) {
      const turn = Arr.dedupeWith(left, (a, b) => keyOf(a) === keyOf(b))
      const later = new Set(left.filter((item) => !turn.includes(item)).map(keyOf))
      const outcomes = yield* submit.all(
        turn.map((item) => ({ ...item, unread, hasLater: later.has(keyOf(item)) }))
      )
      for (const [item, outcome] of Arr.zip(turn, outcomes)) {
        const recording = recordingOf(item, outcome)
        // An agent that the limit rejects has no room for a later answer to the challenge either.
        const decided =
          outcome.outcome === "limited" ? left.filter((each) => keyOf(each) === keyOf(item)) : [item]
        if (recording !== undefined) for (const each of decided) recordings.set(each, recording)
      }
      if (isPart && outcomes.some(({ outcome }) => outcome === "conflict")) {
        return yield* Effect.die(new LockHeld({ what: "a prediction of the same agent", freed: Effect.void }))
      }
      const before = left.length
      left = left.filter((item) => !recordings.has(item))
      attempts = left.length < before ? 0 : attempts + 1
      if (attempts === maxAttempts) {
        return yield* Effect.die(new Error("a prediction met too many conflicts"))
      }
    }
    return items.flatMap((item) => recordings.get(item) ?? [])
  })
})
