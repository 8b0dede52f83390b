/** A separate process that sends requests as fast as they are answered, or at a given rate, and times them. */
import { challengeId } from "../../test/support/growth/identifiers.ts"
import { quantile } from "../measurement.ts"
import { agentCount, directions, pairAt, reasoning, tokenOf } from "../world.ts"
import { Connection } from "./Connection.ts"
import type { Answer } from "./Connection.ts"
import type { Job, Order, Outcome, Report, Requests } from "./job.ts"

/** A request without an answer after this time is a failure. */
const maxWaitMillis = 15_000

const tell = (report: Report) => process.send?.(report)

const tokens = new Map<number, string>()
const tokenFor = (agent: number): string => {
  const known = tokens.get(agent)
  if (known !== undefined) return known
  const made = tokenOf(agent)
  tokens.set(agent, made)
  return made
}

const post = (port: number, path: string, headers: ReadonlyArray<string>, body: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    ...headers,
    `Content-Length: ${body.length}`,
    "",
    body
  ].join("\r\n")

const predictions = directions.flatMap((direction) =>
  ["0.5", "0.62", "0.7125", "0.9"].map(
    (confidence) => `{"direction":"${direction}","confidence":${confidence},"reasoning":"${reasoning}"}`
  )
)

const question = "Say something about foxes and rivers, in about fifty words, please. ".repeat(6)

/** Writes the request with this index on this connection. */
type Composer = (index: number, connection: number) => string

const predictComposer = (port: number, requests: Requests & { kind: "predict" }): Composer => {
  const { challenges, from, size } = requests
  // Tokens are signed before the clock runs.
  for (let agent = 0; agent < agentCount; agent++) tokenFor(agent)
  return (index) => {
    const { agent, challenge } = pairAt(challenges, from + index)
    const headers = [`Authorization: Bearer ${tokenFor(agent)}`]
    const predictionAt = (place: number) => predictions[(from + index + place) % predictions.length] ?? ""
    if (size === 1) {
      return post(port, `/api/v1/eval/challenges/${challengeId(challenge)}/predict`, headers, predictionAt(0))
    }
    const items = Array.from(
      { length: size },
      (_, place) =>
        `{"challenge_id":"${challengeId(challenge * size + place)}",${predictionAt(place).slice(1)}`
    )
    return post(port, "/api/v1/eval/predictions", headers, `{"predictions":[${items.join()}]}`)
  }
}

const callComposer = (port: number, call: Requests & { kind: "call" }): Composer => {
  const body = JSON.stringify({
    model: call.model,
    messages: [
      { role: "system", content: "You are a helpful assistant." },
      { role: "user", content: question }
    ],
    temperature: 0.7,
    max_tokens: 100,
    ...(call.stream && { stream: true, stream_options: { include_usage: true } })
  })
  const requests = call.headers.map((headers) => post(port, call.path, headers, body))
  return (_, connection) => requests[connection % requests.length] ?? ""
}

const composerOf = ({ port, requests }: Job): Composer => {
  if (requests.kind === "read") return () => `GET ${requests.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`
  return requests.kind === "predict" ? predictComposer(port, requests) : callComposer(port, requests)
}

class Run {
  readonly #job: Job
  readonly #compose: Composer
  readonly #expected: number
  readonly #connections: Array<Connection> = []
  /** The due time of each connection's request; NaN while it has none. */
  readonly #due: Float64Array
  readonly #idle: Array<Connection> = []
  readonly #queue: Array<number> = []
  readonly #took: Array<number> = []
  readonly #firstBytes: Array<number> = []
  readonly #done: (outcome: Outcome) => void
  #begun = 0
  #ended = 0
  #sent = 0
  #inFlight = 0
  #answeredCount = 0
  #failures = 0
  #firstFailure: string | null = null
  #isStopping = false
  #isFinished = false
  #timeout: NodeJS.Timeout | undefined

  constructor(job: Job, done: (outcome: Outcome) => void) {
    this.#job = job
    this.#done = done
    this.#compose = composerOf(job)
    this.#expected = job.requests.kind === "predict" && job.requests.size === 1 ? 201 : 200
    this.#due = new Float64Array(job.connections).fill(Number.NaN)
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
    this.#timeout = setTimeout(() => this.#fail("a request was not answered in time"), maxWaitMillis)
    if (this.#inFlight === 0) this.#finish()
  }

  #pace(rate: number): void {
    this.#idle.push(...this.#connections)
    const started = performance.now()
    let due = 0
    const timer = setInterval(() => {
      if (this.#isStopping) return clearInterval(timer)
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
    this.#inFlight += 1
    this.#due[connection.number] = due
    connection.send(this.#compose(index, connection.number))
  }

  readonly #answered = (connection: Connection, { firstAt, status, text }: Answer) => {
    const now = performance.now()
    this.#inFlight -= 1
    if (status !== this.#expected) this.#note(text)
    if (this.#isStopping) {
      if (this.#inFlight === 0) this.#finish()
      return
    }
    const due = this.#due[connection.number] ?? now
    if (this.#begun > 0) this.#answeredCount += 1
    // A request of the ramp waited in the ramp's queue.
    if (this.#begun > 0 && due >= this.#begun) {
      this.#took.push(now - due)
      this.#firstBytes.push(firstAt - due)
    }
    const next = this.#job.rate === null ? now : this.#queue.shift()
    if (next === undefined) this.#idle.push(connection)
    else this.#send(connection, next)
  }

  #note(reason: string): void {
    this.#failures += 1
    this.#firstFailure ??= reason
  }

  /** A broken connection ends the run, because its request will not be answered. */
  #fail(reason: string): void {
    if (this.#isFinished) return
    this.#note(reason)
    this.stop()
    this.#finish()
  }

  #finish(): void {
    if (this.#isFinished) return
    this.#isFinished = true
    clearTimeout(this.#timeout)
    for (const connection of this.#connections) connection.close()
    this.#done({
      requests: this.#answeredCount,
      seconds: (this.#ended - this.#begun) / 1000,
      p50: quantile(this.#took, 0.5),
      p99: quantile(this.#took, 0.99),
      firstByte: quantile(this.#firstBytes, 0.5),
      sent: this.#sent,
      failures: this.#failures,
      firstFailure: this.#firstFailure
    })
  }
}

let current: Run | undefined
process.on("message", (order: Order) => {
  if (order.do === "stop") return current?.stop()
  current = new Run(order.job, (outcome) => {
    current = undefined
    tell({ is: "done", outcome })
  })
  current.start()
})
// The bench has ended without a message.
process.on("disconnect", () => process.exit(0))
// Ctrl-C is for the bench, which then ends this process.
process.on("SIGINT", () => {})
tell({ is: "ready" })
