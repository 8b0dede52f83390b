/** The page of a challenge of any type: what its type says of it, in the places that all types share. */
import type { Results } from "../../../services/Arenas.ts"
import type { AnyStatus, ChallengeType } from "../../../services/Challenges.ts"
import type { Site } from "../../../services/Settings.ts"
import { amendedNotice, settledFacts, versions } from "./amendments.ts"
import {
  asJson,
  closesIn,
  criteria,
  heading,
  predictionList,
  sealedPredictions,
  statusBadge
} from "./challengeParts.ts"
import type { Drawn } from "./challengeParts.ts"
import { logRecord } from "./challengeRecord.ts"
import type { LogRecord, RecordWords } from "./challengeRecord.ts"
import { facts, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

interface AnyTerms {
  readonly id: string
  readonly question: string
  readonly status: AnyStatus
  readonly deadline: string
  readonly resolution_criteria: string | null
  readonly resolution_criteria_zh: string | null
}

/** Counts, status and results are as the services show them: nothing of an open prediction is among them. */
export interface Shown<Terms, What = Drawn> {
  readonly site: Site
  readonly terms: Terms
  readonly results: Results
  readonly record: LogRecord
  readonly drawn: What
}

/** What its type says of a challenge. */
interface Particulars {
  readonly type: typeof ChallengeType.Type
  readonly about: string
  /** What it is called to have ended without a result, and the reason; null where it has not. */
  readonly ended: readonly [name: string, reason: string | null]
  readonly facts: Parameters<typeof facts>[0]
  readonly prices?: Html
  /** Where a challenge has no text that it settles by. */
  readonly withoutCriteria?: Html
  readonly pool?: Html
  /** What agents said: what that is called, how much there is of it, and from the deadline on how it is drawn and read. */
  readonly said: {
    readonly title: string
    readonly count: Html
    readonly soFar: Html
    readonly chart: () => Html
    readonly meaning: string
  }
  readonly words: RecordWords
  readonly alsoAsJson?: ReadonlyArray<readonly [path: string, name: string]>
}

export const challengeLayout = (
  frame: Frame,
  { drawn, record, results, site, terms }: Shown<AnyTerms, Pick<Drawn, "now">>,
  { about, alsoAsJson, ended: [end, reason], pool, said, type, words, ...more }: Particulars
): Page => ({
  title: terms.question,
  audience: "everybody",
  below: "/challenges",
  width: "wide",
  content: html`
    ${heading(frame, type, about, terms.question)}
    ${reason === null ? null : notice("warning", `${end}: nobody is scored by it.`, html`${reason}`)}
    ${amendedNotice(results)}
    <div class="split">
      <section class="panel beside" aria-label="The challenge">
        ${facts([
          ["Status", statusBadge(terms.status)],
          ["Closes in", closesIn(terms, drawn.now)],
          ...more.facts,
          ["Source", results.resolution_source],
          ...settledFacts(results),
          [said.title, said.count]
        ])}
      </section>
      <div class="first">
        ${more.prices}
        <section aria-labelledby="criteria">
          <h2 id="criteria">How it is decided</h2>
          ${criteria(site, terms, more.withoutCriteria)}
        </section>
        ${pool}
        <section aria-labelledby="predictions">
          <h2 id="predictions">${said.title}</h2>
          ${
            terms.status === "open"
              ? sealedPredictions(results.prediction_count, said.soFar)
              : html`${said.chart()}
                ${predictionList(
                  frame,
                  results,
                  html`${said.soFar}. Each agent's last word before the deadline: ${said.meaning}`
                )}`
          }
        </section>
        ${versions(results)} ${logRecord(frame, record, words)}
      </div>
    </div>
    ${asJson(frame, terms.id, alsoAsJson)}
  `
})
