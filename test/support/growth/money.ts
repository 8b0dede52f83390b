/** Transfers of credit and purchases in a database that has grown, and the reads of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Credits } from "../../../src/services/Credits.ts"
import { OperatorId } from "../../../src/services/domain/ids.ts"
import type { Page } from "../../../src/services/domain/paging.ts"
import { Payments } from "../../../src/services/Payments.ts"
import { agentId, ownerId, ownerPrefix, uuidText } from "./identifiers.ts"
import { fromTheEnd } from "./pages.ts"
import type { Add, Deep } from "./reads.ts"
import type { Size } from "./seed.ts"

const purchasePrefix = "0190fb00"
const busiest = agentId(0)
const itsOwner = OperatorId.make(ownerId(0))
/** The number of purchases; one in ten is of the busiest owner. */
const purchasesOf = (size: Size) => Math.floor(size.predictions / 10)

/**
 * Every agent got one grant; the busiest agent has staked and spent and received further grants all the time, and its owner has
 * bought credit and moved it.
 */
export const credit = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const agent = `agent:${busiest}`
  const owner = `owner:${itsOwner}`
  const moves = Math.floor(size.predictions / 60)
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, reason, at)
    select 'grant:claim:' || id, 'post', 'treasury', 'agent:' || id, 500000000, 'claim grant', now()
      from agents order by id`
  yield* sql`update agents set claim_grant = 500000000`
  yield* sql`
    insert into transfers (id, kind, debit, credit, amount, pending_id, reason, at)
    select name || n, kind, debit, credit, 1, ended || n, 'bench', now()
      from generate_series(1, ${moves}::int) as n
     cross join (values ('bought:', 'post', 'treasury', ${owner}, null), ('given:', 'post', ${owner}, ${agent}, null),
                        ('held:', 'pending', ${agent}, 'gateway_revenue', null),
                        ('spent:', 'post', ${agent}, 'gateway_revenue', 'held:'))
                as m (name, kind, debit, credit, ended)
     order by n, name`
})

/** All purchases are paid, and one in seven is refunded. */
export const purchases = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient.SqlClient
  const owner = sql.literal(uuidText(ownerPrefix, `case when n % 10 = 0 then 0 else n % ${size.agents} end`))
  const id = sql.literal(uuidText(purchasePrefix, "n"))
  const all = sql`generate_series(1, ${purchasesOf(size)}::int) as n`
  yield* sql`
    insert into purchases (id, owner_id, key, credits, amount, currency, created_at)
    select ${id}::uuid, ${owner}::uuid, 'form-' || n, 1000000000, 1000, 'usd', now() from ${all}`
  yield* sql`
    insert into checkout_sessions (purchase_id, session_id, url, created_at)
    select ${id}::uuid, 'session-' || n, 'https://pay.example/' || n, now() from ${all}`
  yield* sql`
    insert into payment_events (event_id, kind, purchase_id, payment_id, amount, currency, outcome, happened_at, received_at)
    select 'paid-' || n, 'paid', ${id}::uuid, 'payment-' || n, 1000, 'usd', 'credited', now(), now() from ${all}
     union all
    select 'refunded-' || n, 'refunded', null, 'payment-' || n, 1000, 'usd', 'taken_back', now(), now() from ${all}
     where n % 7 = 0`
  yield* sql`
    insert into payments (purchase_id, session_id, payment_id, event_id, paid_at)
    select ${id}::uuid, 'session-' || n, 'payment-' || n, 'paid-' || n, now() from ${all}`
})

export const moneyReads = Effect.fnUntraced(function* (size: Size, add: Add) {
  const ordinary = agentId(Math.floor(size.agents / 2))
  const lastOf = (kind: "agent" | "owner", id: string, condition = "true"): Deep => ({
    page: "last",
    list: "transfers",
    which: kind,
    key: `select json_build_object('seq', seq::text)
            from (select seq from transfers where '${kind}:${id}' in (debit, credit) and ${condition}
                   order by seq offset ${fromTheEnd} limit 1) as k`
  })
  const transactions = (id: string) => (page: Page) =>
    Credits.use((credits) => credits.transactions(id, page))
  yield* add("/api/v1/agent/credits/balance", "", () => Credits.use((credits) => credits.balance(busiest)))
  yield* add("/api/v1/agent/credits/transactions", "an agent's", transactions(ordinary))
  yield* add(
    "/api/v1/agent/credits/transactions",
    "the busiest agent's",
    transactions(busiest),
    lastOf("agent", busiest)
  )
  yield* add(
    "/account/credit",
    "what moved the busiest owner's",
    (page) => Credits.use((credits) => credits.movements(itsOwner, page)),
    lastOf("owner", itsOwner, "kind = 'post'")
  )
  yield* add("/api/v1/admin/purchases", "", (page) => Payments.use((payments) => payments.list(page)), {
    page: "last",
    list: "purchases",
    key: `select to_json(id::text) from (select id from purchases order by id offset ${fromTheEnd} limit 1) as k`
  })
})
