/**
 * Loaded before the service (`node --import`): SIGUSR2 switches its public log off, and on again. Off means that the part
 * of its statement that fills the log's queue does nothing, and nobody sequences or signs. The product has no such switch.
 *
 * One process is measured with the log and without it, not two: two of the very same program differ by more than the log
 * costs, for as long as they run, by what V8 made of each.
 */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"

const moduleAt = (path: string) => new URL(`../../src/layers/postgres/log/${path}`, import.meta.url).href

const queueId = moduleAt("queueId.ts")
const keeper = moduleAt("LogKeeper.ts")

/** The module itself, beside the one that is put in its place. */
const original = "?original"

const sources = new Map([
  [
    queueId,
    `import { queueId as filling } from "${queueId}${original}"
     export let queueId = filling
     process.on("SIGUSR2", () => { queueId = queueId === filling ? "null" : filling })`
  ],
  [
    keeper,
    `import { Effect, Layer } from "effect"
     import { LogKeeper } from "../../../services/LogKeeper.ts"
     import * as original from "${keeper}${original}"
     let isOn = true
     process.on("SIGUSR2", () => { isOn = !isOn })
     const unlessOff = (effect, nothing) => Effect.suspend(() => isOn ? effect : Effect.succeed(nothing))
     const keeper = Effect.map(LogKeeper, (log) => LogKeeper.of({
       ...log,
       sequence: unlessOff(log.sequence, 0),
       publish: unlessOff(log.publish, undefined),
       revealDue: unlessOff(log.revealDue, 0),
       trim: unlessOff(log.trim, undefined),
       measure: unlessOff(log.measure, undefined)
     }))
     export const layer = Layer.effect(LogKeeper, keeper).pipe(Layer.provide(original.layer))`
  ]
])

registerHooks({
  load: (url, context, nextLoad) => {
    if (url.endsWith(original)) {
      const source = readFileSync(fileURLToPath(url.slice(0, -original.length)), "utf8")
      return { format: "module-typescript", shortCircuit: true, source }
    }
    const source = sources.get(url)
    return source === undefined ? nextLoad(url, context) : { format: "module", shortCircuit: true, source }
  }
})
