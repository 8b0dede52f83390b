import type { SqlClient } from "effect/sql"

/**
 * Selects the requested scopes of an agent `a`. The version before does not know `webhook:write`, so this scope has a
 * column of its own. That column is null for agents that registered before it existed: they have the scope if they have
 * `llm:keys`.
 */
export const requestedScopesOf = (sql: SqlClient.SqlClient) => sql`
  case when coalesce(a.webhook_scope, 'llm:keys' = any(a.requested_scopes)) then a.requested_scopes || 'webhook:write'::text
       else a.requested_scopes end`
