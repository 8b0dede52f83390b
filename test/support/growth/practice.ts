/** Practice questions of several days, all answered by the busiest agent, and the read of its answers. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Practice } from "../../../src/services/Practice.ts"
import { AgentId } from "../../../src/services/domain/ids.ts"
import { agentId, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add } from "./reads.ts"

const questionPrefix = "0190fd00"
const answerPrefix = "0190fe00"
/** Questions are deleted after some days, so their number does not depend on the size. */
const questions = 1500
const busiest = agentId(0)

/** This many past questions, all answered by one agent. */
export const practisedBy = Effect.fnUntraced(function* (agent: string, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into practice_questions
      (id, asset, opened_at, deadline, open_price, close_price, dead_zone_pct, result, candles)
    select ${sql.literal(uuidText(questionPrefix, "n"))}::uuid, (array['BTC', 'ETH', 'GC'])[1 + n % 3], opened_at,
           opened_at + interval '2 minutes', 100, 102, 1, 'bullish', '[]'
      from generate_series(1, ${count}::int) as n
     cross join lateral (
       select timestamptz '2026-01-05T00:00:00Z' - n / 3 * interval '2 minutes' as opened_at) o`
  yield* sql`
    insert into practice_predictions
      (question_id, agent_id, id, revision, direction, confidence, received_at, deadline, salt, body, commit, is_correct,
       score)
    select q.id, ${agent}::uuid, ${sql.literal(uuidText(answerPrefix, "n"))}::uuid, 0, 'bullish', 0.5, q.opened_at,
           q.deadline, salt, body, sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body), true, 75
      from generate_series(1, ${count}::int) as n
      join practice_questions q on q.id = ${sql.literal(uuidText(questionPrefix, "n"))}::uuid
     cross join lateral (select sha256(int4send(n)) as salt, convert_to('{}', 'UTF8') as body) s`
})

export const practised = practisedBy(busiest, questions)

export const practiceReads = (add: Add) =>
  add(
    "/agent/practice",
    "the busiest agent's",
    (page) => Practice.use((practice) => practice.own(AgentId.make(busiest), page)),
    {
      page: "last",
      list: "practice",
      which: undefined,
      key: `select to_json(id::text) from (
              select id from practice_predictions where agent_id = '${busiest}' order by id offset ${fromTheEnd} limit 1) as k`
    }
  )
