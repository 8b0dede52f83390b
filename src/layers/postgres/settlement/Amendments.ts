import { BigDecimal, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { directionalResult } from "../../../scoring/directional.ts"
import { answerOf, countedDays } from "../../../scoring/priceEvents.ts"
import { Amendments, SettledChallenge } from "../../../services/Amendments.ts"
import type { Amendment } from "../../../services/Amendments.ts"
import {
  AnyStatus,
  ChallengeState,
  ChallengeType,
  unknownChallenge
} from "../../../services/domain/Challenge.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { isUuid } from "../../../services/domain/ids.ts"
import { statusOf, settlementOf, versionsOf } from "../challenges/challengeRows.ts"
import { makeReferences } from "../challenges/reference.ts"
import { logSettlement } from "../log/settlementEntries.ts"
import { boundTime, decimal, execute, findOne, findOption, isoTimestamp, timestamp } from "../sql.ts"
import { amendStats } from "./agentStats.ts"
import { faultOfCategory, scoreDirections, makeScoreForecasts } from "./scores.ts"
import { makeSettlementTransaction } from "./settlementTransaction.ts"

/** A challenge to amend. Settlement columns are of its newest version, null before it is settled. */
const AmendedRow = Schema.Struct({
  id: Schema.String,
  type: ChallengeType,
  kind: Schema.String,
  status: AnyStatus,
  target: Schema.String,
  category: Schema.String,
  negative_prices: Schema.Boolean,
  is_calibrated: Schema.Boolean,
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  decimal_step: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.Int),
  observation: Schema.NullOr(Schema.String),
  open_price: Schema.NullOr(Schema.BigDecimalFromString),
  dead_zone_pct: Schema.NullOr(Schema.BigDecimalFromString),
  reference_scale: Schema.NullOr(Schema.String),
  level: Schema.NullOr(Schema.BigDecimalFromString),
  /** Whether the newest version has the requested value. */
  is_current: Schema.Boolean,
  /** The newest amendment with this value and this reason. */
  same_version: Schema.NullOr(Schema.Int),
  now: Schema.DateTimeUtcFromDate
})
type Amended = typeof AmendedRow.Type

const { settlement: _, ...viewColumns } = SettledChallenge.fields
const ViewRow = Schema.Struct({
  ...viewColumns,
  version: Schema.Int,
  settled_at: Schema.String,
  source: Schema.String
})

const isNumeric = ({ kind, type }: Amended): boolean =>
  type === "macro" || kind === "numeric_close" || kind === "count_days"

/** The requested value, from the field that fits the type of the challenge. */
const valueFor = Effect.fnUntraced(function* (challenge: Amended, amendment: Amendment) {
  const [field, foreign] = isNumeric(challenge)
    ? (["actual_value", "close_price"] as const)
    : (["close_price", "actual_value"] as const)
  const name = challenge.type === "price_event" ? challenge.kind : challenge.type
  if (amendment[foreign] !== undefined) {
    return yield* InvalidRequest.of(foreign, `Expected no value: a ${name} challenge is amended by ${field}`)
  }
  const value = amendment[field]
  if (value === undefined) {
    return yield* InvalidRequest.of(field, `Missing key: a ${name} challenge is amended by it`)
  }
  const isCount = Number.isInteger(value) && value >= 0 && value <= countedDays
  const wrongCategory = faultOfCategory(challenge.categories, value)
  if (wrongCategory !== undefined) return yield* InvalidRequest.of(field, wrongCategory)
  if (challenge.kind === "count_days" && !isCount) {
    return yield* InvalidRequest.of(field, `Expected a whole number from 0 to ${countedDays}`)
  }
  const isPrice = challenge.type !== "macro" && challenge.kind !== "count_days"
  if (isPrice && !challenge.negative_prices && value <= 0) {
    return yield* InvalidRequest.of(field, `Expected a price above 0: ${challenge.target} has no other`)
  }
  return decimal(value)
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const amended = findOption(AmendedRow)
  const viewRow = findOne(ViewRow)
  const inSettlement = yield* makeSettlementTransaction
  const scoreForecasts = yield* makeScoreForecasts
  const references = yield* makeReferences

  const read = (id: string, amendment: Amendment, now: DateTime.Utc) => {
    const value = amendment.close_price ?? amendment.actual_value
    const asked = value === undefined ? null : decimal(value)
    return amended(sql`
      select c.id::text, c.type, c.kind, ${statusOf(sql, now)} as status, c.target, t.category, t.negative_prices,
             c.reference_scale is not null and c.categories is null as is_calibrated, c.categories, c.decimal_step::text, s.version,
             ${boundTime(sql, now)} as now,
             trim_scale(coalesce(s.close_price, s.actual_value))::text as observation, s.open_price::text,
             s.dead_zone_pct::text, s.reference_scale::text, s.level::text,
             coalesce(coalesce(s.close_price, s.actual_value) = ${asked}::numeric, false) as is_current,
             (select max(version) from settlements
               where challenge_id = c.id and coalesce(close_price, actual_value) = ${asked}::numeric
                 and reason = ${amendment.reason}) as same_version
        from challenges c
        join targets t on t.key = c.target
        left join lateral (
          select * from settlements where challenge_id = c.id order by version desc limit 1) s on true
       where c.id = ${id}::uuid`)
  }

  /** The new version to write, or null if the newest version is this very amendment. */
  const decide = Effect.fnUntraced(function* (id: string, amendment: Amendment) {
    const found = isUuid(id) ? yield* read(id, amendment, yield* DateTime.now) : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    const challenge = found.value
    const value = yield* valueFor(challenge, amendment)
    const { observation, version } = challenge
    if (version === null || observation === null) {
      return yield* new ChallengeState({
        detail: `The challenge is ${challenge.status}; only one that is resolved can be amended.`
      })
    }
    const { is_current, same_version } = challenge
    if (same_version === version) return null
    if (is_current) {
      return yield* new ChallengeState({
        detail: `The challenge is settled by ${observation} already, in version ${version}.`
      })
    }
    if (same_version !== null) {
      return yield* new ChallengeState({
        detail: `Version ${same_version} had this value for this reason, and version ${version} has amended it to ${observation} since: give a reason why it is right after all.`
      })
    }
    return { ...challenge, version, observation, value }
  })
  type Decided = NonNullable<Effect.Success<ReturnType<typeof decide>>>

  /** Writes the new version by the terms of the one before it, under the day of the first. */
  const record = (decided: Decided, reason: string, result: string | null) =>
    execute(sql`
      insert into settlements
        (challenge_id, version, previous_version, result, open_price, close_price, dead_zone_pct, actual_value,
         reference_scale, level, source, observed_at, fetched_at, settled_at, day, reason)
      select challenge_id, version + 1, version, ${result}, open_price,
             case when close_price is null then null else ${decided.value}::numeric end, dead_zone_pct,
             case when actual_value is null then null else ${decided.value}::numeric end, reference_scale, level, 'admin',
             observed_at, ${timestamp(decided.now)}, ${timestamp(decided.now)}, day, ${reason}
        from settlements where challenge_id = ${decided.id}::uuid and version = ${decided.version}`)

  const score = Effect.fnUntraced(function* (decided: Decided, reason: string) {
    const { categories, dead_zone_pct, id, kind, level, observation, open_price, reference_scale, value } =
      decided
    const version = decided.version + 1
    const reference = yield* references.settled(id, decided.now)
    if (level !== null && (kind === "barrier" || kind === "threshold")) {
      const result = answerOf(kind, BigDecimal.fromStringUnsafe(value), level)
      yield* record(decided, reason, result)
      return yield* scoreDirections(sql, { challengeId: id, version }, result, reference)
    }
    if (open_price !== null && dead_zone_pct !== null) {
      const result = directionalResult(open_price, BigDecimal.fromStringUnsafe(value), dead_zone_pct)
      yield* record(decided, reason, result)
      return yield* scoreDirections(sql, { challengeId: id, version }, result, reference)
    }
    if (reference_scale !== null) {
      yield* record(decided, reason, null)
      return yield* scoreForecasts({
        challengeId: id,
        version,
        outcome: { actual_value: value, reference_scale, categories },
        replaced: { actual_value: observation, reference_scale, categories },
        isCalibrated: decided.is_calibrated,
        decimalStep: decided.decimal_step,
        reference
      })
    }
    return yield* Effect.die(new Error(`the settlement of challenge ${id} has the terms of no type`))
  })

  const view = Effect.fnUntraced(function* (id: string) {
    const { settled_at, source, version, ...row } = yield* viewRow(sql`
      select c.id::text as challenge_id, c.type, c.target as asset, c.question, 'resolved' as status, s.result,
             s.open_price::float8 as open_price, s.close_price::float8 as close_price,
             s.dead_zone_pct::float8 as dead_zone_pct, s.actual_value::float8 as actual_value,
             s.reference_scale::float8 as reference_scale, s.level::float8 as level, s.version, ${isoTimestamp(sql, "s.settled_at")} as settled_at,
             s.source, ${versionsOf(sql)}
        from challenges c
       cross join lateral (
         select * from settlements where challenge_id = c.id order by version desc limit 1) s
       where c.id = ${id}::uuid`)
    return { ...row, settlement: settlementOf({ settled_at, source, version }) }
  })

  const amend: Amendments["Service"]["amend"] = Effect.fn("Amendments.amend")(
    function* (challengeId, amendment) {
      yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId })
      // Rejects at once what cannot be done, before waiting for other settlements.
      if ((yield* decide(challengeId, amendment)) === null) return yield* view(challengeId)
      const outcome = yield* inSettlement(
        Effect.result(
          Effect.gen(function* () {
            yield* execute(sql`select 1 from challenges where id = ${challengeId}::uuid for no key update`)
            // Decided again under the lock: another administrator may have been faster.
            const decided = yield* decide(challengeId, amendment)
            if (decided === null) return
            const { category, id, now, target } = decided
            const version = decided.version + 1
            yield* score(decided, amendment.reason)
            yield* amendStats(sql, {
              challengeId: id,
              version,
              boards: ["global", category, target],
              now
            })
            yield* logSettlement(sql, { challenge_id: id, version })
            yield* Effect.logInfo("a settlement was amended").pipe(
              Effect.annotateLogs({ challenge_id: id, version })
            )
          })
        )
      )
      yield* Effect.fromResult(outcome)
      return yield* view(challengeId)
    }
  )

  return Amendments.of({ amend })
})

export const layer = Layer.effect(Amendments, make)
