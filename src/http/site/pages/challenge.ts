/** The public page of a challenge of each type: its terms, how it ended, who predicted what, and its entries in the log. */
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
import { candleFacts, maxCount } from "../../../services/domain/kinds.ts"
import type {
  Challenge,
  ChallengeSummary,
  MacroChallenge,
  PriceEvent
} from "../../../services/domain/Challenge.ts"
import { Pages } from "../Pages.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import { categoryChart, directionChart, forecastChart } from "../charts/answers.ts"
import { noSkill } from "../charts/intervals.ts"
import { priceChart } from "../charts/prices.ts"
import { agentPage, eventPage, pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { at, challengeLayout, inWords, dateOf, gauge } from "../views/challenge.ts"
import type { Answer, ChallengeView, ChartData } from "../views/challenge.ts"
import { named } from "../views/components.ts"
import { binRange, poolSection } from "../views/pool.ts"
import { printsTable } from "../views/prints.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { change, formatOutcome, number, percentFrom, probability, roughly, side } from "../views/words.ts"

const noAnswers = Effect.succeed<Answers>({ values: [], isAll: true })

/** What determines the range of the price chart. */
interface Spanned {
  readonly asset: string
  readonly kind: string
  readonly created_at: string
  readonly resolve_at: string
  readonly window_from?: string | null
}

const day = 86_400_000

/** Of a series, before what is asked. */
const maxPrints = 8

/** Start of the price chart: some time before the challenge or its window begins, for context. */
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
          const asked = yield* arenas.summary(id)
          const now = yield* DateTime.now
          const view = {
            asked,
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
          const printsBefore = Effect.fnUntraced(function* ({ asset, release_at, unit }: MacroChallenge) {
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
              const figures = yield* printsBefore(terms)
              const drawn = { answers, now }
              return show(site, frame, macroView(frame, { ...view, terms, odds, figures, drawn }))
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
  html`<a href=${frame.at(eventPage(eventId))} dir="auto">${title ?? frame.say.question.untitledEvent}</a>`

/** Counts by direction. Before the deadline they are those of the last published step. */
const directionalCounts = (terms: Challenge, say: Catalogue): Html => {
  const { bearish_count, bullish_count, counts_as_of, deadline, neutral_count } = terms
  const words = say.question
  const count = String(terms.prediction_count)
  const sides = words.upDownFlat(String(bullish_count), String(bearish_count), String(neutral_count))
  if (counts_as_of === null || counts_as_of === deadline || terms.prediction_count === 0) {
    return words.counted(count, sides)
  }
  if (bullish_count + bearish_count + neutral_count === 0) return words.inSteps(count)
  const [before, after] = words.lastStep(count)
  return html`${before}${at(counts_as_of, say)}${after}${sides}`
}

/** The last price that is drawn. */
const lastPrice = ({ prices }: ChartData): number | undefined => prices.points.at(-1)?.price

/** Who called it, of those who have answered; null of a question without sides. */
const rightOnes = (terms: Challenge, result: Results["result"], say: Catalogue): Html => {
  const { bearish_count: bearish, bullish_count: bullish, neutral_count: neutral } = terms
  const all = bearish + bullish + neutral
  if (result === null || all === 0) return null
  const right = { bearish, bullish, neutral }[result]
  return say.question.rightOf(String(right), String(all), probability(right / all))
}

/**
 * The best score of an agent, where all predictions stand on one page: that of a right answer, or of a number one that beats what
 * knowing the usual spread earns. Whoever shares it is counted with it.
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
  const { comma, points } = frame.say.question
  const who =
    others.length === 0
      ? html`<a href=${frame.at(agentPage(first.agent_id))}>${named(first.agent_name)}</a>`
      : frame.say.agentPage.agents(String(others.length + 1), false)
  return html`${who}${comma}${points(best.toFixed(1))}`
}

const directionalAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<Challenge>): Answer => {
  const { say } = frame
  const words = say.question
  const open = terms.open_price
  const counts = directionalCounts(terms, say)
  if (results.result !== null && results.close_price !== null) {
    return {
      first: [
        words.result,
        html`${side(results.result, false, say)}
          <small>${change(percentFrom(results.close_price, open))}</small>`
      ],
      more: [
        [words.openToClose, `${number(open)} → ${number(results.close_price)}`],
        [words.calledIt, rightOnes(terms, results.result, say)],
        [words.bestCall, bestCall(frame, results)]
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
      ? [words.result, say.states.cancelled]
      : [
          words.sinceOpen,
          move === undefined
            ? words.noPrice
            : html`${change(move)}${deadZone === null ? null : gauge(move, deadZone)}`
        ],
    more: [
      [words.open, number(open)],
      [words.lastPrice, now === undefined || isOver ? null : number(now)],
      [words.flatWithin, deadZone === null ? null : `± ${roughly(deadZone)} %`]
    ],
    counts
  }
}

const assetOf = ({ name, question }: Catalogue, { asset, name: inEnglish }: ChallengeSummary): string =>
  question.nameAndKey(name(asset, inEnglish), asset)

const directionalView = (frame: Frame, view: ChallengeView<Challenge>): Page => {
  const { drawn, results, terms } = view
  const { say } = frame
  const words = say.question
  const [before, after] = words.priceAt
  return challengeLayout(frame, view, {
    answer: directionalAnswer(frame, view),
    ended: [say.states.cancelled, terms.cancel_reason],
    facts: [
      [words.asset, assetOf(say, view.asked)],
      [
        words.result,
        results.result === null ? null : html`<strong>${side(results.result, false, say)}</strong>`
      ],
      [words.deadline, at(terms.deadline, say)],
      [words.decidedBy, html`${before}${at(terms.resolve_at, say)}${after}`],
      [words.openPrice, number(terms.open_price)],
      [words.closingPrice, results.close_price === null ? null : number(results.close_price)],
      [words.deadZone, results.dead_zone_pct === null ? null : `± ${roughly(results.dead_zone_pct)} %`],
      [words.event, terms.event_id === null ? null : eventLink(frame, terms.event_id, view.asked.event_title)]
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
          settled: { price: results.close_price, as: words.closingPrice }
        })
      },
      drawn.prices,
      say
    ),
    withoutCriteria: html`<p>${words.withoutText}</p>`,
    said: {
      title: words.predictions,
      soFar: directionalCounts(terms, say),
      chart: () => directionChart(drawn.answers, words.sides, results.result, say),
      meaning: words.saysDirection
    },
    words: words.recordOfDirection
  })
}

const macroOutcome = (terms: MacroChallenge, { bin: winner }: Results, say: Catalogue) => {
  if (terms.actual_value === null) return null
  const bin = terms.bins.find(({ index }) => index === winner)
  const outcome_name = bin?.name ?? null
  const { actual_value, unit } = terms
  return html`<strong
      >${formatOutcome({ actual_value, outcome_name, result: null, type: "macro", unit }, say)}</strong
    >${bin === undefined || outcome_name !== null ? null : html` <small>${say.question.inBin(binRange(bin, say))}</small>`}`
}

const macroView = (
  frame: Frame,
  view: ChallengeView<MacroChallenge, Pick<ChartData, "answers" | "now">> & {
    readonly odds: PoolOdds
    readonly figures: ReadonlyArray<typeof PublishedRelease.Type>
  }
): Page => {
  const { drawn, figures, odds, results, terms } = view
  const { say } = frame
  const words = say.question
  const count = results.prediction_count
  return challengeLayout(frame, view, {
    answer: {
      first:
        terms.actual_value === null
          ? [words.status, terms.status === "void" ? say.states.void : words.notPublished]
          : [
              terms.categories === null ? words.published : words.announced,
              macroOutcome(terms, results, say)
            ],
      more: [
        [words.release, terms.actual_value === null ? at(terms.release_at, say) : null],
        [words.rewardPool, terms.reward_pool === 0 ? null : say.credits(number(terms.reward_pool), false)],
        [words.bestCall, bestCall(frame, results)]
      ],
      counts: String(count)
    },
    ended: [say.states.void, terms.void_reason],
    facts: [
      [terms.categories === null ? words.publishedValue : words.announced, macroOutcome(terms, results, say)],
      [words.deadline, at(terms.deadline, say)],
      [words.releaseExpected, at(terms.release_at, say)],
      [words.unit, terms.unit],
      terms.categories === null
        ? [words.referenceScale, results.reference_scale === null ? null : roughly(results.reference_scale)]
        : [words.reference, inWords(terms.categories, say)]
    ],
    figures:
      figures.length === 0
        ? null
        : html`<section aria-labelledby="prints">
            <h2 id="prints">${words.pastPrints}</h2>
            ${printsTable(frame, figures)}
          </section>`,
    pool: poolSection(terms, odds, results, say),
    said: {
      title: words.forecasts,
      soFar: words.forecastCount(String(count), count === 1),
      chart: () =>
        terms.categories === null
          ? forecastChart(drawn.answers, { unit: terms.unit, actual: terms.actual_value }, say)
          : categoryChart(drawn.answers, terms.categories, terms.actual_value, say),
      meaning: terms.categories === null ? words.byCrps : words.byRps
    },
    words: words.recordOfMacro,
    alsoAsJson: [[`/api/v1/eval/macro/challenges/${terms.id}/odds`, words.itsPool]]
  })
}

const priceEventResult = (terms: PriceEvent, say: Catalogue): Html => {
  if (terms.result === null) return null
  return html`<strong>${side(terms.result, true, say)}</strong>`
}

const priceEventAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<PriceEvent>): Answer => {
  const { say } = frame
  const words = say.question
  const counts = String(results.prediction_count)
  const best = [words.bestCall, bestCall(frame, results)] as const
  if (terms.result !== null) {
    return { first: [words.result, side(terms.result, true, say)], more: [best], counts }
  }
  if (results.actual_value !== null) {
    return {
      first: [words.observed[terms.kind] ?? terms.kind, number(results.actual_value)],
      more: [best],
      counts
    }
  }
  const now = lastPrice(drawn)
  const { level } = terms
  return {
    first:
      terms.status === "void"
        ? [words.result, say.states.void]
        : [words.lastPrice, now === undefined ? words.noPrice : number(now)],
    more: [
      [
        words.toTheLevel,
        now === undefined || level === null
          ? null
          : words.moveTo(change(percentFrom(level, now)), number(level))
      ]
    ],
    counts
  }
}

const priceEventView = (frame: Frame, view: ChallengeView<PriceEvent>): Page => {
  const { drawn, results, terms } = view
  const { say } = frame
  const words = say.question
  const observed = words.observed[terms.kind] ?? terms.kind
  const { answers, closes, counts, hasWindow } = candleFacts[terms.kind]
  const isYesOrNo = answers === "yes_no"
  const count = results.prediction_count
  const observation = results.actual_value ?? results.close_price
  return challengeLayout(frame, view, {
    answer: priceEventAnswer(frame, view),
    ended: [say.states.void, terms.void_reason],
    facts: [
      [words.asset, assetOf(say, view.asked)],
      [words.result, priceEventResult(terms, say)],
      [observed, observation === null ? null : number(observation)],
      [words.level, terms.level === null ? null : number(terms.level)],
      [words.deadline, at(terms.deadline, say)],
      [words.from, terms.window_from === null ? null : at(terms.window_from, say)],
      [words.candlesUntil, at(terms.resolve_at, say)],
      [words.referenceScale, terms.reference_scale === null ? null : roughly(terms.reference_scale)]
    ],
    prices: priceChart(
      {
        asset: terms.asset,
        from: drawn.from,
        deadline: dateOf(terms.deadline),
        resolveAt: dateOf(terms.resolve_at),
        ...(terms.level !== null && { level: terms.level }),
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
      say
    ),
    said: {
      title: words.answers,
      soFar: words.answerCount(String(count), count === 1),
      chart: () =>
        !isYesOrNo
          ? forecastChart(
              drawn.answers,
              {
                unit: null,
                actual: results.actual_value,
                ...(counts !== null && { max: counts })
              },
              say
            )
          : directionChart(drawn.answers, words.yesAndNo, terms.result, say),
      meaning: isYesOrNo ? words.saysYesOrNo : words.byCrps
    },
    words: isYesOrNo ? words.recordOfLevel(observed) : words.recordOfNumber(observed)
  })
}
