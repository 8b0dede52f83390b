/** What a season is made of; all of it together is run by demoSeason.long.test.ts. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { demo } from "../../cli/demo/command.ts"
import { Memory, assets, madeUp, players } from "../../cli/demo/season/play.ts"
import * as Replay from "../../src/layers/prices/Replay.ts"
import { PriceSource } from "../../src/services/PriceSource.ts"
import { instant, plus } from "../support/challenges.ts"
import { runCommand } from "../support/commands.ts"

const monday = instant("2026-01-05T00:00:00Z")

describe("The season's made-up prices", () => {
  it.effect("are recordings that a server replays, the same ones for a seed", () =>
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
      // Hours of all days, and days of the week.
      for (const { closes, feed } of first) assert.lengthOf(closes, feed.endsWith("1h") ? 14 * 24 : 10)
      assert.deepStrictEqual(yield* shown(1), first)
      assert.notDeepEqual(yield* shown(2), first)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})

describe("The season's players", () => {
  it("know the last move that the challenges have shown them, and nothing else", () => {
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
    const [momentum, contrarian] = players
    assert.strictEqual(momentum?.call(-1).direction, "bearish")
    assert.strictEqual(contrarian?.call(-1).direction, "bullish")
  })
})

describe("npm run demo -- season", () => {
  it.effect("begins on a Monday, and says so", () =>
    Effect.gen(function* () {
      const { err, ok } = yield* runCommand(demo, ["season", "--from", "2026-01-06T00:00:00Z"])
      assert.isFalse(ok)
      assert.include(err, `--from ${DateTime.formatIsoDateUtc(plus(monday, "1 day"))} is no Monday`)
    })
  )
})
