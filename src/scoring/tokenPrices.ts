/**
 * The cost of tokens. Prices are exact: whole numbers of 10^-12 credit for a token, so that a call of a hundred tokens of a cheap
 * model costs its price, rounded up once, to a whole micro-credit.
 */

/** Prices of a token, or of an image of the prompt beside its tokens, in 10^-12 credit. */
export interface TokenPrice {
  readonly input: bigint
  /** The price of prompt tokens read from the provider's cache. */
  readonly cachedInput: bigint
  /** The price of prompt tokens written to the cache, for minutes or for an hour. */
  readonly cacheWrite: bigint
  readonly cacheWriteLong: bigint
  readonly output: bigint
  /** The price of reasoning tokens in the answer. */
  readonly reasoning: bigint
  readonly image: bigint
}

/** The numbers of tokens of a prompt, and of those among them that were read from a cache or written to one. */
export interface PromptTokens {
  readonly prompt: number
  readonly cached: number
  readonly written: number
  readonly writtenLong: number
}

export interface Tokens extends PromptTokens {
  readonly completion: number
  readonly reasoning: number
}

/** A call's costs beside its tokens, and a factor on their price. */
export interface Surcharge {
  /** A ratio: the price of a dearer tier is a multiple. */
  readonly factor: readonly [times: bigint, per: bigint]
  /** The fees in 10^-12 credit. */
  readonly fees: bigint
}

export const noSurcharge: Surcharge = { factor: [1n, 1n], fees: 0n }

/** The decimal places of a price in credits. */
export const pricePlaces = 12

const unitsInMicroCredit = 1_000_000n

/** A decimal text of at most twelve places, in units of a price; undefined if the text is no such decimal. */
export const priceOf = (decimal: string): bigint | undefined => {
  const shape = /^(\d{1,6})(?:\.(\d{1,12}))?$/.exec(decimal)
  if (shape === null) return undefined
  const [, whole = "", fraction = ""] = shape
  return BigInt(whole + fraction.padEnd(pricePlaces, "0"))
}

const roundedUp = (amount: bigint, divisor: bigint): bigint => (amount + divisor - 1n) / divisor

/** The cost in micro-credits, rounded up once for all of a call. */
export const costOf = (price: TokenPrice, tokens: Tokens, images?: number, surcharge?: Surcharge): bigint =>
  roundedUp(exactCostOf(price, tokens, images, surcharge), unitsInMicroCredit)

/** The exact cost in 10^-12 credit. */
export const exactCostOf = (
  price: TokenPrice,
  { cached, completion, prompt, reasoning, written, writtenLong }: Tokens,
  images = 0,
  { factor: [times, per], fees }: Surcharge = noSurcharge
): bigint => {
  const units =
    BigInt(prompt - cached - written - writtenLong) * price.input +
    BigInt(cached) * price.cachedInput +
    BigInt(written) * price.cacheWrite +
    BigInt(writtenLong) * price.cacheWriteLong +
    BigInt(completion - reasoning) * price.output +
    BigInt(reasoning) * price.reasoning +
    BigInt(images) * price.image
  return roundedUp(units * times + fees * per, per)
}

const larger = (...prices: ReadonlyArray<bigint>): bigint =>
  prices.reduce((max, price) => (price > max ? price : max))

/** The maximum cost of this many tokens, whichever of them turn out to be cached, written or reasoning. */
export const maxCostOf = (
  price: TokenPrice,
  { completion, prompt, writesCache }: { prompt: number; completion: number; writesCache: boolean },
  images: number,
  surcharge: Surcharge
): bigint => {
  const written = writesCache ? [price.cacheWrite, price.cacheWriteLong] : []
  const dearest = {
    ...price,
    input: larger(price.input, price.cachedInput, ...written),
    output: larger(price.output, price.reasoning)
  }
  return costOf(dearest, tokensOf(prompt, completion), images, surcharge)
}

/** Tokens of which none are cached or reasoning. */
export const tokensOf = (prompt: number, completion: number): Tokens => ({
  prompt,
  cached: 0,
  written: 0,
  writtenLong: 0,
  completion,
  reasoning: 0
})
