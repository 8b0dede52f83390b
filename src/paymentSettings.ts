/** The settings of the payment provider that owners buy credit by; part of the table in `src/config.ts`. */
import { Option, Result } from "effect"
import type { Redacted } from "effect"
import { decimalsOf, isCurrency } from "./services/money.ts"
import type { CreditPackage } from "./services/PaymentProvider.ts"
import { duration, limit, plain, secret } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

/** What is needed of Stripe. */
export interface StripeSettings {
  readonly secretKey: Redacted.Redacted
  readonly webhookSecret: Redacted.Redacted
  readonly packages: ReadonlyArray<CreditPackage>
  readonly api: URL
  readonly checkoutOrigin: string
}

/** What Stripe takes at most is eight digits. */
const largestPrice = 99_999_999
const mostPackages = 12

const parsePackage = (text: string): CreditPackage | undefined => {
  const shape = /^\s*([1-9]\d{0,7}) for (\d{1,8}(?:\.\d{1,2})?) ([a-z]{3})\s*$/.exec(text)
  const [, credits = "", price = "", currency = ""] = shape ?? []
  if (!isCurrency(currency) || Number(credits) > 10_000_000) return undefined
  const [whole = "", fraction = ""] = price.split(".")
  const decimals = decimalsOf(currency)
  if (fraction.length > decimals) return undefined
  const amount = Number(whole + fraction.padEnd(decimals, "0"))
  return amount > 0 && amount <= largestPrice
    ? { credits: Number(credits), price: { amount, currency } }
    : undefined
}

const parsePackages = (text: string): Option.Option<ReadonlyArray<CreditPackage>> => {
  const parts = text.toLowerCase().split(",")
  const packages = parts.map(parsePackage).filter((each) => each !== undefined)
  return packages.length === parts.length && packages.length <= mostPackages
    ? Option.some(packages)
    : Option.none()
}

/** An address without a path: https, but for what listens on this machine. */
const origin = (text: string): Option.Option<URL> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.href !== `${url.origin}/`) return Option.none()
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback)
    ? Option.some(url)
    : Option.none()
}

const isToken = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

/** As the provider shows it, without the space that comes along when it is copied. */
const copied = (name: string, meaning: string): Setting<Redacted.Redacted> => {
  const whole = secret(name, 8, meaning)
  return { ...whole, parse: (text) => (isToken(text.trim()) ? whole.parse(text.trim()) : Option.none()) }
}

export const paymentSettings = {
  stripeSecretKey: copied(
    "AUSPEX_STRIPE_SECRET_KEY",
    "Lets owners buy credit by Stripe Checkout: the secret key of your account, or one restricted to writing Checkout Sessions."
  ),
  stripeWebhookSecret: copied(
    "AUSPEX_STRIPE_WEBHOOK_SECRET",
    "What Stripe signs its messages to BASE_URL/api/v1/stripe/webhook with."
  ),
  creditPackages: plain({
    name: "AUSPEX_CREDIT_PACKAGES",
    defaultText: null,
    takes: 'credits and prices such as "500 for 5 eur, 2200 for 20 eur", at most 12',
    meaning: "What owners can buy; nothing has a price unless you set it.",
    parse: parsePackages
  }),
  stripeApi: plain({
    name: "AUSPEX_STRIPE_API",
    defaultText: "https://api.stripe.com",
    takes: "an https URL without a path (http on loopback)",
    meaning: "Where Stripe's API is; another one for tests.",
    parse: origin
  }),
  stripeCheckout: plain({
    name: "AUSPEX_STRIPE_CHECKOUT",
    defaultText: "https://checkout.stripe.com",
    takes: "an https URL without a path (http on loopback)",
    meaning:
      "Where buyers are sent to pay, and nowhere else; yours if you have a custom domain for Checkout.",
    parse: origin
  }),
  checkoutInterval: duration(
    "AUSPEX_STRIPE_ASK_INTERVAL",
    "5 minutes",
    "How often Stripe is asked about checkouts that were begun more than ten minutes ago and whose end its messages have not told."
  ),
  limitPurchases: limit("AUSPEX_LIMIT_PURCHASES", "10/hour", "Purchases begun, per owner.")
} satisfies Record<string, Setting<unknown>>

/** All that belongs together, or what is missing. */
export const stripeOf = (given: {
  readonly secretKey: Option.Option<Redacted.Redacted>
  readonly webhookSecret: Option.Option<Redacted.Redacted>
  readonly packages: Option.Option<ReadonlyArray<CreditPackage>>
  readonly api: URL
  readonly checkout: URL
}): Result.Result<Option.Option<StripeSettings>, string> => {
  const { api, checkout, packages, secretKey, webhookSecret } = given
  if (Option.isSome(secretKey) && Option.isSome(webhookSecret) && Option.isSome(packages)) {
    return Result.succeed(
      Option.some({
        secretKey: secretKey.value,
        webhookSecret: webhookSecret.value,
        packages: packages.value,
        api,
        checkoutOrigin: checkout.origin
      })
    )
  }
  const needed = [
    ["AUSPEX_STRIPE_SECRET_KEY", Option.isSome(secretKey)],
    ["AUSPEX_STRIPE_WEBHOOK_SECRET", Option.isSome(webhookSecret)],
    ["AUSPEX_CREDIT_PACKAGES", Option.isSome(packages)]
  ] as const
  const missing = needed.filter(([, isSet]) => !isSet).map(([name]) => name)
  return missing.length === needed.length
    ? Result.succeed(Option.none())
    : Result.fail(`${missing.join(" and ")} must be set when the other settings of payments are.`)
}
