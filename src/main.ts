/** The composition root: reads the settings and combines the layers. */
// Compiles schemas to code at their first use: lists are encoded a third faster.
import "effect/schema/SchemaJITCompiler/enable"
import { hostname } from "node:os"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import {
  Cause,
  Console,
  Duration,
  Effect,
  Exit,
  FileSystem,
  Layer,
  Option,
  Path,
  Predicate,
  Queue
} from "effect"
import type { Redacted, Runtime } from "effect"
import type { HttpServerError } from "effect/http"
import manifest from "../package.json" with { type: "json" }
import { load, SettingError } from "./config.ts"
import type { Composition } from "./config.ts"
import { listening } from "./http/DrainingServer.ts"
import { drainFirst, layer as httpLayer } from "./http/server.ts"
import * as operations from "./http/operations.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as MacroValuesJob from "./jobs/macroValues.ts"
import * as EmbeddedPostgres from "./layers/embedded/EmbeddedPostgres.ts"
import * as MailTransport from "./layers/mail/MailTransport.ts"
import * as GatewayConfig from "./layers/gateway/GatewayConfig.ts"
import * as Gateway from "./layers/gateway/Gateway.ts"
import * as LogSigner from "./layers/node/LogSigner.ts"
import { lock } from "./layers/node/directoryLock.ts"
import { secretFile } from "./layers/node/DurableFile.ts"
import * as LogObservers from "./layers/witness/LogObservers.ts"
import * as IdentityProvider from "./layers/openid/IdentityProvider.ts"
import * as Database from "./layers/postgres/Database.ts"
import { servicesWith } from "./layers/postgres/layer.ts"
import { publicBank } from "./layers/registration/bank.ts"
import * as ModelJudge from "./layers/registration/ModelJudge.ts"
import * as RubricJudge from "./layers/registration/RubricJudge.ts"
import * as Payments from "./layers/postgres/credit/Payments.ts"
import * as PriceIngestion from "./layers/postgres/prices/PriceIngestion.ts"
import * as PaymentProvider from "./layers/stripe/PaymentProvider.ts"
import * as telemetry from "./layers/telemetry.ts"
import { domainsIn } from "./services/domain/emails.ts"
import { rootCause } from "./services/domain/errors.ts"
import { Health } from "./services/Health.ts"
import { LogSequencer } from "./services/LogSequencer.ts"
import { Settings, legalNames } from "./services/Settings.ts"

const { version } = manifest

type LogFormat = telemetry.Observed["format"]

interface Foundation {
  readonly databaseUrl: Redacted.Redacted
  /** The URL of the role that migrates; none if the role of `databaseUrl` migrates itself. */
  readonly ownerUrl: Option.Option<Redacted.Redacted>
  readonly tokenSecret: Redacted.Redacted
  readonly adminToken: Redacted.Redacted
  readonly facts: ReadonlyArray<Fact>
}

const required = (name: string, value: Option.Option<Redacted.Redacted>) =>
  Effect.fromOption(value).pipe(
    Effect.mapError(() => new SettingError({ message: `${name} must be set when DATABASE_URL is.` }))
  )

/** With DATABASE_URL the operator sets the secrets; without it the first start makes everything itself. */
const foundation = Effect.fn("foundation")(function* (config: Composition) {
  if (Option.isSome(config.databaseUrl)) {
    const given: Foundation = {
      databaseUrl: config.databaseUrl.value,
      ownerUrl: config.migrationUrl,
      tokenSecret: yield* required("AUSPEX_TOKEN_SECRET", config.tokenSecret),
      adminToken: yield* required("AUSPEX_ADMIN_TOKEN", config.adminToken),
      facts: [
        ["Data", "the PostgreSQL of DATABASE_URL"],
        ["Admin token", "AUSPEX_ADMIN_TOKEN"]
      ]
    }
    // Two processes must not share a data directory: each would overwrite the other's record of the log.
    yield* lock(config.dataDir)
    return given
  }
  if (Option.isSome(config.migrationUrl)) {
    return yield* new SettingError({ message: "DATABASE_URL must be set when AUSPEX_MIGRATION_URL is." })
  }
  const postgres = yield* EmbeddedPostgres.start({ dataDir: config.dataDir })
  const token = yield* secretFile(config.dataDir, "token-secret", config.tokenSecret)
  const admin = yield* secretFile(config.dataDir, "admin-token", config.adminToken)
  const made: Foundation = {
    databaseUrl: postgres.url,
    ownerUrl: Option.some(postgres.ownerUrl),
    tokenSecret: token.secret,
    adminToken: admin.secret,
    facts: [
      [
        "Data",
        `${postgres.clusterDir} (embedded PostgreSQL${postgres.runsAs === null ? "" : `, running as ${postgres.runsAs}`})`
      ],
      ...postgres.remarks.map((remark): Fact => ["", remark]),
      ["Admin token", Option.getOrElse(admin.path, () => "AUSPEX_ADMIN_TOKEN")]
    ]
  }
  return made
})

/** The domains of the setting, or of its file. */
const disposableDomains = Effect.fnUntraced(function* ({ disposableDomains: list }: Composition) {
  if ("domains" in list) return list.domains
  const unusable = (why: string) =>
    new SettingError({ message: `AUSPEX_DISPOSABLE_DOMAINS=${list.path} cannot be used: ${why}` })
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(list.path)
    .pipe(Effect.mapError((error) => unusable(rootCause(error).message)))
  return yield* Effect.mapError(Effect.fromOption(domainsIn(text)), () =>
    unusable("expected one domain a line.")
  )
})

/** The texts `terms.md`, `privacy.md` and `imprint.md` of the data directory, if they exist. */
const legalTexts = Effect.fnUntraced(function* ({ dataDir }: Composition) {
  const [fs, path] = [yield* FileSystem.FileSystem, yield* Path.Path]
  const texts = yield* Effect.forEach(legalNames, (name) =>
    fs.readFileString(path.join(dataDir, `${name}.md`)).pipe(
      Effect.map((text) => [name, text] as const),
      Effect.catchIf(
        ({ reason }) => reason._tag === "NotFound",
        () => Effect.succeed(null)
      ),
      Effect.mapError(
        (error) => new SettingError({ message: `${name}.md cannot be used: ${rootCause(error).message}` })
      )
    )
  )
  return Object.fromEntries(texts.filter((each) => each !== null))
})

/** The sender of mails; by default an address at the host of the service. */
const senderOf = (config: Composition) =>
  Option.getOrElse(config.mailFrom, () => {
    const { hostname } = new URL(config.rules.baseUrl)
    const isName = /[a-z]\.[a-z]/.test(hostname)
    return { name: "Auspex", address: `auspex@${isName ? hostname : "localhost"}` }
  })

/** Fetches prices, if a source is set. An unused source is not loaded. */
const priceJob = ({ priceExchanges, replayDir, rules }: Composition) => {
  if (rules.priceSource === "none") return Layer.empty
  const source =
    rules.priceSource === "replay"
      ? Effect.promise(() => import("./layers/prices/Replay.ts")).pipe(
          Effect.map(({ layer }) => layer(replayDir))
        )
      : Effect.promise(() => import("./layers/prices/Live.ts")).pipe(
          Effect.map(({ layer }) => layer(priceExchanges, rules.moreAssets))
        )
  return Jobs.prices.pipe(Layer.provide(PriceIngestion.layer), Layer.provide(Layer.unwrap(source)))
}

/** Looks up macro values, if a key for them is set. */
const macroValuesJob = ({ fredApiKey }: Composition) =>
  Option.match(fredApiKey, {
    onNone: () => Layer.empty,
    onSome: (key) =>
      MacroValuesJob.layer.pipe(
        Layer.provide(
          Layer.unwrap(
            Effect.promise(() => import("./layers/prices/Fred.ts")).pipe(
              Effect.map(({ layer }) => layer(key))
            )
          )
        )
      )
  })

/** Makes events of news feeds, if a list of feeds is set. */
const feedJob = ({ eventFeeds, rules }: Composition) =>
  Option.match(eventFeeds, {
    onNone: () => Layer.empty,
    onSome: (path) =>
      Jobs.feeds.pipe(
        Layer.provide(
          Layer.unwrap(
            Effect.gen(function* () {
              const { readFeedList } = yield* Effect.promise(() => import("./layers/feeds/feeds.ts"))
              const { layer } = yield* Effect.promise(
                () => import("./layers/postgres/community/FeedIngestion.ts")
              )
              return layer(yield* readFeedList(path, { ownMachine: rules.ownMachineUrls }))
            })
          )
        )
      )
  })

/** Asks the payment provider for the outcome of open checkouts, if credit is for sale. */
const checkoutJob = ({ stripe }: Composition) => (Option.isSome(stripe) ? Jobs.checkouts : Layer.empty)

/** The transport of mails. */
const mailTransport = Effect.fn("mailTransport")(function* (config: Composition) {
  const sender = senderOf(config)
  if (Option.isSome(config.smtpUrl)) {
    const fact: Fact = ["Mail", "by the server of AUSPEX_SMTP_URL"]
    return { layer: MailTransport.smtp({ url: config.smtpUrl.value, sender }), fact }
  }
  const directory = (yield* Path.Path).join(config.dataDir, "outbox")
  const fact: Fact = ["Mail", `${directory} (set AUSPEX_SMTP_URL to send it)`]
  return { layer: MailTransport.files({ directory, sender }), fact }
})

/** A fact about a started instance: a label, empty to continue the line before, and a text. */
type Fact = readonly [label: string, text: string]

const operationsFact = (url: string | null, { isOpsPortSet, operations: { port } }: Composition): Fact => {
  if (url === null) return ["Operations", "no metrics: AUSPEX_OPS_PORT is off"]
  const usual = Option.getOrElse(port, () => 0)
  const remark =
    isOpsPortSet || url.endsWith(`:${usual}`) ? "" : ` (port ${usual} is taken: set AUSPEX_OPS_PORT)`
  return ["Operations", `${url}/metrics, ${url}/health/ready${remark}`]
}

/** The banner for a person at a terminal. */
const banner = ({ roles, rules: { baseUrl, site } }: Composition, facts: ReadonlyArray<Fact>) => {
  const serves = roles.includes("api")
  return [
    "",
    serves
      ? `Auspex serves the site "${site}" at ${baseUrl}`
      : `Auspex runs the jobs of the site "${site}", and serves none of it (AUSPEX_ROLES)`,
    ...facts.map(([label, text]) => `${label.padEnd(13)}${text}`),
    "",
    ...(serves
      ? [
          "Try:",
          `  curl ${baseUrl}/health/ready`,
          `  curl ${baseUrl}/api/v1/public/target-catalog`,
          "  npm run demo",
          "",
          `The API is documented at ${baseUrl}/docs. Ctrl-C stops everything in good order.`
        ]
      : ["Ctrl-C stops everything in good order."]),
    ""
  ].join("\n")
}

/** The facts as fields of a log line. */
const factFields = (facts: ReadonlyArray<Fact>): Readonly<Record<string, string>> => {
  const fields: Record<string, string> = {}
  let field = ""
  for (const [label, text] of facts) {
    if (label !== "") field = label.toLowerCase().replaceAll(" ", "_")
    fields[field] = [...(label === "" ? [fields[field]] : []), text].join(" ")
  }
  return fields
}

/** Announces the start: one line for machines, and a banner for a person. */
const announce = (config: Composition, format: LogFormat, facts: ReadonlyArray<Fact>) =>
  Effect.logInfo("the instance has started").pipe(
    Effect.annotateLogs({
      version,
      roles: config.roles.join(","),
      migration: Database.latestMigration,
      ...(format === "json" && { base_url: config.rules.baseUrl, ...factFields(facts) })
    }),
    Effect.andThen(format === "pretty" ? Console.log(banner(config, facts)) : Effect.void)
  )

/** Verifies the log against its signed checkpoints before anything is added, and returns the facts about it. */
const logFacts = Effect.gen(function* () {
  const sequencer = yield* LogSequencer
  yield* sequencer.verifyAtStart
  const key = yield* sequencer.verifierKey
  const fault = yield* sequencer.fault
  const facts: ReadonlyArray<Fact> = [
    ...Option.toArray(Option.map(key, (text): Fact => ["Log key", text])),
    ...(fault === null ? [] : [["Log", `is not signed: ${fault}`] as const])
  ]
  return facts
})

/** The configuration file of the gateway. An operator reloads it by SIGHUP. */
const gatewayLayer = ({ gatewayConfig }: Composition) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { reload } = yield* GatewayConfig.GatewayConfig
      // The listener stays for the whole run, because SIGHUP without a listener ends the process. Several signals at
      // once cause one reload.
      const hangUps = yield* Queue.sliding<void>(1)
      const listener = () => void Queue.offerUnsafe(hangUps, undefined)
      yield* Effect.acquireRelease(
        Effect.sync(() => process.on("SIGHUP", listener)),
        () => Effect.sync(() => process.off("SIGHUP", listener))
      )
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(hangUps), reload)))
    })
  ).pipe(Layer.provideMerge(GatewayConfig.layer(gatewayConfig)))

/** The services with the registration challenge judged as the operator wants it. */
const judged = ({ registrationBank, registrationJudgeModel }: Composition) => {
  const bank = Option.getOrElse(registrationBank, () => publicBank)
  return servicesWith(
    Option.match(registrationJudgeModel, {
      onNone: () => RubricJudge.layer(bank),
      onSome: (model) => ModelJudge.layer({ bank, model })
    })
  )
}

const codeOf = ({ cause }: HttpServerError.ServeError): string =>
  Predicate.hasProperty(cause, "code") ? String(cause.code) : "?"

/** One line that names the settings of an address that is in use. */
const addressTaken =
  (place: string, advice: string) =>
  (error: HttpServerError.ServeError): Layer.Layer<unknown, SettingError> =>
    Layer.effectContext(
      Effect.fail(new SettingError({ message: `cannot listen at ${place} (${codeOf(error)}): ${advice}.` }))
    )

/** The listeners start before the database: a port in use leaves no migrated database behind, and health answers during a long start. */
const listeners = (config: Composition, progress: () => string) => ({
  serving: listening({
    host: config.host,
    port: config.port,
    gracefulShutdownTimeout: "20 seconds",
    rules: config.rules,
    progress
  }).pipe(
    Layer.catchTag(
      "ServeError",
      addressTaken(`${config.host}:${config.port}`, "set AUSPEX_HOST and AUSPEX_PORT to a free address")
    )
  ),
  operated: operations.layer({ ...config.operations, rules: config.rules, progress }).pipe(
    // A default port may be in use by a second instance on this machine; a port that the operator set must be free.
    Layer.catchTag("ServeError", (error) =>
      !config.isOpsPortSet && codeOf(error) === "EADDRINUSE"
        ? operations.layer({
            host: config.operations.host,
            port: Option.some(0),
            rules: config.rules,
            progress
          })
        : Layer.effectContext(Effect.fail(error))
    ),
    Layer.catchTag(
      "ServeError",
      addressTaken(
        `${config.operations.host}:${Option.getOrElse(config.operations.port, () => "off")}`,
        "set AUSPEX_OPS_HOST and AUSPEX_OPS_PORT to a free address, or AUSPEX_OPS_PORT=off"
      )
    )
  )
})

const application = (config: Composition, format: LogFormat, instance: string) => {
  let progress = "the database is looked for"
  const { operated, serving } = listeners(config, () => progress)
  const serves = config.roles.includes("api")
  const started = Effect.gen(function* () {
    const disposable = yield* disposableDomains(config)
    const legal = yield* legalTexts(config)
    const { databaseUrl, ownerUrl, tokenSecret, adminToken, facts } = yield* foundation(config)
    const mail = yield* mailTransport(config)
    const settings = Layer.succeed(Settings, {
      ...config.rules,
      tokenSecret,
      adminToken,
      disposableDomains: disposable,
      legalTexts: legal
    })
    const running = Layer.mergeAll(
      Jobs.clockWatch,
      Jobs.noticeWatch,
      config.roles.includes("jobs")
        ? Layer.mergeAll(
            Jobs.layer,
            priceJob(config),
            macroValuesJob(config),
            feedJob(config),
            checkoutJob(config)
          )
        : Jobs.logWatch,
      serves ? httpLayer.pipe(Layer.provide(serving)) : Layer.empty
    ).pipe(Layer.provide(Jobs.heartbeats({ name: instance, version, roles: config.roles })))
    const announced = Effect.gen(function* () {
      progress = "the database is ready, the services start"
      const log = yield* config.roles.includes("jobs") ? logFacts : Effect.succeed([])
      const { attend, url } = yield* operations.Operations
      const known = [...facts, mail.fact, operationsFact(url, config), ...log]
      return Layer.effectDiscard(
        Effect.flatMap(Health, attend).pipe(Effect.andThen(announce(config, format, known)))
      ).pipe(
        // A process that serves nothing has no balancer to wait for.
        Layer.provideMerge(drainFirst(serves ? config.drainDelay : Duration.zero)),
        Layer.provide(running)
      )
    })
    return Layer.unwrap(announced).pipe(
      Layer.provide(Gateway.layer),
      Layer.provide(IdentityProvider.layer(config.openId)),
      Layer.provide(Payments.layer),
      Layer.provide(PaymentProvider.layer(config.stripe)),
      Layer.provide(judged(config)),
      Layer.provide(gatewayLayer(config)),
      Layer.provide(mail.layer),
      Layer.provide(LogObservers.layer),
      Layer.provide(
        LogSigner.layer({
          directory: config.dataDir,
          current: config.logKey,
          previous: config.logKeyPrevious
        })
      ),
      Layer.provide(
        Database.layer({
          ...config.database,
          url: databaseUrl,
          ownerUrl,
          site: config.rules.site,
          migrates: config.migrates
        })
      ),
      Layer.provide(Layer.succeed(Database.Progress, (what) => Effect.sync(() => void (progress = what)))),
      Layer.provide(settings)
    )
  })
  return Layer.unwrap(started).pipe(Layer.provide(serves ? Layer.merge(operated, serving) : operated))
}

/** Explains a failed start, in one line if the operator can fix it. */
const explain = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  const tags = [
    "SettingError",
    "EmbeddedPostgresError",
    "DataDirectoryUnusable",
    "DatabaseMismatch",
    "PriceSourceUnusable",
    "FeedsUnusable",
    "GatewayConfigUnusable",
    "RegistrationBankUnusable",
    "RegistrationJudgeUnusable"
  ]
  const known =
    error instanceof Error && Predicate.hasProperty(error, "_tag") && tags.includes(String(error._tag))
  // The operating system's own message, such as "no space left on device".
  if (Predicate.isTagged(error, "PlatformError")) return `auspex: ${rootCause(error).message}`
  return known ? `auspex: ${error.message}` : `auspex: the start failed\n${Cause.pretty(cause)}`
}

const serve = (config: Composition) => {
  const format = Option.getOrElse(config.logFormat, () => (process.stdout.isTTY ? "pretty" : "json"))
  const about = {
    service: "auspex",
    version,
    instance: `${hostname()}-${process.pid}`,
    role: config.roles.join(","),
    pid: process.pid
  } as const
  return Layer.launch(application(config, format, about.instance)).pipe(
    Effect.onInterrupt(() => Effect.logInfo("the instance has stopped")),
    Effect.provide(
      telemetry.observed({ format, level: config.logLevel, endpoint: config.otlpEndpoint, about })
    )
  )
}

/** `npm run migrate`: brings the database up to date as the role that owns its tables, and ends. */
const migrate = Effect.fnUntraced(function* ({ database, databaseUrl, migrationUrl, rules }: Composition) {
  if (Option.isNone(databaseUrl)) {
    return yield* new SettingError({
      message: "DATABASE_URL must be set: the start migrates an embedded database."
    })
  }
  const { from, ran } = yield* Database.prepare({
    url: databaseUrl.value,
    ownerUrl: migrationUrl,
    site: rules.site,
    settingsFrom: database.settingsFrom
  })
  const lines = ran.map(([name, duration]) => `  ${name.padEnd(32)}${Duration.format(duration)}`)
  const state = `The database had migration ${from}, Auspex ${version} knows ${Database.latestMigration}`
  yield* Console.log(
    ran.length === 0 ? `${state}: there was nothing to do.` : [`${state}. Run now:`, ...lines].join("\n")
  )
})

const main = Effect.gen(function* () {
  const [command, ...rest] = process.argv.slice(2)
  if (rest.length > 0 || (command !== undefined && command !== "migrate")) {
    return yield* new SettingError({
      message: `There is no command ${[command, ...rest].join(" ")}: without one the service starts, and migrate migrates the database.`
    })
  }
  const config = yield* load
  return yield* command === "migrate" ? migrate(config) : serve(config)
}).pipe(
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Console.error(explain(cause)))),
  Effect.provide(NodeServices.layer)
)

/** Only a signal interrupts the process, and its orderly end is a success: 130 would alert service managers. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  const isInterrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  onExit(Exit.isSuccess(exit) || isInterrupted ? 0 : 1)
}

NodeRuntime.runMain(main, { disableErrorReporting: true, teardown })
