/**
 * The predictions of which the log lacks something, beside what waits for its place. The queue may be as long as the log,
 * and has no index of predictions, so each side of the comparison reads the other once, never once for every page.
 */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { isUuid } from "../../../services/identifiers.ts"
import { maxDifferences } from "../../../services/LogAudit.ts"
import { findAll, rowsOf } from "../sql.ts"
import { compare, membersOf } from "./entry.ts"
import type { Findings } from "./findings.ts"
import { eachPage } from "./pages.ts"
import { mustBeRevealed, nameOf, revealedTooSoon, revealOf } from "./sealed.ts"

const pageSize = 4096

const Key = { challenge_id: Schema.String, agent_id: Schema.String, revision: Schema.Int }

const Missing = Schema.Struct({ ...Key, committed: Schema.NullOr(Schema.Finite), count: Schema.Int })

const Reveal = Schema.Struct({ id: Schema.Finite, commit_index: Schema.Finite, entry: Schema.Uint8Array })
type Reveal = typeof Reveal.Type

const Row = Schema.Struct({
  ...Key,
  salt: Schema.Uint8Array,
  body: Schema.Uint8Array,
  committed: Schema.NullOr(Schema.Finite),
  is_closed: Schema.Boolean,
  must_be_revealed: Schema.Boolean
})

const revision = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 }))
const decodeKey = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      challenge_id: Schema.String.check(Schema.makeFilter(isUuid)),
      agent_id: Schema.String.check(Schema.makeFilter(isUuid)),
      revision
    })
  )
)

const textOf = (key: { readonly [Name in keyof typeof Key]: string | number }): string =>
  `${key.challenge_id} ${key.agent_id} ${key.revision}`

export const auditWaitingPredictions = Effect.fnUntraced(function* (findings: Findings, unrevealed: number) {
  const sql = yield* SqlClient.SqlClient
  const missing = findAll(Missing)
  const reveals = findAll(Reveal)
  const predictions = findAll(Row)

  const named = Effect.fnUntraced(function* (
    statement: Statement.Statement<object>,
    complaint: (committed: number | null) => string
  ) {
    const rows = yield* missing(statement)
    findings.addFirst(
      rows.map((row) => `${nameOf(row)}: ${complaint(row.committed)}`),
      rows[0]?.count ?? 0
    )
  })

  const first = sql`order by p.challenge_id, p.agent_id, p.revision limit ${maxDifferences}`
  const key = sql`p.challenge_id::text, p.agent_id::text, p.revision, (count(*) over ())::int as count`

  if (unrevealed > 0) {
    yield* named(
      sql`
        select ${key}, e.index::float8 as committed
          from predictions p
          left join log_entries e on e.type = 'prediction.commit' and e.commit = p.commit
          left join log_entries x on x.challenge_id = p.challenge_id and x.type = 'challenge.close' and x.version = 1
          left join log_reveals w on w.challenge_id = p.challenge_id
         where ${mustBeRevealed(sql)} and e.index is not null
           and not exists (select from log_entries r where r.commit_index = e.index)
           and not exists (
             select from log_pending q where q.type = 'prediction.reveal' and q.commit_index = e.index)
         ${first}`,
      (committed) => `the log does not reveal entry ${committed}, and nothing waits to do so`
    )
  }

  const keysOf = (page: ReadonlyArray<Reveal>) =>
    page.map(({ entry }) => decodeKey(membersOf(entry)?.["body"]))

  const look = Effect.fnUntraced(function* (page: ReadonlyArray<Reveal>) {
    const keys = keysOf(page)
    const known = keys.flatMap(Option.toArray)
    const rows = yield* predictions(sql`
      select p.challenge_id::text, p.agent_id::text, p.revision, p.salt, p.body, e.index::float8 as committed,
             x.index is not null as is_closed, ${mustBeRevealed(sql)} as must_be_revealed
        from ${rowsOf(sql, "wanted", known, {
          challenge_id: ["uuid", ({ challenge_id }) => challenge_id],
          agent_id: ["uuid", ({ agent_id }) => agent_id],
          revision: ["int4", (each) => each.revision]
        })}
        join predictions p
          on p.challenge_id = wanted.challenge_id and p.agent_id = wanted.agent_id and p.revision = wanted.revision
        left join log_entries e on e.type = 'prediction.commit' and e.commit = p.commit
        left join log_entries x on x.challenge_id = p.challenge_id and x.type = 'challenge.close' and x.version = 1
        left join log_reveals w on w.challenge_id = p.challenge_id`)
    const byKey = new Map(rows.map((row) => [textOf(row), row]))
    for (const [place, { commit_index, entry }] of page.entries()) {
      const row = Option.getOrUndefined(
        Option.flatMap(keys[place] ?? Option.none(), (named) =>
          Option.fromUndefinedOr(byKey.get(textOf(named)))
        )
      )
      if (row === undefined || row.committed !== commit_index) {
        findings.add(
          `an entry that waits (prediction.reveal): its body is that of no prediction whose commit is entry ${commit_index}`
        )
        continue
      }
      const what = nameOf(row)
      compare(findings, what, { index: null, entry }, revealOf(row, commit_index))
      if (!row.must_be_revealed && row.is_closed) findings.add(`${what}: ${revealedTooSoon}`)
    }
  })

  yield* eachPage(
    pageSize,
    (after: Reveal | undefined) =>
      reveals(sql`
        select id::float8 as id, commit_index::float8 as commit_index, entry from log_pending
         where type = 'prediction.reveal' and commit_index is not null and entry is not null
           ${after === undefined ? sql`` : sql`and id > ${BigInt(after.id)}::int8`}
         order by id limit ${pageSize}`),
    look
  )
})
