/** The processor time of requests, as ratios within one run: no test depends on how fast a machine is. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Effect } from "effect"
import { get } from "./requests.ts"
import type { Answer, TestServer } from "./requests.ts"

type Request = Effect.Effect<Answer, never, TestServer>

const microsecondsSince = (before: NodeJS.CpuUsage) => {
  const { system, user } = process.cpuUsage(before)
  return system + user
}

const rounds = 7

/**
 * The processor time of `request` divided by that of `other`, server and client together. The two take turns, and the cheapest round
 * of each counts, so that neither pays for a garbage collection or for code that is not compiled yet.
 */
export const costRatio = Effect.fnUntraced(function* (request: Request, other: Request) {
  const cost = Effect.fnUntraced(function* (request: Request) {
    const before = process.cpuUsage()
    yield* request
    yield* request
    return microsecondsSince(before)
  })
  let [least, leastOfOther] = [Infinity, Infinity]
  for (let round = 0; round < rounds; round++) {
    leastOfOther = Math.min(leastOfOther, yield* cost(other))
    least = Math.min(least, yield* cost(request))
  }
  return least / leastOfOther
})

/** `costRatio` to GET /health/live, which also bounds how long one such request blocks the process for others. */
export const timesHealth = (request: Request) => costRatio(request, get("/health/live"))

const run = promisify(execFile)

/** Requests run one after the other on one connection; the answers are discarded. */
const client = `
  const { Agent, get } = require("node:http")
  const [url, headers, count] = process.argv.slice(1)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const again = (left) => left > 0 && get(url, { agent, headers: JSON.parse(headers) }, (response) =>
    response.resume().on("end", () => again(left - 1)))
  again(Number(count))`

const sent = (url: string, headers: Readonly<Record<string, string>>, count: number) =>
  Effect.promise(() => run(process.execPath, ["-e", client, url, JSON.stringify(headers), String(count)]))

/** Microseconds of processor time that a request for a large document takes in the server alone: another process asks. */
export const timePerRequest = Effect.fnUntraced(function* (
  url: string,
  headers: Readonly<Record<string, string>> = {}
) {
  yield* sent(url, headers, 50)
  let least = Infinity
  for (let round = 0; round < 3; round++) {
    const before = process.cpuUsage()
    yield* sent(url, headers, 50)
    least = Math.min(least, microsecondsSince(before) / 50)
  }
  return least
})
