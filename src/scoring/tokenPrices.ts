/**
 * What tokens cost. Prices are exact: whole numbers of 10^-12 credit for a token, so that a call of a hundred tokens of a
 * cheap model costs what the price says, rounded up once, to a whole micro-credit.
 */

/** For a token of the prompt and one of the answer, in 10^-12 credit. */
export interface TokenPrice {
  readonly input: bigint
  readonly output: bigint
}

export interface Tokens {
  readonly prompt: number
  readonly completion: number
}

/** Decimal places of a price in credits. */
export const pricePlaces = 12

const unitsInMicroCredit = 1_000_000n

/** A decimal as a text, of at most twelve places, in units of a price; undefined where it is none. */
export const priceOf = (decimal: string): bigint | undefined => {
  const shape = /^(\d{1,6})(?:\.(\d{1,12}))?$/.exec(decimal)
  if (shape === null) return undefined
  const [, whole = "", fraction = ""] = shape
  return BigInt(whole + fraction.padEnd(pricePlaces, "0"))
}

/** In micro-credits, rounded up once for all tokens of a call. */
export const costOf = (price: TokenPrice, { completion, prompt }: Tokens): bigint => {
  const units = BigInt(prompt) * price.input + BigInt(completion) * price.output
  return (units + unitsInMicroCredit - 1n) / unitsInMicroCredit
}
