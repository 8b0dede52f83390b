/** The record for everybody to see: a challenge, and an agent, with the proofs of what they show. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import type { Answers } from "../../../services/Charts.ts"
import { Pools } from "../../../services/Pools.ts"
import { Registry } from "../../../services/Registry.ts"
import { Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { Pages } from "../Pages.ts"
import { pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { agent } from "../views/agent.ts"
import { challenge } from "../views/challenge.ts"
import { macroChallenge } from "../views/macroChallenge.ts"
import { priceEvent } from "../views/priceEvent.ts"

const noAnswers = Effect.succeed<Answers>({ values: [], isAll: true })

/** What of a challenge says which prices belong to it. */
interface Spanned {
  readonly asset: string
  readonly kind: string
  readonly created_at: string
  readonly resolve_at: string
  readonly window_from?: string | null
}

const day = 86_400_000

/** A challenge is drawn from a while before it was made, or before its window, so that its price has a context. */
const drawnFrom = ({ created_at, kind, resolve_at, window_from = null }: Spanned): DateTime.Utc => {
  const end = DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at))
  const begin = DateTime.toEpochMillis(DateTime.makeUnsafe(window_from ?? created_at))
  const window = kind === "count_days" ? 8 * day : Math.max(end - begin, 0)
  // A question may be about the past, and then was made after its end.
  const shown = Math.max(window, day / 4)
  return DateTime.makeUnsafe(end - shown - Math.min(day, shown / 4))
}

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const arenas = yield* Arenas
    const { macro } = yield* Arenas
    const pools = yield* Pools
    const { priceEvents } = yield* Arenas
    const registry = yield* Registry
    const scoring = yield* Scoring
    const charts = yield* Charts
    const log = yield* TransparencyLog
    const settings = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.challenge,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { challenge_id: id = "" } = yield* HttpRouter.params
          const [results, entries, halted] = yield* Effect.all(
            [arenas.results(id, yield* listPage), log.entriesOf(id), log.halted],
            { concurrency: "unbounded" }
          )
          const now = yield* DateTime.now
          const shown = {
            site: settings.site,
            results,
            record: { challengeId: results.challenge_id, entries, halted }
          }
          // What agents said is not even asked for before the deadline.
          const answered = results.status === "open" ? noAnswers : charts.answers(id)
          const prices = Effect.fnUntraced(function* (terms: Spanned) {
            const from = drawnFrom(terms)
            const series = yield* charts.prices(terms.asset, from, DateTime.makeUnsafe(terms.resolve_at))
            return { from: DateTime.toDateUtc(from), prices: series }
          })
          switch (results.type) {
            case "directional": {
              const [terms, answers] = yield* Effect.all([arenas.directional.get(id), answered])
              const drawn = { ...(yield* prices(terms)), answers, now }
              return show(site, frame, challenge(frame, { ...shown, terms, drawn }))
            }
            case "macro": {
              const [terms, odds, answers] = yield* Effect.all([macro.get(id), pools.odds(id), answered])
              return show(
                site,
                frame,
                macroChallenge(frame, { ...shown, terms, odds, drawn: { answers, now } })
              )
            }
            case "price_event": {
              const [terms, answers] = yield* Effect.all([priceEvents.get(id), answered])
              const drawn = { ...(yield* prices(terms)), answers, now }
              return show(site, frame, priceEvent(frame, { ...shown, terms, drawn }))
            }
          }
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.agent,
      published(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { agent_id: id = "" } = yield* HttpRouter.params
          const [profile, scorecard, calibration, record] = yield* Effect.all(
            [
              registry.publicProfile(null, id),
              scoring.scorecard(id, yield* listPage),
              scoring.calibrationOf(id),
              charts.trackRecord(id)
            ],
            { concurrency: "unbounded" }
          )
          return show(site, frame, agent(frame, { profile, scorecard, calibration, record }))
        })
      )
    )
  })
)
