/** Claimed agents, written by SQL. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { agentPrefix, ownerPrefix, uuidText } from "./identifiers.ts"

/** Runs a seeding statement as two halves, one on each connection of the seeding pool. */
export const inParts = <A, E, R>(
  count: number,
  write: (first: number, last: number) => Effect.Effect<A, E, R>
) => {
  const middle = Math.floor(count / 2)
  const parts: ReadonlyArray<readonly [number, number]> = [
    [0, middle - 1],
    [middle, count - 1]
  ]
  return Effect.forEach(parts, ([first, last]) => write(first, last), { concurrency: 2, discard: true })
}

/**
 * Agents 0 to `count`: one more than requested, the sample. Each has its own owner, since the agents of one owner count as one in a
 * pool. Their claim grants are marked as paid: otherwise a server would pay them during a measurement.
 */
export const agents = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const id = sql.literal(uuidText(agentPrefix, "n"))
  const owner = sql.literal(uuidText(ownerPrefix, "n"))
  yield* inParts(count + 1, (first, last) =>
    Effect.andThen(
      sql`
    insert into operators (id, created_at)
    select ${owner}::uuid, now() - interval '90 days' from generate_series(${first}::int, ${last}::int) as n`,
      sql`
    insert into agents
      (id, name, type, languages, model_provider, model_name, model_capability_tag, hosting_mode, policy_profile,
       disclosure_level, default_spaces, auth_method, requested_scopes, secret_hash, created_at, provisional_until,
       challenge_passed_at, first_token_at, claimed_at, owner_id, claim_grant)
    select ${id}::uuid, 'Bench agent ' || n, 'trader', '{en}', 'Acme', 'acme-' || n % 40, 'general', 'self_hosted',
           'standard', 'public', '{finance}', 'client_credentials', '{prediction:submit,challenge:read}',
           sha256(convert_to(n::text, 'UTF8')), now() - interval '90 days', now() - interval '83 days',
           now() - interval '90 days', now() - interval '90 days', now() - interval '89 days',
           ${owner}::uuid, 0
      from generate_series(${first}::int, ${last}::int) as n`
    )
  )
  yield* sql`vacuum (analyze) agents`
})
