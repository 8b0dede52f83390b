/** Reserving for calls: any number of them in one statement, each judged by itself, in the order in which they came. */
import { DateTime, Effect, Predicate, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { OpenCall } from "../../../services/GatewayBilling.ts"
import { orDie, rowsOf, timestamp } from "../sql.ts"
import { callColumns } from "./endedCalls.ts"
import { isEnabled } from "./eligibility.ts"

/** A call's pending transfer. */
export const reservationId = "'gw:' || call_id"

export const revenueAccount = "gateway_revenue"

const Judged = Schema.Struct({
  outcome: Schema.Literals(["reserved", "ended", "disabled", "limit", "credit", "again"]),
  /** What the key's limit, or the agent's account, has left. */
  left: Schema.BigInt
})
type Judged = typeof Judged.Type

const decode = Schema.decodeUnknownEffect(Schema.Array(Judged))

/** The limit of a key is held by a constraint: another statement has taken of it between the look and the update. */
const overLimit = (error: SqlError.SqlError): boolean =>
  Predicate.hasProperty(error.reason.cause, "constraint") &&
  error.reason.cause.constraint === "gateway_keys_within_limit"

export const makeReserve = () =>
  Effect.fnUntraced(function* (calls: Arr.NonEmptyReadonlyArray<OpenCall>, sql: SqlClient.SqlClient) {
    const now = timestamp(yield* DateTime.now)
    const statement = sql`
      with asked as (
        select *
          from ${rowsOf(sql, "a", calls, {
            ...callColumns,
            amount: ["int8", ({ reserved }) => reserved]
          })}
      ),
      funds as (
        select id, posted - held as available from accounts
         where id in (select 'agent:' || agent_id from asked) order by id for no key update
      ),
      keys as (
        select k.id, coalesce(k.credit_limit - k.spent - k.held, 9223372036854775807) as left_of_limit,
               k.revoked_at is not null or coalesce(k.expires_at <= ${now}, false) as ended,
               coalesce(${isEnabled(sql)}, false) as enabled
          from gateway_keys k
          join agents a on a.id = k.agent_id
          left join operators o on o.id = a.owner_id
         where k.id in (select key_id from asked)
      ),
      judged as (
        select a.*, k.left_of_limit, f.available,
               case when k.id is null or k.ended then 'ended'
                    when not k.enabled then 'disabled'
                    when a.amount > k.left_of_limit then 'limit'
                    when a.amount > f.available then 'credit'
                    when sum(a.amount) over (partition by a.key_id order by a.position) > k.left_of_limit
                      or sum(a.amount) over (partition by a.agent_id order by a.position) > f.available then 'again'
                    else 'reserved' end as outcome
          from asked a
          left join keys k on k.id = a.key_id
          left join funds f on f.id = 'agent:' || a.agent_id
      ),
      taken as (select * from judged where outcome = 'reserved'),
      opened as (
        insert into gateway_reservations (call_id, key_id, agent_id, request_id, model, style, stream, amount, created_at, alive_at)
        select call_id, key_id, agent_id, request_id, model, style, stream, amount, created_at, ${now} from taken
      ),
      limited as (
        select k.id from gateway_keys k
         where k.credit_limit is not null and k.id in (select key_id from taken) order by k.id for no key update
      ),
      counted as (
        update gateway_keys k set held = k.held + t.amount
          from (select key_id, sum(amount) as amount from taken group by key_id) t
         where k.id = t.key_id and k.id in (select id from limited)
      ),
      moved as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select ${sql.literal(reservationId)}, 'pending', 'agent:' || agent_id, ${revenueAccount}, amount,
               'call of ' || model || ', at most', ${now}
          from taken order by call_id
      )
      select outcome, case outcome when 'limit' then greatest(left_of_limit, 0) else coalesce(available, 0) end as left
        from judged order by position`
    const alone = calls.length === 1
    return yield* Effect.flatMap(statement, decode).pipe(
      Effect.catchIf(
        (error) => alone && error._tag === "SqlError" && overLimit(error),
        () => Effect.succeed<ReadonlyArray<Judged>>([{ outcome: "again", left: 0n }])
      ),
      orDie
    )
  })
