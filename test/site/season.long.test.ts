/**
 * Eight weeks of schedules, with which the site was reviewed: then pages of every kind are accessible and fit any screen, no
 * label covers another, no sentence about evidence, rank or counts is false, and no text is missing.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import { playedSeason } from "../../cli/demo/season/command.ts"
import { lookAt } from "../support/accessibility.ts"
import * as chromium from "../support/chromium.ts"
import { challengesIn, lackingIn } from "../support/holdings.ts"
import { falseSentences } from "../support/sentences.ts"

const weeks = 8
/** The minimum number of questions of these weeks, from the trading days of eight futures and the days of ether. */
const minSettled = 450

/** Questions on series have no kind. */
const kinds = ["session", "flash", "1d", undefined, "numeric_close", "barrier", "count_days", "threshold"]

const platform = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, TestConsole.layer, chromium.layer)

layer(platform, { excludeTestServices: true })("A site after eight weeks", (it) => {
  it.effect(
    "Every kind of page is accessible, fits any screen, has no label on another, and says nothing false",
    () =>
      Effect.gen(function* () {
        const { anyone, contestants, url } = yield* playedSeason({
          weeks,
          from: DateTime.makeUnsafe("2026-01-05T00:00:00Z"),
          prices: Option.none(),
          seed: 1
        })
        const { total } = yield* anyone.public.challenges({ query: { status: "resolved", limit: 1 } })
        assert.isAtLeast(total, minSettled)
        const read = (path: string) => Effect.flatMap(HttpClient.get(url + path), (response) => response.text)
        const firstOf = Effect.fnUntraced(function* (status: "open" | "resolved") {
          const found = yield* challengesIn(read, status, 5000)
          return kinds.flatMap((kind) => {
            const first = found.find((each) => each.kind === kind)
            return first === undefined ? [] : [`/challenges/${first.id}`]
          })
        })
        const [settled, open] = [yield* firstOf("resolved"), yield* firstOf("open")]
        assert.lengthOf(settled, kinds.length, settled.join())
        assert.deepStrictEqual(yield* lackingIn(read), [])
        assert.deepStrictEqual(yield* falseSentences(read, { minDays: 30 }), [])
        const { items: events } = yield* anyone.public.events({ query: { limit: 2 } })
        const [first, second] = contestants.map(({ id }) => id)
        const browser = yield* chromium.Chromium
        const complaints = yield* Effect.promise(() =>
          lookAt(browser, url, [
            "/",
            "/leaderboard",
            "/leaderboard?order=average",
            "/challenges",
            "/challenges?status=resolved",
            "/events",
            "/status",
            "/assets/ETH?range=3m",
            "/assets/GC",
            "/search?q=gold",
            `/compare?a=${first}&b=${second}`,
            ...contestants.flatMap(({ id }) => [`/agents/${id}`, `/agents/${id}/predictions`]),
            ...settled,
            ...open,
            ...events.map(({ event_id }) => `/events/${event_id}`)
          ])
        )
        assert.deepStrictEqual(complaints, [])
      }).pipe(Effect.scoped)
  )
})
