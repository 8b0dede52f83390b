/** The credit that an owner's plan gives each calendar month: once, whoever runs the job, and the difference to a better plan. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as CreditsOnPostgres from "../../src/layers/postgres/credit/Credits.ts"
import { Audit } from "../../src/services/Audit.ts"
import { Credits } from "../../src/services/Credits.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { Operators } from "../../src/services/Operators.ts"
import type { Plan } from "../../src/services/Operators.ts"
import { times } from "../support/concurrently.ts"
import { anotherOperator } from "../support/agents.ts"
import { instant, moveTo } from "../support/challenges.ts"
import { credits, creditFindings, fund, stateOf } from "../support/credit.ts"
import { firstPage } from "../support/paging.ts"
import { testServices } from "../support/services.ts"
import { settings } from "../support/settings.ts"

const plans = { AUSPEX_PLAN_CREDIT_PRO: "100", AUSPEX_PLAN_CREDIT_TEAM: "500" }

const pay = Credits.use((service) => service.payPlans)
const put = (owner: OperatorId, plan: Plan) =>
  Operators.use((operators) => operators.changeOwner(owner, { plan }))

const ownerOn = Effect.fnUntraced(function* (plan: Plan) {
  const owner = yield* anotherOperator
  yield* put(owner, plan)
  return owner
})

const has = Effect.fnUntraced(function* (owner: OperatorId, amount: number) {
  assert.strictEqual((yield* stateOf(`owner:${owner}`)).posted, credits(amount))
})

const holds = Effect.gen(function* () {
  assert.deepStrictEqual((yield* Audit.use(({ verifyLedger }) => verifyLedger)).differences, [])
})

/** Another replica's credit, with other settings. */
const replica = (environment: Readonly<Record<string, string>>) =>
  Effect.map(
    Layer.build(Layer.fresh(CreditsOnPostgres.layer).pipe(Layer.provide(settings(environment)))),
    (context) => Context.get(context, Credits)
  )

layer(testServices())("Plans by default", (it) => {
  it.effect("A plan gives nothing by default", () =>
    Effect.gen(function* () {
      const owners = yield* Effect.forEach(["free", "pro", "team"] as const, ownerOn)
      yield* pay
      yield* Effect.forEach(owners, (owner) => has(owner, 0))
    })
  )
})

layer(testServices(plans))("The credit of a plan", (it) => {
  it.effect("Plan credit is paid once a calendar month (UTC), however often the job runs", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-03-31T23:59:59Z"))
      const [free, pro, team] = yield* Effect.forEach(["free", "pro", "team"] as const, ownerOn)
      assert(free !== undefined && pro !== undefined && team !== undefined)
      yield* pay
      yield* pay
      yield* Effect.all([has(free, 0), has(pro, 100), has(team, 500)])
      yield* moveTo(instant("2026-04-01T00:00:00Z"))
      yield* pay
      yield* pay
      yield* Effect.all([has(free, 0), has(pro, 200), has(team, 1000)])
      // A missed month is not paid afterwards.
      yield* moveTo(instant("2026-07-15T12:00:00Z"))
      yield* pay
      yield* has(pro, 300)
      yield* holds
    })
  )

  it.effect("Plan credit names its month", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-08-02T00:00:00Z"))
      const owner = yield* ownerOn("pro")
      yield* pay
      const { items } = yield* Credits.use((service) => service.movements(owner, firstPage))
      assert.deepStrictEqual(
        items.map(({ change, reason }) => [change, reason]),
        [[credits(100), "credit of the pro plan for 2026-08"]]
      )
    })
  )

  it.effect("A better plan within the month pays the difference, once for any number of changes", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-09-02T00:00:00Z"))
      const owner = yield* ownerOn("free")
      for (const [plan, amount] of [
        ["free", 0],
        ["pro", 100],
        ["team", 500],
        ["pro", 500],
        ["free", 500],
        ["team", 500]
      ] as const) {
        yield* put(owner, plan)
        yield* pay
        yield* has(owner, amount)
      }
      yield* moveTo(instant("2026-10-02T00:00:00Z"))
      yield* put(owner, "pro")
      yield* pay
      yield* has(owner, 600)
      yield* holds
    })
  )

  it.effect("A raised plan credit pays the difference within the month", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-11-02T00:00:00Z"))
      const owner = yield* ownerOn("pro")
      yield* pay
      const raised = yield* replica({ ...plans, AUSPEX_PLAN_CREDIT_PRO: "130" })
      yield* raised.payPlans
      yield* has(owner, 130)
      // A replica that is still on the old settings takes nothing back, and gives nothing.
      yield* pay
      yield* raised.payPlans
      yield* has(owner, 130)
      yield* holds
    })
  )

  it.effect("Any number of replicas pay plan credit once, also across the turn of a month", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2026-12-02T00:00:00Z"))
      const owners = yield* Effect.replicateEffect(ownerOn("team"), 20)
      const replicas = [yield* Credits, yield* replica(plans), yield* replica(plans)]
      yield* Effect.all(
        times(12, (index) => replicas[index % 3]?.payPlans ?? Effect.void),
        { concurrency: "unbounded" }
      )
      yield* Effect.forEach(owners, (owner) => has(owner, 500))
      assert.deepStrictEqual(yield* creditFindings, [])
      yield* holds
    })
  )

  it.effect("A clock that is behind does not pay the month before again", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* moveTo(instant("2027-01-31T23:59:59Z"))
      const owner = yield* ownerOn("pro")
      // Another replica has begun February.
      yield* sql`
        update operators set credited_month = '2027-02-01', credited = ${credits(100)} where id = ${owner}::uuid`
      yield* pay
      yield* has(owner, 0)
    })
  )

  it.effect("Plan credit to a full account is as much as fits, and counts as paid", () =>
    Effect.gen(function* () {
      yield* moveTo(instant("2027-03-01T00:00:00Z"))
      const owner = yield* ownerOn("pro")
      yield* fund(`owner:${owner}`, 999_999_970)
      yield* pay
      yield* has(owner, 1_000_000_000)
      yield* pay
      yield* holds
    })
  )
})

layer(testServices(plans))("The ledger's check of plans", (it) => {
  it.effect("The ledger's check names more credit of plans than they came to", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* moveTo(instant("2026-03-02T00:00:00Z"))
      const owner = yield* ownerOn("pro")
      yield* pay
      yield* sql`
        insert into transfers (id, kind, debit, credit, amount, reason, at)
        select ${`plan:${owner}:2026-03:5`}, kind, debit, credit, 1, reason, at from transfers where credit = ${`owner:${owner}`}`
      const { differences } = yield* Audit.use(({ verifyLedger }) => verifyLedger)
      assert.match(
        differences.join("\n"),
        /got 100000001 micro-credits of its plans in 2026-03, which give 100000000/
      )
    })
  )
})
