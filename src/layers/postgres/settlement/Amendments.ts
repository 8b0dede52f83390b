import { BigDecimal, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { maxCount } from "../../../scoring/kinds/facts.ts"
import { kindOf, outcomesOf } from "../../../scoring/kinds/kinds.ts"
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
import { settlementOf, statusOf, versionsOf } from "../challenges/challengeRows.ts"
import { latestSettlement } from "../latestSettlement.ts"
import { boundTime, decimal, findOne, findOption, isoTimestamp } from "../sql.ts"
import { faultOfCategory } from "./scores.ts"
import { makeSettle } from "./settle.ts"
import type { Observed } from "./settle.ts"
import { shownLevels } from "../levels.ts"

/** A challenge to amend. The columns of the settlement are from its newest version, and null before it is settled. */
const AmendedRow = Schema.Struct({
  id: Schema.String,
  type: ChallengeType,
  kind: Schema.String,
  status: AnyStatus,
  target: Schema.String,
  negative_prices: Schema.Boolean,
  categories: Schema.NullOr(Schema.Array(Schema.String)),
  version: Schema.NullOr(Schema.Int),
  observation: Schema.NullOr(Schema.String),
  observed_at: Schema.NullOr(Schema.DateTimeUtcFromDate),
  /** True if the newest version has the requested value. */
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

const hasNumber = ({ categories, kind }: Amended): boolean =>
  outcomesOf(kindOf(kind, { categories }).answers) === null

/** The requested value, from the field that fits the type of the challenge. */
const valueFor = Effect.fnUntraced(function* (challenge: Amended, amendment: Amendment) {
  const [field, foreign] = hasNumber(challenge)
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
  const wrongCategory = faultOfCategory(challenge.categories, value)
  if (wrongCategory !== undefined) return yield* InvalidRequest.of(field, wrongCategory)
  const max = maxCount(challenge.kind)
  if (max !== null && !(Number.isInteger(value) && value >= 0 && value <= max)) {
    return yield* InvalidRequest.of(field, `Expected a whole number from 0 to ${max}`)
  }
  const isPrice = challenge.type !== "macro" && max === null
  if (isPrice && !challenge.negative_prices && value <= 0) {
    return yield* InvalidRequest.of(field, `Expected a price above 0: ${challenge.target} has no other`)
  }
  return decimal(value)
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const amended = findOption(AmendedRow)
  const viewRow = findOne(ViewRow)
  const settlement = yield* makeSettle

  const read = (id: string, amendment: Amendment, now: DateTime.Utc) => {
    const value = amendment.close_price ?? amendment.actual_value
    const wanted = value === undefined ? null : decimal(value)
    return amended(sql`
      select c.id::text, c.type, c.kind, ${statusOf(sql, now)} as status, c.target, t.negative_prices,
             c.categories, s.version, s.observed_at, ${boundTime(sql, now)} as now,
             trim_scale(coalesce(s.close_price, s.actual_value))::text as observation,
             coalesce(coalesce(s.close_price, s.actual_value) = ${wanted}::numeric, false) as is_current,
             (select max(version) from settlements
               where challenge_id = c.id and coalesce(close_price, actual_value) = ${wanted}::numeric
                 and reason = ${amendment.reason}) as same_version
        from challenges c
        join targets t on t.key = c.target
        left join ${latestSettlement(sql)} s on true
       where c.id = ${id}::uuid`)
  }

  /** The new version to write, or null if the newest version is this very amendment. */
  const decide = Effect.fnUntraced(function* (id: string, amendment: Amendment) {
    const found = isUuid(id) ? yield* read(id, amendment, yield* DateTime.now) : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    const challenge = found.value
    const value = yield* valueFor(challenge, amendment)
    const { observation, observed_at, version } = challenge
    if (version === null || observation === null || observed_at === null) {
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
    const observed: Observed = {
      observation: BigDecimal.fromStringUnsafe(value),
      source: "admin",
      observedAt: observed_at,
      fetchedAt: challenge.now,
      payloadHash: null
    }
    return { observed, amended: { version, observation, reason: amendment.reason } }
  })

  const view = Effect.fnUntraced(function* (id: string) {
    const { settled_at, source, version, ...row } = yield* viewRow(sql`
      select c.id::text as challenge_id, c.type, c.target as asset, c.question, 'resolved' as status, s.result,
             s.open_price::float8 as open_price, s.close_price::float8 as close_price,
             s.dead_zone_pct::float8 as dead_zone_pct, s.actual_value::float8 as actual_value,
             s.reference_scale::float8 as reference_scale, ${shownLevels(sql, "s")}, s.version, ${isoTimestamp(sql, "s.settled_at")} as settled_at,
             s.source, ${versionsOf(sql)}
        from challenges c
       cross join ${latestSettlement(sql)} s
       where c.id = ${id}::uuid`)
    return { ...row, settlement: settlementOf({ settled_at, source, version }) }
  })

  const amend: Amendments["Service"]["amend"] = Effect.fn("Amendments.amend")(
    function* (challengeId, amendment) {
      yield* Effect.annotateCurrentSpan({ "challenge.id": challengeId })
      // An impossible amendment fails here, before it waits for other settlements.
      if ((yield* decide(challengeId, amendment)) === null) return yield* view(challengeId)
      // The amendment is decided again under the lock: another administrator may have been faster.
      const version = yield* settlement.amend(challengeId, decide(challengeId, amendment))
      if (version !== null) {
        yield* Effect.logInfo("a settlement was amended").pipe(
          Effect.annotateLogs({ challenge_id: challengeId.toLowerCase(), version })
        )
      }
      return yield* view(challengeId)
    }
  )

  return Amendments.of({ amend })
})

export const layer = Layer.effect(Amendments, make)
