/** A process of its own that sends requests as fast as they are answered, or at a given rate, and times them. */
import { agentCount, challengeId, directions, pairAt, reasoning, stakerCount, tokenOf } from "../world.ts"
import type { Pairs } from "../world.ts"
import { Connection } from "./Connection.ts"
import type { Answer } from "./Connection.ts"
import type { Job, Order, Outcome, Report } from "./job.ts"

/** A request that is never answered is a failure, too. */
const patienceMillis = 15_000

const tell = (report: Report) => process.send?.(report)

const tokens = new Map<number, string>()
const tokenOnce = (agent: number): string => {
  const known = tokens.get(agent)
  if (known !== undefined) return known
  const made = tokenOf(agent)
  tokens.set(agent, made)
  return made
}

const predictions = directions.flatMap((direction) =>
  ["0.5", "0.62", "0.7125", "0.9"].map(
    (confidence) => `{"direction":"${direction}","confidence":${confidence},"reasoning":"${reasoning}"}`
  )
)

const stakeBody = '{"predicted_value":3.15,"amount":50}'

const postRequest = (port: number, agent: number, path: string, body: string): string =>
  `POST /api/v1/eval/${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
  `Authorization: Bearer ${tokenOnce(agent)}\r\nContent-Type: application/json\r\n` +
  `Content-Length: ${body.length}\r\n\r\n${body}`

const predictRequest = (port: number, pairs: Pairs, index: number): string => {
  const { agent, challenge } = pairAt(pairs, index)
  const body = predictions[index % predictions.length] ?? ""
  return postRequest(port, agent, `challenges/${challengeId(challenge)}/predict`, body)
}

const stakeRequest = (port: number, pairs: Pairs, index: number): string => {
  const { agent, challenge } = pairAt(pairs, index)
  return postRequest(port, agent, `macro/challenges/${challengeId(challenge)}/stake`, stakeBody)
}

const getRequest = (port: number, path: string, connection: number): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Forwarded-For: 10.0.${connection >> 8}.${connection & 255}\r\n\r\n`

const requestOf = ({ port, requests }: Job, index: number, connection: number): string => {
  switch (requests.kind) {
    case "predict":
      return predictRequest(port, requests.pairs, requests.first + index)
    case "stake":
      return stakeRequest(port, requests.pairs, requests.first + index)
    case "get":
      return getRequest(port, requests.path, connection)
  }
}

const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

class Run {
  readonly #job: Job
  readonly #expected: number
  readonly #connections: Array<Connection> = []
  /** When the request of each connection was due; NaN while it has none. */
  readonly #due: Float64Array
  readonly #idle: Array<Connection> = []
  readonly #queue: Array<number> = []
  readonly #took: Array<number> = []
  readonly #done: (outcome: Outcome) => void
  #begun = 0
  #ended = 0
  #sent = 0
  #underWay = 0
  #failures = 0
  #firstFailure: string | null = null
  #isStopping = false
  #isFinished = false
  #patience: NodeJS.Timeout | undefined

  constructor(job: Job, done: (outcome: Outcome) => void) {
    this.#job = job
    this.#done = done
    this.#expected = job.requests.kind === "get" ? 200 : 201
    this.#due = new Float64Array(job.connections).fill(Number.NaN)
    // Signed before the clock runs.
    if (job.requests.kind !== "get") {
      const most = job.requests.kind === "predict" ? agentCount : stakerCount
      for (let agent = 0; agent < most; agent++) tokenOnce(agent)
    }
    for (let number = 0; number < job.connections; number++) {
      this.#connections.push(
        new Connection({ number, port: job.port }, this.#answered, (reason) => this.#fail(reason))
      )
    }
  }

  start(): void {
    const { rampSeconds, rate, seconds } = this.#job
    setTimeout(() => {
      this.#begun = performance.now()
      tell({ is: "begun" })
      setTimeout(() => this.stop(), seconds * 1000)
    }, rampSeconds * 1000)
    if (rate === null) for (const connection of this.#connections) this.#send(connection, performance.now())
    else this.#pace(rate)
  }

  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#ended = performance.now()
    tell({ is: "ended" })
    this.#patience = setTimeout(() => this.#fail("a request was not answered in time"), patienceMillis)
    if (this.#underWay === 0) this.#finish()
  }

  #pace(rate: number): void {
    this.#idle.push(...this.#connections)
    const started = performance.now()
    let due = 0
    const timer = setInterval(() => {
      if (this.#isStopping) {
        clearInterval(timer)
        return
      }
      const now = performance.now()
      for (const until = ((now - started) / 1000) * rate; due < until; due++) this.#queue.push(now)
      while (this.#queue.length > 0 && this.#idle.length > 0) {
        const [connection, when] = [this.#idle.shift(), this.#queue.shift()]
        if (connection !== undefined && when !== undefined) this.#send(connection, when)
      }
    }, 1)
  }

  #send(connection: Connection, due: number): void {
    const index = this.#sent++
    this.#underWay += 1
    this.#due[connection.number] = due
    connection.send(requestOf(this.#job, index, connection.number))
  }

  readonly #answered = (connection: Connection, answer: Answer) => {
    const now = performance.now()
    this.#underWay -= 1
    if (answer.status !== this.#expected) this.#note(`${answer.status} ${answer.body()}`)
    if (this.#isStopping) {
      if (this.#underWay === 0) this.#finish()
      return
    }
    if (this.#begun > 0) this.#took.push(now - (this.#due[connection.number] ?? now))
    const waiting = this.#job.rate === null ? now : this.#queue.shift()
    if (waiting === undefined) this.#idle.push(connection)
    else this.#send(connection, waiting)
  }

  #note(reason: string): void {
    this.#failures += 1
    this.#firstFailure ??= reason
  }

  /** A connection that breaks ends the run: its request will not be answered. */
  #fail(reason: string): void {
    this.#note(reason)
    if (!this.#isStopping) this.stop()
    this.#finish()
  }

  #finish(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    clearTimeout(this.#patience)
    for (const connection of this.#connections) connection.close()
    const took = Float64Array.from(this.#took).sort()
    this.#done({
      requests: took.length,
      seconds: (this.#ended - this.#begun) / 1000,
      mean: took.reduce((sum, each) => sum + each, 0) / Math.max(1, took.length),
      p50: quantile(took, 0.5),
      p99: quantile(took, 0.99),
      longest: took.at(-1) ?? 0,
      sent: this.#sent,
      failures: this.#failures,
      firstFailure: this.#firstFailure
    })
  }
}

let current: Run | undefined
process.on("message", (order: Order) => {
  if (order.do === "stop") {
    current?.stop()
    return
  }
  current = new Run(order.job, (outcome) => {
    if (current === undefined) return
    current = undefined
    tell({ is: "done", outcome })
  })
  current.start()
})
// Whoever started it is gone.
process.on("disconnect", () => process.exit(0))
// Ctrl-C is for the bench, which then ends this process.
process.on("SIGINT", () => {})
tell({ is: "ready" })
