/** Claims by link and pairing code: permission, tries, lifetime, and the effects on the agent. */
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { heldNames } from "../../src/layers/postgres/schema/migrations/0005_held_names.ts"
import { lookalikes } from "../../src/layers/postgres/schema/migrations/0031_lookalikes.ts"
import { heldNamesByIndex } from "../../src/layers/postgres/schema/migrations/0032_held_names.ts"
import { heldAnew } from "../../src/layers/postgres/schema/migrations/0034_held_anew.ts"
import type { AgentId } from "../../src/services/domain/ids.ts"
import { Claims } from "../../src/services/Claims.ts"
import { Operators } from "../../src/services/Operators.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import {
  anOperator,
  claimable,
  claimLinks,
  claimWithCode,
  newMails,
  signedIn,
  agentRow,
  tokenOf,
  wrongCode
} from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { asOwner, countOf } from "../support/database.ts"
import { member } from "../support/server.ts"
import { testServices } from "../support/services.ts"

const stateOf = (token: string) =>
  Effect.map(
    Claims.use((claims) => claims.view(token)),
    ({ state }) => state
  )

const nameTagOf = (agentId: AgentId) =>
  Effect.map(
    Registry.use((registry) => registry.profile(agentId)),
    ({ name_tag }) => name_tag
  )

layer(testServices())("Names of claimed agents", (it) => {
  it.effect("The first claimed agent holds a name: no claim fails for it, and the others keep a tag", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* claimable({ name: "Calm Bot" }), yield* claimable({ name: "Calm Bot" })]
      assert.strictEqual(yield* nameTagOf(first.agentId), first.agentId.slice(-8))
      yield* claimWithCode(second.token, second.code, yield* anOperator)
      yield* claimWithCode(first.token, first.code, yield* anOperator)
      assert.isNull(yield* nameTagOf(second.agentId))
      assert.strictEqual(yield* nameTagOf(first.agentId), first.agentId.slice(-8))
    })
  )

  it.effect("An agent's name is the same in any case, spacing and alphabet in which it reads alike", () =>
    Effect.gen(function* () {
      const holder = yield* claimable({ name: "Ocean Alpha 1" })
      yield* claimWithCode(holder.token, holder.code, yield* anOperator)
      for (const name of [
        "OCEAN ALPHA 1",
        "Ocean  Alpha l",
        "Оcean Αlpha I",
        "Ｏcean Alpha １",
        "0cean alpha l",
        "Ocean Αlрһа l",
        "𝐎cean 𝖠lpha 𝟏",
        "Օcean Alpha 1",
        "Ocean Alрhа ߊ"
      ]) {
        const other = yield* claimable({ name })
        yield* claimWithCode(other.token, other.code, yield* anOperator)
        assert.strictEqual(yield* nameTagOf(other.agentId), other.agentId.slice(-8), name)
      }
      for (const name of ["Ocean Alpha 2", "OceanAlpha 1", "海洋"]) {
        const other = yield* claimable({ name })
        yield* claimWithCode(other.token, other.code, yield* anOperator)
        assert.isNull(yield* nameTagOf(other.agentId), name)
      }
    })
  )

  it.effect("A migration gives names to agents claimed earlier as their claims would have done", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // Each name in the order of its claim, and whether the agent holds it: "Iris" keeps "iris" from its fold, and so "іris"
      // (Cyrillic) holds the key that both look like, as do names after it.
      const names: ReadonlyArray<readonly [name: string, holds: boolean]> = [
        ["TWICE", true],
        ["Twice", false],
        ["Iris", true],
        ["iris", false],
        ["\u0456ris", true],
        ["i\u0433is", false],
        ["IRIS", false],
        ["ir\u0456s", false],
        ["Lone", true]
      ]
      const agents = yield* Effect.forEach(names, ([name]) => claimable({ name }))
      for (const { code, token } of agents) {
        yield* claimWithCode(token, code, yield* anOperator)
        yield* TestClock.adjust("1 second")
      }
      agents.push(yield* claimable({ name: "Lone" }))
      const held = Effect.forEach(agents, ({ agentId }) =>
        Effect.map(nameTagOf(agentId), (tag) => tag === null)
      )
      const byClaims = yield* held
      yield* asOwner(sql`drop trigger agents_hold_name on agents`)
      yield* asOwner(sql`drop function agents_hold_name`)
      yield* asOwner(sql`alter table agents drop column held_name, drop column held_fold`)
      yield* asOwner(sql`drop function name_key`)
      yield* asOwner(sql`drop function name_fold`)
      yield* asOwner(sql`drop function skeleton`)
      yield* asOwner(sql`drop table confusables`)
      yield* asOwner(heldNames)
      yield* asOwner(lookalikes)
      yield* asOwner(heldNamesByIndex)
      yield* asOwner(heldAnew)
      yield* asOwner(sql`grant select on confusables to public`)
      assert.deepStrictEqual(
        [byClaims, yield* held],
        Array.from({ length: 2 }, () => [...names.map(([, holds]) => holds), false])
      )
      // Agents that come later hold none of them.
      yield* asOwner(heldAnew)
      const late = yield* claimable({ name: "\u0456ris" })
      yield* claimWithCode(late.token, late.code, yield* anOperator)
      assert.strictEqual(yield* nameTagOf(late.agentId), late.agentId.slice(-8))
    })
  )

  it.effect("A claim looks the name up by indexes, and reads no other agent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { code, token } = yield* claimable({ name: "Alone" })
      const operator = yield* anOperator
      const rows = () =>
        countOf(() => sql`select pg_stat_get_xact_tuples_returned('agents'::regclass)::int as count`)
      const read = yield* Effect.gen(function* () {
        // Conditions as with many agents, and no plan that was made before.
        yield* sql`set local enable_seqscan = off`
        yield* sql`discard plans`
        // The session also counts what it has read in the last second.
        const before = yield* rows()
        yield* claimWithCode(token, code, operator)
        return (yield* rows()) - before
      }).pipe(sql.withTransaction)
      assert.strictEqual(read, 0)
    })
  )

  it.effect("Of several agents claimed at once exactly one holds the name", () =>
    Effect.gen(function* () {
      const agents = yield* Effect.replicateEffect(claimable({ name: "Everybody" }), 5)
      const operators = yield* Effect.replicateEffect(anOperator, 5)
      const claimed = yield* concurrently(
        agents.map(({ code, token }, index) =>
          Effect.flatMap(Effect.fromOption(Option.fromUndefinedOr(operators[index])), (operator) =>
            claimWithCode(token, code, operator)
          )
        )
      )
      assert.isTrue(claimed.every(Result.isSuccess))
      const tags = yield* Effect.forEach(agents, ({ agentId }) => nameTagOf(agentId))
      assert.lengthOf(
        tags.filter((tag) => tag === null),
        1
      )
    })
  )
})

layer(testServices())("A claim", (it) => {
  it.effect("A claim with link and code makes the operator the owner, once and for all", () =>
    Effect.gen(function* () {
      const ada = yield* claimable({ name: "Ada", bio: "I predict.", model_name: "acme-1" })
      const operator = yield* anOperator
      const agent = yield* claimWithCode(ada.token, ada.code, operator)
      assert.deepInclude(agent, { agentId: ada.agentId, name: "Ada", bio: "I predict.", modelName: "acme-1" })
      const stored = yield* agentRow(ada.agentId)
      assert.strictEqual(member(stored, "owner_id"), operator)
      assert.isNull(member(stored, "prediction_limit"))
      const profile = yield* Registry.use((registry) => registry.profile(ada.agentId))
      assert.deepStrictEqual(profile.owner, { owner_id: operator, plan: "free" })
      assert.strictEqual(profile.status, "active")
      const again = yield* Effect.flip(claimWithCode(ada.token, ada.code, yield* anOperator))
      assert.strictEqual(again.code, "already_claimed")
      assert.strictEqual(member(yield* agentRow(ada.agentId), "owner_id"), operator)
    })
  )

  it.effect("A claim page shows the agent and the tries that are left, and leaves no trace", () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      const ada = yield* claimable({ name: "Ada", owner_org: "Example" })
      const view = yield* claims.view(ada.token)
      assert(view.state === "open")
      assert.strictEqual(view.triesLeft, 5)
      assert.deepInclude(view.agent, { agentId: ada.agentId, name: "Ada", ownerOrg: "Example" })
      const now = yield* DateTime.now
      assert.strictEqual(view.expiresAt.epochMilliseconds - now.epochMilliseconds, 48 * 3_600_000)
      assert.deepStrictEqual(yield* claims.view(ada.token), view)
    })
  )

  it.effect("A claim takes the code in any case, with and without its dash, and with space around it", () =>
    Effect.gen(function* () {
      const operator = yield* anOperator
      const ways: ReadonlyArray<(code: string) => string> = [
        (code) => code.toLowerCase(),
        (code) => code.replace("-", ""),
        (code) => ` ${code.replace("-", " ")} `
      ]
      for (const written of ways) {
        const ada = yield* claimable()
        yield* claimWithCode(ada.token, written(ada.code), operator)
      }
    })
  )

  it.effect("A token without a link is NotFound, whatever it looks like", () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      const operatorId = yield* anOperator
      for (const token of ["", "x", "\0", "aus_cl_", `aus_cl_${"A".repeat(43)}`, "A".repeat(100_000)]) {
        assert.strictEqual((yield* Effect.flip(claims.view(token))).code, "not_found")
        const claim = claims.claimWithCode({ token, pairingCode: "AAA-AAA", operatorId })
        assert.strictEqual((yield* Effect.flip(claim)).code, "not_found")
        assert.strictEqual((yield* Effect.flip(claims.viewMailClaim(token))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(claims.claimByMail(token))).code, "not_found")
        assert.strictEqual((yield* Effect.flip(claims.notMine(token))).code, "not_found")
      }
    })
  )

  it.effect("A link is taken only for its own kind of claim", () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      const ada = yield* claimable({ operator_contact: "links@example.org" })
      const { claim } = claimLinks((yield* newMails)[0])
      assert.strictEqual((yield* Effect.flip(claims.view(claim))).code, "not_found")
      assert.strictEqual((yield* Effect.flip(claims.claimByMail(ada.token))).code, "not_found")
    })
  )

  it.effect("A wrong code tells how many tries are left, and the fifth locks the link", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const operator = yield* anOperator
      for (const left of [4, 3, 2, 1]) {
        const error = yield* Effect.flip(claimWithCode(ada.token, wrongCode(ada.code), operator))
        assert(error._tag === "WrongPairingCode")
        assert.strictEqual(error.tries_left, left)
      }
      const fifth = yield* Effect.flip(claimWithCode(ada.token, wrongCode(ada.code), operator))
      assert.strictEqual(fifth._tag, "ClaimLocked")
      assert.strictEqual(yield* stateOf(ada.token), "locked")
      const right = yield* Effect.flip(claimWithCode(ada.token, ada.code, operator))
      assert.strictEqual(right._tag, "ClaimLocked")
      assert.isNull(member(yield* agentRow(ada.agentId), "owner_id"))
    })
  )

  it.effect("A text that cannot be a code counts as a wrong code", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const operator = yield* anOperator
      for (const code of ["", "0", "\0", "💥", "A".repeat(10_000)]) {
        yield* Effect.flip(claimWithCode(ada.token, code, operator))
      }
      assert.strictEqual(yield* stateOf(ada.token), "locked")
    })
  )

  it.effect("Of 50 wrong codes at once five are evaluated, then the link is locked", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const operator = yield* anOperator
      const results = yield* concurrently(
        times(50, () => claimWithCode(ada.token, wrongCode(ada.code), operator))
      )
      const codes = codesOf(results)
      assert.strictEqual(codes.filter((code) => code === "wrong_pairing_code").length, 4)
      assert.strictEqual(codes.filter((code) => code === "claim_locked").length, 46)
      const tried = yield* countOf(
        (sql) => sql`select wrong_codes as count from claim_links where agent_id = ${ada.agentId}::uuid`
      )
      assert.strictEqual(tried, 5)
    })
  )

  it.effect("The right code among 50 at once succeeds only if it is among the first five", () =>
    Effect.gen(function* () {
      const operator = yield* anOperator
      for (const place of [0, 4, 49]) {
        const ada = yield* claimable()
        const codes = times(50, (index) => (index === place ? ada.code : wrongCode(ada.code)))
        const results = yield* concurrently(codes.map((code) => claimWithCode(ada.token, code, operator)))
        const evaluated = codesOf(results).filter((code) => code === "wrong_pairing_code").length
        assert.isAtMost(evaluated, 5)
        const owner = member(yield* agentRow(ada.agentId), "owner_id")
        assert.strictEqual(owner, results.some(Result.isSuccess) ? operator : null)
      }
    })
  )

  it.effect("Of 20 operators with the right code at once one claims, and the others hear of it", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const somebody = yield* anOperator
      const operators = [somebody, yield* anOperator, yield* anOperator, yield* anOperator]
      const results = yield* concurrently(
        times(20, (index) => claimWithCode(ada.token, ada.code, operators[index % 4] ?? somebody))
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      const refused = new Set(codesOf(results))
      assert.isTrue([...refused].every((code) => code === "already_claimed" || code === "claim_locked"))
      assert.isNotNull(member(yield* agentRow(ada.agentId), "owner_id"))
    })
  )

  it.effect("A claim by code and one by mail at once make one claim", () =>
    Effect.gen(function* () {
      const claims = yield* Claims
      const operator = yield* anOperator
      for (const round of times(5, (index) => index)) {
        const ada = yield* claimable({ operator_contact: `race-${round}@example.org` })
        const { claim } = claimLinks((yield* newMails)[0])
        const [byCode, byMail] = yield* Effect.all(
          [
            Effect.result(claimWithCode(ada.token, ada.code, operator)),
            Effect.result(claims.claimByMail(claim))
          ],
          { concurrency: "unbounded" }
        )
        assert.notStrictEqual(Result.isSuccess(byCode), Result.isSuccess(byMail))
        assert.strictEqual(
          member(yield* agentRow(ada.agentId), "owner_id") === operator,
          Result.isSuccess(byCode)
        )
      }
    })
  )

  it.effect("A claim by a link is possible for 48 hours, to the millisecond", () =>
    Effect.gen(function* () {
      const [early, late] = [yield* claimable(), yield* claimable()]
      const operator = yield* anOperator
      yield* TestClock.adjust("48 hours")
      yield* TestClock.adjust("-1 millis")
      yield* claimWithCode(early.token, early.code, operator)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* stateOf(late.token), "expired")
      const error = yield* Effect.flip(claimWithCode(late.token, late.code, operator))
      assert(error._tag === "ClaimLinkEnded")
      assert.strictEqual(error.reason, "expired")
    })
  )

  it.effect("A claim is refused to an operator with 50 agents, and the late code costs no try", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const operator = yield* anOperator
      const agents = yield* Effect.forEach(
        times(51, (index) => index),
        () => claimable(),
        { concurrency: 8 }
      )
      for (const { agentId } of agents.slice(0, 49)) {
        yield* sql`
          update agents set claimed_at = created_at, owner_id = ${operator}::uuid, prediction_limit = null
           where id = ${agentId}::uuid`
      }
      const results = yield* concurrently(
        agents.slice(49).map(({ token, code }) => claimWithCode(token, code, operator))
      )
      assert.deepStrictEqual(codesOf(results), ["agent_limit"])
      const left = agents[49 + results.findIndex(Result.isFailure)]
      assert(left !== undefined)
      const view = yield* Claims.use((claims) => claims.view(left.token))
      assert.strictEqual(member(view, "triesLeft"), 5)
    })
  )
})

layer(testServices())("Effects of a claim", (it) => {
  it.effect("A claim does not wait for a settlement that holds the agent's stats; the rank comes after", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ada = yield* claimable()
      const operator = yield* anOperator
      yield* sql`
        insert into agent_stats (board, agent_id, verified, scored, score_sum, binary_scored, correct, brier_sum,
                                   last_day, day_count, day_sum)
        values ('global', ${ada.agentId}::uuid, false, 1, 50, 1, 0, 0.25, '2026-01-01', 1, 50)`
      const verified = countOf(
        (sql) => sql`
          select count(*)::int as count from agent_stats where agent_id = ${ada.agentId}::uuid and verified`
      )
      const [held, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const settlement = yield* sql`
        update agent_stats set scored = scored + 1 where agent_id = ${ada.agentId}::uuid`.pipe(
        Effect.andThen(Deferred.succeed(held, undefined)),
        Effect.andThen(Deferred.await(ended)),
        sql.withTransaction,
        Effect.forkChild
      )
      yield* Deferred.await(held)
      yield* claimWithCode(ada.token, ada.code, operator)
      assert.strictEqual(yield* verified, 0)
      yield* Deferred.succeed(ended, undefined)
      yield* Fiber.join(settlement)
      yield* Claims.use((claims) => claims.confirmRanks)
      assert.strictEqual(yield* verified, 1)
    })
  )

  it.effect("A claimed agent takes its official rank at once, on every board it is on", () =>
    Effect.gen(function* () {
      const scoring = yield* Scoring
      const now = yield* freshWeek
      const ada = yield* claimable()
      for (const asset of ["GC", "ES"] as const) {
        const challenge = yield* newChallenge({ asset })
        yield* predict(ada.agentId, challenge)
        yield* importQuotes(asset, [[plus(now, "1 hour"), 200]])
      }
      yield* moveTo(plus(now, "1 hour"))
      yield* scoring.settleDue
      const unverified = countOf(
        (sql) => sql`
          select count(*)::int as count from agent_stats where agent_id = ${ada.agentId}::uuid and not verified`
      )
      assert.strictEqual(yield* unverified, 5)
      yield* claimWithCode(ada.token, ada.code, yield* anOperator)
      assert.strictEqual(yield* unverified, 0)
    })
  )

  it.effect("Housekeeping corrects stats that a settlement wrote without seeing the claim", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const scoring = yield* Scoring
      const now = yield* freshWeek
      const [ada, bob] = [yield* claimable(), yield* claimable()]
      const challenge = yield* newChallenge()
      for (const { agentId } of [ada, bob]) yield* predict(agentId, challenge)
      yield* importQuotes("GC", [[plus(now, "1 hour"), 200]])
      yield* moveTo(plus(now, "1 hour"))
      yield* claimWithCode(ada.token, ada.code, yield* anOperator)
      yield* scoring.settleDue
      yield* sql`update agent_stats set verified = false`
      yield* Claims.use((claims) => claims.confirmRanks)
      const verified = yield* sql`select distinct agent_id::text from agent_stats where verified`
      assert.deepStrictEqual(verified, [{ agent_id: ada.agentId }])
    })
  )

  it.effect("A settlement after a claim takes no rank back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const scoring = yield* Scoring
      const now = yield* freshWeek
      const ada = yield* claimable()
      const challenges = [yield* newChallenge(), yield* newChallenge({ deadline: plus(now, "2 hours") })]
      for (const challenge of challenges) yield* predict(ada.agentId, challenge)
      yield* importQuotes("GC", [
        [plus(now, "1 hour"), 200],
        [plus(now, "2 hours"), 200]
      ])
      yield* moveTo(plus(now, "1 hour"))
      yield* scoring.settleDue
      // This is the state that a settlement sees whose snapshot is older than the claim: the agent unclaimed, its row claimed.
      yield* sql`update agent_stats set verified = true where agent_id = ${ada.agentId}::uuid`
      yield* moveTo(plus(now, "2 hours"))
      yield* scoring.settleDue
      const shown = yield* sql`
        select distinct verified from agent_stats where agent_id = ${ada.agentId}::uuid`
      assert.deepStrictEqual(shown, [{ verified: true }])
    })
  )
})

layer(testServices({ AUSPEX_LIMIT_CLAIM_REFRESH: "5/hour,20/day" }))("Renewing a claim link", (it) => {
  const refresh = (agent: Effect.Success<ReturnType<typeof claimable>>) =>
    Claims.use((claims) => claims.refresh(agent.agentId))

  it.effect("A renewal makes a new link and code and ends the old, also a locked one", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const operator = yield* anOperator
      for (const code of times(5, () => wrongCode(ada.code)))
        yield* Effect.flip(claimWithCode(ada.token, code, operator))
      const fresh = yield* refresh(ada)
      assert.notStrictEqual(fresh.pairing_code, ada.code)
      assert.strictEqual(yield* stateOf(ada.token), "replaced")
      const error = yield* Effect.flip(claimWithCode(ada.token, ada.code, operator))
      assert(error._tag === "ClaimLinkEnded")
      assert.strictEqual(error.reason, "replaced")
      const token = tokenOf(fresh.claim_url)
      assert.strictEqual(member(yield* Claims.use((claims) => claims.view(token)), "triesLeft"), 5)
      yield* claimWithCode(token, fresh.pairing_code, operator)
    })
  )

  it.effect("A renewal extends no grace window, and works when that has ended", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      yield* TestClock.adjust("8 days")
      const fresh = yield* refresh(ada)
      assert.strictEqual(fresh.provisional_until, ada.link.provisional_until)
      assert.strictEqual(fresh.provisional_prediction_limit, 10)
      const profile = Registry.use((registry) => registry.profile(ada.agentId))
      assert.deepInclude(yield* profile, {
        status: "issuance_paused",
        provisional_until: ada.link.provisional_until
      })
      yield* claimWithCode(tokenOf(fresh.claim_url), fresh.pairing_code, yield* anOperator)
      assert.deepInclude(yield* profile, { status: "active", provisional_until: null })
    })
  )

  it.effect("An agent may renew its link 5 times an hour and 20 times a day", () =>
    Effect.gen(function* () {
      const [ada, bob] = [yield* claimable(), yield* claimable()]
      const now = yield* freshWeek
      for (const hour of times(4, (index) => index)) {
        yield* moveTo(plus(now, `${hour * 2} hours`))
        for (const _ of times(5, () => 0)) yield* refresh(ada)
        const error = yield* Effect.flip(refresh(ada))
        assert(error._tag === "TooManyRequests")
        // The fifth burst of a day has to wait for the first to be a day old.
        assert.strictEqual(error.retry_after, hour < 3 ? 3600 : 18 * 3600)
      }
      yield* moveTo(plus(now, "12 hours"))
      assert.strictEqual((yield* Effect.flip(refresh(ada))).code, "rate_limited")
      yield* refresh(bob)
      yield* moveTo(plus(now, "2 days"))
      yield* refresh(ada)
    })
  )

  it.effect("A renewal before the challenge is passed and one after the claim are refused, and count", () =>
    Effect.gen(function* () {
      const { agent_id } = yield* Registry.use((registry) => registry.register({ name: "Ada" }))
      const claimed = yield* claimable()
      yield* claimWithCode(claimed.token, claimed.code, yield* anOperator)
      for (const [agentId, code] of [
        [agent_id, "challenge_pending"],
        [claimed.agentId, "already_claimed"]
      ] as const) {
        const refused = Effect.flip(Claims.use((claims) => claims.refresh(agentId)))
        for (const _ of times(5, () => 0)) assert.strictEqual((yield* refused).code, code)
        assert.strictEqual((yield* refused).code, "rate_limited")
      }
    })
  )

  it.effect("Ten renewals at once leave one live link, the last", () =>
    Effect.gen(function* () {
      const ada = yield* claimable()
      const fresh = yield* concurrently(times(5, () => refresh(ada)))
      const states = yield* Effect.forEach(fresh.filter(Result.isSuccess), ({ success }) =>
        stateOf(tokenOf(success.claim_url))
      )
      assert.deepStrictEqual(states.filter((state) => state === "open").length, 1)
      assert.strictEqual(states.length, 5)
    })
  )

  it.effect("A renewal during a claim either loses to the claim, or replaces the old link", () =>
    Effect.gen(function* () {
      const operator = yield* anOperator
      for (const _ of times(10, () => 0)) {
        const ada = yield* claimable()
        const [claimed, refreshed] = yield* Effect.all(
          [Effect.result(claimWithCode(ada.token, ada.code, operator)), Effect.result(refresh(ada))],
          { concurrency: "unbounded" }
        )
        if (Result.isSuccess(claimed)) {
          // A refresh that came first has lost its link to the claim; a later one was refused.
          assert.strictEqual(member(yield* agentRow(ada.agentId), "owner_id"), operator)
        } else {
          assert.isTrue(Result.isSuccess(refreshed))
          assert.strictEqual(yield* stateOf(ada.token), "replaced")
        }
      }
    })
  )
})

layer(testServices())("An account", (it) => {
  it.effect("An account lists its operator's agents, the last claimed first, with their status", () =>
    Effect.gen(function* () {
      const operators = yield* Operators
      const { operatorId } = yield* signedIn("owner@example.org")
      const first = yield* claimable({ name: "First" })
      const second = yield* claimable({ name: "Second" })
      yield* claimWithCode(first.token, first.code, operatorId)
      yield* TestClock.adjust("1 hour")
      yield* claimWithCode(second.token, second.code, operatorId)
      yield* Registry.use((registry) => registry.amend(first.agentId, { suspended: true }))
      const account = yield* operators.account(operatorId)
      assert.deepStrictEqual(account.operator, { operatorId, email: account.operator.email, plan: "free" })
      assert.strictEqual(account.operator.email, "owner@example.org")
      assert.deepStrictEqual(
        account.agents.map(({ name, status }) => [name, status]),
        [
          ["Second", "active"],
          ["First", "suspended"]
        ]
      )
    })
  )

  it.effect("An account rotates the secret of an own agent, which ends its tokens, and of no other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const operators = yield* Operators
      const { operatorId } = yield* signedIn("rotating@example.org")
      const [own, other] = [yield* claimable(), yield* claimable()]
      yield* claimWithCode(own.token, own.code, operatorId)
      yield* claimWithCode(other.token, other.code, yield* anOperator)
      const epochs = sql`
        select token_epoch from agents where id in (${own.agentId}::uuid, ${other.agentId}::uuid) order by id`
      const rotated = yield* operators.rotateSecret({ operatorId, agentId: own.agentId, gatewayKeys: "keep" })
      assert.match(rotated.client_secret, /^aus_cs_/)
      assert.notStrictEqual(rotated.client_secret, own.secret)
      for (const agentId of [other.agentId, "nobody", "0190f000-0000-7000-8000-000000000000"]) {
        const error = yield* Effect.flip(operators.rotateSecret({ operatorId, agentId, gatewayKeys: "keep" }))
        assert.strictEqual(error._tag, "NotFound")
      }
      assert.deepStrictEqual(yield* epochs, [{ token_epoch: 1 }, { token_epoch: 0 }])
    })
  )
})
