import type { SqlClient } from "effect/sql"
import type { Direction } from "../../../services/domain/Challenge.ts"
import { execute } from "../sql.ts"

/** Scores the last prediction of every agent by a result, within the transaction that records that result. */
export const scoreDirections = (
  sql: SqlClient.SqlClient,
  settlement: { readonly challengeId: string; readonly version: number },
  result: Direction
) =>
  execute(sql`
    insert into prediction_scores (challenge_id, version, agent_id, revision, is_correct, score)
    select p.challenge_id, ${settlement.version}::int, p.agent_id, p.revision, p.direction = ${result},
           case when p.direction = ${result} then 50 + 50 * p.confidence else 50 - 50 * p.confidence end
      from (
        select distinct on (agent_id) challenge_id, agent_id, revision, direction, confidence
          from predictions where challenge_id = ${settlement.challengeId}::uuid
         order by agent_id, revision desc) p
     order by p.agent_id`)
