/** The active configuration and the connections to its providers; the file is read at the start and on reload. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { Config, Context, Data, DateTime, Effect, Layer, Option, Result } from "effect"
import type { Scope } from "effect"
import { configurationOf, keySources } from "./configuration.ts"
import type { Configuration, FoundKey, KeySource } from "./configuration.ts"
import { readConfigurationFile } from "./configurationFile.ts"
import { connect } from "./upstream.ts"
import type { Upstream } from "./upstream.ts"

/** The gateway's file is unusable; the message contains all that an operator needs. */
export class GatewayConfigUnusable extends Data.TaggedError("GatewayConfigUnusable")<{
  readonly message: string
}> {}

/** The configuration at one moment. A call uses one snapshot from beginning to end. */
export interface Snapshot {
  readonly configuration: Configuration
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly since: DateTime.Utc
}

export class GatewayConfig extends Context.Service<
  GatewayConfig,
  {
    /** The snapshot; none if this instance has no gateway. */
    readonly current: Effect.Effect<Option.Option<Snapshot>>
    /** The same snapshot for a call: its connections stay open until the scope closes. */
    readonly acquire: Effect.Effect<Option.Option<Snapshot>, never, Scope.Scope>
    /** Reads the file again; errors are logged, and the old configuration stays active. */
    readonly reload: Effect.Effect<void>
  }
>()("auspex/layers/gateway/GatewayConfig") {}

const variable = (name: string): Effect.Effect<FoundKey> =>
  Config.option(Config.String(name)).pipe(
    Effect.orElseSucceed(() => Option.none<string>()),
    Effect.map(Option.filter((value) => value !== "")),
    Effect.map(Result.fromOption(() => "is not set"))
  )

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "it cannot be read"

/** Editors and secret stores may leave a line end, which is removed. */
const keyFile = (path: string): Effect.Effect<FoundKey> =>
  Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: codeOf }).pipe(
    Effect.map((text) => text.trim()),
    Effect.mapError((code) => `cannot be read (${code})`),
    Effect.result
  )

/** Reads the configuration in a file, with its keys from the environment and from files; relative paths begin at its folder. */
export const readConfiguration = Effect.fnUntraced(function* (
  path: string
): Effect.fn.Return<Configuration, ReadonlyArray<string>> {
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => [error instanceof Error ? error.message : "it cannot be read"]
  })
  const file = yield* Effect.fromResult(readConfigurationFile(text))
  const found = new Map<string, FoundKey>()
  const idOf = ({ member, name }: KeySource) => `${member} ${name}`
  for (const source of file.providers.flatMap(keySources)) {
    const { member, name } = source
    found.set(
      idOf(source),
      yield* member === "key_file" ? keyFile(resolve(dirname(path), name)) : variable(name)
    )
  }
  return yield* Effect.fromResult(
    configurationOf(file, (source) => found.get(idOf(source)) ?? Result.fail("is not set"))
  )
})

const read = Effect.fnUntraced(function* (path: string, since: DateTime.Utc) {
  const configuration = yield* readConfiguration(path).pipe(
    Effect.mapError(
      (problems) =>
        new GatewayConfigUnusable({
          message: `AUSPEX_GATEWAY_CONFIG: ${path} cannot be used: ${problems.join("; ")}.`
        })
    )
  )
  const upstreams = new Map([...configuration.providers.values()].map((each) => [each.name, connect(each)]))
  const snapshot: Snapshot = { configuration, upstreams, since }
  return snapshot
})

/** Counts the calls that use a snapshot: a retired one closes its connections when its last call has ended. */
const counted = (snapshot: Snapshot) => {
  let calls = 0
  let isRetired = false
  const closeUnused = Effect.sync(() => {
    if (isRetired && calls === 0) for (const upstream of snapshot.upstreams.values()) upstream.close()
  })
  return {
    snapshot,
    acquire: () => {
      calls += 1
      return snapshot
    },
    release: Effect.suspend(() => {
      calls -= 1
      return closeUnused
    }),
    retire: Effect.suspend(() => {
      isRetired = true
      return closeUnused
    })
  }
}

const fromFile = (path: string) =>
  Effect.gen(function* () {
    // A reload reads provider keys from the same source as the start.
    const context = yield* Effect.context<never>()
    // Clients take it for a model's age, so a reload leaves it.
    const since = yield* DateTime.now
    let current = counted(yield* read(path, since))
    yield* Effect.addFinalizer(() => current.retire)
    const reload = read(path, since).pipe(
      Effect.provideContext(context),
      Effect.flatMap((next) => {
        const before = current
        current = counted(next)
        return before.retire
      }),
      Effect.tap(() => Effect.logInfo("the gateway's configuration was read again")),
      Effect.catch((error) =>
        Effect.logError("the gateway's configuration stays as it was").pipe(
          Effect.annotateLogs({ reason: error.message })
        )
      ),
      Effect.asVoid
    )
    const acquire = Effect.acquireRelease(
      // Acquire and count in one step, so that no reload closes the snapshot in between.
      Effect.sync(() => ({ used: current, snapshot: current.acquire() })),
      ({ used }) => used.release
    )
    return GatewayConfig.of({
      current: Effect.sync(() => Option.some(current.snapshot)),
      acquire: Effect.map(acquire, ({ snapshot }) => Option.some(snapshot)),
      reload
    })
  })

/** Without a file there is no gateway. */
export const layer = (path: Option.Option<string>): Layer.Layer<GatewayConfig, GatewayConfigUnusable> =>
  Option.match(path, {
    onNone: () =>
      Layer.succeed(GatewayConfig, {
        current: Effect.succeedNone,
        acquire: Effect.succeedNone,
        reload: Effect.void
      }),
    onSome: (file) => Layer.effect(GatewayConfig, fromFile(file))
  })
