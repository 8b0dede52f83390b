import { createPrivateKey, generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Option, Redacted } from "effect"
import { allSettings, load } from "../../src/config.ts"
import { rawPublicKey } from "../../src/layers/crypto/signedNote.ts"
import { testLogKey } from "../support/logSigner.ts"

/** A key of another kind than a log's. */
const otherKey = generateKeyPairSync("x25519")
  .privateKey.export({ format: "der", type: "pkcs8" })
  .toString("base64")

type Environment = Readonly<Record<string, string>>

const loaded = (env: Environment) =>
  load.pipe(Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env }))))

const refusal = (env: Environment) => Effect.map(Effect.flip(loaded(env)), ({ message }) => message)

/** The defaults of spec/decisions.md, section 2. */
const decided: Environment = {
  AUSPEX_DATABASE_CONNECTIONS: "18",
  AUSPEX_DATABASE_BACKGROUND_CONNECTIONS: "2",
  AUSPEX_DATABASE_SETTINGS: "connection",
  AUSPEX_HOST: "127.0.0.1",
  AUSPEX_PORT: "8080",
  AUSPEX_OPS_HOST: "127.0.0.1",
  AUSPEX_OPS_PORT: "9464",
  AUSPEX_SITE: "global",
  AUSPEX_DATA_DIR: ".auspex",
  AUSPEX_ROLES: "api,jobs",
  AUSPEX_TOKEN_TTL: "60 minutes",
  AUSPEX_CLAIM_LINK_TTL: "48 hours",
  AUSPEX_CLAIM_GRANT: "500",
  AUSPEX_MIN_STAKE: "50",
  AUSPEX_LIMIT_CLAIM_REFRESH: "5/hour,20/day",
  AUSPEX_PROVISIONAL_GRACE: "7 days",
  AUSPEX_PROVISIONAL_PREDICTION_LIMIT: "10",
  AUSPEX_REVISIONS: "50",
  AUSPEX_PROVISIONAL_REVISIONS: "5",
  AUSPEX_ANSWER_BYTES: "20000000",
  AUSPEX_PROVISIONAL_ANSWER_BYTES: "1000000",
  AUSPEX_REGISTRATION_ATTEMPTS: "5",
  AUSPEX_JOB_INTERVAL: "15 seconds",
  AUSPEX_COUNTS_EVERY: "15 minutes,10",
  AUSPEX_ODDS_EVERY: "off",
  AUSPEX_DIRECTIONAL_CANCEL_AFTER: "7 days",
  AUSPEX_MACRO_VOID_AFTER: "60 days",
  AUSPEX_PRICE_EVENT_VOID_AFTER: "72 hours",
  AUSPEX_RANK_MIN_COUNT: "30",
  AUSPEX_RANK_MIN_DAYS: "30",
  AUSPEX_LIMIT_PREDICTIONS: "60/minute",
  AUSPEX_LIMIT_COMMENTS: "5/minute",
  AUSPEX_LIMIT_REPLIES: "10/minute",
  AUSPEX_LIMIT_LIKES: "30/minute",
  AUSPEX_LIMIT_FOLLOWS: "20/minute",
  AUSPEX_LIMIT_REFUSED_WRITES: "120/minute",
  AUSPEX_LIMIT_STAKES: "5/minute,50/day",
  AUSPEX_LIMIT_TOKENS: "20/minute",
  AUSPEX_LIMIT_TOKEN_FAILURES: "60/minute",
  AUSPEX_LIMIT_REGISTRATIONS: "20/hour",
  AUSPEX_LIMIT_READS: "600/minute",
  AUSPEX_LIMIT_LOG_READS: "6000/minute",
  AUSPEX_LIMIT_UNIDENTIFIED: "600/minute",
  AUSPEX_LIMIT_GATEWAY_CALLS: "60/minute",
  AUSPEX_GATEWAY_KEY_TTL: "90 days",
  AUSPEX_GATEWAY_KEY_MAX_TTL: "366 days",
  AUSPEX_GATEWAY_KEYS_PER_AGENT: "20",
  AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: "300/minute",
  AUSPEX_TRUSTED_PROXIES: "",
  AUSPEX_PRICE_SOURCE: "none"
}

/** Settings that are absent until somebody sets them: each of them means something else then. */
const absent = [
  "DATABASE_URL",
  "AUSPEX_MIGRATION_URL",
  "AUSPEX_SCHEDULES",
  "AUSPEX_MORE_ASSETS",
  "AUSPEX_BASE_URL",
  "AUSPEX_TOKEN_SECRET",
  "AUSPEX_TOKEN_SECRET_PREVIOUS",
  "AUSPEX_ADMIN_TOKEN",
  "AUSPEX_ADMIN_TOKEN_PREVIOUS",
  "AUSPEX_DRAIN_DELAY",
  "AUSPEX_SMTP_URL",
  "AUSPEX_MAIL_FROM",
  "AUSPEX_LOG_FORMAT",
  "AUSPEX_LOG_ORIGIN",
  "AUSPEX_LOG_KEY",
  "AUSPEX_LOG_KEY_PREVIOUS",
  "AUSPEX_OIDC_ISSUER",
  "AUSPEX_OIDC_CLIENT_ID",
  "AUSPEX_OIDC_CLIENT_SECRET",
  "AUSPEX_TSA_URL",
  "AUSPEX_STRIPE_SECRET_KEY",
  "AUSPEX_STRIPE_WEBHOOK_SECRET",
  "AUSPEX_CREDIT_PACKAGES",
  "AUSPEX_PRICE_REPLAY_DIR",
  "AUSPEX_EVENT_FEEDS",
  "AUSPEX_REGISTRATION_BANK",
  "AUSPEX_REGISTRATION_JUDGE_MODEL",
  "AUSPEX_GATEWAY_CONFIG",
  "AUSPEX_FRED_API_KEY",
  "OTEL_EXPORTER_OTLP_ENDPOINT"
]

/** Settings that the interface gives as a fixed number, or that are ours alone. */
const further: Environment = {
  AUSPEX_CLOSE_PRICE_WITHIN: "24 hours",
  AUSPEX_CLOSE_GRACE: "15 seconds",
  AUSPEX_PAPER_SIGNAL_SPACING: "60 seconds",
  AUSPEX_PAPER_PRICE_WITHIN: "4 days",
  AUSPEX_LARGEST_BATCH: "500",
  AUSPEX_MAX_CONNECTIONS: "10000",
  AUSPEX_MAX_CONNECTIONS_PER_ADDRESS: "512",
  AUSPEX_FOLLOWS_PER_AGENT: "5000",
  AUSPEX_MAX_WAITING_READERS: "5000",
  AUSPEX_MAX_WEBHOOKS: "20",
  AUSPEX_NOTICE_RETENTION: "30 days",
  AUSPEX_PUBLIC_CACHE: "1 second",
  AUSPEX_LOG_WITNESSES: "",
  AUSPEX_PRICE_EXCHANGES: "coinbaseexchange,kraken",
  AUSPEX_PRICE_HISTORY: "63 days",
  AUSPEX_FEED_INTERVAL: "5 minutes",
  AUSPEX_PRICE_SETTLE_DELAY: "1 minute",
  AUSPEX_PRICE_REREAD: "2 minutes",
  AUSPEX_SESSION_LEAD: "2 hours",
  AUSPEX_FLASH_TIME: "15 minutes",
  AUSPEX_FLASH_WITHIN: "1 hour",
  AUSPEX_WEEKLY_LEAD: "24 hours",
  AUSPEX_RELEASE_LEAD: "14 days",
  AUSPEX_RELEASE_CLOSE: "1 hour",
  AUSPEX_SCHEDULE_NOTICE: "10 minutes",
  AUSPEX_SCHEDULE_PRICE_WITHIN: "3 hours",
  AUSPEX_MIGRATE: "on",
  AUSPEX_PRACTICE: "on",
  AUSPEX_REFERENCES: "on",
  AUSPEX_MACRO_AUTO_RESOLVE: "off",
  AUSPEX_POOL_OWNER_RULE: "off",
  OTEL_TRACES_SAMPLER_ARG: "0.01",
  AUSPEX_LOG_LEVEL: "Info",
  AUSPEX_PAIRING_CODE_TRIES: "5",
  AUSPEX_AGENTS_PER_OPERATOR: "50",
  AUSPEX_DISPOSABLE_DOMAINS: "",
  AUSPEX_SIGN_IN_LINK_TTL: "10 minutes",
  AUSPEX_SESSION_IDLE: "12 hours",
  AUSPEX_SESSION_TTL: "7 days",
  AUSPEX_LIMIT_CLAIM_MAILS: "3/day",
  AUSPEX_LIMIT_REMINDER_MAILS: "20/day",
  AUSPEX_LIMIT_ALERT_MAILS: "20/day",
  AUSPEX_LIMIT_SIGN_IN_MAILS: "5/hour",
  AUSPEX_LIMIT_SIGN_INS: "20/hour",
  AUSPEX_PLAN_CREDIT_FREE: "0",
  AUSPEX_PLAN_CREDIT_PRO: "0",
  AUSPEX_PLAN_CREDIT_TEAM: "0",
  AUSPEX_STRIPE_API: "https://api.stripe.com",
  AUSPEX_STRIPE_CHECKOUT: "https://checkout.stripe.com",
  AUSPEX_STRIPE_ASK_INTERVAL: "5 minutes",
  AUSPEX_LIMIT_PURCHASES: "10/hour"
}

const witnessKeys = [
  "witness.example/w1+662c95e5+BAgQM5X5rtlPMdhkw1YvfGr+Rsr6JZOyqDyeiw1QT7Jt",
  "witness.example/w2+926cdeb5+BAgQM5X5rtlPMdhkw1YvfGr+Rsr6JZOyqDyeiw1QT7Jt"
] as const

const wrong: Readonly<Record<string, ReadonlyArray<string>>> = {
  AUSPEX_REVISIONS: ["-1", "1.5", "many"],
  AUSPEX_PROVISIONAL_REVISIONS: ["-1", "1.5", "many"],
  AUSPEX_ANSWER_BYTES: ["1000", "20 MB", "3000000000"],
  AUSPEX_PROVISIONAL_ANSWER_BYTES: ["1000", "1 MB", "3000000000"],
  DATABASE_URL: ["localhost", "mysql://u:p@h/d", "postgres:x"],
  AUSPEX_MIGRATION_URL: ["localhost", "mysql://u:p@h/d", "postgres:x"],
  AUSPEX_DATABASE_CONNECTIONS: ["1", "1001", "-1", "1.5", "many"],
  // One connection stays free for the log.
  AUSPEX_DATABASE_BACKGROUND_CONNECTIONS: ["1", "101"],
  AUSPEX_DATABASE_SETTINGS: ["pgbouncer", "Role"],
  AUSPEX_PORT: ["0", "65536", "-1", "80.5", "8080x", "0x50", " 80", "1e3"],
  AUSPEX_OPS_PORT: ["65536", "-1", "Off", "none", "9464x"],
  AUSPEX_BASE_URL: [
    "arena.example",
    "ftp://arena.example",
    "https://arena.example?x=1",
    "https://arena.example#x",
    "https://"
  ],
  AUSPEX_SITE: ["Global", "us", "global "],
  AUSPEX_ROLES: ["web", "api,", "api,api", "api jobs"],
  AUSPEX_TOKEN_SECRET: ["x".repeat(31)],
  AUSPEX_TOKEN_SECRET_PREVIOUS: ["x".repeat(31)],
  AUSPEX_ADMIN_TOKEN: ["x".repeat(31)],
  AUSPEX_ADMIN_TOKEN_PREVIOUS: ["x".repeat(31)],
  AUSPEX_DRAIN_DELAY: ["5", "soon", "-1 seconds"],
  AUSPEX_TRUSTED_PROXIES: ["localhost", "10.0.0.0/33", "10.0.0.1,nonsense", "::1/129"],
  AUSPEX_OIDC_ISSUER: [
    "accounts.example.org",
    "http://accounts.example.org",
    "https://accounts.example.org?x=1",
    "https://accounts.example.org#x",
    "https://user@accounts.example.org",
    "ftp://localhost"
  ],
  AUSPEX_SMTP_URL: ["mail.example.org", "http://mail.example.org", "smtp:///h", "smtp://h/?pool=true"],
  AUSPEX_MAIL_FROM: [
    "Auspex",
    "a@example.org, b@example.org",
    "Auspex <a@example.org>, b@example.org",
    "Auspex\nBcc: b@example.org <a@example.org>",
    "Auspex <a@localhost>"
  ],
  AUSPEX_DISPOSABLE_DOMAINS: ["trash", "trash.example;burner.example", "@trash.example", "*.trash.example"],
  AUSPEX_GATEWAY_KEY_TTL: ["90", "none"],
  AUSPEX_GATEWAY_KEY_MAX_TTL: ["never"],
  AUSPEX_GATEWAY_KEYS_PER_AGENT: ["0", "all"],
  AUSPEX_LOG_WITNESSES: [
    "https://witness.example",
    `https://witness.example,${witnessKeys[0]}`,
    `${witnessKeys[0]} https://witness.example`,
    `https://witness.example ${witnessKeys[0]} ${witnessKeys[1]}`,
    `https://witness.example ${witnessKeys[0].replace("662c95e5", "662c95e6")}`,
    // The key is a log's, not a witness's.
    "https://witness.example witness.example/w1+15373392+AQgQM5X5rtlPMdhkw1YvfGr+Rsr6JZOyqDyeiw1QT7Jt",
    `ftp://witness.example ${witnessKeys[0]}`,
    `https://user:password@witness.example ${witnessKeys[0]}`,
    `https://a.example ${witnessKeys[0]}, https://b.example ${witnessKeys[0]}`
  ],
  AUSPEX_TSA_URL: [
    "tsa.example",
    "ftp://tsa.example",
    "https://user:password@tsa.example",
    "https://tsa.example/#x"
  ],
  AUSPEX_PRICE_SOURCE: ["Live", "yahoo", "live,replay"],
  AUSPEX_PRICE_EXCHANGES: [
    "Kraken",
    "kraken:usd",
    "kraken,kraken",
    "kraken;binance",
    "kraken:",
    "https://kraken.com"
  ],
  AUSPEX_SCHEDULES: ["none", "on", "all", "session,weekly", "session,", "session,session"],
  AUSPEX_MORE_ASSETS: ["SOL", "sol:Solana", "SOL:", "SOL:Solana,", "SOL:Sol:ana", `SOL:${"x".repeat(41)}`],
  AUSPEX_MIGRATE: ["true", "yes", "On"],
  AUSPEX_PRACTICE: ["true", "yes", "On"],
  AUSPEX_REFERENCES: ["true", "yes", "On"],
  AUSPEX_MACRO_AUTO_RESOLVE: ["true", "yes", "On"],
  AUSPEX_POOL_OWNER_RULE: ["true", "yes", "On"],
  AUSPEX_LOG_ORIGIN: ["arena.example log", "arena.example+log", "x".repeat(256)],
  AUSPEX_LOG_KEY: ["a-secret-that-is-no-key", otherKey, testLogKey.slice(0, -8)],
  AUSPEX_LOG_KEY_PREVIOUS: ["a-secret-that-is-no-key"],
  AUSPEX_STRIPE_SECRET_KEY: ["sk_test", "sk_test_42 sk_test_43", "sk_test_\n4242424242"],
  AUSPEX_STRIPE_WEBHOOK_SECRET: ["whsec_", "whsec_1 whsec_2 whsec_3"],
  AUSPEX_CREDIT_PACKAGES: [
    "500",
    "500 for 5",
    "500 for 5 euros",
    "500 for 5 xyz",
    "500 for 0 eur",
    "500 for -5 eur",
    "0 for 5 eur",
    "0.5 for 5 eur",
    "10000001 for 5 eur",
    "500 for 5.001 eur",
    "500 for 5,00 eur",
    "500 for 500.5 jpy",
    "500 for 1000000 eur",
    "500 for 5 kwd",
    "500 for 5 eur; 2200 for 20 eur",
    "500 for 5 eur,",
    Array.from({ length: 13 }, (_, index) => `${index + 1} for 5 eur`).join()
  ],
  AUSPEX_STRIPE_API: [
    "api.stripe.com",
    "http://api.stripe.com",
    "https://api.stripe.com/v1",
    "ftp://localhost"
  ],
  AUSPEX_STRIPE_CHECKOUT: [
    "pay.example",
    "http://pay.example",
    "https://pay.example/c",
    "https://u:p@pay.example"
  ],
  AUSPEX_ODDS_EVERY: ["15 minutes", "10", "on"],
  AUSPEX_COUNTS_EVERY: [
    "15 minutes",
    "10",
    "15 minutes,0",
    "15 minutes,1.5",
    "0 minutes,10",
    "15 minutes,10,10",
    "on"
  ],
  AUSPEX_LOG_FORMAT: ["text", "JSON"],
  AUSPEX_LOG_LEVEL: ["info", "Verbose"],
  OTEL_EXPORTER_OTLP_ENDPOINT: ["collector:4318", "grpc://collector:4317"],
  OTEL_TRACES_SAMPLER_ARG: ["1.5", "-0.1", "1%", "all", ".5"]
}
const wrongOf = (name: string): ReadonlyArray<string> => {
  if (name.startsWith("AUSPEX_LIMIT_"))
    return ["60", "0/minute", "60/month", "-1/minute", "60 per minute", "5/minute;50/day", "1.5/hour"]
  const text = { ...decided, ...further }[name] ?? ""
  if (/^\d+$/.test(text)) return ["-1", "1.5", "many", "99999999999", "1_000"]
  if (/^\d+ /.test(text))
    return ["60", "minutes", "0 minutes", "-1 minutes", "60 fortnights", "Infinity", "60m"]
  return []
}

const all = allSettings
// Any text names a host, a directory or a client, and may be a client's secret.
const free = new Set([
  "AUSPEX_HOST",
  "AUSPEX_OPS_HOST",
  "AUSPEX_DATA_DIR",
  "AUSPEX_OIDC_CLIENT_ID",
  "AUSPEX_OIDC_CLIENT_SECRET",
  "AUSPEX_PRICE_REPLAY_DIR",
  "AUSPEX_EVENT_FEEDS",
  "AUSPEX_REGISTRATION_BANK",
  "AUSPEX_REGISTRATION_JUDGE_MODEL",
  "AUSPEX_GATEWAY_CONFIG",
  "AUSPEX_FRED_API_KEY"
])
const fallible = all.filter(({ name }) => !free.has(name))

describe("Settings", () => {
  it("Settings have the defaults that were decided", () => {
    const defaults = all.filter(({ defaultText }) => defaultText !== null)
    assert.deepStrictEqual(Object.fromEntries(defaults.map(({ defaultText, name }) => [name, defaultText])), {
      ...decided,
      ...further
    })
    assert.deepStrictEqual(
      all
        .filter(({ defaultText }) => defaultText === null)
        .map(({ name }) => name)
        .sort(),
      [...absent].sort()
    )
  })

  it("Settings say what they take and what they mean, each under a name of its own", () => {
    assert.strictEqual(new Set(all.map(({ name }) => name)).size, all.length)
    for (const { meaning, name, takes } of all) {
      assert.match(name, /^(AUSPEX_[A-Z_]+|DATABASE_URL|OTEL_[A-Z_]+)$/)
      assert.isNotEmpty(takes, name)
      assert.match(meaning, /\.$/, name)
    }
  })

  it.effect("Settings have their defaults where an operator sets nothing", () =>
    Effect.gen(function* () {
      const config = yield* loaded({})
      assert.deepStrictEqual([config.host, config.port, config.dataDir], ["127.0.0.1", 8080, ".auspex"])
      assert.deepStrictEqual(config.roles, ["api", "jobs"])
      assert.isTrue(Option.isNone(config.databaseUrl))
      const { limits, ...rules } = config.rules
      assert.strictEqual(rules.baseUrl, "http://127.0.0.1:8080")
      assert.strictEqual(rules.site, "global")
      assert.strictEqual(Duration.toMillis(rules.tokenTtl), 3_600_000)
      assert.strictEqual(Duration.toHours(rules.claimLinkTtl), 48)
      assert.strictEqual(Duration.toDays(rules.provisionalGrace), 7)
      assert.strictEqual(rules.provisionalPredictionLimit, 10)
      assert.strictEqual(rules.registrationAttempts, 5)
      assert.strictEqual(Duration.toSeconds(rules.jobInterval), 15)
      assert.strictEqual(Duration.toDays(rules.directionalCancelAfter), 7)
      assert.strictEqual(Duration.toDays(rules.macroVoidAfter), 60)
      assert.strictEqual(Duration.toHours(rules.priceEventVoidAfter), 72)
      assert.strictEqual(rules.rankMinCount, 30)
      assert.strictEqual(rules.rankMinDays, 30)
      assert.deepStrictEqual(rules.countsEvery, Option.some({ after: Duration.minutes(15), answers: 10 }))
      assert.deepStrictEqual(rules.trustedProxies, [])
      assert.strictEqual(rules.maxConnections, 10_000)
      assert.strictEqual(rules.maxConnectionsPerAddress, 512)
      assert.deepStrictEqual(config.operations, { host: "127.0.0.1", port: Option.some(9464) })
      assert.deepStrictEqual(
        rules.unidentifiedLimit.map(({ count, window }) => [count, Duration.toSeconds(window)]),
        [[600, 60]]
      )
      const perWindow = Object.entries({ ...limits }).map(([name, windows]) => [
        name,
        windows.map(({ count, window }) => `${count} in ${Duration.toSeconds(window)} s`).join()
      ])
      assert.deepStrictEqual(Object.fromEntries(perWindow), {
        predictions: "60 in 60 s",
        stakes: "5 in 60 s,50 in 86400 s",
        comments: "5 in 60 s",
        replies: "10 in 60 s",
        likes: "30 in 60 s",
        follows: "20 in 60 s",
        refused_writes: "120 in 60 s",
        tokens: "20 in 60 s",
        token_failures: "60 in 60 s",
        registrations: "20 in 3600 s",
        claim_refresh: "5 in 3600 s,20 in 86400 s",
        claim_mails: "3 in 86400 s",
        reminder_mails: "20 in 86400 s",
        alert_mails: "20 in 86400 s",
        sign_in_mails: "5 in 3600 s",
        sign_ins: "20 in 3600 s",
        purchases: "10 in 3600 s",
        gateway_calls: "60 in 60 s",
        gateway_agent_calls: "300 in 60 s",
        reads: "600 in 60 s",
        log_reads: "6000 in 60 s"
      })
    })
  )

  it.effect.each(fallible)(
    "A wrong $name stops the start, with one line that names it",
    ({ name, secret, takes }) =>
      Effect.gen(function* () {
        const values = wrong[name] ?? wrongOf(name)
        assert.isNotEmpty(values)
        for (const value of values) {
          const message = yield* refusal({ [name]: value })
          assert.match(message, new RegExp(`^${name}[ =]`), value)
          assert.include(message, takes)
          assert.notInclude(message, "\n")
          if (secret) assert.notInclude(message, value)
          else assert.include(message, JSON.stringify(value))
        }
      })
  )

  it.effect("An identity provider's settings are its issuer, a client id, and a secret if there is one", () =>
    Effect.gen(function* () {
      const issuer = { AUSPEX_OIDC_ISSUER: "https://accounts.example.org" }
      const client = { AUSPEX_OIDC_CLIENT_ID: "auspex" }
      const secret = { AUSPEX_OIDC_CLIENT_SECRET: "the-client-secret" }
      assert.isTrue(Option.isNone((yield* loaded({})).openId))
      const { openId } = yield* loaded({ ...issuer, ...client, ...secret })
      assert.deepStrictEqual(
        Option.map(openId, ({ clientId, issuer }) => [issuer.href, clientId]),
        Option.some(["https://accounts.example.org/", "auspex"])
      )
      assert.notInclude(JSON.stringify(openId), "the-client-secret")
      assert.isTrue(Option.isSome((yield* loaded({ ...issuer, ...client })).openId))
      assert.isTrue(
        Option.isSome((yield* loaded({ AUSPEX_OIDC_ISSUER: "http://127.0.0.1:9000", ...client })).openId)
      )
      assert.match(yield* refusal({ ...issuer, ...secret }), /^AUSPEX_OIDC_CLIENT_ID must be set/)
      for (const partial of [client, secret, { ...client, ...secret }])
        assert.match(yield* refusal(partial), /^AUSPEX_OIDC_ISSUER must be set/)
    })
  )

  it.effect("Schedules are on where there is a price source, unless an operator says otherwise", () =>
    Effect.gen(function* () {
      const replay = { AUSPEX_PRICE_SOURCE: "replay", AUSPEX_PRICE_REPLAY_DIR: "recordings" }
      const schedulesOf = (environment: Readonly<Record<string, string>>) =>
        Effect.map(loaded(environment), ({ rules }) => rules.schedules)
      assert.deepStrictEqual(yield* schedulesOf({}), [])
      assert.deepStrictEqual(yield* schedulesOf(replay), [
        "session",
        "flash",
        "ladder",
        "price_event",
        "macro"
      ])
      assert.deepStrictEqual(yield* schedulesOf({ ...replay, AUSPEX_SCHEDULES: "off" }), [])
      assert.deepStrictEqual(yield* schedulesOf({ AUSPEX_SCHEDULES: "macro, session" }), ["session", "macro"])
    })
  )

  it.effect("Selling credit takes a key, a webhook's secret and packages, all of them or none", () =>
    Effect.gen(function* () {
      const whole = {
        AUSPEX_STRIPE_SECRET_KEY: " sk_test_4242424242\n",
        AUSPEX_STRIPE_WEBHOOK_SECRET: "whsec_1717171717",
        AUSPEX_CREDIT_PACKAGES: "500 for 5 eur, 2200 for 19.90 EUR,1 for 1 jpy"
      }
      assert.isTrue(Option.isNone((yield* loaded({})).stripe))
      const { stripe } = yield* loaded(whole)
      assert(Option.isSome(stripe))
      assert.deepStrictEqual(stripe.value.packages, [
        { credits: 500, price: { amount: 500, currency: "eur" } },
        { credits: 2200, price: { amount: 1990, currency: "eur" } },
        { credits: 1, price: { amount: 1, currency: "jpy" } }
      ])
      assert.strictEqual(Redacted.value(stripe.value.secretKey), "sk_test_4242424242")
      assert.notMatch(JSON.stringify(stripe), /4242|1717/)
      for (const name of Object.keys(whole)) {
        assert.match(yield* refusal({ ...whole, [name]: "" }), new RegExp(`^${name} must be set`))
      }
    })
  )

  it.effect("The usual life of a gateway key is not above the longest", () =>
    Effect.gen(function* () {
      assert.match(
        yield* refusal({ AUSPEX_GATEWAY_KEY_TTL: "31 days", AUSPEX_GATEWAY_KEY_MAX_TTL: "30 days" }),
        /^AUSPEX_GATEWAY_KEY_TTL cannot be used: expected at most AUSPEX_GATEWAY_KEY_MAX_TTL/
      )
    })
  )

  it.effect("A session's question is made at most so early that contracts leave room for it", () =>
    Effect.gen(function* () {
      for (const AUSPEX_SESSION_LEAD of [
        "72 hours and a bit",
        "72.1 hours",
        "4 days",
        "30 days",
        "800 days"
      ]) {
        assert.match(
          yield* refusal({ AUSPEX_SESSION_LEAD }),
          /^AUSPEX_SESSION_LEAD=.* cannot be used: expected a duration of at most "3 days"/
        )
      }
      for (const AUSPEX_SESSION_LEAD of ["3 days", "72 hours", "30 minutes"]) {
        yield* loaded({ AUSPEX_SESSION_LEAD })
      }
    })
  )

  it.effect("A model that judges registrations needs the gateway's file, where it stands", () =>
    Effect.gen(function* () {
      const judged = { AUSPEX_REGISTRATION_JUDGE_MODEL: "swift-1" }
      assert.match(
        yield* refusal(judged),
        /^AUSPEX_GATEWAY_CONFIG must be set when AUSPEX_REGISTRATION_JUDGE_MODEL is/
      )
      const { registrationJudgeModel } = yield* loaded({ ...judged, AUSPEX_GATEWAY_CONFIG: "gateway.yaml" })
      assert.deepStrictEqual(registrationJudgeModel, Option.some("swift-1"))
    })
  )

  it.effect("A replay needs its folder, and settling by first prints a key of FRED", () =>
    Effect.gen(function* () {
      assert.match(
        yield* refusal({ AUSPEX_PRICE_SOURCE: "replay" }),
        /^AUSPEX_PRICE_REPLAY_DIR must be set when AUSPEX_PRICE_SOURCE is replay/
      )
      for (const lacking of [{}, { DATABASE_URL: "postgres://h/d" }, { AUSPEX_ROLES: "api" }]) {
        assert.match(
          yield* refusal({ AUSPEX_DATABASE_SETTINGS: "role", ...lacking }),
          /^AUSPEX_DATABASE_SETTINGS=role needs DATABASE_URL and AUSPEX_ROLES=api/
        )
      }
      assert.match(
        yield* refusal({ AUSPEX_MACRO_AUTO_RESOLVE: "on" }),
        /^AUSPEX_FRED_API_KEY must be set when AUSPEX_MACRO_AUTO_RESOLVE is on/
      )
      const config = yield* loaded({
        AUSPEX_PRICE_SOURCE: "live",
        AUSPEX_PRICE_EXCHANGES: "binance:USDT, kraken",
        AUSPEX_FRED_API_KEY: "the-fred-key"
      })
      assert.deepStrictEqual(config.priceExchanges, [
        { exchange: "binance", quote: "USDT" },
        { exchange: "kraken", quote: "USD" }
      ])
      assert.notInclude(JSON.stringify(config), "the-fred-key")
    })
  )

  it.effect("Settings that are secrets are echoed nowhere, neither when wrong nor when printed", () =>
    Effect.gen(function* () {
      const url = "postgres://auspex:the-password@localhost/auspex"
      const config = yield* loaded({
        DATABASE_URL: url,
        AUSPEX_TOKEN_SECRET: "a-token-secret-of-32-bytes-or-more",
        AUSPEX_ADMIN_TOKEN: "the-admin-token-of-32-bytes-or-more",
        AUSPEX_SMTP_URL: "smtp://auspex:the-mail-password@mail.example.org:587"
      })
      const printed = `${JSON.stringify(config)} ${String(config.databaseUrl)}`
      for (const secret of ["the-password", "a-token-secret", "the-admin-token", "the-mail-password"])
        assert.notInclude(printed, secret)
      assert.deepStrictEqual(Option.map(config.databaseUrl, Redacted.value), Option.some(url))
      assert.notInclude(yield* refusal({ DATABASE_URL: "mysql://auspex:the-password@h/d" }), "the-password")
      assert.isNotEmpty(yield* refusal({ DATABASE_URL: "postgres://" }))
      assert.notInclude(yield* refusal({ AUSPEX_ADMIN_TOKEN: "tooshort" }), "tooshort")
    })
  )

  it.effect("A name that is no setting stops the start, with the one that was probably meant", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* refusal({ AUSPEX_PORTT: "8081" }),
        "AUSPEX_PORTT is no setting: did you mean AUSPEX_PORT? docs/configuration.md has them all."
      )
      // Kubernetes sets these for services that are called auspex-something.
      yield* loaded({ AUSPEX_POSTGRES_SERVICE_HOST: "10.0.0.7" })
      // A name that is not ours is nobody's mistake.
      yield* loaded({ AUSPEXPORT: "8081", PATH: "/bin" })
    })
  )

  it.effect("Settings with an empty value count as absent", () =>
    Effect.gen(function* () {
      const empty = yield* loaded(Object.fromEntries(all.map(({ name }) => [name, ""])))
      const nothing = yield* loaded({})
      assert.deepStrictEqual(JSON.stringify(empty), JSON.stringify(nothing))
    })
  )

  it.effect("The base URL follows host and port, and loses its trailing slash", () =>
    Effect.gen(function* () {
      const baseUrlOf = (env: Environment) => Effect.map(loaded(env), ({ rules }) => rules.baseUrl)
      assert.strictEqual(yield* baseUrlOf({ AUSPEX_HOST: "::1", AUSPEX_PORT: "9000" }), "http://[::1]:9000")
      assert.strictEqual(
        yield* baseUrlOf({ AUSPEX_BASE_URL: "https://arena.example/base//", AUSPEX_PORT: "9000" }),
        "https://arena.example/base"
      )
    })
  )

  it.effect("Durations are taken as Effect's duration strings", () =>
    Effect.gen(function* () {
      for (const [text, millis] of [
        ["500 millis", 500],
        ["1 second", 1000],
        ["1.5 hours", 5_400_000],
        ["2 weeks", 1_209_600_000]
      ] as const) {
        const { rules } = yield* loaded({ AUSPEX_TOKEN_TTL: text })
        assert.strictEqual(Duration.toMillis(rules.tokenTtl), millis)
        assert.strictEqual(Duration.toMillis(Duration.fromInputUnsafe(text)), millis)
      }
    })
  )

  it.effect("A limit takes several windows, and proxies take addresses and networks", () =>
    Effect.gen(function* () {
      const { rules } = yield* loaded({
        AUSPEX_LIMIT_TOKENS: "5/minute, 50 / day",
        AUSPEX_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,2001:db8::1"
      })
      assert.deepStrictEqual(
        rules.limits.tokens.map(({ count, window }) => [count, Duration.toSeconds(window)]),
        [
          [5, 60],
          [50, 86_400]
        ]
      )
      assert.deepStrictEqual(rules.trustedProxies, ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::1/128"])
    })
  )

  it.effect("The sender of mails is an address, with or without a name", () =>
    Effect.gen(function* () {
      for (const [text, sender] of [
        ["Post@Example.org", "Auspex <post@example.org>"],
        ["<post@example.org>", "Auspex <post@example.org>"],
        ["Auspex am Main <post@example.org>", "Auspex am Main <post@example.org>"]
      ] as const) {
        const { mailFrom } = yield* loaded({ AUSPEX_MAIL_FROM: text })
        const shown = Option.map(mailFrom, ({ name, address }) => `${name} <${address}>`)
        assert.deepStrictEqual(shown, Option.some(sender))
      }
    })
  )

  it.effect("A witness is a pair of a place and a key, a time stamp authority a place", () =>
    Effect.gen(function* () {
      const { rules } = yield* loaded({
        AUSPEX_LOG_WITNESSES: `https://a.example/log/ ${witnessKeys[0]} , http://127.0.0.1:9000\t${witnessKeys[1]},`,
        AUSPEX_TSA_URL: "https://tsa.example/tsr?policy=1"
      })
      assert.deepStrictEqual(rules.logWitnesses, [
        { url: "https://a.example/log", verifierKey: witnessKeys[0] },
        { url: "http://127.0.0.1:9000", verifierKey: witnessKeys[1] }
      ])
      assert.deepStrictEqual(rules.logTimeStampUrl, Option.some("https://tsa.example/tsr?policy=1"))
      const { rules: none } = yield* loaded({})
      assert.deepStrictEqual(none.logWitnesses, [])
      assert.isTrue(Option.isNone(none.logTimeStampUrl))
    })
  )

  it.effect("The log is named after the host and the site, without a port, or as the setting says", () =>
    Effect.gen(function* () {
      const originOf = (env: Environment) => Effect.map(loaded(env), ({ rules }) => rules.logOrigin)
      assert.strictEqual(yield* originOf({}), "127.0.0.1/log/global")
      const env = { AUSPEX_BASE_URL: "https://Arena.example:8443/base", AUSPEX_SITE: "cn" }
      assert.strictEqual(yield* originOf(env), "arena.example/log/cn")
      assert.strictEqual(yield* originOf({ ...env, AUSPEX_LOG_ORIGIN: "log.example" }), "log.example")
    })
  )

  it.effect("The log's key is PKCS#8, in PEM or its base64 on one line, and is never printed", () =>
    Effect.gen(function* () {
      const { privateKey } = generateKeyPairSync("ed25519")
      const pem = privateKey.export({ format: "pem", type: "pkcs8" }).toString()
      const line = privateKey.export({ format: "der", type: "pkcs8" }).toString("base64")
      const keyOf = (env: Environment) =>
        Effect.map(loaded(env), ({ logKey }) =>
          Option.map(logKey, (key) => rawPublicKey(key).toString("hex"))
        )
      const expected = Option.some(rawPublicKey(createPrivateKey(pem)).toString("hex"))
      for (const text of [pem, line, pem.replaceAll("\n", "\\n")]) {
        assert.deepStrictEqual(yield* keyOf({ AUSPEX_LOG_KEY: text }), expected)
      }
      assert.notInclude(JSON.stringify(yield* loaded({ AUSPEX_LOG_KEY: line })), line.slice(-40))
    })
  )

  it.effect("Roles are one or both of api and jobs", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* loaded({ AUSPEX_ROLES: "jobs" })).roles, ["jobs"])
      assert.deepStrictEqual((yield* loaded({ AUSPEX_ROLES: "jobs, api" })).roles, ["api", "jobs"])
    })
  )
})
