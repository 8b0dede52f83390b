/**
 * What an owner's plan gives each calendar month (UTC). `operators.credited` says how much of it an owner has got and
 * `credited_month` for which month, so any number of replicas may pay, and whoever comes to a better plan within the
 * month gets the difference. Nothing is taken back from whoever leaves one.
 */
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { wholeCredits } from "../../../services/Credits.ts"
import { Plan } from "../../../services/Owners.ts"
import { Settings } from "../../../services/Settings.ts"
import { findOne, timestamp } from "../sql.ts"
import { maxPosted, treasury } from "./transfers.ts"

/** So many owners are paid in one statement, which holds the treasury so long. */
const batch = 1000

const Paid = Schema.Struct({ owners: Schema.Int })

export const makePlanCredit = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { planCredit } = yield* Settings
  const paid = findOne(Paid)

  /**
   * What another replica is paying just now is passed over. An account that is full gets what it has room for. A
   * transfer is named after what the owner has got in the month with it, which only grows.
   */
  const payBatch = Effect.fnUntraced(function* (plan: Plan, credit: bigint) {
    const now = yield* DateTime.now
    const month = `${DateTime.formatIsoDateUtc(now).slice(0, 7)}-01`
    const { owners } = yield* paid(sql`
      with due as (
        select id, case when credited_month = ${month}::date then ${credit}::int8 - credited else ${credit}::int8 end as amount
          from operators
         where plan = ${plan} and (credited_month, credited) < (${month}::date, ${credit}::int8)
         order by credited_month, credited, id limit ${batch} for no key update skip locked
      ),
      room as (
        select d.id, least(d.amount, a.room) as amount
          from (select * from due order by id) d
         cross join lateral (
           select ${maxPosted}::int8 - posted as room from accounts where id = 'owner:' || d.id for no key update) a
      ),
      marked as (
        update operators o set credited_month = ${month}::date, credited = ${credit}::int8
          from room r where o.id = r.id returning o.id, r.amount
      ),
      given as (
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select 'plan:' || id || ':' || ${month.slice(0, 7)}::text || ':' || ${credit}::int8, 'post', ${treasury}, 'owner:' || id, amount,
               'credit of the ' || ${plan}::text || ' plan for ' || ${month.slice(0, 7)}::text, ${timestamp(now)}::timestamptz
          from marked where amount > 0 order by id
      )
      select count(*)::int as owners from marked`)
    return owners
  })

  const payPlan = Effect.fnUntraced(function* (plan: Plan) {
    const credit = wholeCredits(planCredit[plan])
    if (credit === 0n) return 0
    let all = 0
    let owners: number
    do {
      owners = yield* payBatch(plan, credit)
      all += owners
    } while (owners === batch)
    return all
  })

  const payPlans = Effect.gen(function* () {
    const owners = (yield* Effect.forEach(Plan.literals, payPlan)).reduce((sum, each) => sum + each, 0)
    if (owners > 0) yield* Effect.logInfo("credit of plans paid").pipe(Effect.annotateLogs({ owners }))
  }).pipe(Effect.withSpan("Credits.payPlans"))

  return { payPlans }
})
