import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ChallengeState } from "../../services/Challenges.ts"
import { microCredits } from "../../services/Credits.ts"
import { InvalidRequest } from "../../services/errors.ts"
import { isUuid } from "../../services/identifiers.ts"
import { MacroArena } from "../../services/MacroArena.ts"
import type { NewMacroChallenge } from "../../services/MacroArena.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import { Settings } from "../../services/Settings.ts"
import { Targets } from "../../services/Targets.ts"
import { hasStatus } from "./arenas/challengeRows.ts"
import { makeForecast } from "./arenas/forecast.ts"
import { MacroRow, selectMacro, shown } from "./arenas/macroRows.ts"
import { makeMacroDoubts } from "./arenas/macroDoubts.ts"
import { makeMacroTerms } from "./arenas/macroTerms.ts"
import { unknownChallenge } from "./arenas/unknownChallenge.ts"
import { makeVoidChallenge } from "./arenas/voidChallenge.ts"
import { funding } from "./credits/poolTransfers.ts"
import { makeTransfers } from "./credits/transfers.ts"
import { challengeCreate } from "./log/entries.ts"
import { at, column, many, maybe, run, transaction } from "./query.ts"
import { makeSettleMacro } from "./scoring/macroSettlement.ts"

const Ending = Schema.Struct({
  id: Schema.String,
  deadline: Schema.DateTimeUtcFromDate,
  cancel_at: Schema.DateTimeUtcFromDate
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const idCursor = (yield* Cursors).ids("macro challenges")
  const settings = yield* Settings
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const challenges = many(MacroRow)
  const challenge = maybe(MacroRow)
  const ending = maybe(Ending)
  const predict = yield* makeForecast
  const settleMacro = yield* makeSettleMacro
  const termsOf = yield* makeMacroTerms
  const transfers = yield* makeTransfers
  const doubts = makeMacroDoubts(sql)
  const { voidChallenge, voidWithoutValue } = yield* makeVoidChallenge

  const get: MacroArena["Service"]["get"] = Effect.fn("MacroArena.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* challenge(
      sql`${selectMacro(sql, now)} where c.id = ${id}::uuid and c.type = 'macro'`
    )
    return yield* Effect.fromOption(Option.map(found, shown)).pipe(
      Effect.mapError(() => unknownChallenge(id))
    )
  })

  const list: MacroArena["Service"]["list"] = Effect.fn("MacroArena.list")(function* (status, page) {
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

  const create: MacroArena["Service"]["create"] = Effect.fn("MacroArena.create")(function* (
    wanted: NewMacroChallenge
  ) {
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
    const created = {
      ...terms,
      challenge_id: id,
      challenge_type: "macro" as const,
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
    }
    const recorded = run(sql`
      with created as (
        insert into challenges
          (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
           resolution_criteria, resolution_criteria_zh, period, unit, bin_edges, reference_scale, decimal_step,
           reward_pool)
        values (${id}::uuid, 'macro', 'macro', ${target.key}, ${question}, ${at(now)}, ${at(wanted.deadline)},
                ${at(releaseAt)}, ${at(cancelAt)}, ${at(cancelAt)}, ${terms.resolution_criteria},
                ${terms.resolution_criteria_zh}, ${terms.period}, ${terms.unit},
                ${column("numeric", terms.bin_edges)}, ${terms.reference_scale}::numeric,
                ${terms.decimal_step}::numeric, (${terms.reward_pool}::numeric * 1000000)::bigint)
        returning id
      )
      insert into log_pending (type, challenge_id, version, entry)
      select 'challenge.create', id, 1, ${challengeCreate(created)} from created`)
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

  const resolve: MacroArena["Service"]["resolve"] = Effect.fn("MacroArena.resolve")(function* (
    challengeId,
    actualValue,
    { confirm = false } = {}
  ) {
    const id = yield* ended(challengeId)
    const doubt = confirm ? undefined : yield* doubts(id, actualValue)
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

  const voided: MacroArena["Service"]["void"] = Effect.fn("MacroArena.void")(function* (challengeId, reason) {
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

  return MacroArena.of({ get, list, predict, create, resolve, void: voided })
})

export const layer = Layer.effect(MacroArena, make)
