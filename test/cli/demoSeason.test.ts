/** The parts of a season; demoSeason.long.test.ts runs all of it together. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { demo } from "../../cli/demo/command.ts"
import { Memory, assets, hintsOf, madeUp, players } from "../../cli/demo/season/play.ts"
import { answerIn, decisions, ofCategories, speakers } from "../../cli/demo/season/speakers.ts"
import * as Replay from "../../src/layers/prices/Replay.ts"
import { PriceSource } from "../../src/services/PriceSource.ts"
import { instant, plus } from "../support/challenges.ts"
import { runCommand } from "../support/commands.ts"

const monday = instant("2026-01-05T00:00:00Z")

describe("The season's made-up prices", () => {
  it.effect("The season's prices are recordings that a server replays, the same ones for a seed", () =>
    Effect.gen(function* () {
      const shown = Effect.fnUntraced(function* (seed: number) {
        const directory = yield* madeUp(monday, 2, seed)
        return yield* Effect.gen(function* () {
          const source = yield* PriceSource
          return yield* Effect.forEach(source.feeds, (feed) =>
            Effect.map(
              source.read(feed, { from: monday, until: plus(monday, "14 days") }),
              ({ readings }) => ({
                feed: `${feed.asset} ${feed.interval}`,
                closes: readings.flatMap(({ candles }) => candles.map(({ close }) => close))
              })
            )
          )
        }).pipe(Effect.provide(Replay.layer(directory), { local: true }))
      })
      const first = yield* shown(1)
      assert.sameMembers(
        first.map(({ feed }) => feed.split(" ")[0] ?? ""),
        [...assets]
      )
      // Recordings by the hour have all days, those by the day the days of the week.
      for (const { closes, feed } of first) assert.lengthOf(closes, feed.endsWith("1h") ? 14 * 24 : 10)
      assert.deepStrictEqual(yield* shown(1), first)
      assert.notDeepEqual(yield* shown(2), first)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("The season's players", () => {
  it("The players know the last move that the challenges have shown them, and nothing else", () => {
    const memory = new Memory()
    assert.strictEqual(memory.moveOf("GC"), 0)
    for (const [price, move] of [
      [100, 0],
      [101, 1],
      // The same day seen again is no move.
      [101, 1],
      [99, -1]
    ] as const) {
      memory.see("GC", price)
      assert.strictEqual(memory.moveOf("GC"), move)
    }
    const after = (name: string) => {
      const player = players.find((each) => each.name === name)
      return player !== undefined && "call" in player ? player.call(-1).direction : undefined
    }
    assert.strictEqual(after("momentum"), "bearish")
    assert.strictEqual(after("contrarian"), "bullish")
  })

  it("The players hear hints of which three in five are true, the same ones for a seed", () => {
    const start = DateTime.toEpochMillis(monday)
    const hours = Array.from({ length: 2000 }, (_, index) => start + index * 3_600_000)
    const came = ["bearish", "neutral", "bullish"]
    const closes = new Map(hours.map((time, index) => [time, 99 + (index % 3)]))
    const heard = (seed: number, asset = "BTC") => {
      const hint = hintsOf(new Map([["BTC", closes]]), seed)
      return hours.map((time) =>
        hint({
          asset,
          kind: "1h",
          deadline: DateTime.formatIso(DateTime.makeUnsafe(time)),
          resolve_at: DateTime.formatIso(DateTime.makeUnsafe(time)),
          open_price: 100,
          dead_zone_pct: 0.5
        })
      )
    }
    const hints = heard(1)
    assert.deepStrictEqual(heard(1), hints)
    assert.notDeepEqual(heard(2), hints)
    const right = hints.filter((hint, index) => hint === came[index % 3]).length
    assert.closeTo(right / hints.length, 0.6, 0.04)
    assert.isTrue(heard(1, "GC").every((hint) => hint === undefined))
  })
})

describe("The season's speakers", () => {
  it("The speakers say every form, under Chinese and Arabic names, and are three of one owner", () => {
    assert.sameMembers(
      speakers.map(({ form }) => form),
      ["normal", "quantiles", "samples"]
    )
    assert.lengthOf(speakers, 3)
    for (const script of [/\p{Script=Han}/u, /\p{Script=Arabic}/u]) {
      assert.isTrue(speakers.some(({ name }) => script.test(name)))
    }
    const answers = [...speakers.map(({ form }) => answerIn(form, 3, 0.1)), ofCategories(decisions)]
    assert.sameMembers(
      answers.flatMap((answer) => Object.keys(answer)),
      ["predicted_value", "predicted_std", "quantiles", "samples", "probabilities"]
    )
  })
})

describe("The command of the season", () => {
  it.effect("The season begins on a Monday, and says so", () =>
    Effect.gen(function* () {
      const { err, ok } = yield* runCommand(demo, ["season", "--from", "2026-01-06T00:00:00Z"])
      assert.isFalse(ok)
      assert.include(err, `--from ${DateTime.formatIsoDateUtc(plus(monday, "1 day"))} is no Monday`)
    })
  )
})
