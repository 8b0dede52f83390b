/** Compares predictions with their sealed bodies, their commits in the log, and their reveals. */
import { createHash } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { choiceOf, numberOf } from "../../../../services/domain/Answer.ts"
import type { AnswerValues } from "../../../../services/domain/Answer.ts"
import { isUuid } from "../../../../services/domain/ids.ts"
import { maxDifferences } from "../../../../services/Audit.ts"
import { canonicalJson } from "../../../crypto/canonicalJson.ts"
import { exact, findAll, rowsOf, whenGiven } from "../../sql.ts"
import { predictionCommit, predictionReveal } from "../../log/entries.ts"
import { Entry, Index, compare, membersOf, moment, sentNumber } from "./entry.ts"
import { submittedForecast } from "../../settlement/scores.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"

const pageSize = 4096

const Row = Schema.Struct({
  challenge_id: Schema.String,
  agent_id: Schema.String,
  revision: Schema.Int,
  type: Schema.NullOr(Schema.String),
  form: Schema.NullOr(Schema.String),
  direction: Schema.NullOr(Schema.String),
  confidence: Schema.NullOr(Schema.String),
  predicted_value: Schema.NullOr(Schema.String),
  predicted_std: Schema.NullOr(Schema.String),
  reasoning: Schema.NullOr(Schema.String),
  received_at: Schema.String,
  is_of_deadline: Schema.NullOr(Schema.Boolean),
  salt: Schema.Uint8Array,
  body: Schema.Uint8Array,
  commit: Schema.Uint8Array,
  entry: Entry,
  committed: Index,
  revealed: Index,
  reveal: Entry,
  closed: Index,
  /** True if the log has closed its challenge and the reveals have passed it. */
  must_be_revealed: Schema.Boolean
})
type Row = typeof Row.Type

const commitDomain = Buffer.from("auspex/commit/v1\0")

const commitOf = ({ body, salt }: Row): Buffer =>
  createHash("sha256").update(commitDomain).update(salt).update(body).digest()

/** The values in the columns of a prediction, also those that its form does not have. */
const columnsOf = (row: Row) =>
  Object.fromEntries(
    Object.entries({
      confidence: row.confidence === null ? null : sentNumber(row.confidence),
      direction: row.direction,
      predicted_std: row.predicted_std === null ? null : sentNumber(row.predicted_std),
      predicted_value: row.predicted_value === null ? null : sentNumber(row.predicted_value)
    }).filter(([, value]) => value !== null)
  )

/** The schema has no bounds, because older answers were accepted by other bounds than today's. */
const decodeValues = Schema.decodeUnknownOption(submittedForecast, { onExcessProperty: "error" })

/** The values of the sealed body, if they are in exactly the form that the row names. */
const submittedIn = ({ body, form }: Row): AnswerValues | undefined => {
  const values = Option.getOrNull(decodeValues(membersOf(body)?.["values"]))
  return values !== null && Object.keys(values).join() === form ? values : undefined
}

/** Names the columns that do not follow from the values of the sealed body. */
const checkSubmitted = (findings: Findings, what: string, row: Row, submitted: AnswerValues): void => {
  const follows: Readonly<Record<string, unknown>> =
    (choiceOf(submitted) ?? numberOf(submitted))?.values ?? {}
  const columns: Readonly<Record<string, unknown>> = columnsOf(row)
  for (const name of ["direction", "confidence", "predicted_value", "predicted_std"]) {
    if (columns[name] !== follows[name]) findings.add(`${what}: ${name} does not follow from its sealed body`)
  }
}

/** Composes the body from a prediction's columns; the values of a form without columns come from the sealed body. */
const bodyOf = (row: Row, submitted: AnswerValues | undefined) => ({
  agent_id: row.agent_id,
  challenge_id: row.challenge_id,
  kind: row.type,
  reasoning_sha256:
    row.reasoning === null ? null : createHash("sha256").update(row.reasoning, "utf8").digest("hex"),
  received_at: row.received_at,
  revision: row.revision,
  values: submitted ?? columnsOf(row)
})

/** Names the columns that differ from the sealed body. */
const checkBody = (findings: Findings, what: string, row: Row): void => {
  const submitted = row.form === null ? undefined : submittedIn(row)
  if (row.form !== null && submitted === undefined) {
    findings.add(`${what}: form is not that of its sealed body`)
    return
  }
  if (submitted !== undefined) checkSubmitted(findings, what, row, submitted)
  const expected = bodyOf(row, submitted)
  if (canonicalJson(expected) === Buffer.from(row.body).toString("utf8")) return
  const members = membersOf(row.body)
  if (members === undefined) {
    findings.add(`${what}: its sealed body is not canonical JSON`)
    return
  }
  const { reasoning_sha256, values, ...direct } = expected
  const sealed = members["values"]
  const inside =
    typeof sealed === "object" && sealed !== null ? Object.fromEntries(Object.entries(sealed)) : {}
  const pairs: Readonly<Record<string, readonly [sealed: unknown, expected: unknown]>> = {
    ...Object.fromEntries(Object.entries(direct).map(([name, value]) => [name, [members[name], value]])),
    reasoning: [members["reasoning_sha256"], reasoning_sha256],
    ...Object.fromEntries(
      [...new Set([...Object.keys(inside), ...Object.keys(values)])].map((name) => [
        name,
        [inside[name], Object.entries(values).find(([each]) => each === name)?.[1]]
      ])
    )
  }
  const different = Object.entries(pairs).filter(([, [one, other]]) => one !== other)
  for (const [name] of different) findings.add(`${what}: ${name} is not what its sealed body says`)
  if (different.length === 0) findings.add(`${what}: its sealed body has other members than it must have`)
}

interface Sealed {
  readonly challenge_id: string
  readonly agent_id: string
  readonly revision: number
  readonly salt: Uint8Array
  readonly body: Uint8Array
}

const nameOf = (row: Omit<Sealed, "salt" | "body">): string =>
  `prediction of agent ${row.agent_id} on challenge ${row.challenge_id}, revision ${row.revision}`

/** The reveal of the commit in entry `committed`. */
const revealOf = ({ body, salt }: Sealed, committed: number): Uint8Array =>
  predictionReveal({ body: Buffer.from(body).toString("utf8"), commit_index: committed, salt })

const revealedTooSoon = "it is revealed, but log_reveals says that it is not"

/** Tests that the log has closed the challenge of prediction `p` (entry `x`) and that its reveals (row `w`) have passed it. */
const mustBeRevealed = (sql: SqlClient.SqlClient) =>
  sql.literal(`
    (x.index is not null
     and (w.challenge_id is null
          or coalesce((p.agent_id, p.revision) <= (w.last_agent_id, w.last_revision), false)))`)

const Key = { challenge_id: Schema.String, agent_id: Schema.String, revision: Schema.Int }

const Missing = Schema.Struct({ ...Key, committed: Schema.NullOr(Schema.Finite), count: Schema.Int })

const Reveal = Schema.Struct({ id: Schema.Finite, commit_index: Schema.Finite, entry: Schema.Uint8Array })
type Reveal = typeof Reveal.Type

const Revealed = Schema.Struct({
  ...Key,
  salt: Schema.Uint8Array,
  body: Schema.Uint8Array,
  committed: Schema.NullOr(Schema.Finite),
  is_closed: Schema.Boolean,
  must_be_revealed: Schema.Boolean
})

const Revision = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_147_483_647 }))
const decodeKey = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      challenge_id: Schema.String.check(Schema.makeFilter(isUuid)),
      agent_id: Schema.String.check(Schema.makeFilter(isUuid)),
      revision: Revision
    })
  )
)

const textOf = (key: { readonly [Name in keyof typeof Key]: string | number }): string =>
  `${key.challenge_id} ${key.agent_id} ${key.revision}`

/** Finds missing reveals and checks pending ones. The outbox has no index of reveals, so they are read once. */
const auditReveals = Effect.fnUntraced(function* (findings: Findings, unrevealed: number) {
  const sql = yield* SqlClient.SqlClient
  const missing = findAll(Missing)
  const reveals = findAll(Reveal)
  const predictions = findAll(Revealed)

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
      (committed) => `the log does not reveal entry ${committed}, and no pending entry does`
    )
  }

  const keysOf = (page: ReadonlyArray<Reveal>) =>
    page.map(({ entry }) => decodeKey(membersOf(entry)?.["body"]))

  const checkPage = Effect.fnUntraced(function* (page: ReadonlyArray<Reveal>) {
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
          `a pending entry (prediction.reveal): its body is that of no prediction whose commit is entry ${commit_index}`
        )
        continue
      }
      const what = nameOf(row)
      compare(findings, what, { index: null, entry }, revealOf(row, commit_index))
      if (!row.is_closed) {
        findings.add(`${what}: a pending entry reveals it before its challenge is closed`)
      } else if (!row.must_be_revealed) {
        findings.add(`${what}: ${revealedTooSoon}`)
      }
    }
  })

  yield* eachPage(
    pageSize,
    (after: Reveal | undefined) =>
      reveals(sql`
        select id::float8 as id, commit_index::float8 as commit_index, entry from log_pending
         where type = 'prediction.reveal' and commit_index is not null and entry is not null
           ${whenGiven(sql, after, (last) => sql`and id > ${BigInt(last.id)}::int8`)}
         order by id limit ${pageSize}`),
    checkPage
  )
})

export const auditPredictions = Effect.fnUntraced(function* (findings: Findings) {
  const sql = yield* SqlClient.SqlClient
  const rows = findAll(Row)
  let count = 0
  let unrevealed = 0

  // Each limit keeps its part an index probe: a join might read the whole log for every page.
  const read = (after: Row | undefined) =>
    rows(sql`
      select p.challenge_id::text, p.agent_id::text, p.revision, c.type, p.form, p.direction, ${exact(sql, "p.confidence")} as confidence,
             ${exact(sql, "p.predicted_value")} as predicted_value, ${exact(sql, "p.predicted_std")} as predicted_std,
             p.reasoning, ${moment(sql, "p.received_at")} as received_at, p.deadline = c.deadline as is_of_deadline,
             p.salt, p.body, p.commit, coalesce(e.entry, q.entry) as entry, e.index::float8 as committed, r.index::float8 as revealed, r.entry as reveal,
             x.index::float8 as closed,
             ${mustBeRevealed(sql)} as must_be_revealed
        from (
          select * from predictions
           ${whenGiven(sql, after, (last) => sql`where (challenge_id, agent_id, revision) > (${last.challenge_id}::uuid, ${last.agent_id}::uuid, ${last.revision}::int)`)}
           order by challenge_id, agent_id, revision limit ${pageSize}) p
        left join challenges c on c.id = p.challenge_id
        left join lateral (
          select index, entry from log_entries
           where type = 'prediction.commit' and commit = p.commit limit 1) e on true
        left join lateral (
          select entry from log_pending
           where e.index is null and type = 'prediction.commit' and commit = p.commit limit 1) q on true
        left join lateral (select index, entry from log_entries where commit_index = e.index limit 1) r on true
        left join log_entries x on x.challenge_id = p.challenge_id and x.type = 'challenge.close' and x.version = 1
        left join log_reveals w on w.challenge_id = p.challenge_id
       order by p.challenge_id, p.agent_id, p.revision`)

  const checkReveal = (what: string, row: Row) => {
    // A prediction without a commit in the log has no reveal.
    if (row.committed === null || row.reveal === null) return
    compare(findings, what, { index: row.revealed, entry: row.reveal }, revealOf(row, row.committed))
    if (row.revealed !== null && (row.closed === null || row.revealed < row.closed)) {
      findings.add(`${what}: entry ${row.revealed} reveals it before its challenge is closed`)
    }
    if (!row.must_be_revealed && row.closed !== null) findings.add(`${what}: ${revealedTooSoon}`)
  }

  const checkPage = (page: ReadonlyArray<Row>) =>
    Effect.sync(() => {
      for (const row of page) {
        count += 1
        const what = nameOf(row)
        checkBody(findings, what, row)
        if (!commitOf(row).equals(row.commit)) findings.add(`${what}: salt and body do not give its commit`)
        if (row.entry === null) findings.add(`${what}: its commit is not in the log`)
        else if (!Buffer.from(row.entry).equals(predictionCommit(row))) {
          findings.add(`${what}: its entry is not that of its commit`)
        }
        if (row.is_of_deadline !== true) findings.add(`${what}: deadline is not that of its challenge`)
        if (row.committed !== null && row.closed !== null && row.committed > row.closed) {
          findings.add(
            `${what}: entry ${row.committed} is after its challenge's close in entry ${row.closed}`
          )
        }
        if (row.committed !== null && row.revealed === null && row.must_be_revealed) unrevealed += 1
        checkReveal(what, row)
      }
    })

  yield* eachPage(pageSize, read, checkPage)
  yield* auditReveals(findings, unrevealed)
  return count
})
