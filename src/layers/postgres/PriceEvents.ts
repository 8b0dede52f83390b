import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ChallengeState } from "../../services/Challenges.ts"
import { InvalidRequest } from "../../services/errors.ts"
import { isUuid } from "../../services/identifiers.ts"
import { Cursors, cutPage, invalidCursor } from "../../services/paging.ts"
import { PriceEvent, PriceEvents } from "../../services/PriceEvents.ts"
import { Targets } from "../../services/Targets.ts"
import { hasStatus } from "./arenas/challengeRows.ts"
import { makeAnswer } from "./arenas/priceEventPredict.ts"
import { selectPriceEvent } from "./arenas/priceEventRows.ts"
import { makePriceEventTerms } from "./arenas/priceEventTerms.ts"
import { unknownChallenge } from "./arenas/unknownChallenge.ts"
import { makeVoidChallenge } from "./arenas/voidChallenge.ts"
import { challengeCreate } from "./log/entries.ts"
import { at, many, maybe, run } from "./query.ts"

const Ending = Schema.Struct({ id: Schema.String, deadline: Schema.DateTimeUtcFromDate })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const idCursor = (yield* Cursors).ids("price events")
  const targets = yield* Targets
  const random = yield* SecureRandom.SecureRandom
  const questions = many(PriceEvent)
  const question = maybe(PriceEvent)
  const ending = maybe(Ending)
  const predict = yield* makeAnswer
  const termsOf = yield* makePriceEventTerms
  const { voidChallenge } = yield* makeVoidChallenge

  const get: PriceEvents["Service"]["get"] = Effect.fn("PriceEvents.get")(function* (id) {
    if (!isUuid(id)) return yield* unknownChallenge(id)
    const now = yield* DateTime.now
    const found = yield* question(
      sql`${selectPriceEvent(sql, now)} where c.id = ${id}::uuid and c.type = 'price_event'`
    )
    return yield* Effect.fromOption(found).pipe(Effect.mapError(() => unknownChallenge(id)))
  })

  const list: PriceEvents["Service"]["list"] = Effect.fn("PriceEvents.list")(function* (status, page) {
    const after = Option.getOrNull(idCursor.decode(page.cursor))
    if (after === null) return yield* invalidCursor()
    const now = yield* DateTime.now
    const rows = yield* questions(sql`
      ${selectPriceEvent(sql, now)}
       where c.type = 'price_event' ${status === undefined ? sql`` : sql`and ${hasStatus(sql, status, now)}`}
         ${after === undefined ? sql`` : sql`and c.id < ${after}::uuid`}
       order by c.id desc
       limit ${page.limit + 1}`)
    return cutPage(rows, page.limit, (last) => idCursor.encode(last.id))
  })

  const create: PriceEvents["Service"]["create"] = Effect.fn("PriceEvents.create")(function* (wanted) {
    const target = yield* targets
      .get(wanted.asset)
      .pipe(Effect.mapError(() => InvalidRequest.of("asset", `"${wanted.asset}" is not a target`)))
    // They trade at all hours, so every day and every hour has its candle. A pause is of other challenges only.
    if (target.category !== "crypto") {
      return yield* InvalidRequest.of("asset", `${target.key} is not a crypto asset`)
    }
    const now = yield* DateTime.now
    const terms = yield* termsOf(wanted, target, now)
    const id = yield* random.uuidV7()
    const created = {
      ...terms,
      challenge_id: id,
      challenge_type: "price_event" as const,
      asset: target.key,
      kind: wanted.kind,
      event_id: null,
      created_at: now,
      deadline: wanted.deadline,
      resolve_at: wanted.resolve_at,
      close_price_until: terms.cancel_at,
      open_price: null,
      dead_zone_pct: null,
      period: null,
      unit: null,
      bin_edges: null,
      reward_pool: null
    }
    yield* run(sql`
      with created as (
        insert into challenges
          (id, type, kind, target, question, created_at, deadline, resolve_at, close_price_until, cancel_at,
           resolution_criteria, resolution_criteria_zh, level, window_from, reference_scale, decimal_step)
        values (${id}::uuid, 'price_event', ${wanted.kind}, ${target.key}, ${terms.question}, ${at(now)},
                ${at(wanted.deadline)}, ${at(wanted.resolve_at)}, ${at(terms.cancel_at)}, ${at(terms.cancel_at)},
                ${terms.resolution_criteria}, ${terms.resolution_criteria_zh}, ${terms.level}::numeric,
                ${terms.window_from === null ? null : at(terms.window_from)}::timestamptz,
                ${terms.reference_scale}::numeric, ${terms.decimal_step}::numeric)
        returning id
      )
      insert into log_pending (type, challenge_id, version, entry)
      select 'challenge.create', id, 1, ${challengeCreate(created)} from created`)
    return yield* Effect.orDie(get(id))
  })

  const voided: PriceEvents["Service"]["void"] = Effect.fn("PriceEvents.void")(
    function* (challengeId, reason) {
      const found = isUuid(challengeId)
        ? yield* ending(
            sql`select id::text, deadline from challenges where id = ${challengeId}::uuid and type = 'price_event'`
          )
        : Option.none()
      if (Option.isNone(found)) return yield* unknownChallenge(challengeId)
      const { deadline, id } = found.value
      if (DateTime.isLessThan(yield* DateTime.now, deadline)) {
        return yield* new ChallengeState({
          detail: `The challenge is open: nothing is settled or voided before its deadline, ${DateTime.formatIso(deadline)}.`
        })
      }
      const done = yield* voidChallenge("price_event", id, reason)
      const current = yield* get(id)
      if (!done) {
        return yield* new ChallengeState({
          detail: `The challenge is ${current.status}; only one that is closed can be voided.`
        })
      }
      return current
    }
  )

  return PriceEvents.of({ get, list, predict, create, void: voided })
})

export const layer = Layer.effect(PriceEvents, make)
