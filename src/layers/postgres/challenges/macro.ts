/** The macro arena: challenges on a figure that will be published, and forecasts of it. */
import { DateTime, Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { unknownChallenge } from "../../../services/domain/Challenge.ts"
import type { NewMacroChallenge } from "../../../services/domain/Challenge.ts"
import { microCredits } from "../../../services/Credits.ts"
import { InvalidRequest } from "../../../services/errors.ts"
import { ChallengeId, PredictionId, isUuid } from "../../../services/identifiers.ts"
import type { MacroArena } from "../../../services/Arenas.ts"
import { Cursors, cutPage, invalidCursor } from "../../../services/paging.ts"
import { Settings } from "../../../services/Settings.ts"
import { Targets } from "../../../services/Targets.ts"
import { hasStatus } from "./challengeRows.ts"
import { createChallenge } from "./lifecycle.ts"
import { MacroRow, selectMacro, shown } from "./macroRows.ts"
import { makeMacroTerms } from "./macroTerms.ts"
import { Pools } from "../../../services/Pools.ts"
import { cheapSpan } from "../../cheapSpan.ts"
import type { RecordPrediction } from "./predictions.ts"
import { findAll, findOption, transaction } from "../sql.ts"

export const makeMacroArena = Effect.fnUntraced(function* (record: RecordPrediction) {
  const sql = yield* SqlClient.SqlClient
  const idCursor = (yield* Cursors).ids("macro challenges")
  const settings = yield* Settings
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const challenges = findAll(MacroRow)
  const challenge = findOption(MacroRow)
  const termsOf = yield* makeMacroTerms
  const pools = yield* Pools

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
  }, cheapSpan("Arenas.predict"))

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
    // The statement that creates the challenge opens the pool's account.
    const funded = pools.fund(id, microCredits(wanted.reward_pool))
    yield* transaction(sql)(Effect.andThen(recorded, funded))
    return yield* Effect.orDie(get(id))
  })

  return { get, list, predict, create }
})
