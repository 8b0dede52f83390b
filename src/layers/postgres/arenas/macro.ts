/** The macro arena: challenges on a figure that will be published, and forecasts of it. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ChallengeState } from "../../../services/Challenges.ts"
import { microCredits } from "../../../services/Credits.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import type { MacroArena, NewMacroChallenge } from "../../../services/MacroArena.ts"
import { Cursors, cutPage, invalidCursor } from "../../../services/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import { hasStatus } from "./challengeRows.ts"
import { createChallenge } from "./lifecycle.ts"
import { MacroRow, scoringScale, selectMacro, shown } from "./macroRows.ts"
import { makeMacroTerms } from "./macroTerms.ts"
import { unknownChallenge } from "./unknownChallenge.ts"
import { makeVoidChallenge } from "./voidChallenge.ts"
import { funding } from "../credits/poolTransfers.ts"
import { makeTransfers } from "../credits/transfers.ts"
import { hotSpan } from "../../hotSpan.ts"
import type { RecordPrediction } from "./predictions.ts"
import { decimal, many, maybe, transaction } from "../query.ts"
import { makeSettleMacro } from "../scoring/macroSettlement.ts"

const Ending = Schema.Struct({
  id: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})

/** Of a series whose forecasters know it within one: nothing that was ever published came near. */
const maxScalesAway = 100

const Compared = Schema.Struct({
  decimal_step: Schema.NullOr(Schema.String),
  is_off_step: Schema.NullOr(Schema.Boolean),
  scales_away: Schema.Finite
})

/**
 * Whether a published value looks mistyped: what a challenge is settled by pays out its pool for good. Only of challenges that are not settled and have forecasts: the first prints of earlier periods may be anything.
 */
const makeValueSanityChecks = (sql: SqlClient.SqlClient) => {
  const compared = maybe(Compared)
  return Effect.fnUntraced(function* (id: string, actualValue: number) {
    const value = sql`${decimal(actualValue)}::numeric`
    const found = yield* compared(sql`
      select trim_scale(c.decimal_step)::text as decimal_step, mod(${value}, c.decimal_step) <> 0 as is_off_step,
             (greatest(c.bin_edges[1] - ${value}, ${value} - c.bin_edges[cardinality(c.bin_edges)])
              / ${scoringScale(sql)})::float8 as scales_away
        from challenges c
       where c.id = ${id}::uuid and c.type = 'macro' and c.resolved_at is null and c.cancelled_at is null
         and exists (select from predictions p where p.challenge_id = c.id)`)
    if (Option.isNone(found)) return undefined
    const { decimal_step, is_off_step, scales_away } = found.value
    if (is_off_step === true) return `${actualValue} is no multiple of the decimal step, ${decimal_step}`
    if (scales_away > maxScalesAway) {
      return `${actualValue} lies more than ${maxScalesAway} reference scales beyond the outermost edges of the bins`
    }
    return undefined
  })
}

export const makeMacroArena = Effect.fnUntraced(function* (record: RecordPrediction) {
  const sql = yield* SqlClient.SqlClient
  const idCursor = (yield* Cursors).ids("macro challenges")
  const settings = yield* Settings
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const challenges = many(MacroRow)
  const challenge = maybe(MacroRow)
  const ending = maybe(Ending)
  const settleMacro = yield* makeSettleMacro
  const termsOf = yield* makeMacroTerms
  const transfers = yield* makeTransfers
  const doubtsAbout = makeValueSanityChecks(sql)
  const { voidChallenge, voidWithoutValue } = yield* makeVoidChallenge

  const get: MacroArena["get"] = Effect.fn("MacroArena.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* challenge(
      sql`${selectMacro(sql, now)} where c.id = ${id}::uuid and c.type = 'macro'`
    )
    return yield* Effect.fromOption(Option.map(found, shown)).pipe(
      Effect.mapError(() => unknownChallenge(id))
    )
  })

  const list: MacroArena["list"] = Effect.fn("MacroArena.list")(function* (status, page) {
    const after = Option.getOrNull(idCursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const now = yield* DateTime.now
    const rows = yield* challenges(sql`
      ${selectMacro(sql, now)}
       where c.type = 'macro' ${status === undefined ? sql`` : sql`and ${hasStatus(sql, status, now)}`}
         ${after === undefined ? sql`` : sql`and c.id < ${after}::uuid`}
       order by c.id desc
       limit ${page.limit + 1}`)
    const { items, next_cursor } = cutPage(rows, page.limit, (last) => idCursor.encode(last.id))
    return { challenges: items.map(shown), next_cursor }
  })

  const predict: MacroArena["predict"] = Effect.fnUntraced(function* (submission) {
    const { agentId, challengeId, forecast, receivedAt } = submission
    const { predicted_std, predicted_value, rationale = null } = forecast
    const id = PredictionId.make(yield* random.uuidV7())
    const { receipt, revision } = yield* record({
      id,
      type: "macro",
      challengeId,
      agentId,
      form: { predicted_std, predicted_value },
      reasoning: rationale,
      mayRevise: true,
      receivedAt
    }).pipe(
      // A forecast needs no subscription, and replaces the agent's earlier one.
      Effect.catchTags({ ScopeNotSubscribed: Effect.die, DuplicatePrediction: Effect.die })
    )
    return {
      answer: {
        prediction_id: id,
        challenge_id: ChallengeId.make(challengeId.toLowerCase()),
        predicted_value,
        predicted_std,
        created_at: DateTime.formatIso(receivedAt),
        revision_count: revision,
        receipt
      },
      replaced: revision > 0
    }
  }, hotSpan("Arenas.predict"))

  const create: MacroArena["create"] = Effect.fn("MacroArena.create")(function* (wanted: NewMacroChallenge) {
    const target = yield* targets
      .get(wanted.asset)
      .pipe(Effect.mapError(() => InvalidRequest.of("asset", `"${wanted.asset}" is not a target`)))
    if (target.kind !== "macro") {
      return yield* InvalidRequest.of("asset", `${target.key} is not a macro series`)
    }
    const releaseAt = wanted.release_at ?? wanted.deadline
    if (DateTime.isLessThan(releaseAt, wanted.deadline)) {
      return yield* InvalidRequest.of("release_at", "Expected a time at or after the deadline")
    }
    const now = yield* DateTime.now
    const id = yield* random.uuidV7()
    const cancelAt = DateTime.addDuration(releaseAt, settings.macroVoidAfter)
    const terms = yield* termsOf(wanted, target, { releaseAt, cancelAt })
    const question = wanted.question ?? `What will ${target.name} (${target.key}) be for ${wanted.period}?`
    const recorded = createChallenge(sql, {
      ...terms,
      challenge_id: id,
      challenge_type: "macro",
      asset: target.key,
      kind: "macro",
      event_id: null,
      question,
      created_at: now,
      deadline: wanted.deadline,
      resolve_at: releaseAt,
      close_price_until: cancelAt,
      cancel_at: cancelAt,
      open_price: null,
      dead_zone_pct: null,
      level: null,
      window_from: null
    })
    const rewardPool = microCredits(wanted.reward_pool)
    // The pool's account is opened by the challenge, so there is something to fund after that statement.
    const funded = rewardPool === 0n ? Effect.void : Effect.orDie(transfers.record([funding(id, rewardPool)]))
    yield* transaction(sql)(Effect.andThen(recorded, funded))
    return yield* Effect.orDie(get(id))
  })

  /** The challenge that an admin wants to end, once its deadline has passed, and void if it waited for too long. */
  const ended = Effect.fnUntraced(function* (id: string) {
    const now = yield* DateTime.now
    const found = isUuid(id)
      ? yield* ending(
          sql`select id::text, deadline, cancel_at from challenges where id = ${id}::uuid and type = 'macro'`
        )
      : Option.none()
    if (Option.isNone(found)) return yield* unknownChallenge(id)
    if (DateTime.isLessThan(now, found.value.deadline)) {
      return yield* new ChallengeState({
        detail: `The challenge is open: nothing is settled or voided before its deadline, ${DateTime.formatIso(found.value.deadline)}.`
      })
    }
    if (DateTime.isGreaterThanOrEqualTo(now, found.value.cancel_at)) {
      yield* voidWithoutValue(found.value)
    }
    return found.value.id
  })

  const resolve: MacroArena["resolve"] = Effect.fn("MacroArena.resolve")(function* (
    challengeId,
    actualValue,
    { confirm = false } = {}
  ) {
    const id = yield* ended(challengeId)
    const doubt = confirm ? undefined : yield* doubtsAbout(id, actualValue)
    if (doubt !== undefined) {
      return yield* InvalidRequest.of("actual_value", `${doubt}; with confirm true it is taken all the same`)
    }
    const settled = yield* settleMacro(id, actualValue)
    if (settled) {
      yield* Effect.logInfo("a macro challenge was settled").pipe(
        Effect.annotateLogs({ challenge_id: id, actual_value: actualValue })
      )
    }
    const current = yield* get(id)
    if (settled || current.actual_value === actualValue) return current
    return yield* new ChallengeState({
      detail:
        current.actual_value === null
          ? `The challenge is ${current.status}; only one that is closed can be resolved.`
          : `The challenge was resolved with ${current.actual_value}; another value is an amendment.`
    })
  })

  const voided: MacroArena["void"] = Effect.fn("MacroArena.void")(function* (challengeId, reason) {
    const id = yield* ended(challengeId)
    const done = yield* voidChallenge("macro", id, reason)
    const current = yield* get(id)
    if (!done) {
      return yield* new ChallengeState({
        detail: `The challenge is ${current.status}; only one that is closed can be voided.`
      })
    }
    return current
  })

  const arena: MacroArena = { get, list, predict, create, resolve, void: voided }
  return arena
})
