/** The public page of a challenge of each type: terms, outcome, predictions, and log entries. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import type { Results } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import type { Answers } from "../../../services/Charts.ts"
import { Pools } from "../../../services/Pools.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import { ReleaseCalendar } from "../../../services/Schedules.ts"
import type { PublishedRelease } from "../../../services/Schedules.ts"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { candleFacts, levelNames, maxCount } from "../../../services/domain/kinds.ts"
import type {
  Challenge,
  ChallengeSummary,
  MacroChallenge,
  PriceEvent
} from "../../../services/domain/Challenge.ts"
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { categoryChart, directionChart, forecastChart } from "../charts/answers.ts"
import { noSkill } from "../charts/intervals.ts"
import { priceChart } from "../charts/prices.ts"
import { agentPage, eventPage, pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { at, challengeLayout, inWords, dateOf, gauge } from "../views/challenge.ts"
import type { Answer, ChallengeView, ChartData } from "../views/challenge.ts"
import { named } from "../views/components.ts"
import { binRange, poolSection } from "../views/pool.ts"
import { releasesTable } from "../views/releases.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { change, formatOutcome, number, percentFrom, probability, roughly, side } from "../views/format.ts"

const noAnswers = Effect.succeed<Answers>({ values: [], isAll: true })

/** The fields that determine the time span of the price chart. */
interface Spanned {
  readonly asset: string
  readonly kind: string
  readonly created_at: string
  readonly resolve_at: string
  readonly window_from?: string | null
}

const day = 86_400_000

/** The number of releases shown before the question's own. */
const maxPrints = 8

/** The start of the price chart: before the challenge or its window begins, for context. */
const drawnFrom = ({ created_at, kind, resolve_at, window_from = null }: Spanned): DateTime.Utc => {
  const end = DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at))
  const begin = DateTime.toEpochMillis(DateTime.makeUnsafe(window_from ?? created_at))
  const counted = maxCount(kind)
  const window = counted === null ? Math.max(end - begin, 0) : (counted + 1) * day
  // Questions about the past are created after their end.
  const length = Math.max(window, day / 4)
  return DateTime.makeUnsafe(end - length - Math.min(day, length / 4))
}

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const pools = yield* Pools
    const calendar = yield* ReleaseCalendar
    const charts = yield* Charts
    const log = yield* TransparencyLog

    yield* router.add(
      "GET",
      pagePaths.challenge,
      publicPage(
        ["cursor", "lang"],
        Effect.fnUntraced(function* (frame) {
          const { challenge_id: id = "" } = yield* HttpRouter.params
          const [results, entries, stalled] = yield* Effect.all(
            [arenas.results(id, yield* listPage), log.entriesOf(id), log.stalled],
            { concurrency: "unbounded" }
          )
          const summary = yield* arenas.summary(id)
          const now = yield* DateTime.now
          const view = {
            summary,
            results,
            record: { challengeId: results.challenge_id, entries, stalled }
          }
          // Answers are not even queried before the deadline.
          const answered = results.status === "open" ? noAnswers : charts.answers(id)
          const prices = Effect.fnUntraced(function* (terms: Spanned) {
            const series = yield* charts.prices(
              terms.asset,
              drawnFrom(terms),
              DateTime.makeUnsafe(terms.resolve_at)
            )
            return { from: DateTime.toDateUtc(series.from), prices: series }
          })
          const releasesBefore = Effect.fnUntraced(function* ({ asset, release_at, unit }: MacroChallenge) {
            const { items } = yield* calendar.published(
              { asset, before: DateTime.makeUnsafe(release_at) },
              { limit: 2 * maxPrints, cursor: undefined }
            )
            return items
              .filter((each) => each.actual_value !== null && each.unit === unit)
              .slice(0, maxPrints)
          })
          switch (results.type) {
            case "directional": {
              const [terms, answers] = yield* Effect.all([arenas.getOf("directional", id), answered])
              const drawn = { ...(yield* prices(terms)), answers, now }
              return show(site, frame, directionalView(frame, { ...view, terms, drawn }))
            }
            case "macro": {
              const [terms, odds, answers] = yield* Effect.all([
                arenas.getOf("macro", id),
                pools.odds(id),
                answered
              ])
              const releases = yield* releasesBefore(terms)
              const drawn = { answers, now }
              return show(site, frame, macroView(frame, { ...view, terms, odds, releases, drawn }))
            }
            case "price_event": {
              const [terms, answers] = yield* Effect.all([arenas.getOf("price_event", id), answered])
              const drawn = { ...(yield* prices(terms)), answers, now }
              return show(site, frame, priceEventView(frame, { ...view, terms, drawn }))
            }
          }
        })
      )
    )
  })
)

const eventLink = (frame: Frame, eventId: string, title: string | null) =>
  html`<a href=${frame.at(eventPage(eventId))} dir="auto">${title ?? frame.t.question.untitledEvent}</a>`

/** Counts by direction; before the deadline those of the last published step. */
const directionalCounts = (terms: Challenge, t: Messages): Html => {
  const { bearish_count, bullish_count, counts_as_of, deadline, neutral_count } = terms
  const messages = t.question
  const count = String(terms.prediction_count)
  const sides = messages.upDownFlat(String(bullish_count), String(bearish_count), String(neutral_count))
  if (counts_as_of === null || counts_as_of === deadline || terms.prediction_count === 0) {
    return messages.counted(count, sides)
  }
  if (bullish_count + bearish_count + neutral_count === 0) return messages.inSteps(count)
  const [before, after] = messages.lastStep(count)
  return html`${before}${at(counts_as_of, t)}${after}${sides}`
}

/** The last price of the chart. */
const lastPrice = ({ prices }: ChartData): number | undefined => prices.points.at(-1)?.price

/** The number of predictions that were right; null for a question without directions. */
const rightOnes = (terms: Challenge, result: Results["result"], t: Messages): Html => {
  const { bearish_count: bearish, bullish_count: bullish, neutral_count: neutral } = terms
  const all = bearish + bullish + neutral
  if (result === null || all === 0) return null
  const right = { bearish, bullish, neutral }[result]
  return t.question.rightOf(String(right), String(all), probability(right / all))
}

/**
 * The best score of an agent, if all predictions are on one page: a right answer, or a number that scores above the
 * score without skill. Agents with an equal score are counted.
 */
const bestCall = (frame: Frame, { next_cursor, predictions }: Results): Html => {
  const calls = predictions.flatMap(({ agent_id, agent_name, is_correct, reference, score }) =>
    reference === null && score !== null
      ? [{ agent_id, agent_name, isGood: is_correct ?? score > noSkill, score }]
      : []
  )
  if (next_cursor !== null || calls.length < 2) return null
  const best = Math.max(...calls.flatMap(({ isGood, score }) => (isGood ? [score] : [])))
  const [first, ...others] = calls.filter(({ isGood, score }) => isGood && score === best)
  if (first === undefined) return null
  const { comma, points } = frame.t.question
  const who =
    others.length === 0
      ? html`<a href=${frame.at(agentPage(first.agent_id))}>${named(first.agent_name)}</a>`
      : frame.t.agentPage.agents(String(others.length + 1), false)
  return html`${who}${comma}${points(best.toFixed(1))}`
}

const directionalAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<Challenge>): Answer => {
  const { t } = frame
  const messages = t.question
  const open = terms.open_price
  const counts = directionalCounts(terms, t)
  if (results.result !== null && results.close_price !== null) {
    return {
      first: [
        messages.result,
        html`${side(results.result, false, t)}
          <small>${change(percentFrom(results.close_price, open))}</small>`
      ],
      more: [
        [messages.openToClose, `${number(open)} → ${number(results.close_price)}`],
        [messages.calledIt, rightOnes(terms, results.result, t)],
        [messages.bestCall, bestCall(frame, results)]
      ],
      counts
    }
  }
  const now = lastPrice(drawn)
  const isOver = terms.status === "cancelled"
  const deadZone = results.dead_zone_pct ?? terms.dead_zone_pct
  const move = now === undefined ? undefined : percentFrom(now, open)
  return {
    first: isOver
      ? [messages.result, t.states.cancelled]
      : [
          messages.sinceOpen,
          move === undefined
            ? messages.noPrice
            : html`${change(move)}${deadZone === null ? null : gauge(move, deadZone)}`
        ],
    more: [
      [messages.open, number(open)],
      [messages.lastPrice, now === undefined || isOver ? null : number(now)],
      [messages.flatWithin, deadZone === null ? null : `± ${roughly(deadZone)} %`]
    ],
    counts
  }
}

const assetOf = ({ name, question }: Messages, { asset, name: inEnglish }: ChallengeSummary): string =>
  question.nameAndKey(name(asset, inEnglish), asset)

const directionalView = (frame: Frame, view: ChallengeView<Challenge>): Page => {
  const { drawn, results, terms } = view
  const { t } = frame
  const messages = t.question
  const [before, after] = messages.priceAt
  return challengeLayout(frame, view, {
    answer: directionalAnswer(frame, view),
    ended: [t.states.cancelled, terms.cancel_reason],
    facts: [
      [messages.asset, assetOf(t, view.summary)],
      [
        messages.result,
        results.result === null ? null : html`<strong>${side(results.result, false, t)}</strong>`
      ],
      [messages.deadline, at(terms.deadline, t)],
      [messages.decidedBy, html`${before}${at(terms.resolve_at, t)}${after}`],
      [messages.openPrice, number(terms.open_price)],
      [messages.closingPrice, results.close_price === null ? null : number(results.close_price)],
      [messages.deadZone, results.dead_zone_pct === null ? null : `± ${roughly(results.dead_zone_pct)} %`],
      [
        messages.event,
        terms.event_id === null ? null : eventLink(frame, terms.event_id, view.summary.event_title)
      ]
    ],
    prices: priceChart(
      {
        asset: terms.asset,
        from: drawn.from,
        deadline: dateOf(terms.deadline),
        resolveAt: dateOf(terms.resolve_at),
        ...(results.dead_zone_pct !== null && {
          deadZone: { openPrice: terms.open_price, pct: results.dead_zone_pct }
        }),
        ...(results.close_price !== null && {
          settled: { price: results.close_price, as: messages.closingPrice }
        })
      },
      drawn.prices,
      t
    ),
    withoutCriteria: html`<p>${messages.withoutText}</p>`,
    predictions: {
      title: messages.predictions,
      soFar: directionalCounts(terms, t),
      chart: () => directionChart(drawn.answers, messages.sides, results.result, t),
      meaning: messages.saysDirection
    },
    messages: messages.recordOfDirection
  })
}

const macroOutcome = (terms: MacroChallenge, { bin: winner }: Results, t: Messages) => {
  if (terms.actual_value === null) return null
  const bin = terms.bins.find(({ index }) => index === winner)
  const outcome_name = bin?.name ?? null
  const { actual_value, unit } = terms
  return html`<strong
      >${formatOutcome({ actual_value, outcome_name, result: null, type: "macro", unit }, t)}</strong
    >${bin === undefined || outcome_name !== null ? null : html` <small>${t.question.inBin(binRange(bin, t))}</small>`}`
}

const macroView = (
  frame: Frame,
  view: ChallengeView<MacroChallenge, Pick<ChartData, "answers" | "now">> & {
    readonly odds: PoolOdds
    readonly releases: ReadonlyArray<typeof PublishedRelease.Type>
  }
): Page => {
  const { drawn, releases, odds, results, terms } = view
  const { t } = frame
  const messages = t.question
  const count = results.prediction_count
  return challengeLayout(frame, view, {
    answer: {
      first:
        terms.actual_value === null
          ? [messages.status, terms.status === "void" ? t.states.void : messages.notPublished]
          : [
              terms.categories === null ? messages.published : messages.announced,
              macroOutcome(terms, results, t)
            ],
      more: [
        [messages.release, terms.actual_value === null ? at(terms.release_at, t) : null],
        [messages.rewardPool, terms.reward_pool === 0 ? null : t.credits(number(terms.reward_pool), false)],
        [messages.bestCall, bestCall(frame, results)]
      ],
      counts: String(count)
    },
    ended: [t.states.void, terms.void_reason],
    facts: [
      [
        terms.categories === null ? messages.publishedValue : messages.announced,
        macroOutcome(terms, results, t)
      ],
      [messages.deadline, at(terms.deadline, t)],
      [messages.releaseExpected, at(terms.release_at, t)],
      [messages.unit, terms.unit],
      terms.categories === null
        ? [
            messages.referenceScale,
            results.reference_scale === null ? null : roughly(results.reference_scale)
          ]
        : [messages.reference, inWords(terms.categories, t)]
    ],
    releases:
      releases.length === 0
        ? null
        : html`<section aria-labelledby="prints">
            <h2 id="prints">${messages.pastPrints}</h2>
            ${releasesTable(frame, releases)}
          </section>`,
    pool: poolSection(terms, odds, results, t),
    predictions: {
      title: messages.forecasts,
      soFar: messages.forecastCount(String(count), count === 1),
      chart: () =>
        terms.categories === null
          ? forecastChart(drawn.answers, { unit: terms.unit, actual: terms.actual_value }, t)
          : categoryChart(drawn.answers, terms.categories, terms.actual_value, t),
      meaning: terms.categories === null ? messages.byCrps : messages.byRps
    },
    messages: messages.recordOfMacro,
    alsoAsJson: [[`/api/v1/eval/macro/challenges/${terms.id}/odds`, messages.itsPool]]
  })
}

const priceEventResult = (terms: PriceEvent, t: Messages): Html => {
  if (terms.result === null) return null
  return html`<strong>${side(terms.result, true, t)}</strong>`
}

const priceEventAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<PriceEvent>): Answer => {
  const { t } = frame
  const messages = t.question
  const counts = String(results.prediction_count)
  const best = [messages.bestCall, bestCall(frame, results)] as const
  if (terms.result !== null) {
    return { first: [messages.result, side(terms.result, true, t)], more: [best], counts }
  }
  if (results.actual_value !== null) {
    return {
      first: [messages.observed[terms.kind] ?? terms.kind, number(results.actual_value)],
      more: [best],
      counts
    }
  }
  const now = lastPrice(drawn)
  const { level } = terms
  return {
    first:
      terms.status === "void"
        ? [messages.result, t.states.void]
        : [messages.lastPrice, now === undefined ? messages.noPrice : number(now)],
    more: [
      [
        messages.toTheLevel,
        now === undefined || level === null
          ? null
          : messages.moveTo(change(percentFrom(level, now)), number(level))
      ]
    ],
    counts
  }
}

const priceEventView = (frame: Frame, view: ChallengeView<PriceEvent>): Page => {
  const { drawn, results, terms } = view
  const { t } = frame
  const messages = t.question
  const observed = messages.observed[terms.kind] ?? terms.kind
  const { answers, closes, counts, hasWindow, levels } = candleFacts[terms.kind]
  const isYesOrNo = answers === "yes_no"
  const count = results.prediction_count
  const observation = results.actual_value ?? results.close_price
  return challengeLayout(frame, view, {
    answer: priceEventAnswer(frame, view),
    ended: [t.states.void, terms.void_reason],
    facts: [
      [messages.asset, assetOf(t, view.summary)],
      [messages.result, priceEventResult(terms, t)],
      [observed, observation === null ? null : number(observation)],
      ...levelNames.map((name) => {
        const level = terms[name]
        return [messages.levels[name], level === null ? null : number(level)] as const
      }),
      [messages.deadline, at(terms.deadline, t)],
      [messages.from, terms.window_from === null ? null : at(terms.window_from, t)],
      [messages.candlesUntil, at(terms.resolve_at, t)],
      [messages.referenceScale, terms.reference_scale === null ? null : roughly(terms.reference_scale)]
    ],
    prices: priceChart(
      {
        asset: terms.asset,
        from: drawn.from,
        deadline: dateOf(terms.deadline),
        resolveAt: dateOf(terms.resolve_at),
        levels: levelNames.flatMap((name) => {
          const price = terms[name]
          return price === null ? [] : [{ name, price }]
        }),
        ...(observation !== null &&
          closes !== null &&
          counts === null && { settled: { price: observation, as: observed } }),
        ...(counts !== null && {
          daysFrom: DateTime.toDateUtc(
            DateTime.subtract(DateTime.makeUnsafe(terms.resolve_at), { days: counts })
          )
        }),
        ...(hasWindow && { byRange: true }),
        ...(hasWindow &&
          results.result === "bullish" && { touchedSince: dateOf(terms.window_from ?? terms.deadline) })
      },
      drawn.prices,
      t
    ),
    predictions: {
      title: messages.answers,
      soFar: messages.answerCount(String(count), count === 1),
      chart: () =>
        !isYesOrNo
          ? forecastChart(
              drawn.answers,
              {
                unit: null,
                actual: results.actual_value,
                ...(counts !== null && { max: counts })
              },
              t
            )
          : directionChart(drawn.answers, messages.yesAndNo, terms.result, t),
      meaning: isYesOrNo ? messages.saysYesOrNo : messages.byCrps
    },
    messages: isYesOrNo
      ? messages.recordOfLevels(
          observed,
          levels.map((name) => messages.levels[name])
        )
      : messages.recordOfNumber(observed)
  })
}
