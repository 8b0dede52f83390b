/**
 * Whether a barrier may be decided by now. The job asks every few seconds, of windows that may have a hundred thousand
 * hours, so it is remembered what the hours spanned that followed on each other up to the last look, and only later ones
 * are looked at. What is remembered decides nothing: that is done by all candles that count.
 */
import { BigDecimal, DateTime, Duration, Effect, Option } from "effect"
import { hour } from "../../../scoring/priceEvents.ts"
import type { PriceEventQuestion } from "../../../scoring/priceEvents.ts"
import type { ChallengeId } from "../../../services/identifiers.ts"
import { Prices } from "../../../services/Prices.ts"
import type { HourlySpan } from "../../../services/Prices.ts"

/** An hour that was looked at can be corrected, or imported anew: so often the whole window is looked at again. */
const trustedFor = Duration.hours(1)

interface Span {
  readonly low: BigDecimal.BigDecimal
  readonly high: BigDecimal.BigDecimal
}

interface Look {
  /** When the window was looked at from its beginning. */
  readonly begunAt: DateTime.Utc
  /** Every hour before it is known. */
  readonly until: number
  readonly span: Option.Option<Span>
}

type Barrier = Extract<PriceEventQuestion, { readonly kind: "barrier" }>

const joined = (one: Option.Option<Span>, other: Option.Option<Span>): Option.Option<Span> =>
  Option.isSome(one) && Option.isSome(other)
    ? Option.some({
        low: BigDecimal.min(one.value.low, other.value.low),
        high: BigDecimal.max(one.value.high, other.value.high)
      })
    : Option.orElse(one, () => other)

export const makeBarrierLooks = Effect.gen(function* () {
  const prices = yield* Prices
  const looks = new Map<ChallengeId, Look>()

  const mayBeDecided = Effect.fnUntraced(function* (
    id: ChallengeId,
    asset: string,
    { level, resolveAt, windowFrom }: Barrier,
    now: DateTime.Utc
  ) {
    const remembered = looks.get(id)
    const isFresh =
      remembered !== undefined && Duration.isLessThan(DateTime.distance(remembered.begunAt, now), trustedFor)
    const before: Look = isFresh ? remembered : { begunAt: now, until: windowFrom, span: Option.none() }
    const known = yield* prices.hourlySpan(asset, before.until, resolveAt)
    const span = joined(before.span, known)
    const isGapless = ({ count, until }: HourlySpan) => count === (until - before.until) / hour
    const look = Option.match(Option.filter(known, isGapless), {
      onNone: () => before,
      onSome: ({ until }): Look => ({ ...before, until, span })
    })
    looks.set(id, look)
    const isTouched = Option.exists(span, ({ high, low }) =>
      BigDecimal.between(level, { minimum: low, maximum: high })
    )
    return isTouched || look.until === resolveAt
  })

  /** Forgets those that are no longer asked about. */
  const keepOnly = (ids: ReadonlySet<ChallengeId>) =>
    Effect.sync(() => {
      for (const id of looks.keys()) if (!ids.has(id)) looks.delete(id)
    })

  return { mayBeDecided, keepOnly }
})
