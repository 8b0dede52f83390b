/** The archive: past tournaments, each with the final state of its challenges. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Archive } from "../../../services/Archive.ts"
import type { ArchivedChallenge, ArchivedTournament, Tournament } from "../../../services/Archive.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { Pages } from "../siteLayer.ts"
import { archivePage, pagePaths, tournamentPage } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { at, statusBadge } from "../views/challenge.ts"
import { day, facts, nextPage, quoted } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { number } from "../views/format.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const archive = yield* Archive

    yield* router.add(
      "GET",
      pagePaths.archive,
      publicPage(
        ["cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          return show(site, frame, archiveView(frame, yield* archive.list(yield* listPage)))
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.tournament,
      publicPage(
        ["cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          const { slug = "" } = yield* HttpRouter.params
          return show(site, frame, tournamentView(frame, yield* archive.get(slug, yield* listPage)))
        })
      )
    )
  })
)

const archiveView = (frame: Frame, { items, next_cursor }: PageOf<Tournament>): Page => ({
  title: frame.t.archive,
  audience: "everybody",
  path: archivePage,
  translation: archivePage,
  below: "/archive",
  width: "wide",
  content: html`
    <h1>${frame.t.archive}</h1>
    <p class="lead">${frame.t.archiveLead}</p>
    <section aria-label=${frame.t.tournaments}>
      ${
        items.length === 0
          ? html`<p>${frame.t.noTournaments}</p>`
          : html`<ul class="rows">
                ${items.map(
                  (each) =>
                    html`<li>
                      <p class="row">
                        <a href=${frame.at(tournamentPage(each.slug))} dir="auto">${each.title}</a>
                        <span
                          >${frame.t.challengesIn(number(each.challenge_count), each.challenge_count === 1)}</span
                        >
                        <span class="quiet"
                          >${frame.t.ended} ${day(DateTime.makeUnsafe(each.ended_at), frame.t)}</span
                        >
                      </p>
                    </li>`
                )}
              </ul>
              ${nextPage(frame, archivePage, next_cursor)}`
      }
    </section>
    <p class="quiet small">
      ${frame.t.asJson} <a href=${frame.at("/api/v1/public/archive")}>${frame.t.archive}</a>
    </p>
  `
})

const predicted = ({ t: { eventPage: messages } }: Frame, outcomes: ArchivedChallenge["outcomes"]) =>
  outcomes.length === 0
    ? null
    : html`<p class="small">
        ${messages.predicted(
          outcomes.map(({ outcome, prediction_count }) => [outcome, String(prediction_count)] as const)
        )}
      </p>`

const archivedChallenge = (frame: Frame, view: ArchivedChallenge) => {
  const { t } = frame
  const messages = t.eventPage
  return html`<li id=${`challenge-${view.position}`}>
    ${view.stage === null ? null : html`<p class="eyebrow">${view.stage}</p>`}
    <p dir="auto">${view.question}</p>
    <p class="row">
      <span
        >${view.result === null ? view.void_reason : html`${messages.result}<strong>${view.result}</strong>`}</span
      >
      ${statusBadge(view.status, t)}
    </p>
    ${predicted(frame, view.outcomes)}
    ${
      view.resolution_criteria === null
        ? null
        : html`<details>
            <summary class="small">${messages.howDecided}</summary>
            ${quoted(view.resolution_criteria)}
          </details>`
    }
    <p class="quiet small">
      ${messages.deadline}${at(view.deadline, t)}${view.resolved_at === null ? null : html`${messages.decided}${at(view.resolved_at, t)}`}
    </p>
  </li>`
}

const tournamentView = (frame: Frame, view: ArchivedTournament): Page => {
  const { t } = frame
  const messages = t.eventPage
  const [beforeDay, final] = messages.final
  const dayOf = (timestamp: string) => day(DateTime.makeUnsafe(timestamp), t)
  return {
    title: view.title,
    audience: "everybody",
    translation: tournamentPage(view.slug),
    below: "/archive",
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow"><a href=${frame.at(archivePage)}>${t.archive}</a></p>
        <h1 dir="auto">${view.title}</h1>
      </div>
      ${view.summary === null ? null : html`<p class="lead" dir="auto">${view.summary}</p>`}
      <section class="panel" aria-label=${messages.theTournament}>
        ${facts([
          [messages.ended, dayOf(view.ended_at)],
          [t.challenges, String(view.challenge_count)],
          [messages.archived, html`${beforeDay}${dayOf(view.archived_at)}${final}`]
        ])}
      </section>
      <section aria-labelledby="challenges">
        <h2 id="challenges">${t.challenges}</h2>
        ${
          view.challenges.length === 0
            ? html`<p>${messages.noMore}</p>`
            : html`<p>${messages.howEachEnded}</p>
                <ol class="rows">
                  ${view.challenges.map((each) => archivedChallenge(frame, each))}
                </ol>
                ${nextPage(frame, tournamentPage(view.slug), view.next_cursor)}`
        }
      </section>
      <p class="quiet small">
        ${t.asJson}
        <a href=${frame.at(`/api/v1/public/archive/${view.slug}`)}>${messages.tournamentJson}</a>${t.stop}
      </p>
    `
  }
}
