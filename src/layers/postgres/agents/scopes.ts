import type { SqlClient } from "effect/sql"

/**
 * The requested scopes of an agent `a`. The version before knows no `webhook:write`, so this scope has a column of its own, which is
 * null for agents that were registered before it: they have it where they have `llm:keys`.
 */
export const requestedScopesOf = (sql: SqlClient.SqlClient) => sql`
  case when coalesce(a.webhook_scope, 'llm:keys' = any(a.requested_scopes)) then a.requested_scopes || 'webhook:write'::text
       else a.requested_scopes end`
