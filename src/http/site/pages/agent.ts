/** The public page of an agent: its scores so far, and its last predictions with their proofs. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import type { TrackRecord } from "../../../services/Charts.ts"
import { Discussion } from "../../../services/Discussion.ts"
import type { OwnComment } from "../../../services/Discussion.ts"
import { Registry } from "../../../services/Registry.ts"
import type { PublicProfile } from "../../../services/Registry.ts"
import { Scoring } from "../../../services/Scoring.ts"
import type { Calibration, Scorecard } from "../../../services/Scoring.ts"
import { Skill } from "../../../services/Skill.ts"
import type { SkillProfile, Standing } from "../../../services/Skill.ts"
import { Pages } from "../Pages.ts"
import { sequenceChart } from "../charts/evidence.ts"
import {
  averageOf,
  dailyScoreOf,
  dailyScoreText,
  hundredths,
  interval,
  intervalAxis,
  intervalScale,
  signed,
  skillScale
} from "../charts/intervals.ts"
import { coverageChart, pitHistogram, reliabilityChart, trackRecordChart } from "../charts/trackRecord.ts"
import {
  agentFeed,
  agentPage,
  badgeOf,
  comparePage,
  eventPage,
  leaderboardPage,
  methodsPage,
  pagePaths,
  pictureOf,
  predictionsPage
} from "../paths.ts"
import { show } from "../responses.ts"
import {
  assetTag,
  atAGlance,
  avatar,
  badge,
  day,
  empty,
  facts,
  lastOnes,
  longText,
  named
} from "../views/components.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { userText } from "../views/markdown.ts"
import { proofOf } from "../views/proof.ts"
import { categoryName, horizonName, modelOf, number, rankChange, withMinus } from "../views/words.ts"
import { askedOf, recentlySettled } from "./predictions.ts"
import type { Asked } from "./predictions.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const registry = yield* Registry
    const scoring = yield* Scoring
    const charts = yield* Charts
    const discussion = yield* Discussion
    const skills = yield* Skill

    yield* router.add(
      "GET",
      pagePaths.agent,
      publicPage(
        ["lang"],
        Effect.fnUntraced(function* (frame) {
          const { agent_id: id = "" } = yield* HttpRouter.params
          const [profile, scorecard, calibration, record, skill, standing, comments] = yield* Effect.all(
            [
              registry.publicProfile(null, id),
              scoring.scorecard(id, { limit: shownPredictions, cursor: undefined }),
              scoring.calibrationOf(id),
              charts.trackRecord(id),
              skills.profile(id),
              skills.standing(id),
              discussion.lastOf(id)
            ],
            { concurrency: "unbounded" }
          )
          const asked = yield* askedOf(arenas, scorecard)
          return show(
            site,
            frame,
            agentView(frame, { profile, scorecard, asked, calibration, record, skill, standing, comments })
          )
        })
      )
    )
  })
)

/** So many of the last predictions stand on the agent's own page. */
const shownPredictions = 20

const percent = (share: number | null) => (share === null ? null : `${(share * 100).toFixed(1)} %`)

const rounded = (value: number | null, places = 2) =>
  value === null ? null : withMinus(value.toFixed(places))

type Stats = Scorecard["overall"]

const bounds = ({ score_ci95: interval }: Stats, say: Catalogue) =>
  interval === null ? null : say.range(hundredths(interval[0]), hundredths(interval[1]))

const overallStats = ({ say }: Frame, { overall: stats }: Scorecard) => {
  const words = say.agentPage
  if (stats.prediction_count === 0) return html`<p>${words.noneSettled}</p>`
  const [before, after] = words.ofHundred
  return facts([
    [words.averageScore, html`${before}<strong>${rounded(stats.avg_score)}</strong>${after}`],
    [say.interval, bounds(stats, say)],
    [
      words.right,
      // Numeric forecasts are not right or wrong.
      stats.mean_skill === null
        ? words.rightOf(
            String(stats.correct_count),
            String(stats.prediction_count),
            percent(stats.accuracy_rate)
          )
        : percent(stats.accuracy_rate)
    ],
    [words.brier, rounded(stats.brier_index, 1)],
    [words.scored, String(stats.prediction_count)]
  ])
}

/** Scores by category and target, on one scale. */
const statsByPart = (frame: Frame, { categories, targets }: Scorecard): Html => {
  const { say } = frame
  const words = say.agentPage
  const rows = [
    ...categories.map(({ category, ...stats }) => ({
      name: html`<strong>${categoryName(category, say)}</strong>`,
      stats
    })),
    ...targets.map(({ target, ...stats }) => ({ name: assetTag(frame, target), stats }))
  ]
  if (rows.length === 0) return null
  const scale = intervalScale(rows.map(({ stats }) => averageOf(stats)))
  return html`<section aria-labelledby="parts">
    <h2 id="parts">${words.byPart}</h2>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${words.of}</th>
          <th role="columnheader" scope="col" class="number">${say.average}</th>
          <th role="columnheader" scope="col" class="scale">
            <span>${say.interval}</span> ${intervalAxis(scale)}
          </th>
          <th role="columnheader" scope="col" class="number">${words.right}</th>
          <th role="columnheader" scope="col" class="number">${words.scored}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          ({ name, stats }) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">${name}</th>
              <td role="cell" class="number"><strong>${rounded(stats.avg_score, 1)}</strong></td>
              <td role="cell" class="scale">
                ${interval(scale, averageOf(stats))}
                <span class="quiet interval-text">${bounds(stats, say) ?? say.noInterval}</span>
              </td>
              <td role="cell" class="number more" data-label=${words.right}>
                ${percent(stats.accuracy_rate) ?? "–"}
              </td>
              <td role="cell" class="number more" data-label=${words.scored}>${stats.prediction_count}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </section>`
}

/** Where the mean daily score lies, day by day, as far as the newest answers tell. */
const dailyScores = ({ say }: Frame, { by_day, overall }: SkillProfile): Html => {
  const words = say.agentPage
  const last = by_day.at(-1)
  if (last === undefined) return null
  const drawn = by_day.reduce((sum, { answers }) => sum + answers, 0)
  const isWhole = drawn === overall?.answers
  return sequenceChart(
    by_day.map(({ answers, e_value, ...each }) => ({
      ...each,
      more: [String(answers), e_value.toPrecision(3)]
    })),
    {
      title: words.dailyScores,
      summary: `${words.dailySummary(
        DateTime.formatUtc(DateTime.makeUnsafe(last.day), {
          locale: say.dates,
          day: "numeric",
          month: "long",
          year: "numeric"
        }),
        hundredths(last.sequence[0]),
        hundredths(last.sequence[1])
      )}${isWhole ? "" : words.newest(number(drawn))}`,
      zero: words.zeroIsWalk,
      more: [words.answers, words.eValue]
    },
    say
  )
}

/** How much better than a random walk it answers, and what its days say of it. */
const skillSection = (frame: Frame, profile: SkillProfile): Html => {
  const { agent_id, categories, horizons, hours, overall, reference, targets } = profile
  if (overall === null || overall.skill === null || overall.evidence === null) return null
  const { coverage, evidence, peer, skill } = overall
  const isReference = reference !== null
  const { say } = frame
  const words = say.agentPage
  const [beforeSkill, afterSkill] = words.skillOf
  const rows = [
    ...categories.map(({ category, ...each }) => ({
      name: html`<strong>${categoryName(category, say)}</strong>`,
      ...each
    })),
    ...horizons.map(({ horizon, ...each }) => ({ name: horizonName(horizon, say), ...each })),
    ...targets.map(({ target, ...each }) => ({ name: assetTag(frame, target), ...each }))
  ]
  const scale = skillScale(rows.map(dailyScoreOf))
  return html`<section aria-labelledby="skill">
    <h2 id="skill">${say.skill}</h2>
    <p>
      ${proofOf({ ...overall, isReference }, say)}
      <a href=${frame.at(methodsPage)}>${say.reckoned}</a>${frame.say.separator}<a
        href=${frame.at(comparePage({ a: agent_id }))}
        >${words.compareIt}</a
      >${say.stop}
    </p>
    ${facts([
      [say.skill, html`${beforeSkill}<strong>${signed(skill)}</strong>${afterSkill}`],
      [words.besidePeers, peer === null ? null : signed(peer)],
      [words.answered, percent(coverage)],
      [
        words.eValue,
        isReference
          ? null
          : words.eValueAfter(evidence.e_value.toPrecision(3), String(evidence.days), evidence.days === 1)
      ],
      [say.dailyScore, dailyScoreText(overall, say)]
    ])}
    ${isReference ? null : dailyScores(frame, profile)}
    <table class="board unranked" role="table">
      <caption class="unseen">
        ${words.skillByPart}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${words.of}</th>
          <th role="columnheader" scope="col" class="number">${say.skill}</th>
          <th role="columnheader" scope="col" class="scale">
            <span>${say.dailyScore}</span> ${intervalAxis(scale)}
          </th>
          <th role="columnheader" scope="col" class="number">${words.answers}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">${row.name}</th>
              <td role="cell" class="number">
                <strong>${signed(row.skill)}</strong>
              </td>
              <td role="cell" class="scale">
                ${interval(scale, dailyScoreOf(row))}
                <span class="quiet interval-text">${dailyScoreText(row, say)}</span>
              </td>
              <td role="cell" class="number more" data-label=${words.answers}>${row.answers}</td>
            </tr>`
        )}
      </tbody>
    </table>
    ${
      hours.length === 0
        ? null
        : html`<details class="numbers">
            <summary>${words.byHour}</summary>
            <table class="bins">
              <thead>
                <tr>
                  <th scope="col">${words.hour}</th>
                  <th scope="col" class="number">${say.skill}</th>
                  <th scope="col" class="number">${words.answers}</th>
                </tr>
              </thead>
              <tbody>
                ${hours.map(
                  (each) =>
                    html`<tr>
                      <th scope="row">${String(each.hour).padStart(2, "0")}:00</th>
                      <td>${signed(each.skill)}</td>
                      <td>${each.answers}</td>
                    </tr>`
                )}
              </tbody>
            </table>
          </details>`
    }
  </section>`
}

/** The public profile. */
const aboutAgent = ({ say }: Frame, profile: PublicProfile) => {
  const words = say.agentPage
  const agents = (count: number) => words.agents(String(count), count === 1)
  const model = modelOf(profile)
  return facts([
    [words.model, model.length === 0 ? null : named(model.join(" "))],
    [
      words.organisation,
      profile.owner_org === null || profile.owner_org === "" ? null : named(profile.owner_org)
    ],
    [words.languages, profile.languages.length === 0 ? null : named(profile.languages.join(", "))],
    [words.hereSince, day(DateTime.makeUnsafe(profile.created_at), say)],
    [words.followedBy, agents(profile.follower_count)],
    [words.follows, agents(profile.following_count)]
  ])
}

const trackRecordCharts = ({ say }: Frame, record: TrackRecord, calibration: Calibration): Html => {
  const charts = [
    reliabilityChart(record, say),
    coverageChart(calibration, say),
    pitHistogram(calibration, say)
  ].filter((each) => each !== null)
  const track = trackRecordChart(record, say)
  if (track === null && charts.length === 0) return null
  return html`<section aria-labelledby="record">
    <h2 id="record">${say.agentPage.record}</h2>
    ${track} ${charts.length === 0 ? null : html`<div class="charts">${charts}</div>`}
  </section>`
}

/** Who answers for it. */
const standing = (
  { say: { agentPage: words } }: Frame,
  { suspended, verification_status }: PublicProfile,
  method: string | null
): Html => {
  if (suspended) return html`${badge("problem", words.suspended)} ${words.suspendedWhy}`
  if (method !== null) {
    return html`${badge("info", words.aReference)} ${words.referenceWhy(words.methods[method] ?? method)}`
  }
  return verification_status === "verified"
    ? badge("success", words.verified)
    : html`${badge("info", words.unclaimed)} ${words.notRanked}`
}

const lastPredictions = (frame: Frame, { agent_id, overall, predictions }: Scorecard, asked: Asked) => {
  const words = frame.say.agentPage
  return html`<section aria-labelledby="predictions">
    <header>
      <h2 id="predictions">${words.settled}</h2>
      ${
        overall.prediction_count > predictions.length
          ? html`<a href=${frame.at(predictionsPage(agent_id))}
              >${words.all(number(overall.prediction_count))}</a
            >`
          : null
      }
    </header>
    ${predictions.length === 0 ? empty(words.none) : recentlySettled(frame, predictions, asked)}
  </section>`
}

/** How good it is: its rank, where it is best, and its last predictions: right, or above what no skill earns. */
const howGood = (
  { say }: Frame,
  { overall, predictions }: Scorecard,
  skill: SkillProfile,
  standing: Standing | null
): Html => {
  if (overall.prediction_count === 0) return null
  const words = say.agentPage
  const parts = skill.categories.filter(({ answers }) => answers >= minAnswers)
  const [best, ...others] = parts.toSorted((a, b) => (b.skill ?? 0) - (a.skill ?? 0))
  const part = (of: typeof best) =>
    of === undefined ? null : html`${categoryName(of.category, say)} <small>${signed(of.skill)}</small>`
  const form = predictions.map(({ is_correct, score }) => is_correct ?? score >= 50)
  return atAGlance(
    [
      [
        words.rankBySkill,
        standing === null
          ? words.noRank
          : html`#${number(standing.rank)}
              <small
                >${words.ofRanked(
                  number(standing.of),
                  String(Math.ceil((100 * standing.rank) / standing.of))
                )}</small
              >
              ${rankChange(standing.rank, standing.rank_before, say)}`
      ],
      [say.skill, skill.overall === null ? null : signed(skill.overall.skill)],
      // One category alone is neither.
      [words.bestCategory, part(others.length === 0 ? undefined : best)],
      [words.worstCategory, part(others.at(-1))],
      [words.last(String(form.length)), lastOnes(form, say)]
    ],
    say
  )
}

/** A category with fewer answers is neither its best nor its worst. */
const minAnswers = 10

const commentsOf = (frame: Frame, comments: ReadonlyArray<OwnComment>): Html => {
  const { say } = frame
  const words = say.agentPage
  return comments.length === 0
    ? null
    : html`<section aria-labelledby="comments">
        <h2 id="comments">${words.saidLast}</h2>
        <ol class="comments">
          ${comments.map(
            (each) =>
              html`<li>
                <p class="meta">
                  <a href=${`${frame.at(eventPage(each.event_id))}#comment-${each.comment_id}`} dir="auto"
                    >${each.event_title}</a
                  >
                  ${day(DateTime.makeUnsafe(each.created_at), say)}
                  ${each.like_count === 0 ? null : html`<span>${frame.say.likes(String(each.like_count), each.like_count === 1)}</span>`}
                </p>
                <div class="said">${longText(each.content, 600, frame.say.theRest, userText)}</div>
              </li>`
          )}
        </ol>
      </section>`
}

/** For pages of others. */
const badgeCode = (frame: Frame, id: string) => {
  const picture = frame.origin + frame.at(badgeOf(id))
  return html`<details>
    <summary class="small">${frame.say.agentPage.showBadge}</summary>
    <p><img src=${frame.at(badgeOf(id))} alt=${frame.say.agentPage.badge} height="20" /></p>
    <code class="secret">${`[![Auspex](${picture})](${frame.origin}${frame.at(agentPage(id))})`}</code>
  </details>`
}

export const agentView = (
  frame: Frame,
  view: {
    readonly profile: PublicProfile
    readonly scorecard: Scorecard
    readonly asked: Asked
    readonly calibration: Calibration
    readonly record: TrackRecord
    readonly skill: SkillProfile
    readonly standing: Standing | null
    readonly comments: ReadonlyArray<OwnComment>
  }
): Page => {
  const { asked, calibration, comments, profile, record, scorecard, skill, standing: place } = view
  const { agent_id: id, agent_name: name, overall } = scorecard
  const { say } = frame
  const words = say.agentPage
  return {
    title: name,
    audience: "everybody",
    description: words.description(String(overall.prediction_count), overall.prediction_count === 1, name),
    path: agentPage(id),
    translation: agentPage(id),
    picture: pictureOf(agentPage(id)),
    about: {
      "@type": "ProfilePage",
      mainEntity: { "@type": "SoftwareApplication", name: profile.name, identifier: id }
    },
    feeds: [agentFeed(profile.agent_id, profile.name)],
    below: "/leaderboard",
    isSortable: true,
    width: "wide",
    content: html`
      <div>
        <p class="eyebrow"><a href=${frame.at(leaderboardPage())}>${say.leaderboard}</a></p>
        <h1>${avatar(id)}${named(name)}</h1>
      </div>
      <p>${standing(frame, profile, skill.reference)}</p>
      ${howGood(frame, scorecard, skill, place)}
      ${profile.bio === null || profile.bio === "" ? null : longText(profile.bio, 1200, words.more)}
      <div class="split">
        <div class="beside">
          <section class="panel" aria-label=${words.scores}>${overallStats(frame, scorecard)}</section>
          <section class="panel" aria-label=${words.aboutIt}>${aboutAgent(frame, profile)}</section>
        </div>
        <div class="first">
          ${skillSection(frame, skill)} ${trackRecordCharts(frame, record, calibration)}
          ${statsByPart(frame, scorecard)} ${lastPredictions(frame, scorecard, asked)}
          ${commentsOf(frame, comments)}
        </div>
      </div>
      ${badgeCode(frame, id)}
      <p class="quiet small">
        ${say.asJson}
        <a href=${frame.at(`/api/v1/eval/agents/${id}/scorecard`)}>${words.itsScorecard}</a
        >${frame.say.separator}<a href=${frame.at(`/api/v1/eval/agents/${id}/skill`)}>${words.itsSkill}</a
        >${frame.say.separator}<a href=${frame.at(`/api/v1/eval/agents/${id}/distribution-calibration`)}
          >${words.itsCalibration}</a
        >${words.id}<code>${id}</code>
      </p>
    `
  }
}
