/** The configuration in force, with the connections to its providers; read at the start, and again when asked to. */
import { readFile } from "node:fs/promises"
import { Config, Context, Data, DateTime, Effect, Layer, Option, Result } from "effect"
import { parseConfiguration } from "./configuration.ts"
import type { Configuration } from "./configuration.ts"
import { connect } from "./upstream.ts"
import type { Upstream } from "./upstream.ts"

/** The gateway's file cannot be used as it is; the message is all an operator needs. */
export class GatewayConfigUnusable extends Data.TaggedError("GatewayConfigUnusable")<{
  readonly message: string
}> {}

export interface InForce {
  readonly configuration: Configuration
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly since: DateTime.Utc
}

/** What a call uses from its beginning to its end, whatever is read meanwhile. */
export interface Lent {
  readonly inForce: InForce
  /** Once for each time that it was lent. */
  readonly giveBack: () => void
}

export class Configured extends Context.Service<
  Configured,
  {
    /** None: this instance has no gateway. */
    readonly current: Effect.Effect<Option.Option<InForce>>
    /** The same for a call: its connections stay open until it is given back. */
    readonly lend: () => Option.Option<Lent>
    /** Reads the file again; what is wrong with it is logged, and the old one stays in force. */
    readonly reload: Effect.Effect<void>
  }
>()("auspex/layers/gateway/Configured") {}

const unusable = (path: string, why: string) =>
  new GatewayConfigUnusable({ message: `AUSPEX_GATEWAY_CONFIG: ${path} cannot be used: ${why}.` })

const variable = (name: string) =>
  Config.option(Config.String(name)).pipe(Effect.orElseSucceed(() => Option.none<string>()))

/** Names of variables that the text refers to: they are looked up before it is read as a whole. */
const namedVariables = (text: string): ReadonlyArray<string> => [
  ...new Set([...text.matchAll(/api_key_env["']?\s*:\s*["']?([A-Za-z_]\w*)/g)].map(([, name = ""]) => name))
]

const read = Effect.fnUntraced(function* (path: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (error) => unusable(path, error instanceof Error ? error.message : "it cannot be read")
  })
  const keys = new Map<string, Option.Option<string>>()
  for (const name of namedVariables(text)) keys.set(name, yield* variable(name))
  const parsed = parseConfiguration(text, (name) => keys.get(name) ?? Option.none())
  if (Result.isFailure(parsed)) return yield* unusable(path, parsed.failure.join("; "))
  const configuration = parsed.success
  const upstreams = new Map([...configuration.providers.values()].map((each) => [each.name, connect(each)]))
  const inForce: InForce = { configuration, upstreams, since: yield* DateTime.now }
  return inForce
})

/** In force until it is retired; its connections are closed when no call uses them any more. */
const lending = (inForce: InForce) => {
  let calls = 0
  let isRetired = false
  const closeUnused = () => {
    if (isRetired && calls === 0) for (const upstream of inForce.upstreams.values()) upstream.close()
  }
  const lent: Lent = {
    inForce,
    giveBack: () => {
      calls -= 1
      closeUnused()
    }
  }
  return {
    inForce,
    lend: (): Lent => {
      calls += 1
      return lent
    },
    retire: () => {
      isRetired = true
      closeUnused()
    }
  }
}

const fromFile = (path: string) =>
  Effect.gen(function* () {
    // Keys come from where they came from at the start.
    const context = yield* Effect.context<never>()
    let current = lending(yield* read(path))
    yield* Effect.addFinalizer(() => Effect.sync(() => current.retire()))
    const reload = read(path).pipe(
      Effect.provideContext(context),
      Effect.map((next) => {
        const before = current
        current = lending(next)
        before.retire()
      }),
      Effect.tap(() => Effect.logInfo("the gateway's configuration was read again")),
      Effect.catch((error) =>
        Effect.logError("the gateway's configuration stays as it was").pipe(
          Effect.annotateLogs({ reason: error.message })
        )
      ),
      Effect.asVoid
    )
    return Configured.of({
      current: Effect.sync(() => Option.some(current.inForce)),
      // Counted in the same step in which it is taken, so that no reload comes between.
      lend: () => Option.some(current.lend()),
      reload
    })
  })

/** Without a file there is no gateway. */
export const layer = (path: Option.Option<string>): Layer.Layer<Configured, GatewayConfigUnusable> =>
  Option.match(path, {
    onNone: () =>
      Layer.succeed(Configured, {
        current: Effect.succeedNone,
        lend: Option.none,
        reload: Effect.void
      }),
    onSome: (file) => Layer.effect(Configured, fromFile(file))
  })
