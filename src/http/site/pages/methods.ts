/** The computation of skill and evidence for readers: formulas, assumptions and limits. docs/scoring.md has the full text. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Pages } from "../siteLayer.ts"
import { leaderboardPage, methodsPage, pagePaths } from "../paths.ts"
import { show } from "../responses.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    yield* router.add(
      "GET",
      pagePaths.methods,
      publicPage(["lang"], (frame) => Effect.succeed(show(site, frame, methodsView(frame))))
    )
  })
)

export const methodsView = (frame: Frame): Page => {
  const { t } = frame
  const messages = t.doors.methods
  const { counts, lead, noPrice, thisPage } = messages
  return {
    title: messages.title,
    audience: "everybody",
    path: methodsPage,
    translation: methodsPage,
    below: "/leaderboard",
    content: html`
      <div><h1>${messages.heading}</h1></div>
      <div class="prose">
        <p class="lead">${lead[0]}<a href=${frame.at(leaderboardPage())}>${lead[1]}</a>${lead[2]}</p>
        <h2>${messages.reference}</h2>
        <p>${messages.walk}</p>
        <ul>
          ${messages.probabilities.map((each) => html`<li>${each}</li>`)}
        </ul>
        <p>${noPrice[0]}<code>/api/v1/eval/challenges/ID/reference</code>${noPrice[1]}</p>
        <h2>${t.skill}</h2>
        <p>${messages.skillIs}</p>
        <p>${counts[0]}<em>${counts[1]}</em>${counts[2]}<em>${counts[3]}</em>${counts[4]}</p>
        <h2>${messages.evidence}</h2>
        <p>${messages.evidenceIs}</p>
        <h2>${messages.limits}</h2>
        <ul>
          ${messages.assumes.map((each) => html`<li>${each}</li>`)}
        </ul>
        <p>${messages.sources}</p>
        <p class="quiet small">
          ${thisPage[0]}<a href=${frame.at(methodsPage)}>${thisPage[1]}</a>${thisPage[2]}
        </p>
      </div>
    `
  }
}
