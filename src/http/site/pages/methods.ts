/** How skill and evidence are reckoned: formulas, assumptions and limits, for readers. docs/scoring.md has the whole. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Pages } from "../Pages.ts"
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
  const { say } = frame
  const words = say.doors.methods
  const { counts, lead, noPrice, thisPage } = words
  return {
    title: words.title,
    audience: "everybody",
    path: methodsPage,
    translation: methodsPage,
    below: "/leaderboard",
    content: html`
      <div><h1>${words.heading}</h1></div>
      <div class="prose">
        <p class="lead">${lead[0]}<a href=${frame.at(leaderboardPage())}>${lead[1]}</a>${lead[2]}</p>
        <h2>${words.reference}</h2>
        <p>${words.walk}</p>
        <ul>
          ${words.probabilities.map((each) => html`<li>${each}</li>`)}
        </ul>
        <p>${noPrice[0]}<code>/api/v1/eval/challenges/ID/reference</code>${noPrice[1]}</p>
        <h2>${say.skill}</h2>
        <p>${words.skillIs}</p>
        <p>${counts[0]}<em>${counts[1]}</em>${counts[2]}<em>${counts[3]}</em>${counts[4]}</p>
        <h2>${words.evidence}</h2>
        <p>${words.evidenceIs}</p>
        <h2>${words.limits}</h2>
        <ul>
          ${words.assumes.map((each) => html`<li>${each}</li>`)}
        </ul>
        <p>${words.sources}</p>
        <p class="quiet small">
          ${thisPage[0]}<a href=${frame.at(methodsPage)}>${thisPage[1]}</a>${thisPage[2]}
        </p>
      </div>
    `
  }
}
