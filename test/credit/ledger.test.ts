/** The ledger under any number of concurrent writers: the rules of the database hold for every request. */
import { randomInt } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Array as Arr, Effect, Exit, Result } from "effect"
import { SqlClient } from "effect/sql"
import { treasury } from "../../src/layers/postgres/credit/transfers.ts"
import type { Transfer } from "../../src/layers/postgres/credit/transfers.ts"
import { breadth } from "../support/breadth.ts"
import { times } from "../support/concurrently.ts"
import { someOperator } from "../support/agents.ts"
import { credits, fundedAccounts, ledgerFindings, record, ruleOf, stateOf } from "../support/credit.ts"
import {
  end,
  rejections,
  revenue,
  runLedgerWorkload,
  sampledWhile,
  transfer
} from "../support/ledgerWorkload.ts"
import { testServices } from "../support/services.ts"
import { asOwner, countOf } from "../support/database.ts"

const rejectedBy = (...transfers: ReadonlyArray<Transfer>) =>
  Effect.map(Effect.flip(record(...transfers)), ruleOf)

layer(testServices())("A transfer", (it) => {
  it.effect("A transfer moves existing credit from one account to the other, once for its id", () =>
    Effect.gen(function* () {
      const [from = "", to = ""] = yield* fundedAccounts(2, 10)
      const paid = transfer({ debit: from, credit: to, amount: credits(4) })
      yield* record(paid)
      yield* record(paid)
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(6), held: 0n })
      assert.deepStrictEqual(yield* stateOf(to), { posted: credits(14), held: 0n })
      for (const other of [
        { ...paid, amount: credits(5) },
        { ...paid, reason: "another" },
        { ...paid, debit: to, credit: from },
        { ...paid, credit: treasury },
        { ...paid, kind: "pending" as const }
      ]) {
        assert.strictEqual(yield* rejectedBy(other), "differs")
      }
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(6), held: 0n })
    })
  )

  it.effect("A transfer leaves no account below zero, to the micro-credit", () =>
    Effect.gen(function* () {
      const [from = "", to = ""] = yield* fundedAccounts(2, 10)
      const all = credits(10)
      assert.strictEqual(
        yield* rejectedBy(transfer({ debit: from, credit: to, amount: all + 1n })),
        "accounts_covered"
      )
      const held = transfer({ kind: "pending", debit: from, credit: to, amount: 1n })
      yield* record(held)
      assert.strictEqual(
        yield* rejectedBy(transfer({ debit: from, credit: to, amount: all })),
        "accounts_covered"
      )
      yield* record(transfer({ debit: from, credit: to, amount: all - 1n }))
      assert.deepStrictEqual(yield* stateOf(from), { posted: 1n, held: 1n })
    })
  )

  it.effect("A transfer in a batch is recorded with all others, or none of them is", () =>
    Effect.gen(function* () {
      const [from = "", to = ""] = yield* fundedAccounts(2, 10)
      const batch = times(11, () => transfer({ debit: from, credit: to }))
      assert.strictEqual(yield* rejectedBy(...batch), "accounts_covered")
      assert.deepStrictEqual(yield* stateOf(to), { posted: credits(10), held: 0n })
      yield* record(...batch.slice(1))
      assert.deepStrictEqual(yield* stateOf(to), { posted: credits(20), held: 0n })
      assert.deepStrictEqual(yield* ledgerFindings, [])
    })
  )

  it.effect("A transfer that makes no sense is rejected", () =>
    Effect.gen(function* () {
      const [from = "", to = ""] = yield* fundedAccounts(2, 10)
      const accounts = { debit: from, credit: to }
      assert.strictEqual(yield* rejectedBy(transfer({ ...accounts, amount: 0n })), "transfers_amount")
      assert.strictEqual(yield* rejectedBy(transfer({ ...accounts, amount: -1n })), "transfers_amount")
      assert.strictEqual(yield* rejectedBy(transfer({ debit: from, credit: from })), "transfers_two_accounts")
      assert.strictEqual(
        yield* rejectedBy(transfer({ debit: from, credit: "agent:nobody" })),
        "transfers_accounts"
      )
      assert.strictEqual(yield* rejectedBy(transfer({ debit: "nowhere", credit: to })), "transfers_accounts")
      assert.strictEqual(yield* rejectedBy(transfer({ ...accounts, kind: "void" })), "transfers_resolving")
      const pendingOfPending = transfer({ ...accounts, kind: "pending", pendingId: "x" })
      assert.strictEqual(yield* rejectedBy(pendingOfPending), "transfers_resolving")
    })
  )

  it.effect("A transfer to an agent stops where a JSON number is no longer exact", () =>
    Effect.gen(function* () {
      const [account = ""] = yield* fundedAccounts(1, 1_000_000_000)
      assert.strictEqual(
        yield* rejectedBy(transfer({ debit: treasury, credit: account, amount: 1n })),
        "accounts_exact"
      )
    })
  )
})

layer(testServices())("A pending transfer", (it) => {
  it.effect("A pending transfer holds credit, which a void frees", () =>
    Effect.gen(function* () {
      const [from = ""] = yield* fundedAccounts(1, 10)
      const pending = transfer({ kind: "pending", debit: from, credit: revenue, amount: credits(7) })
      yield* record(pending)
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(10), held: credits(7) })
      assert.strictEqual(
        yield* rejectedBy(transfer({ debit: from, credit: revenue, amount: credits(4) })),
        "accounts_covered"
      )
      yield* record(end("void", pending))
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(10), held: 0n })
    })
  )

  it.effect("A pending transfer is posted whole or in part, and the rest is free again", () =>
    Effect.gen(function* () {
      const [from = ""] = yield* fundedAccounts(1, 10)
      const before = yield* stateOf(revenue)
      const pending = transfer({ kind: "pending", debit: from, credit: revenue, amount: credits(7) })
      yield* record(pending)
      yield* record(end("post", pending, { amount: credits(2) }))
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(8), held: 0n })
      assert.strictEqual((yield* stateOf(revenue)).posted - before.posted, credits(2))
    })
  )

  it.effect("A pending transfer ends once, and only with its own terms", () =>
    Effect.gen(function* () {
      const [from = "", other = ""] = yield* fundedAccounts(2, 10)
      const pending = transfer({ kind: "pending", debit: from, credit: revenue, amount: credits(5) })
      yield* record(pending)
      const unfit = "transfers_fit_pending"
      assert.strictEqual(yield* rejectedBy(end("post", pending, { amount: credits(5) + 1n })), unfit)
      assert.strictEqual(yield* rejectedBy(end("void", pending, { amount: credits(4) })), unfit)
      assert.strictEqual(yield* rejectedBy(end("post", pending, { debit: other })), unfit)
      assert.strictEqual(yield* rejectedBy(end("post", pending, { credit: other })), unfit)
      assert.strictEqual(yield* rejectedBy(end("post", pending, { pendingId: "nothing" })), unfit)
      const posted = transfer({ debit: from, credit: revenue, amount: credits(5) })
      yield* record(posted)
      assert.strictEqual(yield* rejectedBy(end("void", posted)), unfit)
      yield* record(end("post", pending))
      assert.strictEqual(yield* rejectedBy(end("void", pending)), "transfers_resolved_once")
      assert.strictEqual(yield* rejectedBy(end("post", pending)), "transfers_resolved_once")
      assert.deepStrictEqual(yield* stateOf(from), { posted: 0n, held: 0n })
      assert.deepStrictEqual(yield* ledgerFindings, [])
    })
  )

  it.effect("A pending transfer may end in the statement that makes it", () =>
    Effect.gen(function* () {
      const [from = ""] = yield* fundedAccounts(1, 10)
      const pending = transfer({ kind: "pending", debit: from, credit: revenue, amount: credits(3) })
      yield* record(pending, end("post", pending))
      assert.deepStrictEqual(yield* stateOf(from), { posted: credits(7), held: 0n })
    })
  )
})

layer(testServices())("Sixty transfers at once", (it) => {
  it.effect("Of sixty transfers with credit for twenty, twenty pass, and nobody is ever overdrawn", () =>
    Effect.gen(function* () {
      for (const kind of ["pending", "post"] as const) {
        const [from = ""] = yield* fundedAccounts(1, 20)
        const transfers = times(60, () => transfer({ kind, debit: from, credit: revenue }))
        const { done, findings } = yield* sampledWhile(
          Effect.forEach(transfers, (each) => Effect.result(record(each)), { concurrency: "unbounded" })
        )
        const rejected = done.filter(Result.isFailure).map(({ failure }) => ruleOf(failure))
        assert.lengthOf(rejected, 40)
        assert.deepStrictEqual(Arr.dedupe(rejected), ["accounts_covered"])
        const { held, posted } = yield* stateOf(from)
        assert.strictEqual(posted - held, 0n)
        assert.deepStrictEqual(findings, [])
      }
      assert.deepStrictEqual(yield* ledgerFindings, [])
    })
  )

  it.effect("Of sixty transfers with one id one is recorded, and the others answer as it does", () =>
    Effect.gen(function* () {
      const [from = "", to = ""] = yield* fundedAccounts(2, 20)
      const request = transfer({ debit: from, credit: to })
      yield* Effect.forEach(
        times(60, () => request),
        (each) => record(each),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* stateOf(to), { posted: credits(21), held: 0n })
    })
  )

  it.effect("Of sixty ends of one pending transfer, half posts and half voids, one is recorded", () =>
    Effect.gen(function* () {
      const [from = ""] = yield* fundedAccounts(1, 20)
      const pending = transfer({ kind: "pending", debit: from, credit: revenue })
      yield* record(pending)
      const ends = times(60, (index) => end(index % 2 === 0 ? "post" : "void", pending))
      const done = yield* Effect.forEach(ends, (each) => Effect.result(record(each)), {
        concurrency: "unbounded"
      })
      assert.lengthOf(done.filter(Result.isSuccess), 1)
      const rejected = done.filter(Result.isFailure).map(({ failure }) => ruleOf(failure))
      assert.deepStrictEqual(Arr.dedupe(rejected), ["transfers_resolved_once"])
      assert.deepStrictEqual(yield* ledgerFindings, [])
    })
  )

  it.effect("Batches that name the same accounts the other way round never wait in a ring", () =>
    Effect.gen(function* () {
      const accounts = yield* fundedAccounts(6, 1000)
      const ring = (order: ReadonlyArray<string>) =>
        order.map((debit, index) => transfer({ debit, credit: order[(index + 1) % order.length] ?? "" }))
      const batches = times(60, (index) => ring(index % 2 === 0 ? accounts : accounts.toReversed()))
      yield* Effect.forEach(batches, (batch) => record(...batch), { concurrency: "unbounded" })
      for (const account of accounts) assert.strictEqual((yield* stateOf(account)).posted, credits(1000))
    })
  )
})

layer(testServices())("Any concurrent writers", (it) => {
  it.effect.each(times(breadth(1, 20), () => randomInt(1_000_000)))(
    "Any concurrent writers keep every invariant at every moment (seed %i)",
    (seed) =>
      Effect.gen(function* () {
        const played = yield* runLedgerWorkload({
          seed,
          ...breadth({ players: 24, turns: 25 }, { players: 48, turns: 50 })
        })
        assert.deepStrictEqual(played.violations, [])
        // The workload means something only if it recorded enough, and every rule rejected something.
        assert.isAtLeast(played.samples, 10)
        assert.isAtLeast(played.recorded, breadth(200, 400))
        for (const rule of rejections) assert.isAtLeast(played.rejected.get(rule) ?? 0, breadth(1, 10), rule)
      })
  )
})

layer(testServices())("The ledger's tables", (it) => {
  it.effect("Only a transfer can move a balance", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* fundedAccounts(1, 10)
      for (const tampering of [
        sql`update accounts set posted = posted + 1 where kind = 'agent'`,
        sql`update accounts set held = 0`,
        sql`delete from accounts`,
        sql`truncate accounts cascade`,
        sql`insert into accounts (id, kind, posted) values ('pool:0190f000-0000-7000-8000-000000000000', 'pool', 1)`
      ]) {
        const error = yield* Effect.flip(asOwner(tampering))
        assert.match(String(error.reason.cause), /only transfers move credit|accounts is append-only/)
      }
    })
  )

  it.effect("An account of an absent holder, or under another name, is refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const nobody = "0190f000-0000-7000-8000-000000000abc"
      const opening = (id: string, kind: string) =>
        Effect.exit(sql`insert into accounts (id, kind) values (${id}, ${kind})`)
      for (const [id, kind] of [
        [`agent:${nobody}`, "agent"],
        [`owner:${nobody}`, "owner"],
        [`pool:${nobody}`, "pool"],
        ["agent:x", "agent"],
        ["treasury2", "treasury"],
        ["treasury", "gateway_revenue"],
        ["x", "x"]
      ] as const) {
        assert.isTrue(Exit.isFailure(yield* opening(id, kind)), id)
      }
    })
  )

  it.effect("Every agent and every owner has an account from the beginning", () =>
    Effect.gen(function* () {
      yield* fundedAccounts(3, 0)
      yield* someOperator
      const missing = countOf(
        (sql) => sql`
          select count(*)::int as count from (select 'agent:' || id as id from agents union all select 'owner:' || id from operators) h
           where id not in (select id from accounts)`
      )
      assert.strictEqual(yield* missing, 0)
    })
  )
})
