/** A process of its own that calls models over kept-alive sockets, each call after the other's end, and times them. */
import { connect } from "node:net"
import type { Socket } from "node:net"
import type { CallJob, CallOutcome, CallReport } from "./job.ts"

const tell = (report: CallReport) => process.send?.(report)

const question = "Say something about foxes and rivers, in about fifty words, please. ".repeat(6)

const requestOf = (job: CallJob, connection: number): Buffer => {
  const body = JSON.stringify({
    model: job.model,
    messages: [
      { role: "system", content: "You are a helpful assistant." },
      { role: "user", content: question + "x".repeat(job.padding) }
    ],
    temperature: 0.7,
    max_tokens: 100,
    ...(job.stream && { stream: true, stream_options: { include_usage: true } })
  })
  const head = [
    `POST ${job.path} HTTP/1.1`,
    `Host: 127.0.0.1:${job.port}`,
    "Content-Type: application/json",
    ...(job.headers[connection % job.headers.length] ?? []),
    `Content-Length: ${Buffer.byteLength(body)}`
  ]
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`)
}

const lengthOf = /content-length: *(\d+)/i
const lastChunk = "0\r\n\r\n"

/** Knows just enough of HTTP to see where an answer ends. */
class Caller {
  readonly #request: Buffer
  readonly #socket: Socket
  readonly #answered: (caller: Caller, first: number, whole: number) => void
  #sentAt = 0
  #head = ""
  #needed = -1
  #got = 0
  #first = 0
  #tail = ""

  constructor(
    job: CallJob,
    connection: number,
    answered: (caller: Caller, first: number, whole: number) => void,
    failed: (why: string) => void
  ) {
    this.#request = requestOf(job, connection)
    this.#answered = answered
    this.#socket = connect({ port: job.port, host: "127.0.0.1", noDelay: true })
    this.#socket.on("error", (error) => failed(error.message))
    this.#socket.on("end", () => failed("the connection was closed"))
    this.#socket.on("data", (chunk: Buffer) => {
      const fault = this.#take(chunk)
      if (fault !== undefined) failed(fault)
    })
  }

  call(): void {
    this.#head = ""
    this.#needed = -1
    this.#got = 0
    this.#first = 0
    this.#tail = ""
    this.#sentAt = performance.now()
    this.#socket.write(this.#request)
  }

  close(): void {
    this.#socket.removeAllListeners("end")
    this.#socket.destroy()
  }

  #take(chunk: Buffer): string | undefined {
    let payload = chunk
    if (this.#needed === -1) {
      this.#head += chunk.toString("latin1")
      const end = this.#head.indexOf("\r\n\r\n")
      if (end === -1) return undefined
      if (!this.#head.startsWith("HTTP/1.1 200")) return this.#head.slice(0, 600)
      const length = lengthOf.exec(this.#head.slice(0, end))?.[1]
      this.#needed = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
      payload = chunk.subarray(chunk.length - (this.#head.length - end - 4))
    }
    if (payload.length === 0) return undefined
    if (this.#first === 0) this.#first = performance.now()
    this.#got += payload.length
    this.#tail = (this.#tail + payload.toString("latin1", Math.max(0, payload.length - 5))).slice(-5)
    const isWhole =
      this.#needed === Number.POSITIVE_INFINITY ? this.#tail === lastChunk : this.#got >= this.#needed
    if (isWhole) this.#answered(this, this.#first - this.#sentAt, performance.now() - this.#sentAt)
    return undefined
  }
}

const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

const run = (job: CallJob): Promise<CallOutcome> =>
  new Promise((resolve) => {
    const firsts: Array<number> = []
    const wholes: Array<number> = []
    const callers: Array<Caller> = []
    let begun = 0
    let ended = 0
    let made = 0
    let underWay = 0
    let isOver = false

    const finish = (failure: string | null) => {
      if (isOver) return
      isOver = true
      for (const caller of callers) caller.close()
      resolve({
        calls: wholes.length,
        seconds: ((ended || performance.now()) - begun) / 1000,
        p50: quantile(wholes, 0.5),
        p99: quantile(wholes, 0.99),
        first50: quantile(firsts, 0.5),
        first99: quantile(firsts, 0.99),
        failure
      })
    }
    const stop = () => {
      if (ended > 0) return
      ended = performance.now()
      tell({ is: "ended" })
      if (underWay === 0) finish(null)
    }
    const call = (caller: Caller) => {
      if (job.calls !== null && made >= job.calls) return stop()
      made += 1
      underWay += 1
      caller.call()
    }
    const answered = (caller: Caller, first: number, whole: number) => {
      underWay -= 1
      if (ended > 0) {
        if (underWay === 0) finish(null)
        return
      }
      if (begun > 0) {
        firsts.push(first)
        wholes.push(whole)
      }
      call(caller)
    }
    for (let connection = 0; connection < job.connections; connection++) {
      callers.push(new Caller(job, connection, answered, finish))
    }
    setTimeout(() => {
      begun = performance.now()
      tell({ is: "begun" })
      if (job.calls === null) setTimeout(stop, job.seconds * 1000)
    }, job.rampSeconds * 1000)
    for (const caller of callers) call(caller)
  })

process.on("message", (job: CallJob) => {
  void run(job).then((outcome) => tell({ is: "done", outcome }))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
tell({ is: "ready" })
