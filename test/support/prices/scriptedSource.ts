/** A price source that shows what a test has written down, and nothing while it is down. */
import { DateTime, Duration, Effect, Layer } from "effect"
import type { Candle } from "../../../src/services/Prices.ts"
import { PriceSource, SourceFailed } from "../../../src/services/PriceSource.ts"
import type { Feed, Window } from "../../../src/services/PriceSource.ts"

const hour = 3_600_000

export class Script {
  /** Of the hour that begins then. */
  readonly hours = new Map<string, Omit<Candle, "time"> | null>()
  isDown = false
  /** This asset is asked for in vain, without end. */
  hanging: string | undefined = undefined
  /** What the bytes of the answer hash to: this byte, 32 times. */
  payload = 7
  /** How it fails while it is down. */
  kind: SourceFailed["kind"] = "unavailable"
  /** What it was asked for, oldest first. */
  readonly asked: Array<Window & { readonly asset: string }> = []
  readonly restart = () => {
    this.hours.clear()
    this.asked.length = 0
    this.isDown = false
    this.hanging = undefined
    this.payload = 7
    this.kind = "unavailable"
  }
  readonly set = (asset: string, time: DateTime.Utc, price: number | null) => {
    const candle = price === null ? null : { open: price, high: price + 1, low: price - 1, close: price }
    this.hours.set(`${asset} ${DateTime.toEpochMillis(time)}`, candle)
  }
}

const feed = (asset: string, continuous: boolean, lag: Duration.Input): Feed => ({
  asset,
  interval: "1h",
  place: continuous ? "exchanges" : "vendor",
  continuous,
  lag: Duration.fromInputUnsafe(lag)
})

/** ETH never closes; GC does, and is shown a quarter of an hour late. Unless said otherwise an hour has the price 100. */
export const scripted = (script: Script) =>
  Layer.succeed(PriceSource, {
    feeds: [feed("ETH", true, "0 seconds"), feed("GC", false, "15 minutes")],
    read: Effect.fnUntraced(function* ({ asset }, { from, until }) {
      script.asked.push({ asset, from, until })
      if (script.hanging === asset) return yield* Effect.never
      if (script.isDown) return yield* new SourceFailed({ reason: "it is down", kind: script.kind })
      const fetchedAt = yield* DateTime.now
      const first = DateTime.toEpochMillis(from)
      const count = Math.round((DateTime.toEpochMillis(until) - first) / hour)
      const candles = Array.from({ length: count }, (_, index) => first + index * hour).flatMap((time) => {
        const key = `${asset} ${time}`
        const set = script.hours.has(key)
          ? script.hours.get(key)
          : { open: 100, high: 101, low: 99, close: 100 }
        return set === null || set === undefined ? [] : [{ time: DateTime.makeUnsafe(time), ...set }]
      })
      return {
        readings: [
          { source: "script", candles, fetchedAt, payloadHash: new Uint8Array(32).fill(script.payload) }
        ],
        complete: true
      }
    })
  })
