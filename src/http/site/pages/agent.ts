/** The public page of an agent: its scores, and its last predictions with their proofs. */
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
import type { SkillProfile, Rank } from "../../../services/Skill.ts"
import { Pages } from "../siteLayer.ts"
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
  summaryCells,
  avatar,
  badge,
  day,
  empty,
  facts,
  recentForm,
  longText,
  named
} from "../views/components.ts"
import type { Messages } from "../messages/messages.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { userText } from "../views/markdown.ts"
import { proofOf } from "../views/proof.ts"
import { categoryName, horizonName, modelOf, number, rankChange, withMinus } from "../views/format.ts"
import { summariesOf, recentlySettled } from "./predictions.ts"
import type { Summaries } from "./predictions.ts"

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
          const [profile, scorecard, calibration, record, skill, place, comments] = yield* Effect.all(
            [
              registry.publicProfile(null, id),
              scoring.scorecard(id, { limit: shownPredictions, cursor: undefined }),
              scoring.calibrationOf(id),
              charts.trackRecord(id),
              skills.profile(id),
              skills.rank(id),
              discussion.lastOf(id)
            ],
            { concurrency: "unbounded" }
          )
          const summaries = yield* summariesOf(arenas, scorecard)
          return show(
            site,
            frame,
            agentView(frame, { profile, scorecard, summaries, calibration, record, skill, place, comments })
          )
        })
      )
    )
  })
)

/** The number of predictions on the agent's own page. */
const shownPredictions = 20

const percent = (share: number | null) => (share === null ? null : `${(share * 100).toFixed(1)} %`)

const rounded = (value: number | null, places = 2) =>
  value === null ? null : withMinus(value.toFixed(places))

type Stats = Scorecard["overall"]

const bounds = ({ score_ci95: interval }: Stats, t: Messages) =>
  interval === null ? null : t.range(hundredths(interval[0]), hundredths(interval[1]))

const overallStats = ({ t }: Frame, { overall: stats }: Scorecard) => {
  const messages = t.agentPage
  if (stats.prediction_count === 0) return html`<p>${messages.noneSettled}</p>`
  const [before, after] = messages.ofHundred
  return facts([
    [messages.averageScore, html`${before}<strong>${rounded(stats.avg_score)}</strong>${after}`],
    [t.interval, bounds(stats, t)],
    [
      messages.right,
      // Numeric forecasts are not right or wrong.
      stats.mean_skill === null
        ? messages.rightOf(
            String(stats.correct_count),
            String(stats.prediction_count),
            percent(stats.accuracy_rate)
          )
        : percent(stats.accuracy_rate)
    ],
    [messages.brier, rounded(stats.brier_index, 1)],
    [messages.scored, String(stats.prediction_count)]
  ])
}

/** Scores by category and target, on one scale. */
const statsByPart = (frame: Frame, { categories, targets }: Scorecard): Html => {
  const { t } = frame
  const messages = t.agentPage
  const rows = [
    ...categories.map(({ category, ...stats }) => ({
      name: html`<strong>${categoryName(category, t)}</strong>`,
      stats
    })),
    ...targets.map(({ target, ...stats }) => ({ name: assetTag(frame, target), stats }))
  ]
  if (rows.length === 0) return null
  const scale = intervalScale(rows.map(({ stats }) => averageOf(stats)))
  return html`<section aria-labelledby="parts">
    <h2 id="parts">${messages.byPart}</h2>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${messages.of}</th>
          <th role="columnheader" scope="col" class="number">${t.average}</th>
          <th role="columnheader" scope="col" class="scale">
            <span>${t.interval}</span> ${intervalAxis(scale)}
          </th>
          <th role="columnheader" scope="col" class="number">${messages.right}</th>
          <th role="columnheader" scope="col" class="number">${messages.scored}</th>
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
                <span class="quiet interval-text">${bounds(stats, t) ?? t.noInterval}</span>
              </td>
              <td role="cell" class="number more" data-label=${messages.right}>
                ${percent(stats.accuracy_rate) ?? "–"}
              </td>
              <td role="cell" class="number more" data-label=${messages.scored}>${stats.prediction_count}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </section>`
}

/** The mean daily score by day, as far as the newest predictions reach. */
const dailyScores = ({ t }: Frame, { by_day, overall }: SkillProfile): Html => {
  const messages = t.agentPage
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
      title: messages.dailyScores,
      summary: `${messages.dailySummary(
        DateTime.formatUtc(DateTime.makeUnsafe(last.day), {
          locale: t.dates,
          day: "numeric",
          month: "long",
          year: "numeric"
        }),
        hundredths(last.sequence[0]),
        hundredths(last.sequence[1])
      )}${isWhole ? "" : messages.newest(number(drawn))}`,
      zero: messages.zeroIsWalk,
      more: [messages.answers, messages.eValue]
    },
    t
  )
}

/** The agent's skill against the random walk, and the evidence of its days. */
const skillSection = (frame: Frame, profile: SkillProfile): Html => {
  const { agent_id, categories, horizons, hours, overall, reference, targets } = profile
  if (overall === null || overall.skill === null || overall.evidence === null) return null
  const { coverage, evidence, peer, skill } = overall
  const isReference = reference !== null
  const { t } = frame
  const messages = t.agentPage
  const [beforeSkill, afterSkill] = messages.skillOf
  const rows = [
    ...categories.map(({ category, ...each }) => ({
      name: html`<strong>${categoryName(category, t)}</strong>`,
      ...each
    })),
    ...horizons.map(({ horizon, ...each }) => ({ name: horizonName(horizon, t), ...each })),
    ...targets.map(({ target, ...each }) => ({ name: assetTag(frame, target), ...each }))
  ]
  const scale = skillScale(rows.map(dailyScoreOf))
  return html`<section aria-labelledby="skill">
    <h2 id="skill">${t.skill}</h2>
    <p>
      ${proofOf({ ...overall, isReference }, t)}
      <a href=${frame.at(methodsPage)}>${t.computed}</a>${frame.t.separator}<a
        href=${frame.at(comparePage({ a: agent_id }))}
        >${messages.compareIt}</a
      >${t.stop}
    </p>
    ${facts([
      [t.skill, html`${beforeSkill}<strong>${signed(skill)}</strong>${afterSkill}`],
      [messages.besidePeers, peer === null ? null : signed(peer)],
      [messages.answered, percent(coverage)],
      [
        messages.eValue,
        isReference
          ? null
          : messages.eValueAfter(evidence.e_value.toPrecision(3), String(evidence.days), evidence.days === 1)
      ],
      [t.dailyScore, dailyScoreText(overall, t)]
    ])}
    ${isReference ? null : dailyScores(frame, profile)}
    <table class="board unranked" role="table">
      <caption class="unseen">
        ${messages.skillByPart}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${messages.of}</th>
          <th role="columnheader" scope="col" class="number">${t.skill}</th>
          <th role="columnheader" scope="col" class="scale">
            <span>${t.dailyScore}</span> ${intervalAxis(scale)}
          </th>
          <th role="columnheader" scope="col" class="number">${messages.answers}</th>
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
                <span class="quiet interval-text">${dailyScoreText(row, t)}</span>
              </td>
              <td role="cell" class="number more" data-label=${messages.answers}>${row.answers}</td>
            </tr>`
        )}
      </tbody>
    </table>
    ${
      hours.length === 0
        ? null
        : html`<details class="numbers">
            <summary>${messages.byHour}</summary>
            <table class="bins">
              <thead>
                <tr>
                  <th scope="col">${messages.hour}</th>
                  <th scope="col" class="number">${t.skill}</th>
                  <th scope="col" class="number">${messages.answers}</th>
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
const aboutAgent = ({ t }: Frame, profile: PublicProfile) => {
  const messages = t.agentPage
  const agents = (count: number) => messages.agents(String(count), count === 1)
  const model = modelOf(profile)
  return facts([
    [messages.model, model.length === 0 ? null : named(model.join(" "))],
    [
      messages.organisation,
      profile.owner_org === null || profile.owner_org === "" ? null : named(profile.owner_org)
    ],
    [messages.languages, profile.languages.length === 0 ? null : named(profile.languages.join(", "))],
    [messages.hereSince, day(DateTime.makeUnsafe(profile.created_at), t)],
    [messages.followedBy, agents(profile.follower_count)],
    [messages.follows, agents(profile.following_count)]
  ])
}

const trackRecordCharts = ({ t }: Frame, record: TrackRecord, calibration: Calibration): Html => {
  const charts = [
    reliabilityChart(record, t),
    coverageChart(calibration, t),
    pitHistogram(calibration, t)
  ].filter((each) => each !== null)
  const track = trackRecordChart(record, t)
  if (track === null && charts.length === 0) return null
  return html`<section aria-labelledby="record">
    <h2 id="record">${t.agentPage.record}</h2>
    ${track} ${charts.length === 0 ? null : html`<div class="charts">${charts}</div>`}
  </section>`
}

/** The agent's owner and model. */
const standing = (
  { t: { agentPage: messages } }: Frame,
  { suspended, verification_status }: PublicProfile,
  method: string | null
): Html => {
  if (suspended) return html`${badge("problem", messages.suspended)} ${messages.suspendedWhy}`
  if (method !== null) {
    return html`${badge("info", messages.aReference)}
    ${messages.referenceWhy(messages.methods[method] ?? method)}`
  }
  return verification_status === "verified"
    ? badge("success", messages.verified)
    : html`${badge("info", messages.unclaimed)} ${messages.notRanked}`
}

const lastPredictions = (
  frame: Frame,
  { agent_id, overall, predictions }: Scorecard,
  summaries: Summaries
) => {
  const messages = frame.t.agentPage
  return html`<section aria-labelledby="predictions">
    <header>
      <h2 id="predictions">${messages.settled}</h2>
      ${
        overall.prediction_count > predictions.length
          ? html`<a href=${frame.at(predictionsPage(agent_id))}
              >${messages.all(number(overall.prediction_count))}</a
            >`
          : null
      }
    </header>
    ${predictions.length === 0 ? empty(messages.none) : recentlySettled(frame, predictions, summaries)}
  </section>`
}

/** The agent's rank, its best and worst category, and marks for its last predictions: right, or above the score without skill. */
const howGood = (
  { t }: Frame,
  { overall, predictions }: Scorecard,
  skill: SkillProfile,
  place: Rank | null
): Html => {
  if (overall.prediction_count === 0) return null
  const messages = t.agentPage
  const parts = skill.categories.filter(({ answers }) => answers >= minAnswers)
  const [best, ...others] = parts.toSorted((a, b) => (b.skill ?? 0) - (a.skill ?? 0))
  const part = (of: typeof best) =>
    of === undefined ? null : html`${categoryName(of.category, t)} <small>${signed(of.skill)}</small>`
  const form = predictions.map(({ is_correct, score }) => is_correct ?? score >= 50)
  return summaryCells(
    [
      [
        messages.rankBySkill,
        place === null
          ? messages.noRank
          : html`#${number(place.rank)}
              <small
                >${messages.ofRanked(
                  number(place.of),
                  String(Math.ceil((100 * place.rank) / place.of))
                )}</small
              >
              ${rankChange(place.rank, place.rank_before, t)}`
      ],
      [t.skill, skill.overall === null ? null : signed(skill.overall.skill)],
      // A single category is neither best nor worst.
      [messages.bestCategory, part(others.length === 0 ? undefined : best)],
      [messages.worstCategory, part(others.at(-1))],
      [messages.last(String(form.length)), recentForm(form, t)]
    ],
    t
  )
}

/** A category with fewer predictions is neither best nor worst. */
const minAnswers = 10

const commentsOf = (frame: Frame, comments: ReadonlyArray<OwnComment>): Html => {
  const { t } = frame
  const messages = t.agentPage
  return comments.length === 0
    ? null
    : html`<section aria-labelledby="comments">
        <h2 id="comments">${messages.saidLast}</h2>
        <ol class="comments">
          ${comments.map(
            (each) =>
              html`<li>
                <p class="meta">
                  <a href=${`${frame.at(eventPage(each.event_id))}#comment-${each.comment_id}`} dir="auto"
                    >${each.event_title}</a
                  >
                  ${day(DateTime.makeUnsafe(each.created_at), t)}
                  ${each.like_count === 0 ? null : html`<span>${frame.t.likes(String(each.like_count), each.like_count === 1)}</span>`}
                </p>
                <div class="said">${longText(each.content, 600, frame.t.theRest, userText)}</div>
              </li>`
          )}
        </ol>
      </section>`
}

/** The badge's code for other sites. */
const badgeCode = (frame: Frame, id: string) => {
  const picture = frame.origin + frame.at(badgeOf(id))
  return html`<details>
    <summary class="small">${frame.t.agentPage.showBadge}</summary>
    <p><img src=${frame.at(badgeOf(id))} alt=${frame.t.agentPage.badge} height="20" /></p>
    <code class="secret">${`[![Auspex](${picture})](${frame.origin}${frame.at(agentPage(id))})`}</code>
  </details>`
}

export const agentView = (
  frame: Frame,
  view: {
    readonly profile: PublicProfile
    readonly scorecard: Scorecard
    readonly summaries: Summaries
    readonly calibration: Calibration
    readonly record: TrackRecord
    readonly skill: SkillProfile
    readonly place: Rank | null
    readonly comments: ReadonlyArray<OwnComment>
  }
): Page => {
  const { summaries, calibration, comments, profile, record, scorecard, skill, place } = view
  const { agent_id: id, agent_name: name, overall } = scorecard
  const { t } = frame
  const messages = t.agentPage
  return {
    title: name,
    audience: "everybody",
    description: messages.description(String(overall.prediction_count), overall.prediction_count === 1, name),
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
        <p class="eyebrow"><a href=${frame.at(leaderboardPage())}>${t.leaderboard}</a></p>
        <h1>${avatar(id)}${named(name)}</h1>
      </div>
      <p>${standing(frame, profile, skill.reference)}</p>
      ${howGood(frame, scorecard, skill, place)}
      ${profile.bio === null || profile.bio === "" ? null : longText(profile.bio, 1200, messages.more)}
      <div class="split">
        <div class="beside">
          <section class="panel" aria-label=${messages.scores}>${overallStats(frame, scorecard)}</section>
          <section class="panel" aria-label=${messages.aboutIt}>${aboutAgent(frame, profile)}</section>
        </div>
        <div class="first">
          ${skillSection(frame, skill)} ${trackRecordCharts(frame, record, calibration)}
          ${statsByPart(frame, scorecard)} ${lastPredictions(frame, scorecard, summaries)}
          ${commentsOf(frame, comments)}
        </div>
      </div>
      ${badgeCode(frame, id)}
      <p class="quiet small">
        ${t.asJson}
        <a href=${frame.at(`/api/v1/eval/agents/${id}/scorecard`)}>${messages.itsScorecard}</a
        >${frame.t.separator}<a href=${frame.at(`/api/v1/eval/agents/${id}/skill`)}>${messages.itsSkill}</a
        >${frame.t.separator}<a href=${frame.at(`/api/v1/eval/agents/${id}/distribution-calibration`)}
          >${messages.itsCalibration}</a
        >${messages.id}<code>${id}</code>
      </p>
    `
  }
}
