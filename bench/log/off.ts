/**
 * Loaded before the service (`node --import`), so that it records predictions as if there were no public log: the part
 * of its statement that fills the log's queue is replaced by one that does nothing. The product has no such switch.
 */
import { registerHooks } from "node:module"

const queueCommits = new URL("../../src/layers/postgres/log/queueCommits.ts", import.meta.url).href

registerHooks({
  load: (url, context, nextLoad) =>
    url === queueCommits
      ? {
          format: "module",
          shortCircuit: true,
          source: "export const queueCommits = 'queued as (select 1)'"
        }
      : nextLoad(url, context)
})
