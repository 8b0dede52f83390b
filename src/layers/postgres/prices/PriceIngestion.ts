import { DateTime, Duration, Effect, Layer, Metric, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { PriceIngestion } from "../../../services/PriceIngestion.ts"
import { PriceSource } from "../../../services/PriceSource.ts"
import type { Feed } from "../../../services/PriceSource.ts"
import { findAll, timestamp } from "../sql.ts"
import { makeExpected } from "./expected.ts"
import { makeRecord } from "./record.ts"
import type { Recorded } from "./record.ts"

const outcomes = Metric.counter("price_candles_total", {
  description: "Candles by asset and what became of them: read, settled, contested, absent",
  incremental: true
})
const failures = Metric.counter("price_failures_total", {
  description: "Runs in which no price source answered for an asset",
  incremental: true
})
const lateness = Metric.gauge("price_lateness_seconds", {
  description: "Since when the oldest candle that should be known, and is not, should be, by asset"
})

const Key = Schema.Struct({ key: Schema.String })
const Late = Schema.Struct({ asset: Schema.String, seconds: Schema.Finite })

const nothing: Recorded = { read: 0, settled: 0, contested: 0, absent: 0 }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const source = yield* PriceSource
  const { due, expect, postpone } = yield* makeExpected
  const record = yield* makeRecord
  const late = findAll(Late)
  const keys = new Set(
    (yield* findAll(Key)(sql`select key from targets where kind = 'asset'`)).map(({ key }) => key)
  )
  const feeds = source.feeds.filter(({ asset }) => keys.has(asset))
  if (feeds.length < source.feeds.length) {
    yield* Effect.logWarning("the price source has assets that are no targets; they are left out").pipe(
      Effect.annotateLogs({
        assets: source.feeds.filter(({ asset }) => !keys.has(asset)).map(({ asset }) => asset)
      })
    )
  }

  const ingest = Effect.fnUntraced(function* (feed: Feed) {
    const askedAt = yield* DateTime.now
    yield* expect(feed, askedAt)
    const window = yield* due(feed, askedAt)
    if (Option.isNone(window)) return nothing
    const answer = yield* source
      .read(feed, window.value)
      .pipe(Effect.tapError(({ kind }) => (kind === "unknown" ? postpone(feed, askedAt) : Effect.void)))
    const recorded = yield* record(feed, window.value, answer, askedAt)
    for (const [outcome, count] of Object.entries(recorded)) {
      yield* Metric.update(Metric.withAttributes(outcomes, { asset: feed.asset, outcome }), count)
    }
    if (recorded.contested > 0) {
      yield* Effect.logWarning(
        "a price source shows candles in two ways; they settle nothing until decided"
      ).pipe(Effect.annotateLogs({ asset: feed.asset, interval: feed.interval, count: recorded.contested }))
    }
    return recorded
  })

  const ingestDue: PriceIngestion["Service"]["ingestDue"] = Effect.fn("PriceIngestion.ingestDue")(
    function* (place) {
      const results = yield* Effect.forEach(
        feeds.filter((feed) => feed.place === place),
        (feed) =>
          ingest(feed).pipe(
            Effect.map((recorded) => ({ recorded, failed: [] })),
            Effect.catchTag("SourceFailed", (failure) =>
              Metric.update(Metric.withAttributes(failures, { asset: feed.asset }), 1).pipe(
                Effect.as({ recorded: nothing, failed: [{ asset: feed.asset, failure }] })
              )
            )
          ),
        { concurrency: 4 }
      )
      const failed = results.flatMap((each) => each.failed)
      // Of an outage the log says once a minute or so that it goes on, when somebody was asked.
      const told = failed.filter(({ failure }) => failure.kind !== "resting")
      if (told.length > 0) {
        yield* Effect.logWarning("no price source answered").pipe(
          Effect.annotateLogs({
            assets: failed.map(({ asset }) => asset),
            reasons: [...new Set(told.map(({ failure }) => failure.reason))]
          })
        )
      }
      const sum = (key: keyof Recorded) => results.reduce((total, { recorded }) => total + recorded[key], 0)
      return {
        read: sum("read"),
        settled: sum("settled"),
        contested: sum("contested"),
        absent: sum("absent"),
        failed: failed.map(({ asset }) => asset)
      }
    }
  )

  const measure: PriceIngestion["Service"]["measure"] = Effect.gen(function* () {
    const now = yield* DateTime.now
    const rows = yield* late(sql`
      select asset, extract(epoch from ${timestamp(now)}::timestamptz - min(overdue_at))::float8 as seconds
        from expected_candles
       where state in ('awaited', 'read', 'contested') and overdue_at <= ${timestamp(now)}
         and ends_at > ${timestamp(DateTime.subtractDuration(now, Duration.days(7)))}
       group by asset`)
    for (const { asset } of feeds) {
      const seconds = rows.find((row) => row.asset === asset)?.seconds ?? 0
      yield* Metric.update(Metric.withAttributes(lateness, { asset }), seconds)
    }
  }).pipe(Effect.withSpan("PriceIngestion.measure"))

  return PriceIngestion.of({ places: [...new Set(feeds.map(({ place }) => place))], ingestDue, measure })
})

export const layer = Layer.effect(PriceIngestion, make)
