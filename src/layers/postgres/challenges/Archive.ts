import { createHash } from "node:crypto"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  AlreadyArchived,
  Archive,
  ArchivedChallenge,
  Tournament,
  TournamentImport,
  TournamentSlug,
  unfinished
} from "../../../services/Archive.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { InstantText } from "../../../services/domain/text.ts"
import { canonicalJson } from "../../crypto/canonicalJson.ts"
import { execute, findAll, findOne, findOption, whenGiven, isoTimestamp, timestamp } from "../sql.ts"

const isSlug = Schema.is(TournamentSlug)
const encode = Schema.encodeEffect(TournamentImport)

/** The API reports at most this many problems of a request body. */
const maxProblems = 100

const Archived = Schema.Struct({ ...Tournament.fields, digest: Schema.String })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const cursors = yield* Cursors
  const tournamentPages = cursors.list(
    "archive",
    Schema.Struct({ ended_at: InstantText, slug: TournamentSlug })
  )
  const positionPages = cursors.list(
    "tournament",
    Schema.Struct({ position: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })) })
  )
  const archived = findOne(Archived)
  const tournaments = findAll(Tournament)
  const tournament = findOption(Tournament)
  const challenges = findAll(ArchivedChallenge)

  const columns = sql`
    slug, title, summary, ${isoTimestamp(sql, "ended_at")} as ended_at, ${isoTimestamp(sql, "archived_at")} as archived_at, challenge_count`

  /**
   * Inserts the tournament with all of its challenges in one statement, unless its slug is taken. The conflict names no
   * key: two unique keys begin with the slug, and a concurrent import may violate either of them first.
   */
  const store = (wanted: TournamentImport, digest: Buffer, now: DateTime.Utc) => {
    const records = wanted.challenges.map((challenge, index) => ({
      ...challenge,
      position: index + 1,
      deadline: timestamp(challenge.deadline),
      opened_at: challenge.opened_at && timestamp(challenge.opened_at),
      resolved_at: challenge.resolved_at && timestamp(challenge.resolved_at),
      outcomes: challenge.outcomes ?? []
    }))
    return execute(sql`
      with tournament as (
        insert into archived_tournaments (slug, title, summary, ended_at, archived_at, challenge_count, digest)
        values (${wanted.slug}, ${wanted.title}, ${wanted.summary ?? null}, ${timestamp(wanted.ended_at)}, ${timestamp(now)},
                ${records.length}, ${digest})
        on conflict do nothing
        returning slug, challenge_count
      )
      insert into archived_challenges
        (tournament, position, challenge_count, stage, question, resolution_criteria, opened_at, deadline, resolved_at,
         result, void_reason, outcomes)
      select t.slug, r.position, t.challenge_count, r.stage, r.question, r.resolution_criteria, r.opened_at, r.deadline,
             r.resolved_at, r.result, r.void_reason, r.outcomes
        from tournament t
       cross join jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as r
         (position int, stage text, question text, resolution_criteria text, opened_at timestamptz,
          deadline timestamptz, resolved_at timestamptz, result text, void_reason text, outcomes jsonb)`)
  }

  const importTournament: Archive["Service"]["import"] = Effect.fn("Archive.import")(function* (wanted) {
    const now = yield* DateTime.now
    const errors = unfinished(wanted, now).slice(0, maxProblems)
    const [first] = errors
    if (first !== undefined) {
      return yield* new InvalidRequest({ detail: `${first.path}: ${first.message}`, errors })
    }
    const body = canonicalJson(yield* Effect.orDie(encode(wanted)))
    const digest = createHash("sha256").update(body, "utf8").digest()
    yield* store(wanted, digest, now)
    const { digest: stored, ...imported } = yield* archived(sql`
      select ${columns}, encode(digest, 'hex') as digest from archived_tournaments where slug = ${wanted.slug}`)
    if (stored !== digest.toString("hex")) {
      return yield* new AlreadyArchived({
        detail: `Another tournament is archived as ${wanted.slug}; what is archived never changes, so take another slug.`
      })
    }
    return imported
  })

  const list: Archive["Service"]["list"] = Effect.fn("Archive.list")(function* (page) {
    const { after, toPage, limit } = yield* tournamentPages.decode(page)
    const rows = yield* tournaments(sql`
      select ${columns} from archived_tournaments
       ${whenGiven(sql, after, (last) => sql`where (ended_at, slug) < (${last.ended_at}::timestamptz, ${last.slug})`)}
       order by archived_tournaments.ended_at desc, slug desc
       limit ${limit}`)
    return toPage(rows, ({ ended_at, slug }) => ({ ended_at, slug }))
  })

  const get: Archive["Service"]["get"] = Effect.fn("Archive.get")(function* (slug, page) {
    const unknown = new NotFound({ detail: `No tournament is archived as ${slug.slice(0, 64)}.` })
    if (!isSlug(slug)) return yield* unknown
    const { after, toPage, limit } = yield* positionPages.decode(page, slug)
    const found = yield* tournament(sql`select ${columns} from archived_tournaments where slug = ${slug}`)
    if (Option.isNone(found)) return yield* unknown
    const rows = yield* challenges(sql`
      select position, stage, question, resolution_criteria, ${isoTimestamp(sql, "opened_at")} as opened_at,
             ${isoTimestamp(sql, "deadline")} as deadline, ${isoTimestamp(sql, "resolved_at")} as resolved_at,
             case when result is null then 'void' else 'resolved' end as status, result, void_reason, outcomes
        from archived_challenges
       where tournament = ${slug} and position > ${after?.position ?? 0}
       order by position
       limit ${limit}`)
    const { items, next_cursor } = toPage(rows, ({ position }) => ({ position }))
    return { ...found.value, challenges: items, next_cursor }
  })

  return Archive.of({ import: importTournament, list, get })
})

export const layer = Layer.effect(Archive, make)
