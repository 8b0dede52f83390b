import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Archive } from "../../services/Archive.ts"
import { Arenas } from "../../services/Arenas.ts"
import { Events } from "../../services/Events.ts"
import { Pools } from "../../services/Pools.ts"
import { Prices } from "../../services/Prices.ts"
import { ReleaseCalendar } from "../../services/Schedules.ts"
import { Scoring } from "../../services/Scoring.ts"
import { Skill } from "../../services/Skill.ts"
import { Targets } from "../../services/Targets.ts"
import type { Target } from "../../services/Targets.ts"
import { inLanguage } from "../../services/domain/language.ts"
import { longPageOf, pageOf } from "../../services/domain/paging.ts"
import { Api } from "../api/Api.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "public",
  Effect.fnUntraced(function* (handlers) {
    const archive = yield* Archive
    const arenas = yield* Arenas
    const events = yield* Events
    const pools = yield* Pools
    const prices = yield* Prices
    const releases = yield* ReleaseCalendar
    const scoring = yield* Scoring
    const skill = yield* Skill
    const targets = yield* Targets
    /** Checks the asset of a filter only where the list is empty: an asset with items exists. */
    const known =
      (asset: string | undefined, kind?: Target["kind"]) =>
      ({ items }: { readonly items: ReadonlyArray<unknown> }) =>
        items.length === 0 ? targets.checkFilter(asset, kind) : Effect.void
    return handlers.handleAll({
      scopes: () => Effect.map(targets.scopes, (scopes) => ({ scopes })),
      targets: () => targets.catalog,
      prices: () => prices.latestOfAll,
      candles: ({ params: { asset }, query: { before, from, interval = "1h", ...query } }) =>
        prices
          .candles({ asset, before, from, interval }, pageOf(query))
          .pipe(Effect.tap(({ items }) => (items.length === 0 ? targets.checkAsset(asset) : Effect.void))),
      releases: ({ query: { asset, before, from, ...query } }) =>
        releases.published({ asset, before, from }, pageOf(query)).pipe(Effect.tap(known(asset, "macro"))),
      challenges: Effect.fnUntraced(function* ({ query }) {
        const filter = { status: query.status, eventId: query.event_id, asset: query.asset }
        const page = yield* arenas.list("directional", filter, pageOf(query))
        yield* known(query.asset, "asset")(page)
        const total = yield* arenas.total("directional", filter)
        return { ...page, total, items: page.items.map(inLanguage(query.lang)) }
      }),
      challenge: ({ params, query }) =>
        Effect.map(arenas.get(params.challenge_id), (challenge) => {
          const shown = inLanguage(query.lang)
          // One case for each type: TypeScript would keep only the common members of the union.
          switch (challenge.type) {
            case "directional":
              return shown(challenge)
            case "macro":
              return shown(challenge)
            case "price_event":
              return shown(challenge)
          }
        }),
      macroChallenges: ({ query: { status = "open", ...query } }) =>
        Effect.map(
          arenas.list("macro", { status: status === "all" ? undefined : status }, pageOf(query)),
          ({ items, next_cursor }) => ({ challenges: items.map(inLanguage(query.lang)), next_cursor })
        ),
      odds: ({ params }) => pools.odds(params.challenge_id),
      priceEvents: ({ query: { status = "open", ...query } }) =>
        Effect.map(
          arenas.list("price_event", { status: status === "all" ? undefined : status }, pageOf(query)),
          (page) => ({ ...page, items: page.items.map(inLanguage(query.lang)) })
        ),
      results: ({ params, query }) =>
        Effect.map(arenas.results(params.challenge_id, longPageOf(query)), inLanguage(query.lang)),
      leaderboard: ({ query }) => scoring.leaderboard(query, pageOf(query)),
      scorecard: ({ params, query }) => scoring.scorecard(params.agent_id, pageOf(query)),
      skill: ({ params }) => skill.profile(params.agent_id),
      compare: ({ query }) => skill.compare(query.a, query.b),
      reference: ({ params }) => skill.referenceOf(params.challenge_id),
      calibration: () => scoring.calibration,
      calibrationOfAgent: ({ params }) => scoring.calibrationOf(params.agent_id),
      // BTC is seeded, so a missing one is a defect.
      btcContext: () =>
        targets.get("BTC").pipe(
          Effect.orDie,
          Effect.map(({ paused }) => ({ paused }))
        ),
      events: ({ query }) =>
        events
          .list({ space: query.space, asset: query.asset }, pageOf(query))
          .pipe(Effect.tap(known(query.asset))),
      eventsToday: ({ query }) =>
        events
          .today({ space: query.space, asset: query.asset }, pageOf(query))
          .pipe(Effect.tap(known(query.asset))),
      archive: ({ query }) => archive.list(pageOf(query)),
      archivedTournament: ({ params, query }) => archive.get(params.slug, pageOf(query))
    })
  })
)
