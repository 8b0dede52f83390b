import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Registry } from "../../src/services/Registry.ts"
import { Social } from "../../src/services/Social.ts"
import { AgentId } from "../../src/services/domain/ids.ts"
import type { Page } from "../../src/services/domain/paging.ts"
import { concurrently, codesOf, times } from "../support/concurrently.ts"
import { claimedAgent, claimedAgents } from "../support/agents.ts"
import { countOf, rowsOf } from "../support/database.ts"
import { allPages, firstPage } from "../support/paging.ts"
import { held, meeting } from "../support/locking.ts"
import { TelemetryRecorder, telemetryRecorder } from "../support/telemetryRecorder.ts"
import { testServices } from "../support/services.ts"
import { follow, nextOf, tamperedCursors, unfollow } from "../support/social.ts"

const nobody = "0190f000-0000-7000-8000-000000000000"

const following = (agentId: AgentId, page: Page = firstPage) =>
  Social.use((social) => social.following(agentId, page))
const followers = (agentId: AgentId, page: Page = firstPage) =>
  Social.use((social) => social.followers(agentId, page))
const idsOf = (page: { readonly items: ReadonlyArray<{ readonly agent_id: AgentId }> }) =>
  page.items.map((item) => item.agent_id)
const profileOf = (viewer: AgentId, agentId: string) =>
  Registry.use((registry) => registry.publicProfile(viewer, agentId))

/** Agents whose kept counts differ from a recount. */
const differing = rowsOf(
  Schema.Struct({ agent_id: Schema.String }),
  (sql) => sql`
    select agent_id::text
      from (select follower_id as agent_id, 'following' as side, count(*) as counted from follows group by follower_id
            union all
            select followed_id, 'followers', count(*) from follows group by followed_id) f
      full join follow_counts n using (agent_id, side)
     where coalesce(f.counted, 0) <> coalesce(n.count, 0)`
)

layer(testServices().pipe(Layer.provideMerge(telemetryRecorder)))("Follows", (it) => {
  it.effect("Follows are idempotent, and lists show the latest follow first", () =>
    Effect.gen(function* () {
      const [ada, bob, cem] = yield* Effect.forEach(["ada", "bob", "cem"] as const, (name) =>
        claimedAgent(name)
      )
      assert(ada !== undefined && bob !== undefined && cem !== undefined)
      yield* follow(ada, bob)
      yield* TestClock.adjust("1 second")
      yield* follow(ada, cem)
      yield* follow(ada, bob.toUpperCase())
      const page = yield* following(ada)
      assert.deepStrictEqual(idsOf(page), [cem, bob])
      assert.deepStrictEqual(page.items[0], {
        agent_id: cem,
        agent_name: "cem",
        name_tag: null,
        model_provider: null,
        model_name: null,
        verified: true,
        followed_at: "1970-01-01T00:00:01.000Z"
      })
      assert.deepStrictEqual(idsOf(yield* followers(bob)), [ada])
      assert.deepInclude(yield* profileOf(ada, bob), {
        follower_count: 1,
        following_count: 0,
        is_followed: true
      })
      assert.deepInclude(yield* profileOf(bob, ada), {
        follower_count: 0,
        following_count: 2,
        is_followed: false
      })
      yield* unfollow(ada, bob)
      assert.deepStrictEqual(idsOf(yield* following(ada)), [cem])
      assert.deepInclude(yield* profileOf(ada, bob), { follower_count: 0, is_followed: false })
      yield* follow(ada, bob)
      assert.deepStrictEqual(idsOf(yield* following(ada)), [bob, cem])
    })
  )

  it.effect("An agent cannot follow itself", () =>
    Effect.gen(function* () {
      const ada = yield* claimedAgent()
      const rejected = yield* Effect.flip(follow(ada, ada))
      assert.strictEqual(rejected.code, "self_follow")
      assert.strictEqual((yield* Effect.flip(follow(ada, ada.toUpperCase()))).code, "self_follow")
    })
  )

  it.effect.each([nobody, "nobody", "", "'; drop table follows"])(
    "A follow of %s is of an unknown agent",
    (id) =>
      Effect.gen(function* () {
        const ada = yield* claimedAgent()
        assert.strictEqual((yield* Effect.flip(follow(ada, id))).code, "not_found")
        yield* unfollow(ada, id)
        assert.deepStrictEqual((yield* following(ada)).items, [])
        assert.strictEqual((yield* Effect.flip(profileOf(ada, id))).code, "not_found")
      })
  )

  it.effect("Fifty parallel follows of one agent by another are one follow", () =>
    Effect.gen(function* () {
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      assert.deepStrictEqual(codesOf(yield* concurrently(times(50, () => follow(ada, bob)))), [])
      assert.deepInclude(yield* profileOf(ada, bob), { follower_count: 1 })
      assert.deepStrictEqual(
        (yield* concurrently(times(50, () => unfollow(ada, bob)))).filter(Result.isFailure),
        []
      )
      assert.deepInclude(yield* profileOf(ada, bob), { follower_count: 0 })
    })
  )

  it.effect("Follows in loops of agents, all at once, never wait for each other in a ring", () =>
    Effect.gen(function* () {
      const agents = yield* claimedAgents(8)
      const pairs = agents.flatMap((one) =>
        agents.filter((other) => other !== one).map((other) => [one, other] as const)
      )
      for (let round = 0; round < 3; round++) {
        const made = yield* concurrently(pairs.map(([one, other]) => follow(one, other)))
        assert.deepStrictEqual(made.filter(Result.isFailure), [])
        assert.deepStrictEqual(yield* differing, [])
        const ended = yield* concurrently(pairs.map(([one, other]) => unfollow(one, other)))
        assert.deepStrictEqual(ended.filter(Result.isFailure), [])
      }
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`select coalesce(sum(count), 0)::int as count from follow_counts
                                                      where agent_id = any(${agents}::uuid[])`
        ),
        0
      )
    })
  )

  it.effect("Concurrent follows and unfollows of two agents in both directions are all carried out", () =>
    Effect.gen(function* () {
      const [ada, bob] = yield* claimedAgents(2)
      assert(ada !== undefined && bob !== undefined)
      const work = times(200, (index) => {
        const [one, other] = index % 2 === 0 ? [ada, bob] : [bob, ada]
        return Effect.exit(index % 4 < 2 ? follow(one, other) : unfollow(one, other))
      })
      const { lines } = yield* TelemetryRecorder
      const before = lines.length
      const ended = yield* Effect.all(work, { concurrency: "unbounded" })
      assert.deepStrictEqual(ended.filter(Exit.isFailure), [])
      assert.deepStrictEqual(
        lines.slice(before).filter((line) => line.includes("conflict")),
        []
      )
      assert.deepStrictEqual(yield* differing, [])
    })
  )

  const Step = Schema.Struct({
    one: Schema.Literals([0, 1, 2, 3]),
    other: Schema.Literals([0, 1, 2, 3]),
    ends: Schema.Boolean
  })
  it.effect.prop(
    "Counts of follows equal a recount after any interleaving of follows and unfollows",
    [Schema.Array(Step).check(Schema.isMaxLength(30))],
    ([steps]) =>
      Effect.gen(function* () {
        const agents = yield* claimedAgents(4)
        const agentAt = (index: number) => agents[index] ?? AgentId.make(nobody)
        yield* Effect.forEach(
          steps,
          ({ ends, one, other }) => Effect.result((ends ? unfollow : follow)(agentAt(one), agentAt(other))),
          { concurrency: 6 }
        )
        assert.deepStrictEqual(yield* differing, [])
      }),
    { arbitrary: { runs: 10, size: 30 } }
  )

  it.effect("Each follow is on exactly one page, whatever the size of pages", () =>
    Effect.gen(function* () {
      const [ada, ...others] = yield* claimedAgents(8)
      assert(ada !== undefined)
      yield* Effect.forEach(others, (other) => follow(ada, other))
      yield* Effect.forEach(others, (other) => follow(other, ada))
      for (const limit of [1, 3, 7, 200]) {
        const pages = yield* allPages(limit, (page) => following(ada, page))
        assert.deepStrictEqual(
          pages.flat().map((item) => item.agent_id),
          others.toReversed()
        )
        assert.isTrue(pages.slice(0, -1).every((page) => page.length === limit))
        const back = yield* allPages(limit, (page) => followers(ada, page))
        assert.deepStrictEqual(
          back.flat().map((item) => item.agent_id),
          others.toReversed()
        )
      }
    })
  )

  it.effect("A list of follows rejects a cursor that was changed", () =>
    Effect.gen(function* () {
      const [ada, bob, cem] = yield* claimedAgents(3)
      assert(ada !== undefined && bob !== undefined && cem !== undefined)
      for (const other of [bob, cem]) {
        yield* follow(ada, other)
        yield* follow(other, ada)
      }
      const cursor = nextOf(yield* following(ada, { limit: 1, cursor: undefined }))
      assert.deepStrictEqual(idsOf(yield* following(ada, { limit: 1, cursor })), [bob])
      for (const each of tamperedCursors(cursor)) {
        const rejected = yield* Effect.flip(following(ada, { limit: 1, cursor: each }))
        assert.deepStrictEqual(
          rejected.errors.map((error) => error.path),
          ["cursor"]
        )
      }
    })
  )
})

layer(testServices({ AUSPEX_FOLLOWS_PER_AGENT: "5" }))("The maximum of follows", (it) => {
  it.effect("The maximum of follows rejects no existing one, also one that was made meanwhile", () =>
    Effect.gen(function* () {
      const [ada, last, ...others] = yield* claimedAgents(6)
      assert(ada !== undefined && last !== undefined)
      yield* Effect.forEach(others, (other) => follow(ada, other))
      const first = yield* held(follow(ada, last))
      const again = yield* meeting(follow(ada, last))
      yield* first.commit
      yield* Fiber.join(again)
      assert.strictEqual((yield* following(ada)).items.length, 5)
    })
  )

  it.effect(
    "The maximum of follows is exact, also for 50 at once, and existing ones do not count again",
    () =>
      Effect.gen(function* () {
        const [ada, ...others] = yield* claimedAgents(13)
        assert(ada !== undefined)
        const results = yield* concurrently(times(48, (index) => follow(ada, others[index % 12] ?? nobody)))
        assert.strictEqual((yield* following(ada)).items.length, 5)
        assert.deepStrictEqual([...new Set(codesOf(results))], ["follow_limit"])
        const [first] = idsOf(yield* following(ada))
        assert(first !== undefined)
        yield* follow(ada, first)
        yield* unfollow(ada, first)
        yield* follow(ada, others.find((other) => other !== first) ?? nobody)
        assert.deepStrictEqual(yield* differing, [])
      })
  )
})
