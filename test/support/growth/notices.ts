/** The notices of challenges and comments for everybody and for the busiest agent, and the reads of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Notices } from "../../../src/services/Notices.ts"
import { Webhooks } from "../../../src/services/Webhooks.ts"
import { AgentId } from "../../../src/services/domain/ids.ts"
import { agentId, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add } from "./reads.ts"

const busiest = agentId(0)
const hookPrefix = "0190ab00"
const hook = `${hookPrefix}-0000-7000-8000-000000000001`

export const noticed = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into notices (seq, type, agent_id, cause, subject, data, created_at)
    select row_number() over (order by created_at, type, cause), type, agent_id, cause, subject, data, created_at
      from (
        select 'challenge.opened' as type, null::uuid as agent_id, c.id::text as cause,
               jsonb_build_object('challenge_id', c.id) as subject,
               jsonb_build_object('challenge_type', c.type, 'kind', c.kind, 'asset', c.target, 'question', c.question,
                                  'deadline', c.deadline, 'resolve_at', c.resolve_at) as data, c.created_at
          from challenges c
         union all
        select 'challenge.settled', null, s.challenge_id || '/' || s.version,
               jsonb_build_object('challenge_id', s.challenge_id),
               jsonb_build_object('challenge_type', c.type, 'kind', c.kind, 'asset', c.target, 'version', s.version,
                                  'result', s.result, 'value', coalesce(s.close_price, s.actual_value)), s.settled_at
          from settlements s join challenges c on c.id = s.challenge_id where s.version = 1
         union all
        select 'comment.mentioned', ${busiest}::uuid, m.id::text,
               jsonb_build_object('comment_id', m.id, 'event_id', m.event_id), jsonb_build_object('agent_id', m.agent_id),
               m.created_at
          from comments m) n`
  yield* sql`update notice_state set head = (select coalesce(max(seq), 0) from notices)`
  // A hundred webhooks got as many deliveries.
  yield* sql`
    insert into webhooks (id, agent_id, url, types, secret, since, created_at)
    select ${sql.literal(uuidText(hookPrefix, "n"))}::uuid, ${busiest}::uuid, 'https://hooks.example.com/', '{event.published}', '', 0,
           now() from generate_series(1, 100) as n`
  yield* sql`
    insert into webhook_deliveries (webhook_id, notice_id, type, payload, created_at, attempts, due_at)
    select ${sql.literal(uuidText(hookPrefix, "1 + seq % 100"))}::uuid, uuidv7(), type, '{}', created_at, 1,
           case when seq % 1000 = 0 then created_at end
      from notices cross join generate_series(1, 10) order by seq`
  yield* sql`analyze notices, webhooks, webhook_deliveries`
})

export const noticeReads = Effect.fnUntraced(function* (add: Add) {
  const list = (reader: AgentId | "public") => (page: { readonly limit: number }) =>
    Notices.use((notices) => notices.read(reader, { after: undefined, types: undefined, limit: page.limit }))
  const agent = AgentId.make(busiest)
  yield* add("/agent/notices", "the busiest agent's", list(agent))
  yield* add("/agent/notices/stream", "its beginning", () => Notices.use((notices) => notices.latest(agent)))
  const by = { kind: "agent", id: agent } as const
  yield* add("/agent/webhooks", "", () => Webhooks.use((webhooks) => webhooks.list(by)))
  yield* add(
    "/agent/webhooks/:webhook_id/deliveries",
    "",
    (page) => Webhooks.use((webhooks) => webhooks.deliveries(by, hook, page)),
    {
      page: "last",
      list: "webhook deliveries",
      which: hook,
      key: `select to_json(place) from (select place from webhook_deliveries where webhook_id = '${hook}' order by place offset ${fromTheEnd} limit 1) as d`
    }
  )
  yield* add("/public/notices", "", list("public"))
  yield* add("/public/notices/stream", "its beginning", () =>
    Notices.use((notices) => notices.latest("public"))
  )
})
