/** Inserts of notices, as parts of the statements that cause them. */
import type { SqlClient, Statement } from "effect/sql"
import type { OwnType, PublicType } from "../../../services/Notices.ts"

/** Inserts a public notice of each challenge `c` of this source, once: of a type, or of each `version` of it. */
export const insertChallengeNotices = (
  sql: SqlClient.SqlClient,
  notice: {
    readonly type: PublicType
    /** The column that has the time of the cause. */
    readonly at: string
    /** The data beside the challenge, its kind and its asset. */
    readonly data: Statement.Fragment
    readonly version?: Statement.Fragment
    readonly from: Statement.Fragment
  }
) => {
  const cause = notice.version === undefined ? sql`c.id::text` : sql`c.id || '/' || ${notice.version}`
  return sql`
    insert into notices (type, cause, subject, data, created_at)
    select ${notice.type}, ${cause}, jsonb_build_object('challenge_id', c.id),
           jsonb_build_object('challenge_type', c.type, 'kind', c.kind, 'asset', c.target) || ${notice.data},
           ${sql.literal(notice.at)}
      from ${notice.from}
     order by c.id`
}

/** Inserts a public notice of each event `e` of this source, once. */
export const insertEventNotices = (sql: SqlClient.SqlClient, from: Statement.Fragment) => sql`
  insert into notices (type, cause, subject, data, created_at)
  select 'event.published', e.id, jsonb_build_object('event_id', e.id),
         jsonb_build_object('title', e.title, 'assets', e.assets, 'spaces', e.spaces), e.created_at
    from ${from}
   order by e.id`

/** Inserts agents' own notices. All but `data` are expressions over the source. */
export const insertAgentNotices = (
  sql: SqlClient.SqlClient,
  notice: {
    readonly type: Exclude<OwnType, "prediction.settled" | "stake.settled">
    readonly agentId: string
    /** The cause of the notice; an agent gets one notice of a cause. */
    readonly cause: string | Statement.Fragment
    readonly subject: string
    readonly data: Statement.Fragment
    readonly at: Statement.Fragment
    readonly from: Statement.Fragment
  }
) => sql`
  insert into notices (type, agent_id, cause, subject, data, created_at)
  select ${notice.type}, ${sql.literal(notice.agentId)}, ${typeof notice.cause === "string" ? sql.literal(notice.cause) : notice.cause}, ${sql.literal(notice.subject)},
         ${notice.data}, ${notice.at}::timestamptz
    from ${notice.from}`

/** Inserts a notice of each revoked key, a row `k` of `gateway_keys`. */
export const insertRevokedNotices = (sql: SqlClient.SqlClient, at: Date, from: Statement.Fragment) =>
  insertAgentNotices(sql, {
    type: "key.revoked",
    agentId: "k.agent_id",
    cause: "k.id::text",
    subject: "jsonb_build_object('key_id', k.id)",
    data: sql`jsonb_build_object('name', k.name)`,
    at: sql`${at}`,
    from
  })
