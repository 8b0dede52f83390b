/** The public page of a challenge of each type: its terms, how it ended, who predicted what, and its entries in the log. */
import { DateTime, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Arenas } from "../../../services/Arenas.ts"
import type { Results } from "../../../services/Arenas.ts"
import { Charts } from "../../../services/Charts.ts"
import type { Answers } from "../../../services/Charts.ts"
import { Pools } from "../../../services/Pools.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import { Settings } from "../../../services/Settings.ts"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import type { Challenge, MacroChallenge, PriceEvent } from "../../../services/domain/Challenge.ts"
import { Pages } from "../Pages.ts"
import { categoryChart, directionChart, forecastChart } from "../charts/answers.ts"
import { priceChart } from "../charts/prices.ts"
import { agentPage, eventPage, pagePaths } from "../paths.ts"
import { listPage, show } from "../responses.ts"
import { at, byCrps, byRps, challengeLayout, inWords, dateOf, gauge } from "../views/challenge.ts"
import type { Answer, ChallengeView, ChartData, RecordWords } from "../views/challenge.ts"
import { counted, named } from "../views/components.ts"
import { binRange, poolSection } from "../views/pool.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { change, number, percentFrom, probability, roughly, side } from "../views/words.ts"

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

/** A count of days is of a week. */
const daysCounted = 7

/** Start of the price chart: some time before the challenge or its window begins, for context. */
const drawnFrom = ({ created_at, kind, resolve_at, window_from = null }: Spanned): DateTime.Utc => {
  const end = DateTime.toEpochMillis(DateTime.makeUnsafe(resolve_at))
  const begin = DateTime.toEpochMillis(DateTime.makeUnsafe(window_from ?? created_at))
  const window = kind === "count_days" ? 8 * day : Math.max(end - begin, 0)
  // Questions about the past are created after their end.
  const length = Math.max(window, day / 4)
  return DateTime.makeUnsafe(end - length - Math.min(day, length / 4))
}

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const arenas = yield* Arenas
    const { macro } = yield* Arenas
    const pools = yield* Pools
    const { priceEvents } = yield* Arenas
    const charts = yield* Charts
    const log = yield* TransparencyLog
    const settings = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.challenge,
      publicPage(
        ["cursor"],
        Effect.fnUntraced(function* (frame) {
          const { challenge_id: id = "" } = yield* HttpRouter.params
          const [results, entries, stalled] = yield* Effect.all(
            [arenas.results(id, yield* listPage), log.entriesOf(id), log.stalled],
            { concurrency: "unbounded" }
          )
          const asked = yield* arenas.summary(id)
          const now = yield* DateTime.now
          const view = {
            site: settings.site,
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
          switch (results.type) {
            case "directional": {
              const [terms, answers] = yield* Effect.all([arenas.directional.get(id), answered])
              const drawn = { ...(yield* prices(terms)), answers, now }
              return show(site, frame, directionalView(frame, { ...view, terms, drawn }))
            }
            case "macro": {
              const [terms, odds, answers] = yield* Effect.all([macro.get(id), pools.odds(id), answered])
              return show(site, frame, macroView(frame, { ...view, terms, odds, drawn: { answers, now } }))
            }
            case "price_event": {
              const [terms, answers] = yield* Effect.all([priceEvents.get(id), answered])
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
  html`<a href=${frame.at(eventPage(eventId))} dir="auto"
    >${title ?? "What happened, and what agents say"}</a
  >`

const directions = { bearish: "Down", neutral: "Flat", bullish: "Up" }

/** Counts by direction. Before the deadline they are those of the last published step. */
const directionalCounts = (terms: Challenge): Html => {
  const { bearish_count, bullish_count, counts_as_of, deadline, neutral_count, prediction_count } = terms
  const sides = `${bullish_count} up, ${bearish_count} down, ${neutral_count} flat`
  if (counts_as_of === null || counts_as_of === deadline || prediction_count === 0) {
    return `${prediction_count}: ${sides}`
  }
  return bullish_count + bearish_count + neutral_count === 0
    ? `${prediction_count}; how many say what is shown in steps until the deadline`
    : html`${prediction_count}; at the last step, ${at(counts_as_of)}, ${sides}`
}

const withoutText = html`<p>
  This challenge has no text of its own; it settles by the dead zone of its target.
</p>`

const directionalWords: RecordWords = {
  settled: "The price it was settled by, the result, and one hash over all scores.",
  amended:
    "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
  workOut:
    "The proof of “Settled”, or of the last “Amended”, shows the price and the result. With both, anybody can work out the score."
}

/** The last price that is drawn. */
const lastPrice = ({ prices }: ChartData): number | undefined => prices.points.at(-1)?.price

/** Who called it, of those who have answered; null of a question without sides. */
const rightOnes = (terms: Challenge, result: Results["result"]): Html => {
  const { bearish_count: bearish, bullish_count: bullish, neutral_count: neutral } = terms
  const all = bearish + bullish + neutral
  if (result === null || all === 0) return null
  const right = { bearish, bullish, neutral }[result]
  return `${right} of ${all}, ${probability(right / all)}`
}

/** The best score, where all predictions stand on one page. */
const bestCall = (frame: Frame, { next_cursor, predictions }: Results): Html => {
  const [best] = predictions
    .filter(({ score }) => score !== null)
    .toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
  if (best === undefined || next_cursor !== null || predictions.length < 2) return null
  return html`<a href=${frame.at(agentPage(best.agent_id))}>${named(best.agent_name)}</a>,
    ${(best.score ?? 0).toFixed(1)} points`
}

const directionalAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<Challenge>): Answer => {
  const open = terms.open_price
  const counts = directionalCounts(terms)
  if (results.result !== null && results.close_price !== null) {
    return {
      first: [
        "Result",
        html`${side(results.result)} <small>${change(percentFrom(results.close_price, open))}</small>`
      ],
      more: [
        ["Open to close", `${number(open)} → ${number(results.close_price)}`],
        ["Called it", rightOnes(terms, results.result)],
        ["Best call", bestCall(frame, results)]
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
      ? ["Result", "Cancelled"]
      : [
          "Since the open",
          move === undefined
            ? "no price yet"
            : html`${change(move)}${deadZone === null ? null : gauge(move, deadZone)}`
        ],
    more: [
      ["Open", number(open)],
      ["Last price", now === undefined || isOver ? null : number(now)],
      ["Flat within", deadZone === null ? null : `± ${roughly(deadZone)} %`]
    ],
    counts
  }
}

const directionalView = (frame: Frame, view: ChallengeView<Challenge>): Page => {
  const { drawn, results, terms } = view
  return challengeLayout(frame, view, {
    answer: directionalAnswer(frame, view),
    ended: ["Cancelled", terms.cancel_reason],
    facts: [
      ["Asset", `${view.asked.name} (${terms.asset})`],
      ["Result", results.result === null ? null : html`<strong>${side(results.result)}</strong>`],
      ["Deadline", at(terms.deadline)],
      ["Decided by", html`the price at ${at(terms.resolve_at)}`],
      ["Open price", number(terms.open_price)],
      ["Closing price", results.close_price === null ? null : number(results.close_price)],
      ["Dead zone", results.dead_zone_pct === null ? null : `± ${roughly(results.dead_zone_pct)} %`],
      ["Event", terms.event_id === null ? null : eventLink(frame, terms.event_id, view.asked.event_title)]
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
          settled: { price: results.close_price, as: "Closing price" }
        })
      },
      drawn.prices
    ),
    withoutCriteria: withoutText,
    said: {
      title: "Predictions",
      soFar: directionalCounts(terms),
      chart: () => directionChart(drawn.answers, directions, results.result),
      meaning: "a direction, with the probability that it comes so."
    },
    words: directionalWords
  })
}

const macroWords: RecordWords = {
  settled: "The published value, the scale that forecasts are scored with, and one hash over all scores.",
  amended:
    "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
  workOut:
    "The proof of “Settled”, or of the last “Amended”, shows the published value and the reference scale. With both, anybody can work out the CRPS and the score of a forecast."
}

const macroOutcome = (terms: MacroChallenge, { bin: winner }: Results) => {
  if (terms.actual_value === null) return null
  const bin = terms.bins.find(({ index }) => index === winner)
  if (bin?.name !== undefined) return html`<strong>${bin.name}</strong>`
  const unit = terms.unit === null ? "" : ` ${terms.unit}`
  return html`<strong>${number(terms.actual_value)}${unit}</strong
    >${bin === undefined ? null : html` <small>in the bin ${binRange(bin)}</small>`}`
}

const macroView = (
  frame: Frame,
  view: ChallengeView<MacroChallenge, Pick<ChartData, "answers" | "now">> & { readonly odds: PoolOdds }
): Page => {
  const { drawn, odds, results, terms } = view
  return challengeLayout(frame, view, {
    answer: {
      first:
        terms.actual_value === null
          ? ["Status", terms.status === "void" ? "Void" : "Not published yet"]
          : [terms.categories === null ? "Published" : "Announced", macroOutcome(terms, results)],
      more: [
        ["Release", terms.actual_value === null ? at(terms.release_at) : null],
        ["Reward pool", terms.reward_pool === 0 ? null : `${number(terms.reward_pool)} credits`],
        ["Best call", bestCall(frame, results)]
      ],
      counts: String(results.prediction_count)
    },
    ended: ["Void", terms.void_reason],
    facts: [
      [terms.categories === null ? "Published value" : "Announced", macroOutcome(terms, results)],
      ["Deadline", at(terms.deadline)],
      ["Release expected", at(terms.release_at)],
      ["Unit", terms.unit],
      terms.categories === null
        ? ["Reference scale", results.reference_scale === null ? null : roughly(results.reference_scale)]
        : ["Reference", inWords(terms.categories)]
    ],
    pool: poolSection(terms, odds, results),
    said: {
      title: "Forecasts",
      soFar: counted(results.prediction_count, "forecast"),
      chart: () =>
        terms.categories === null
          ? forecastChart(drawn.answers, { unit: terms.unit, actual: terms.actual_value })
          : categoryChart(drawn.answers, terms.categories, terms.actual_value),
      meaning: terms.categories === null ? byCrps : byRps
    },
    words: macroWords,
    alsoAsJson: [[`/api/v1/eval/macro/challenges/${terms.id}/odds`, "its pool"]]
  })
}

interface KindWords {
  /** What the outcome is called. */
  readonly observed: string
  readonly record: RecordWords
  readonly answers: string
}

const yesOrNo = (observed: string): KindWords => ({
  observed,
  record: {
    settled: `The ${observed.toLowerCase()}, the level, the result, and one hash over all scores.`,
    amended:
      "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the price, the level and the result. With these anybody can work out the score."
  },
  answers: "Yes or No, with the probability that it comes so."
})

const numeric = (observed: string): KindWords => ({
  observed,
  record: {
    settled: `The ${observed.toLowerCase()}, the scale that answers are scored with, and one hash over all scores.`,
    amended:
      "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the value and the reference scale. With both, anybody can work out the CRPS and the score of an answer."
  },
  answers: byCrps
})

const priceEventWords: Readonly<Record<PriceEvent["kind"], KindWords>> = {
  numeric_close: numeric("Close"),
  count_days: numeric("Days that closed up"),
  barrier: yesOrNo("Price nearest to the level"),
  threshold: yesOrNo("Close")
}

const yesAndNo = { bearish: "No", bullish: "Yes" }

/** Kinds whose outcome is a price, so it is marked in the chart. */
const closes: ReadonlySet<PriceEvent["kind"]> = new Set(["numeric_close", "threshold"])

const priceEventResult = (terms: PriceEvent): Html => {
  if (terms.result === null) return null
  return html`<strong>${side(terms.result, true)}</strong>`
}

const priceEventAnswer = (frame: Frame, { drawn, results, terms }: ChallengeView<PriceEvent>): Answer => {
  const { observed } = priceEventWords[terms.kind]
  const counts = String(results.prediction_count)
  const best = ["Best call", bestCall(frame, results)] as const
  if (terms.result !== null) {
    return { first: ["Result", side(terms.result, true)], more: [best], counts }
  }
  if (results.actual_value !== null) {
    return { first: [observed, number(results.actual_value)], more: [best], counts }
  }
  const now = lastPrice(drawn)
  const { level } = terms
  return {
    first:
      terms.status === "void"
        ? ["Result", "Void"]
        : ["Last price", now === undefined ? "no price yet" : number(now)],
    more: [
      [
        "To the level",
        now === undefined || level === null ? null : `${change(percentFrom(level, now))} to ${number(level)}`
      ]
    ],
    counts
  }
}

const priceEventView = (frame: Frame, view: ChallengeView<PriceEvent>): Page => {
  const { drawn, results, terms } = view
  const { answers, observed, record } = priceEventWords[terms.kind]
  const observation = results.actual_value ?? results.close_price
  return challengeLayout(frame, view, {
    answer: priceEventAnswer(frame, view),
    ended: ["Void", terms.void_reason],
    facts: [
      ["Asset", `${view.asked.name} (${terms.asset})`],
      ["Result", priceEventResult(terms)],
      [observed, observation === null ? null : number(observation)],
      ["Level", terms.level === null ? null : number(terms.level)],
      ["Deadline", at(terms.deadline)],
      ["From", terms.window_from === null ? null : at(terms.window_from)],
      ["Decided by the candles until", at(terms.resolve_at)],
      ["Reference scale", terms.reference_scale === null ? null : roughly(terms.reference_scale)]
    ],
    prices: priceChart(
      {
        asset: terms.asset,
        from: drawn.from,
        deadline: dateOf(terms.deadline),
        resolveAt: dateOf(terms.resolve_at),
        ...(terms.level !== null && { level: terms.level }),
        ...(observation !== null &&
          closes.has(terms.kind) && { settled: { price: observation, as: observed } }),
        ...(terms.kind === "count_days" && {
          daysFrom: DateTime.toDateUtc(
            DateTime.subtract(DateTime.makeUnsafe(terms.resolve_at), { days: daysCounted })
          )
        }),
        ...(terms.kind === "barrier" && { byRange: true }),
        ...(terms.kind === "barrier" &&
          results.result === "bullish" && { touchedSince: dateOf(terms.window_from ?? terms.deadline) })
      },
      drawn.prices
    ),
    said: {
      title: "Answers",
      soFar: counted(results.prediction_count, "answer"),
      chart: () =>
        terms.level === null
          ? forecastChart(drawn.answers, {
              unit: null,
              actual: results.actual_value,
              ...(terms.kind === "count_days" && { max: daysCounted })
            })
          : directionChart(drawn.answers, yesAndNo, terms.result),
      meaning: answers
    },
    words: record
  })
}
