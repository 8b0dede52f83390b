/** The record for everybody to see: a challenge, and an agent, with the proofs of what they show. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { MacroArena } from "../../../services/MacroArena.ts"
import { Pools } from "../../../services/Pools.ts"
import { PriceEvents } from "../../../services/PriceEvents.ts"
import { Scoring } from "../../../services/Scoring.ts"
import { Settings } from "../../../services/Settings.ts"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { Pages } from "../../browser/Pages.ts"
import { pagePaths } from "../../browser/paths.ts"
import { listPage, show } from "../../browser/responses.ts"
import { agent } from "../../pages/agent.ts"
import { challenge } from "../../pages/challenge.ts"
import { macroChallenge } from "../../pages/macroChallenge.ts"
import { priceEvent } from "../../pages/priceEvent.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { published, site } = yield* Pages
    const arenas = yield* Arenas
    const macro = yield* MacroArena
    const pools = yield* Pools
    const priceEvents = yield* PriceEvents
    const scoring = yield* Scoring
    const log = yield* TransparencyLog
    const settings = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.challenge,
      published(
        Effect.fnUntraced(function* ({ frame }) {
          const { challenge_id: id = "" } = yield* HttpRouter.params
          const [results, entries, halted] = yield* Effect.all(
            [arenas.results(id, yield* listPage), log.entriesOf(id), log.halted],
            { concurrency: "unbounded" }
          )
          const shown = {
            site: settings.site,
            results,
            record: { challengeId: results.challenge_id, entries, halted }
          }
          switch (results.type) {
            case "directional":
              return show(site, frame, challenge(frame, { ...shown, terms: yield* arenas.get(id) }))
            case "macro":
              return show(
                site,
                frame,
                macroChallenge(frame, {
                  ...shown,
                  terms: yield* macro.get(id),
                  odds: yield* pools.odds(id)
                })
              )
            case "price_event":
              return show(site, frame, priceEvent(frame, { ...shown, terms: yield* priceEvents.get(id) }))
          }
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.agent,
      published(
        Effect.fnUntraced(function* ({ frame }) {
          const { agent_id: id = "" } = yield* HttpRouter.params
          return show(site, frame, agent(frame, yield* scoring.scorecard(id, yield* listPage)))
        })
      )
    )
  })
)
