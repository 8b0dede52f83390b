/**
 * The one statement that records predictions, whatever their type. It takes any number of items and gives each its own
 * outcome; the check of the deadline and the insert are one statement.
 *
 * No race can get a late prediction in: `for key share` on the challenge waits for a resolver (which locks `for update`) and then
 * reads the row as the resolver left it, and makes a resolver wait until this insert has committed. Two first
 * predictions of one agent meet in the primary key; two of a provisional agent's last in `agents_provisional_limit`.
 * The loser gets the outcome `conflict`, tries again, and then sees the winner. Rows are locked and written in the order of
 * their keys, so statements cannot deadlock.
 *
 * Rows are found by key, one probe an item: the planner knows neither how many items there are nor how the table has
 * grown since, and this plan is right for all of them.
 */
import { hash, randomBytes } from "node:crypto"
import { Array as Arr, DateTime, Effect, Option, Predicate, Schema } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import {
  ChallengeCancelled,
  ChallengeClosed,
  notRecordedInTime,
  unknownChallenge
} from "../../../services/domain/Challenge.ts"
import type { ChallengeType, Direction, NotRecordedInTime } from "../../../services/domain/Challenge.ts"
import {
  DuplicatePrediction,
  ProvisionalLimit,
  RevisionConflict,
  ScopeNotSubscribed
} from "../../../services/domain/Prediction.ts"
import type { Receipt } from "../../../services/domain/Prediction.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import type { NotFound } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import type { AgentId, PredictionId } from "../../../services/domain/ids.ts"
import { LimitReached, OwedUses } from "../../../services/RateLimiter.ts"
import type { Use } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { makeAcceptance } from "../RateLimiter.ts"
import * as RequestBatcher from "../RequestBatcher.ts"
import { decimal, orDie, rowsOf, timestamp } from "../sql.ts"
import { scoringScale } from "./challengeRows.ts"

/** A direction with its confidence, or a normal distribution. */
export type PredictionForm =
  | { readonly direction: Direction; readonly confidence: number }
  | { readonly predicted_value: number; readonly predicted_std: number }

interface NewRecord {
  readonly id: PredictionId
  readonly type: typeof ChallengeType.Type
  /** As the caller sent it. */
  readonly challengeId: string
  readonly agentId: AgentId
  readonly form: PredictionForm
  readonly reasoning: string | null
  /** Whether it may replace an earlier prediction of the agent. */
  readonly mayRevise: boolean
  /** Of the prediction that it replaces. */
  readonly expectedRevision: number | null
  readonly receivedAt: DateTime.Utc
}

interface OwingRecord extends NewRecord {
  readonly owed: ReadonlyArray<Use>
}

interface RecordedPrediction {
  readonly revision: number
  readonly receipt: typeof Receipt.Type
}

const Recorded = Schema.Struct({
  outcome: Schema.Literals(["recorded", "revised"]),
  revision: Schema.Int,
  salt: Schema.String,
  body: Schema.String,
  commit: Schema.String
})

const Rejected = Schema.Struct({
  outcome: Schema.Literals([
    "unknown",
    "not_subscribed",
    "cancelled",
    "closed",
    "overtaken",
    "too_wide",
    "duplicate",
    "other_revision",
    "capped"
  ]),
  current_revision: Schema.NullOr(Schema.Int),
  target: Schema.NullOr(Schema.String),
  prediction_limit: Schema.NullOr(Schema.Int),
  max_std: Schema.NullOr(Schema.Finite)
})

/** Another prediction of the agent came first: try again. */
const Conflict = Schema.Struct({ outcome: Schema.Literal("conflict") })

const Outcome = Schema.Union([Recorded, Rejected, Conflict])
/** `limited`: it would have been recorded, but for a limit that is full. */
type Outcome = typeof Outcome.Type | { readonly outcome: "limited" }

/** A standard deviation is at most so many reference scales. */
export const maxReferenceScales = 1e12

const saltBytes = 32

/** Salts in hexadecimal, drawn at once: a call of the generator costs more than the bytes. */
const salts = (count: number): ReadonlyArray<string> => {
  const drawn = randomBytes(saltBytes * count).toString("hex")
  return Array.from({ length: count }, (_, index) =>
    drawn.slice(index * saltBytes * 2, (index + 1) * saltBytes * 2)
  )
}

/**
 * The canonical body (RFC 8785) before and after the revision number, which only the statement knows. Members stand in
 * the order of their names, so `revision` falls between `received_at` and `values`.
 */
const bodyAround = (item: NewRecord): { readonly head: string; readonly tail: string } => {
  const before = canonicalJson({
    agent_id: item.agentId,
    challenge_id: item.challengeId.toLowerCase(),
    kind: item.type,
    reasoning_sha256: item.reasoning === null ? null : hash("sha256", item.reasoning, "hex"),
    received_at: DateTime.formatIso(item.receivedAt)
  })
  return { head: `${before.slice(0, -1)},"revision":`, tail: `,"values":${canonicalJson({ ...item.form })}}` }
}

const columnsOf = (form: PredictionForm) =>
  "direction" in form
    ? { direction: form.direction, confidence: decimal(form.confidence), value: null, std: null }
    : {
        direction: null,
        confidence: null,
        value: decimal(form.predicted_value),
        std: decimal(form.predicted_std)
      }

/** An agent appears at most once among the items; a row of the answer is an `Outcome`, in the order of the items. */
const recordPredictions = (
  sql: SqlClient.SqlClient,
  accept: Effect.Success<typeof makeAcceptance>,
  items: Arr.NonEmptyReadonlyArray<OwingRecord>
) => {
  const drawn = salts(items.length)
  const rows = items.map((item, index) => ({
    ...item,
    ...columnsOf(item.form),
    ...bodyAround(item),
    salt: drawn[index] ?? null
  }))
  return sql`
    with item as (
      select * from ${rowsOf(sql, "i", rows, {
        id: ["uuid", (row) => row.id],
        type: ["text", (row) => row.type],
        challenge_id: ["uuid", (row) => row.challengeId],
        agent_id: ["uuid", (row) => row.agentId],
        direction: ["text", (row) => row.direction],
        confidence: ["numeric", (row) => row.confidence],
        predicted_value: ["numeric", (row) => row.value],
        predicted_std: ["numeric", (row) => row.std],
        reasoning: ["text", (row) => row.reasoning],
        may_revise: ["bool", (row) => row.mayRevise],
        expected_revision: ["int4", (row) => row.expectedRevision],
        received_at: ["timestamptz", (row) => timestamp(row.receivedAt)],
        salt: ["text", (row) => row.salt],
        head: ["text", (row) => row.head],
        tail: ["text", (row) => row.tail]
      })}
    ),
    challenge as (
      select c.*
        from (select distinct challenge_id from item order by challenge_id) i
       cross join lateral (
         select c.id, c.type, c.target, c.deadline, c.closed_at, c.cancelled_at,
                ${scoringScale(sql)} * ${decimal(maxReferenceScales)}::numeric as max_std
           from challenges c
          where c.id = i.challenge_id
            for key share) c
    ),
    decided as (
      select i.*, c.target, c.deadline, c.max_std, a.prediction_limit, l.direction as replaces,
             l.revision as current_revision, coalesce(l.revision + 1, 0) as revision,
             case
               when c.id is null then 'unknown'
               when c.type = 'price_event' and not exists (
                 select from prediction_scopes s where s.agent_id = i.agent_id and s.target = c.target)
                 then 'not_subscribed'
               when c.cancelled_at is not null then 'cancelled'
               when i.received_at >= c.deadline then 'closed'
               when c.closed_at is not null then 'overtaken'
               when i.predicted_std > c.max_std then 'too_wide'
               when l.revision is not null and not i.may_revise then 'duplicate'
               when i.expected_revision <> coalesce(l.revision, -1) then 'other_revision'
               when l.revision is not null then 'revised'
               when a.predictions_used >= a.prediction_limit then 'capped'
               else 'recorded'
             end as outcome
        from item i
        left join challenge c on c.id = i.challenge_id and c.type = i.type
        left join lateral (
          select a.prediction_limit, a.predictions_used from agents a where a.id = i.agent_id limit 1) a on true
        left join lateral (
          select p.revision, p.direction from predictions p
           where p.challenge_id = i.challenge_id and p.agent_id = i.agent_id
           order by p.revision desc limit 1) l on true
    ),
    sealed as (
      select *, decode(salt, 'hex') as salt_bytes, convert_to(head || revision || tail, 'UTF8') as body
        from decided where outcome in ('recorded', 'revised')
    ),
    -- "auspex/commit/v1" and a zero byte. \`offset 0\` keeps the planner from computing body and commit wherever they are named.
    committed as (
      select *, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt_bytes || body) as commit
        from (select * from sealed offset 0) s
      offset 0
    ),
    written as (
      insert into predictions
        (challenge_id, agent_id, revision, id, direction, confidence, predicted_value, predicted_std, reasoning,
         received_at, deadline, salt, body, commit)
      select challenge_id, agent_id, revision, id, direction, confidence, predicted_value, predicted_std, reasoning,
             received_at, deadline, salt_bytes, body, commit
        from committed
       order by challenge_id, agent_id
      on conflict on constraint predictions_one_per_agent_and_challenge do nothing
      returning challenge_id, agent_id, revision, direction, salt, body, commit
    ),
    accepted as (${accept({
      now: items.map(({ receivedAt }) => receivedAt).reduce(DateTime.max),
      owed: items.map(({ owed }) => owed),
      recorded: sql`select d.position from decided d join written w using (challenge_id, agent_id)`
    })}),
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
      update agents a set predictions_used = a.predictions_used + 1 from limited l where a.id = l.id
    ),
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
    select d.target, d.prediction_limit, d.current_revision, d.max_std::float8 as max_std,
           case when d.outcome in ('recorded', 'revised') and w.agent_id is null then 'conflict' else d.outcome end
             as outcome,
           w.revision, encode(w.salt, 'hex') as salt, convert_from(w.body, 'UTF8') as body,
           encode(w.commit, 'hex') as commit
      from decided d
     cross join accepted
      left join written w on w.challenge_id = d.challenge_id and w.agent_id = d.agent_id
     order by d.position`
}

/** A concurrent prediction used the last one that the provisional agent had left. */
const isProvisionalLimit = (error: unknown): boolean =>
  SqlError.isSqlError(error) &&
  Predicate.hasProperty(error.reason.cause, "constraint") &&
  error.reason.cause.constraint === "agents_provisional_limit"

/** Each conflict means that another prediction of the same agent has won. */
const maxAttempts = 20

export const cancelledChallenge = () =>
  new ChallengeCancelled({
    detail: "The challenge is cancelled: it takes no submission, live or paper-trade."
  })

/** What error messages call a prediction of the type. */
const nouns = { directional: "submission", macro: "forecast", price_event: "prediction" }

const rejection = (
  { challengeId, receivedAt, type }: NewRecord,
  { outcome, ...why }: typeof Rejected.Type
) => {
  switch (outcome) {
    case "unknown":
      return Effect.fail(unknownChallenge(challengeId))
    case "not_subscribed":
      return new ScopeNotSubscribed({
        detail: `The scope ${why.target} is not subscribed: POST /api/v1/agent/prediction-scope/${why.target} first.`
      })
    case "cancelled":
      return type === "directional"
        ? cancelledChallenge()
        : new ChallengeCancelled({ detail: `The challenge is void: it takes no ${nouns[type]}.` })
    case "closed":
      return new ChallengeClosed({
        detail: `The deadline of this challenge has passed: it takes no ${nouns[type]}.`
      })
    case "overtaken":
      return notRecordedInTime(nouns[type], receivedAt)
    case "too_wide":
      return Effect.fail(
        InvalidRequest.of(
          "predicted_std",
          `Expected a value of at most ${why.max_std}, which is 1e12 times the reference scale of the challenge`
        )
      )
    case "duplicate":
      return new DuplicatePrediction({
        detail:
          "This agent has predicted this challenge: send is_revision true to change the prediction before the deadline."
      })
    case "other_revision":
      return new RevisionConflict({
        detail:
          why.current_revision === null
            ? "This agent has no prediction on the challenge yet: leave expected_revision out."
            : `The prediction that stands has revision_count ${why.current_revision}: read it at GET /api/v1/agent/predictions, and send that as expected_revision to replace it.`,
        current_revision: why.current_revision
      })
    case "capped":
      return new ProvisionalLimit({
        detail: `A provisional agent predicts at most ${why.prediction_limit ?? 0} challenges; once its operator has claimed it there is no such limit.`,
        hint: "Ask your operator to claim you; POST /api/v1/agent/registry/claim-link/refresh makes a new claim link."
      })
  }
}

type PredictionRejected =
  | NotFound
  | ScopeNotSubscribed
  | ChallengeCancelled
  | ChallengeClosed
  | NotRecordedInTime
  | InvalidRequest
  | DuplicatePrediction
  | RevisionConflict
  | ProvisionalLimit

export type RecordPrediction = (item: NewRecord) => Effect.Effect<RecordedPrediction, PredictionRejected>

/** Records one prediction, in a batch with others of any type. */
export const makeRecordPrediction = Effect.gen(function* () {
  const settings = yield* Settings
  const outcomesOf = Schema.decodeUnknownEffect(Schema.Array(Outcome))
  const accept = yield* makeAcceptance

  /** Within a transaction, which would end with a statement that fails, it is a savepoint. */
  const attempt = (items: Arr.NonEmptyReadonlyArray<OwingRecord>, client: SqlClient.SqlClient) =>
    Effect.flatMap(Effect.serviceOption(client.transactionService), (transaction) =>
      Option.isSome(transaction)
        ? client.withTransaction(recordPredictions(client, accept, items))
        : recordPredictions(client, accept, items)
    )

  /** What becomes of the items where a limit refuses those at these places. */
  const recordOthers = Effect.fnUntraced(function* (
    items: ReadonlyArray<OwingRecord>,
    refused: ReadonlyArray<number>,
    client: SqlClient.SqlClient
  ) {
    const outcomes = new Map<OwingRecord, Outcome>()
    const others = items.filter((_, index) => !refused.includes(index + 1))
    if (Arr.isReadonlyArrayNonEmpty(others)) {
      const recorded = yield* recordAll(others, client)
      for (const [item, outcome] of Arr.zip(others, recorded)) outcomes.set(item, outcome)
    }
    return items.map((item) => outcomes.get(item) ?? { outcome: "limited" as const })
  })

  const recordAll = (
    items: Arr.NonEmptyReadonlyArray<OwingRecord>,
    client: SqlClient.SqlClient
  ): Effect.Effect<ReadonlyArray<Outcome>> =>
    attempt(items, client).pipe(
      Effect.flatMap(outcomesOf),
      // In a larger batch it is unknown whose limit was hit: the batcher runs its items one by one.
      Effect.catchIf(
        (error) => items.length === 1 && isProvisionalLimit(error),
        () => Effect.succeed([{ outcome: "conflict" } as const])
      ),
      orDie,
      Effect.catchDefect((defect) =>
        defect instanceof LimitReached ? recordOthers(items, defect.places, client) : Effect.die(defect)
      )
    )

  const submit = yield* RequestBatcher.make({
    run: recordAll,
    exclusive: (item: OwingRecord) => item.agentId,
    maxSize: settings.maxBatch
  })

  return Effect.fnUntraced(function* (
    item: NewRecord
  ): Effect.fn.Return<RecordedPrediction, PredictionRejected> {
    yield* Effect.annotateCurrentSpan({
      "challenge.id": item.challengeId.slice(0, 64),
      "agent.id": item.agentId
    })
    if (!isUuid(item.challengeId)) return yield* unknownChallenge(item.challengeId)
    const owed = yield* OwedUses
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const result = yield* submit({ ...item, owed })
      if (result.outcome === "conflict") continue
      yield* Effect.annotateCurrentSpan({ "prediction.outcome": result.outcome })
      if (result.outcome === "limited") return yield* Effect.die(new LimitReached({ places: [1] }))
      if (!("commit" in result)) return yield* rejection(item, result)
      const { body, commit, revision, salt } = result
      return { revision, receipt: { commit, salt, body, leaf_index: null } }
    }
    return yield* Effect.die(new Error("a prediction met too many conflicts"))
  })
})
