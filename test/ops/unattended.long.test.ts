/** Auspex as it runs, with recorded prices and a clock that is moved, while nobody does anything. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { anonymousClient } from "../../cli/client/connection.ts"
import { movedServer } from "../../cli/demo/ownServer.ts"
import { jobsDone } from "../../cli/demo/season/jobs.ts"
import { instant } from "../support/challenges.ts"

const recordings = fileURLToPath(new URL("../support/prices/recordings/", import.meta.url))

/** The close of each recorded hour, by its place in the two weeks, which begin with a Sunday. */
const closes = readFileSync(`${recordings}/ETH-1h-2023-01.csv`, "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((line) => Number(line.split(",")[4]))

/** The recorded close that is replayed as that of the hour which ends then. */
const closeAt = (end: string): number => {
  const hours = (DateTime.toEpochMillis(instant(end)) - Date.parse("2023-01-01T00:00:00Z")) / 3_600_000 - 1
  return closes[hours % closes.length] ?? Number.NaN
}

const settings = {
  AUSPEX_PRICE_SOURCE: "replay",
  // The ladder would make questions every hour.
  AUSPEX_SCHEDULES: "session,flash,price_event,macro",
  AUSPEX_PRICE_REPLAY_DIR: recordings,
  AUSPEX_PRICE_SETTLE_DELAY: "1 milli",
  AUSPEX_PRICE_REREAD: "1 milli",
  AUSPEX_JOB_INTERVAL: "50 millis"
}

describe("A server with AUSPEX_PRICE_SOURCE=replay that is left alone", () => {
  it.live("A server that is left alone makes, closes and settles its own challenges", () =>
    Effect.gen(function* () {
      const { moveTo, operationsUrl, url } = yield* movedServer(instant("2026-01-05T00:05:00Z"), settings)
      const anyone = yield* anonymousClient(url)
      const at = Effect.fnUntraced(function* (time: string) {
        yield* moveTo(instant(time))
        yield* jobsDone({ moveTo, operationsUrl }, instant(time))
      })
      const challenges = Effect.map(anyone.public.challenges({ query: { limit: 200 } }), ({ items }) =>
        items.map(
          ({ asset, deadline, kind, status }) => `${kind} ${asset} ${deadline.slice(0, 13)} ${status}`
        )
      )

      // Gold and the others have no prices here.
      yield* at("2026-01-05T11:05:00Z")
      assert.deepStrictEqual(yield* challenges, ["session CL 2026-01-05T13 open"])
      yield* at("2026-01-05T22:05:00Z")
      assert.deepStrictEqual(yield* challenges, [
        "session ETH 2026-01-06T00 open",
        "session CL 2026-01-05T13 closed"
      ])
      // The day of crude oil has its close; that of ether has begun.
      yield* at("2026-01-06T00:10:00Z")
      assert.deepStrictEqual(yield* challenges, [
        "session ETH 2026-01-06T00 closed",
        "session CL 2026-01-05T13 resolved"
      ])
      yield* at("2026-01-07T00:10:00Z")
      const settled = yield* anyone.public.challenges({ query: { status: "resolved" } })
      const ether = settled.items.find(({ asset }) => asset === "ETH")
      assert(ether !== undefined)
      assert.strictEqual(ether.open_price, closeAt("2026-01-05T22:00:00Z"))
      const results = yield* anyone.public.results({ params: { challenge_id: ether.id }, query: {} })
      assert.strictEqual(results.close_price, closeAt("2026-01-07T00:00:00Z"))

      // The questions on a week are made on the Sunday before it; nobody is there until it is over.
      yield* at("2026-01-11T12:00:00Z")
      const week = yield* anyone.public.priceEvents({ query: {} })
      assert.deepStrictEqual(week.items.map(({ asset, kind }) => `${asset} ${kind}`).sort(), [
        "ETH barrier",
        "ETH barrier",
        "ETH count_days",
        "ETH numeric_close",
        "ETH threshold"
      ])
      const before = (yield* challenges).length
      yield* at("2026-01-19T00:10:00Z")
      const over = yield* anyone.public.priceEvents({ query: { status: "resolved" } })
      assert.strictEqual(over.items.length, 5)
      const close = over.items.find(({ kind }) => kind === "numeric_close")
      assert.strictEqual(close?.actual_value, closeAt("2026-01-19T00:00:00Z"))
      // Missed questions are not made afterwards.
      assert.strictEqual((yield* challenges).length, before)
    }).pipe(Effect.provide(Layer.merge(NodeServices.layer, FetchHttpClient.layer)))
  )
})
