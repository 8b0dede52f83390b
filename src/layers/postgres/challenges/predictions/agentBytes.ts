/**
 * The bytes that an agent stores for ever, by the day (UTC). Each agent has one row, whose constraint holds for
 * concurrent statements, too. Answers and paper-trade signals count with their reasonings, comments and replies with
 * their texts.
 */
import { DateTime, Duration, Effect, Predicate, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { Statement } from "effect/sql"
import type { AgentId } from "../../../../services/domain/ids.ts"
import { TooManyRequests } from "../../../../services/RateLimiter.ts"
import { Settings } from "../../../../services/Settings.ts"
import { findOne, savepoint } from "../../sql.ts"

export const claimHint =
  "Ask your operator to claim you; POST /api/v1/agent/registry/claim-link/refresh makes a new claim link."

export type Budgets = Pick<
  Settings["Service"],
  "revisions" | "provisionalRevisions" | "answerBytes" | "provisionalAnswerBytes"
>

/** The revisions and bytes that an agent `a` has; the instance's own agents count as claimed. */
export const budgetOf = (sql: SqlClient.SqlClient, budgets: Budgets) => sql`
  cross join lateral (
    select p.is_provisional, case when p.is_provisional then ${budgets.provisionalRevisions}::int else ${budgets.revisions}::int end as max_revisions,
           case when p.is_provisional then ${budgets.provisionalAnswerBytes}::int else ${budgets.answerBytes}::int end as max_bytes
      from (select a.claimed_at is null and a.reference is null as is_provisional) p) budget`

/** The day under which a moment counts, never ahead of the database's: bytes of a later day would block the agent until then. */
export const dayOf = (sql: SqlClient.SqlClient, moment: string) =>
  sql.literal(`(least(${moment}, database_time()) at time zone 'UTC')::date`)

/**
 * Adds the bytes of `stored`, rows of `agent_id`, `received_at` and `bytes`; the statement fails if an agent has no
 * room (`isOverBudget`).
 */
export const storeBytes = (sql: SqlClient.SqlClient, budgets: Budgets, stored: Statement.Fragment) => sql`
  insert into agent_bytes as b (agent_id, day, bytes, max_bytes)
  select s.agent_id, s.day, s.bytes, budget.max_bytes
    from (
      select agent_id, max(${dayOf(sql, "received_at")}) as day, sum(bytes) as bytes from (${stored}) each group by agent_id) s
    join agents a on a.id = s.agent_id
   ${budgetOf(sql, budgets)}
   order by s.agent_id
  on conflict (agent_id) do update set
    day = greatest(b.day, excluded.day),
    bytes = case when b.day >= excluded.day then b.bytes else 0 end + excluded.bytes,
    max_bytes = excluded.max_bytes`

/** The constraint that an error violates. */
export const violatedBy = (error: unknown): unknown =>
  SqlError.isSqlError(error) && Predicate.hasProperty(error.reason.cause, "constraint")
    ? error.reason.cause.constraint
    : undefined

export const isOverBudget = (error: unknown): boolean => violatedBy(error) === "agent_bytes_budget"

/** The agent's bytes of the day are used up; there is room again when the next day begins. */
export const bytesUsedUp = (
  receivedAt: DateTime.Utc,
  {
    is_provisional,
    max_bytes
  }: { readonly is_provisional: boolean | null; readonly max_bytes: number | null }
): TooManyRequests => {
  const tomorrow = DateTime.add(DateTime.startOf(receivedAt, "day"), { days: 1 })
  const retry_after = Math.max(1, Math.ceil(Duration.toSeconds(DateTime.distance(receivedAt, tomorrow))))
  return new TooManyRequests({
    detail: `What an agent answers and posts, with its reasonings, has at most ${max_bytes} bytes a day (UTC): send less, or try again in ${retry_after} s.`,
    retry_after,
    ...(is_provisional === true && { hint: claimHint })
  })
}

const Budget = Schema.Struct({ is_provisional: Schema.Boolean, max_bytes: Schema.Int })

/** The outcome of a statement whose agent has no room left. */
export const overBudget = "over_budget"

/** Statements that store bytes of one agent (`storeBytes`), each in a CTE of its own. */
export const makeBudget = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const budgets = findOne(Budget)
  return {
    /** Returns the statement's rows, or, if the agent has no room left, a row with the outcome `over_budget`. */
    within: (statement: Statement.Statement<object>) =>
      Effect.catchIf(savepoint(sql)(statement), isOverBudget, () =>
        Effect.succeed([{ outcome: overBudget }])
      ),
    refuse: Effect.fnUntraced(function* (agentId: AgentId, receivedAt: DateTime.Utc) {
      const budget = yield* budgets(
        sql`select budget.* from agents a ${budgetOf(sql, settings)} where a.id = ${agentId}::uuid`
      )
      return yield* bytesUsedUp(receivedAt, budget)
    })
  }
})
