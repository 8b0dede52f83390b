/** Credit as tests need it: transfers past the services, and what must hold of the ledger at every moment. */
import { DateTime, Effect, Predicate, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { makeTransfers, TransferDiffers, treasury } from "../../src/layers/postgres/credit/transfers.ts"
import type { Transfer } from "../../src/layers/postgres/credit/transfers.ts"
import { arrayParam, findAll, findOne } from "../../src/layers/postgres/sql.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { Holder, NewGrant } from "../../src/services/Credits.ts"
import { Settings } from "../../src/services/Settings.ts"
import { claimedAgents } from "./builders.ts"

export const credits = (amount: number): bigint => BigInt(amount) * 1_000_000n

export const record = (...transfers: ReadonlyArray<Transfer>) =>
  Effect.flatMap(makeTransfers, (made) => made.record(transfers))

/** The constraint or the rule that rejected a transfer. */
export const ruleOf = (error: SqlError.SqlError | TransferDiffers): string => {
  if (error instanceof TransferDiffers) return "differs"
  const { cause } = error.reason
  return Predicate.hasProperty(cause, "constraint") ? String(cause.constraint) : String(cause)
}

/** Requests for credit, as they are recorded before it is given; in the list of calls they are the oldest. */
export const askedFor = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<string>,
  amount: bigint,
  key: string
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* DateTime.now
  const body = JSON.stringify({ amount: Number(amount) / 1_000_000, reason: "a test", idempotency_key: key })
  yield* sql`
    insert into audit_log (id, at, action, path, request_id, body)
    select overlay(gen_random_uuid()::text placing '00000000-0000' from 1)::uuid, ${DateTime.toDateUtc(now)}, case kind when 'agent' then 'grantAgent' else 'grantOwner' end,
           '/api/v1/admin/' || kind || 's/' || id || '/credits', 'a test', ${body}::text
      from (select split_part(account, ':', 1) as kind, split_part(account, ':', 2) as id
              from unnest(${arrayParam("text", accounts)}) as account) a`
})

/** From the treasury, as an administrator gives it, so much to each; under the same key once. */
export const give = Effect.fnUntraced(function* (
  accounts: ReadonlyArray<string>,
  amount: bigint,
  key: string
) {
  yield* askedFor(accounts, amount, key)
  yield* record(
    ...accounts.map((account) => ({
      id: `grant:admin:${account}:${key}`,
      kind: "post" as const,
      debit: treasury,
      credit: account,
      amount,
      reason: "a test"
    }))
  )
})

/** Claim grants of agents that a test claimed by SQL, as a claim pays them. */
export const payClaimGrants = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { claimGrant } = yield* Settings
  const now = yield* DateTime.now
  yield* sql`
    with claimed as (
      update agents set claim_grant = ${credits(claimGrant)} where claimed_at is not null and claim_grant is null
      returning id, claim_grant
    )
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'grant:claim:' || id, 'post', ${treasury}, 'agent:' || id, claim_grant, 'claim grant', ${DateTime.toDateUtc(now)}
      from claimed where claim_grant > 0 order by id`
})

let numbers = 0
/** Of credits. */
export const fund = (account: string, amount: number) =>
  Effect.suspend(() => {
    numbers += 1
    return give([account], credits(amount), String(numbers))
  })

/** A grant of an administrator, whose call is recorded before. */
export const grant = Effect.fnUntraced(function* (to: Holder, fields: Partial<NewGrant> = {}) {
  const asked = { amount: credits(25), reason: "a prize", idempotency_key: "prize-1", ...fields }
  yield* Effect.orDie(askedFor([`${to.kind}:${to.id}`], asked.amount, asked.idempotency_key))
  return yield* Credits.use((service) => service.grant(to, asked))
})

/** What the check of the ledger finds but that transfers of a test have no reason. */
export const ledgerFindings = Effect.map(
  Credits.use((service) => service.check),
  ({ differences }) => differences.filter((line) => !line.includes("for no reason that is recorded"))
)

/** The accounts of so many agents, each with so many credits. */
export const fundedAccounts = Effect.fnUntraced(function* (count: number, amount: number) {
  const accounts = (yield* claimedAgents(count)).map((id) => `agent:${id}`)
  if (amount > 0) yield* Effect.forEach(accounts, (account) => fund(account, amount))
  return accounts
})

export const stateOf = Effect.fnUntraced(function* (account: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* findOne(Schema.Struct({ posted: Schema.BigInt, held: Schema.BigInt }))(
    sql`select posted, held from accounts where id = ${account}`
  )
})

/**
 * What is wrong with the ledger just now, in one statement and so of one moment: the postings of all sum up to zero,
 * nobody has less than nothing, and what is held is what pending transfers have not let go.
 */
export const creditFindings = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* findAll(Schema.Struct({ finding: Schema.String }))(sql`
    select 'all balances together: ' || sum(posted) as finding from accounts having sum(posted) <> 0
    union all
    select id || ' has ' || posted || ' and holds ' || held from accounts
     where held < 0 or (id <> 'treasury' and posted - held < 0)
    union all
    select 'held: ' || h.held || ', open pendings: ' || p.amount
      from (select coalesce(sum(held), 0) as held from accounts) as h
     cross join (
       select coalesce(sum(amount), 0) as amount from transfers p
        where kind = 'pending' and not exists (select 1 from transfers r where r.pending_id = p.id)) as p
     where h.held <> p.amount`)
  return found.map(({ finding }) => finding)
})
