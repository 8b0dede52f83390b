/** The pages for newcomers: how the service works, how it scores, how to begin, and the operator's texts. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { makeGuide } from "../../agentGuide/guide.ts"
import { documents } from "../../routes.ts"
import { Arenas } from "../../../services/Arenas.ts"
import { Settings, legalNames } from "../../../services/Settings.ts"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import type { ChallengeEntry } from "../../../services/TransparencyLog.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import type { ChallengeSummary } from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { challengePage, leaderboardPage, legalPage, methodsPage, pagePaths, verifyPage } from "../paths.ts"
import { show } from "../responses.ts"
import { entryProof, instant } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { document } from "../views/markdown.ts"
import { formatOutcome, probability, titleOf } from "../views/format.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const log = yield* TransparencyLog
    const settings = yield* Settings
    const guide = yield* Effect.cached((yield* makeGuide).guide)

    yield* router.add(
      "GET",
      pagePaths.howItWorks,
      publicPage(
        ["lang"],
        Effect.fnUntraced(function* (frame) {
          const [example] = yield* arenas.lastSettled(1)
          const entries = example === undefined ? [] : yield* log.entriesOf(example.id)
          return show(site, frame, howItWorksView(frame, example, entries))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.scoring,
      publicPage(["lang"], (frame) => Effect.succeed(show(site, frame, scoringView(frame))))
    )

    yield* router.add(
      "GET",
      pagePaths.start,
      publicPage(["lang"], (frame) =>
        Effect.map(guide, (text) => show(site, frame, startView(frame, settings.baseUrl, text)))
      )
    )

    yield* router.add(
      "GET",
      pagePaths.legal,
      publicPage(
        ["lang"],
        Effect.fnUntraced(function* (frame) {
          const { name: path = "" } = yield* HttpRouter.params
          const name = legalNames.find((each) => each === path)
          const text = name === undefined ? undefined : settings.legalTexts[name]
          if (name === undefined || text === undefined) {
            return yield* new NotFound({ detail: "The operator of this service has put no such text here." })
          }
          return show(site, frame, {
            title: frame.t[name],
            audience: "everybody",
            path: legalPage(name),
            translation: legalPage(name),
            content: html`<h1>${frame.t[name]}</h1>
              ${document(text)}`
          })
        })
      )
    )
  })
)

const stepsOf = (
  frame: Frame,
  example: ChallengeSummary | undefined,
  entries: ReadonlyArray<ChallengeEntry>
) => {
  const { t } = frame
  const { how } = t.doors
  const entryOf = (type: string) => entries.find((entry) => entry.type === type)
  const proof = (type: string): Html => {
    const entry = entryOf(type)
    if (entry === undefined) return null
    const [before, words, after] = how.entry(entry.leaf_index)
    return html`${before}<a href=${frame.at(verifyPage(frame.at(entryProof(entry.leaf_index))))}>${words}</a
      >${after}`
  }
  const outcome = example === undefined ? null : formatOutcome(example, t)
  const { checkedHow, openedAt, scoredHow } = how
  return [
    [
      how.asked,
      html`${how.askedHow}${
        example === undefined
          ? null
          : html`${how.example[0]}<a href=${frame.at(challengePage(example.id))}>${titleOf(example, t)}</a
              >${how.example[1]}`
      }${proof("challenge.create")}`
    ],
    [
      how.sealed,
      html`${how.sealedHow}${example === undefined ? null : how.answered(example.prediction_count)}`
    ],
    [
      how.opened,
      html`${how.openedHow}${
        example === undefined
          ? null
          : html`${openedAt[0]}${instant(DateTime.makeUnsafe(example.deadline), t)}${openedAt[1]}`
      }${proof("challenge.close")}`
    ],
    [
      how.settled,
      html`${how.settledHow}${outcome === null ? null : how.outcomeWas(outcome)}${proof("settlement")}`
    ],
    [
      how.scored,
      html`${scoredHow[0]}<a href=${frame.at(pagePaths.scoring)}>${scoredHow[1]}</a>${scoredHow[2]}<a
          href=${frame.at(leaderboardPage())}
          >${scoredHow[3]}</a
        >${scoredHow[4]}`
    ],
    [
      how.checked,
      html`${checkedHow[0]}<a href=${frame.at(verifyPage())}>${checkedHow[1]}</a>${checkedHow[2]}<a
          href=${frame.at(pagePaths.log)}
          >${checkedHow[3]}</a
        >${checkedHow[4]}`
    ]
  ] as const
}

const howItWorksView = (
  frame: Frame,
  example: ChallengeSummary | undefined,
  entries: ReadonlyArray<ChallengeEntry>
): Page => {
  const { t } = frame
  const { how } = t.doors
  return {
    title: t.howItWorks,
    audience: "everybody",
    description: how.description,
    path: pagePaths.howItWorks,
    translation: pagePaths.howItWorks,
    content: html`
      <h1>${t.howItWorks}</h1>
      <p class="lead">${how.lead}</p>
      <ol class="promises">
        ${stepsOf(frame, example, entries).map(
          ([title, text]) =>
            html`<li>
              <strong>${title}</strong>
              <span>${text}</span>
            </li>`
        )}
      </ol>
      <p class="actions"><a class="button" href=${frame.at(pagePaths.start)}>${t.enter}</a></p>
    `
  }
}

const stated = [0.5, 0.6, 0.7, 0.8, 0.9, 1]

const scoringView = (frame: Frame): Page => {
  const { t } = frame
  const { points } = t.doors
  const { boldness, formulas } = points
  return {
    title: t.scoring,
    audience: "everybody",
    description: points.description,
    path: pagePaths.scoring,
    translation: pagePaths.scoring,
    below: "/leaderboard",
    content: html`
      <h1>${points.title}</h1>
      <p class="lead">${points.lead}</p>
      <section aria-labelledby="directions">
        <h2 id="directions">${points.directions}</h2>
        <p>${points.surer}</p>
        <table class="bins">
          <thead>
            <tr>
              <th scope="col">${points.answer}</th>
              <th scope="col" class="number">${points.ifRight}</th>
              <th scope="col" class="number">${points.ifWrong}</th>
            </tr>
          </thead>
          <tbody>
            ${stated.map(
              (p) =>
                html`<tr>
                  <th scope="row">${t.movements.bullish} ${probability(p)}</th>
                  <td>${Math.round(100 * p)}</td>
                  <td>${Math.round(100 * (1 - p))}</td>
                </tr>`
            )}
          </tbody>
        </table>
        <p>${boldness[0]}<a href=${frame.at(methodsPage)}>${boldness[1]}</a>${boldness[2]}</p>
      </section>
      <section aria-labelledby="numbers">
        <h2 id="numbers">${points.numbers}</h2>
        <p>${points.numbersHow}</p>
        ${crpsPicture(t)}
      </section>
      <section aria-labelledby="glossary">
        <h2 id="glossary">${points.words}</h2>
        <dl class="members">
          ${points.terms.map(
            ([term, meaning]) =>
              html`<dt><strong>${term}</strong></dt>
                <dd>${meaning}</dd>`
          )}
        </dl>
      </section>
      <p class="quiet small">
        ${formulas[0]}<a href=${frame.at(methodsPage)}>${formulas[1]}</a>${formulas[2]}
      </p>
    `
  }
}

/** The distribution function of a forecast, the step at the outcome, and the area between them. */
const crpsPicture = ({ doors: { points } }: Messages) =>
  html`<figure class="chart">
    <figcaption>${points.picture}</figcaption>
    <svg class="drawing" viewBox="0 0 400 160" width="100%" role="img" aria-label=${points.pictureSays}>
      <path
        class="range"
        d="M20 140 C90 138 120 130 150 100 S190 40 230 30 L230 140 Z M230 30 C270 20 320 20 380 20 L230 20 Z"
      />
      <path class="line" d="M20 140 C90 138 120 130 150 100 S190 40 230 30 C270 20 320 20 380 20" />
      <path class="reference" fill="none" d="M20 140 L230 140 L230 20 L380 20" />
      <text class="tick" x="236" y="155">${points.whatCame}</text>
      <text class="tick" x="60" y="110">${points.whatItSaid}</text>
    </svg>
  </figure>`

const startView = (frame: Frame, baseUrl: string, guide: string): Page => {
  const { t } = frame
  const { start } = t.doors
  const { calls, guideLead } = start
  const curl = `curl ${baseUrl}/api/v1/eval/open`
  const python = `import json, urllib.request
questions = json.load(urllib.request.urlopen("${baseUrl}/api/v1/eval/open"))["items"]
print(questions[0]["question"] if questions else "Nothing is open just now.")`
  const javascript = `const { items } = await (await fetch("${baseUrl}/api/v1/eval/open")).json()
console.log(items[0]?.question ?? "Nothing is open just now.")`
  return {
    title: t.enter,
    audience: "everybody",
    description: start.description,
    path: pagePaths.start,
    translation: pagePaths.start,
    content: html`
      <h1>${t.enter}</h1>
      <p class="lead">${start.lead}</p>
      <section class="panel" aria-labelledby="words">
        <h2 id="words">${start.forAgent}</h2>
        <code class="secret" id="for-agents">${start.line(`${baseUrl}${documents.skill}`)}</code>
        <p>
          <button type="button" class="secondary" data-copy="for-agents" hidden>${start.copy}</button>
        </p>
      </section>
      <section aria-labelledby="programs">
        <h2 id="programs">${start.forPrograms}</h2>
        <p>${start.withoutAccount}</p>
        ${[
          ["curl", curl],
          ["Python", python],
          ["JavaScript", javascript]
        ].map(
          ([name, code]) =>
            html`<h3>${name}</h3>
              <pre class="code" tabindex="0"><code>${code}</code></pre>`
        )}
        <p>
          ${calls[0]}<a href=${frame.at(documents.docs)}>${t.reference}</a>${calls[1]}<a
            href=${frame.at(documents.openapi)}
            >openapi.json</a
          >${calls[2]}
        </p>
      </section>
      <section aria-labelledby="guide">
        <h2 id="guide">${start.guide}</h2>
        <p>${guideLead[0]}<a href=${frame.at(documents.skill)}>${guideLead[1]}</a>${guideLead[2]}</p>
        ${document(guide, "en")}
      </section>
    `
  }
}
