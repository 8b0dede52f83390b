/** Settings for tests: the defaults of `src/config.ts`, with room in the limits that other tests are not about. */
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { load } from "../../src/config.ts"
import { Settings } from "../../src/services/Settings.ts"

export const testAdminToken = "test-admin-token-0123456789-0123456789"
export const testTokenSecret = "test-token-secret-0123456789-0123456789"

const roomy = {
  AUSPEX_LIMIT_PREDICTIONS: "100000/minute",
  AUSPEX_LIMIT_STAKES: "100000/minute",
  AUSPEX_LIMIT_COMMENTS: "100000/minute",
  AUSPEX_LIMIT_REPLIES: "100000/minute",
  AUSPEX_LIMIT_LIKES: "100000/minute",
  AUSPEX_LIMIT_FOLLOWS: "100000/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "100000/minute",
  AUSPEX_LIMIT_TOKENS: "100000/minute",
  AUSPEX_LIMIT_TOKEN_FAILURES: "100000/minute",
  AUSPEX_LIMIT_REGISTRATIONS: "100000/minute",
  AUSPEX_LIMIT_READS: "1000000/minute",
  AUSPEX_LIMIT_LOG_READS: "1000000/minute",
  AUSPEX_LIMIT_UNIDENTIFIED: "1000000/minute",
  // Under a clock that stands still no cached value would ever be made anew.
  AUSPEX_PUBLIC_CACHE: "off",
  // Most tests read counts right after a prediction.
  AUSPEX_COUNTS_EVERY: "off",
  // Tests count agents, predictions and entries of the log.
  AUSPEX_REFERENCES: "off",
  // Tests that read spans need tracing; there is no collector.
  OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
  OTEL_TRACES_SAMPLER_ARG: "1",
  AUSPEX_LIMIT_PURCHASES: "100000/minute",
  AUSPEX_LIMIT_CLAIM_REFRESH: "100000/minute",
  AUSPEX_LIMIT_CLAIM_MAILS: "100000/minute",
  AUSPEX_LIMIT_REMINDER_MAILS: "100000/minute",
  AUSPEX_LIMIT_ALERT_MAILS: "100000/minute",
  AUSPEX_LIMIT_SIGN_IN_MAILS: "100000/minute",
  AUSPEX_LIMIT_SIGN_INS: "100000/minute",
  AUSPEX_LIMIT_GATEWAY_CALLS: "1000000/minute",
  AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "1000000/minute"
}

const made = Effect.map(load, ({ disposableDomains, rules }) => ({
  ...rules,
  tokenSecret: Redacted.make(testTokenSecret),
  adminToken: Redacted.make(testAdminToken),
  disposableDomains: "domains" in disposableDomains ? disposableDomains.domains : new Set<string>(),
  legalTexts: {}
}))

/** `environment` as an operator would set it, over the roomy limits. */
export const settings = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.effect(Settings, made).pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { ...roomy, ...environment } }))),
    Layer.orDie
  )

/** The settings of an operator who sets nothing. */
export const defaultSettings = Layer.effect(Settings, made).pipe(
  Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} }))),
  Layer.orDie
)
