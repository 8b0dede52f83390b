/**
 * Loaded before the service (`node --import`), so that it works as if there were no public log: the part of its
 * statement that fills the log's queue does nothing, and nobody sequences or signs. The product has no such switch.
 */
import { registerHooks } from "node:module"

const moduleAt = (path: string) => new URL(`../../src/layers/postgres/log/${path}`, import.meta.url).href

const sources = new Map([
  [moduleAt("queueId.ts"), "export const queueId = 'null'"],
  [
    moduleAt("LogKeeper.ts"),
    `import { Effect, Layer, Option } from "effect"
     import { LogKeeper } from "../../../services/LogKeeper.ts"
     export const layer = Layer.succeed(LogKeeper, LogKeeper.of({
       verifyAtStart: Effect.void, sequence: Effect.succeed(0), publish: Effect.void, revealDue: Effect.succeed(0),
       trim: Effect.void, measure: Effect.void, verifierKey: Effect.succeed(Option.none()), fault: Effect.succeed(null),
       standstill: Effect.succeed({ fault: null, seconds: 0 })
     }))`
  ]
])

registerHooks({
  load: (url, context, nextLoad) => {
    const source = sources.get(url)
    return source === undefined ? nextLoad(url, context) : { format: "module", shortCircuit: true, source }
  }
})
