import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { boundTime, execute, findAll, findOption, whenGiven, orDie, rowsOf, transaction } from "../sql.ts"
import { predictionReveal } from "./entries.ts"

/** The maximum number of predictions that one call reveals. */
const chunk = 2000

/** Reveals are not added to a backlog of this size, so that new commits need not wait for them. */
const maxPending = 10_000

const Due = Schema.Struct({
  challenge_id: Schema.String,
  last_agent_id: Schema.NullOr(Schema.String),
  last_revision: Schema.NullOr(Schema.Int)
})

const Sealed = Schema.Struct({
  agent_id: Schema.String,
  revision: Schema.Int,
  /** The index is null for a commit that is not in the log, which only an audit can explain. */
  commit_index: Schema.NullOr(Schema.Int),
  salt: Schema.Uint8Array,
  body: Schema.String
})

/**
 * Adds reveals to the outbox: a chunk of the predictions of one challenge that the log has closed and whose deadline has
 * passed. Returns their number: 0 if no challenge is due, other replicas hold every due one, or the backlog is long. A chunk
 * is one transaction, so each prediction is revealed once, even after a crash.
 *
 * Predictions are read in the order of their key, and their indices are looked up in the log: each chunk costs the same
 * however many predictions the challenge has, and predictions need no extra index.
 */
export const makeRevealDue = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const due = findOption(Due)
  const sealed = findAll(Sealed)

  const revealChunk = Effect.fnUntraced(function* (now: DateTime.Utc) {
    const next = yield* due(sql`
      select challenge_id::text, last_agent_id::text, last_revision from log_reveals
       where due_at <= ${boundTime(sql, now)}
         and (select count(*) from (select from log_pending limit ${maxPending}) p) < ${maxPending}::int
       order by due_at, challenge_id
       limit 1
         for update skip locked`)
    if (Option.isNone(next)) return 0
    const { challenge_id, last_agent_id, last_revision } = next.value
    const found = yield* sealed(sql`
      select p.agent_id::text, p.revision, e.index::float8 as commit_index, p.salt, convert_from(p.body, 'UTF8') as body
        from predictions p
        left join log_entries e on e.type = 'prediction.commit' and e.commit = p.commit
       where p.challenge_id = ${challenge_id}::uuid
         ${whenGiven(sql, last_agent_id, (last) => sql`and (p.agent_id, p.revision) > (${last}::uuid, ${last_revision})`)}
       order by p.agent_id, p.revision
       limit ${chunk + 1}`)
    const shown = found.slice(0, chunk)
    const revealed = shown.flatMap(({ body, commit_index, salt }) =>
      commit_index === null ? [] : [{ body, commit_index, salt }]
    )
    yield* execute(sql`
      insert into log_pending (type, commit_index, entry)
      select 'prediction.reveal', r.commit_index, r.entry
        from ${rowsOf(sql, "r", revealed, {
          commit_index: ["int8", (each) => BigInt(each.commit_index)],
          entry: ["bytea", predictionReveal]
        })}
       order by r.position`)
    const last = shown.at(-1)
    yield* found.length > chunk && last !== undefined
      ? execute(sql`
          update log_reveals set last_agent_id = ${last.agent_id}::uuid, last_revision = ${last.revision}
           where challenge_id = ${challenge_id}::uuid`)
      : execute(sql`delete from log_reveals where challenge_id = ${challenge_id}::uuid`)
    return revealed.length
  })

  // Most passes find nothing and need no transaction.
  const revealDue: Effect.Effect<number> = DateTime.now.pipe(
    Effect.flatMap((now) =>
      Effect.flatMap(
        orDie(sql`select 1 from log_reveals where due_at <= ${boundTime(sql, now)} limit 1`),
        (some) => (some.length === 0 ? Effect.succeed(0) : transaction(sql)(revealChunk(now)))
      )
    ),
    Effect.withSpan("LogSequencer.revealDue")
  )
  return { revealDue }
})
