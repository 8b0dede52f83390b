/** Money that is paid for credit. Credit itself is no money: src/services/Credits.ts. */

/** In the smallest unit of its currency, as payment providers count it. */
export interface Money {
  readonly amount: number
  /** ISO 4217, in lower case. */
  readonly currency: string
}

/** Currencies without a smaller unit. https://docs.stripe.com/currencies#zero-decimal */
const withoutDecimals: ReadonlySet<string> = new Set(
  "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" ")
)

/** What providers count otherwise than in units, hundredths or not at all is not taken. */
const countedOtherwise: ReadonlySet<string> = new Set("bhd isk jod kwd omr tnd ugx".split(" "))

const known: ReadonlySet<string> = new Set(
  Intl.supportedValuesOf("currency").map((code) => code.toLowerCase())
)

/** Whether prices can be in this currency. */
export const isCurrency = (code: string): boolean => known.has(code) && !countedOtherwise.has(code)

export const decimalsOf = (currency: string): number => (withoutDecimals.has(currency) ? 0 : 2)

/** For people: €5.00. */
export const moneyText = ({ amount, currency }: Money): string => {
  const decimals = decimalsOf(currency)
  return new Intl.NumberFormat("en", {
    style: "currency",
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals
  }).format(amount / 10 ** decimals)
}
