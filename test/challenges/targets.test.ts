/** Targets and the prediction scopes that agents subscribe to. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { chineseName } from "../../src/scoring/wording.ts"
import { Schedules } from "../../src/services/Schedules.ts"
import { Targets } from "../../src/services/Targets.ts"
import { claimedAgent } from "../support/agents.ts"
import { freshWeek, importCandles, plus } from "../support/challenges.ts"
import { countOf } from "../support/database.ts"
import { testServices } from "../support/services.ts"

const interfaceKeys = ["GC", "ES", "CL", "ZN", "HG", "NG", "BTC", "ZS", "DXY", "ETH"]
const macroKeys = ["CPI", "CORE_CPI", "PPI", "NFP", "UNRATE", "PCE", "GDP", "FOMC"]
const noTargets = ["XX", "gc", "", "GC ", "'; select 1", "G".repeat(300)]

layer(testServices())("Targets", (it) => {
  it.effect("The targets open to subscription are exactly the ten keys of the interface", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Targets.use((targets) => targets.scopes), interfaceKeys)
    })
  )

  it.effect("All targets are in the catalog under their categories", () =>
    Effect.gen(function* () {
      const { categories } = yield* Targets.use((targets) => targets.catalog)
      assert.deepStrictEqual(
        categories.map(({ category, targets }) => [category, targets.map((target) => target.key)]),
        [
          ["commodities", ["GC", "CL", "HG", "NG", "ZS"]],
          ["equity", ["ES"]],
          ["rates", ["ZN", "DXY"]],
          ["economics", macroKeys],
          ["crypto", ["BTC", "ETH"]]
        ]
      )
      const all = categories.flatMap((each) => each.targets)
      assert.sameMembers(
        all.filter((target) => target.subscribable).map((target) => target.key),
        interfaceKeys
      )
    })
  )

  it.effect("Targets have names in the Chinese settlement texts", () =>
    Effect.gen(function* () {
      const { categories } = yield* Targets.use((targets) => targets.catalog)
      for (const { key } of categories.flatMap((each) => each.targets)) {
        assert.match(chineseName(key), new RegExp(`\\p{Script=Han}.*（${key}）$`, "u"))
      }
      assert.strictEqual(chineseName("XX"), " XX ")
    })
  )

  it.effect("Targets begin with the specified dead zones, and BTC paused", () =>
    Effect.gen(function* () {
      const { categories } = yield* Targets.use((targets) => targets.catalog)
      const all = categories.flatMap((each) => each.targets)
      const zones = {
        GC: 0.3,
        ES: 0.3,
        CL: 0.6,
        ZN: 0.1,
        HG: 0.5,
        NG: 1,
        BTC: 1,
        ZS: 0.5,
        DXY: 0.15,
        ETH: 1.2
      }
      assert.deepStrictEqual(
        Object.fromEntries(
          all.flatMap(({ key, dead_zone_pct }) => (dead_zone_pct === null ? [] : [[key, dead_zone_pct]]))
        ),
        zones
      )
      assert.deepStrictEqual(
        all.filter((target) => target.paused).map((target) => target.key),
        ["BTC"]
      )
    })
  )

  it.effect("An administrator's change of a target changes the given members only", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      const before = yield* targets.get("CL")
      assert.deepStrictEqual(yield* targets.change("CL", {}), before)
      assert.deepStrictEqual(yield* targets.change("CL", { dead_zone_pct: 0.75 }), {
        ...before,
        dead_zone_pct: 0.75
      })
      assert.deepStrictEqual(yield* targets.change("CL", { paused: true }), {
        ...before,
        dead_zone_pct: 0.75,
        paused: true
      })
      assert.deepStrictEqual(yield* targets.get("CL"), { ...before, dead_zone_pct: 0.75, paused: true })
    })
  )

  it.effect("A macro series has no dead zone", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      const refused = yield* Effect.flip(targets.change("CPI", { dead_zone_pct: 1 }))
      assert(refused._tag === "InvalidRequest")
      assert.deepStrictEqual(
        refused.errors.map((error) => error.path),
        ["dead_zone_pct"]
      )
      assert.isTrue((yield* targets.change("CPI", { paused: true })).paused)
    })
  )

  it.effect("An unknown target is not found", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      for (const key of noTargets) {
        assert.strictEqual((yield* Effect.flip(targets.get(key)))._tag, "NotFound")
        assert.strictEqual((yield* Effect.flip(targets.change(key, { paused: true })))._tag, "NotFound")
      }
    })
  )
})

layer(testServices())("Subscriptions", (it) => {
  it.effect("Each agent has its own subscriptions, without limit, also to a paused target", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      const [agent, other] = [yield* claimedAgent(), yield* claimedAgent()]
      assert.deepStrictEqual(yield* targets.subscriptions(agent), [])
      yield* Effect.forEach(interfaceKeys.toReversed(), (key) => targets.subscribe(agent, key))
      assert.deepStrictEqual(yield* targets.subscriptions(agent), interfaceKeys)
      assert.deepStrictEqual(yield* targets.subscriptions(other), [])
    })
  )

  it.effect("A repeated subscription, and an end of one that does not exist, change nothing", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      const agent = yield* claimedAgent()
      yield* targets.unsubscribe(agent, "GC")
      yield* Effect.forEach(Array.from({ length: 10 }), () => targets.subscribe(agent, "GC"), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* targets.subscriptions(agent), ["GC"])
      yield* targets.unsubscribe(agent, "GC")
      yield* targets.unsubscribe(agent, "GC")
      assert.deepStrictEqual(yield* targets.subscriptions(agent), [])
    })
  )

  it.effect("A subscription to a macro series, which needs none, or to an unknown scope is not found", () =>
    Effect.gen(function* () {
      const targets = yield* Targets
      const agent = yield* claimedAgent()
      for (const key of [...macroKeys, ...noTargets]) {
        assert.strictEqual((yield* Effect.flip(targets.subscribe(agent, key)))._tag, "NotFound")
        assert.strictEqual((yield* Effect.flip(targets.unsubscribe(agent, key)))._tag, "NotFound")
      }
      assert.strictEqual(
        yield* countOf(
          (sql) => sql`select count(*)::int as count from prediction_scopes where agent_id = ${agent}::uuid`
        ),
        0
      )
    })
  )
})

layer(testServices({ AUSPEX_MORE_ASSETS: "SOL:Solana, LTC:Litecoin,ETH:Again", AUSPEX_SCHEDULES: "ladder" }))(
  "Assets that an operator adds",
  (it) => {
    it.effect("An asset added by an operator is a crypto target like the others, also for schedules", () =>
      Effect.gen(function* () {
        const targets = yield* Targets
        assert.deepStrictEqual(yield* targets.scopes, [...interfaceKeys, "SOL", "LTC"])
        assert.deepInclude(yield* targets.get("SOL"), {
          name: "Solana",
          category: "crypto",
          kind: "asset",
          paused: false,
          dead_zone_pct: 1.2
        })
        assert.strictEqual((yield* targets.get("ETH")).name, "Ethereum")
        yield* targets.subscribe(yield* claimedAgent(), "SOL")
        const now = yield* freshWeek
        yield* importCandles(
          "SOL",
          "1h",
          Array.from(
            { length: 800 },
            (_, hour) => [plus(now, { hours: hour - 800 }), 100 + (hour % 7)] as const
          )
        )
        const { made } = yield* Schedules.use((schedules) => schedules.makeDue)
        assert.sameMembers(
          made.map(({ kind, target }) => `${kind} ${target}`),
          ["1h SOL", "4h SOL", "1d SOL"]
        )
      })
    )
  }
)
