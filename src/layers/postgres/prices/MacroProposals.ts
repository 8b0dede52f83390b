import { DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { MacroProposal, MacroProposals } from "../../../services/MacroSource.ts"
import { boundTime, decimal, execute, findAll, isoTimestamp, timestamp } from "../sql.ts"

/** The maximum number of challenges in one run; there are a few releases a week. */
const maxDue = 50

const DueRow = Schema.Struct({
  id: Schema.String,
  asset: Schema.String,
  period: Schema.String,
  unit: Schema.NullOr(Schema.String),
  deadline: Schema.DateTimeUtcFromDate
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const dueRows = findAll(DueRow)
  const proposals = findAll(MacroProposal)

  const due: MacroProposals["Service"]["due"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const rows = yield* dueRows(sql`
      select c.id::text, c.target as asset, c.period, c.unit, c.deadline
        from challenges c
       where c.type = 'macro' and c.resolved_at is null and c.cancelled_at is null
         and c.resolve_at <= ${boundTime(sql, now)} and c.deadline <= ${boundTime(sql, now)}
         and not exists (select 1 from macro_proposals p where p.challenge_id = c.id)
       order by c.resolve_at, c.id limit ${maxDue}`)
    return rows.map(({ id, ...rest }) => ({ challengeId: id, ...rest }))
  }).pipe(Effect.withSpan("MacroProposals.due"))

  const record: MacroProposals["Service"]["record"] = Effect.fn("MacroProposals.record")(function* (
    challengeId,
    { fetchedAt, observation, payloadHash, releasedOn, source, value }
  ) {
    yield* execute(sql`
        insert into macro_proposals (challenge_id, value, source, observation, released_on, fetched_at, payload_hash)
        values (${challengeId}::uuid, ${decimal(value)}::numeric, ${source}, ${observation}::date, ${releasedOn}::date,
                ${timestamp(fetchedAt)}, ${payloadHash})
        on conflict do nothing`)
  })

  const waiting: MacroProposals["Service"]["waiting"] = proposals(sql`
    select p.challenge_id::text, c.target as asset, c.period, c.unit, p.value::float8 as value, p.source,
           p.released_on::text, ${isoTimestamp(sql, "p.fetched_at")} as fetched_at
      from macro_proposals p join challenges c on c.id = p.challenge_id
     where c.resolved_at is null and c.cancelled_at is null
     order by p.fetched_at, p.challenge_id
     limit ${maxDue}`).pipe(Effect.withSpan("MacroProposals.waiting"))

  return MacroProposals.of({ due, record, waiting })
})

export const layer = Layer.effect(MacroProposals, make)
