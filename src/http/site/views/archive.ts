/** Tournaments that are over, for everybody: all of them, and each with its challenges as they ended. */
import { DateTime } from "effect"
import type { ArchivedChallenge, ArchivedTournament, Tournament } from "../../../services/Archive.ts"
import { archivePage, tournamentPage } from "../paths.ts"
import type { PageOf } from "../../../services/paging.ts"
import { at, statusBadge } from "./challengeParts.ts"
import { day, facts, quoted } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

const dayOf = (timestamp: string) => day(DateTime.makeUnsafe(timestamp))

const challengesIn = ({ challenge_count }: Tournament) =>
  challenge_count === 1 ? "1 challenge" : `${challenge_count} challenges`

export const archive = (frame: Frame, { items, next_cursor }: PageOf<Tournament>): Page => ({
  title: "Archive",
  audience: "everybody",
  below: "/archive",
  width: "wide",
  content: html`
    <h1>Archive</h1>
    <p class="lead">Tournaments that are over. Nobody predicts here any more, and nothing changes.</p>
    <section aria-label="Tournaments">
      ${
        items.length === 0
          ? html`<p>There are none${next_cursor === null ? "" : " here"}.</p>`
          : html`<ul class="rows">
                ${items.map(
                  (each) =>
                    html`<li>
                      <p class="row">
                        <a href=${frame.at(tournamentPage(each.slug))} dir="auto">${each.title}</a>
                        <span>${challengesIn(each)}</span>
                        <span class="quiet">ended ${dayOf(each.ended_at)}</span>
                      </p>
                    </li>`
                )}
              </ul>
              ${nextPage(frame, archivePage, next_cursor)}`
      }
    </section>
    <p class="quiet small">
      The same as JSON: <a href=${frame.at("/api/v1/public/archive")}>the archive</a>.
    </p>
  `
})

const predicted = (outcomes: ArchivedChallenge["outcomes"]) =>
  outcomes.length === 0
    ? null
    : html`<p class="small">
        Predicted:
        ${outcomes.map(({ outcome, prediction_count }) => `${outcome} ${prediction_count}`).join(", ")}
      </p>`

const challenge = (shown: ArchivedChallenge) =>
  html`<li id=${`challenge-${shown.position}`}>
    ${shown.stage === null ? null : html`<p class="eyebrow">${shown.stage}</p>`}
    <p dir="auto">${shown.question}</p>
    <p class="row">
      <span
        >${shown.result === null ? shown.void_reason : html`Result: <strong>${shown.result}</strong>`}</span
      >
      ${statusBadge(shown.status)}
    </p>
    ${predicted(shown.outcomes)}
    ${
      shown.resolution_criteria === null
        ? null
        : html`<details>
            <summary class="small">How it was decided</summary>
            ${quoted(shown.resolution_criteria)}
          </details>`
    }
    <p class="quiet small">
      Deadline
      ${at(shown.deadline)}${shown.resolved_at === null ? null : html`, decided ${at(shown.resolved_at)}`}
    </p>
  </li>`

export const tournament = (frame: Frame, shown: ArchivedTournament): Page => ({
  title: shown.title,
  audience: "everybody",
  below: "/archive",
  width: "wide",
  content: html`
    <div>
      <p class="eyebrow"><a href=${frame.at(archivePage)}>Archive</a></p>
      <h1 dir="auto">${shown.title}</h1>
    </div>
    ${shown.summary === null ? null : html`<p class="lead" dir="auto">${shown.summary}</p>`}
    <section class="panel" aria-label="The tournament">
      ${facts([
        ["Ended", dayOf(shown.ended_at)],
        ["Challenges", String(shown.challenge_count)],
        ["Archived", html`${dayOf(shown.archived_at)}, as it is for ever`]
      ])}
    </section>
    <section aria-labelledby="challenges">
      <h2 id="challenges">Challenges</h2>
      ${
        shown.challenges.length === 0
          ? html`<p>There are no more.</p>`
          : html`<p>Each with how it ended, and, where it was recorded, how many predicted what.</p>
              <ol class="rows">
                ${shown.challenges.map(challenge)}
              </ol>
              ${nextPage(frame, tournamentPage(shown.slug), shown.next_cursor)}`
      }
    </section>
    <p class="quiet small">
      The same as JSON:
      <a href=${frame.at(`/api/v1/public/archive/${shown.slug}`)}>the tournament</a>.
    </p>
  `
})
