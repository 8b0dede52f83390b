/**
 * A kept-alive HTTP/1.1 connection that sends a prepared request and finds the end of its answer. It understands no other part of HTTP:
 * the generator shares the machine with the measured server.
 */
import { connect } from "node:net"
import type { Socket } from "node:net"

export interface Answer {
  readonly status: number
  /** The time of the body's first byte. */
  readonly firstAt: number
  /** The beginning of head and body, for the message of a failure. */
  readonly text: string
}

const lengthOf = /\r\ncontent-length: *(\d+)/i
const lastChunk = "0\r\n\r\n"

export class Connection {
  readonly number: number
  readonly #socket: Socket
  #head = ""
  #headEnd = -1
  /** The bytes of the body; infinite while it is chunked. */
  #length = 0
  #received = 0
  #firstAt = 0
  #tail = ""

  constructor(
    options: { readonly number: number; readonly port: number },
    answered: (connection: Connection, answer: Answer) => void,
    broken: (reason: string) => void
  ) {
    this.number = options.number
    this.#socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true })
    this.#socket.on("data", (chunk: Buffer) => {
      if (this.#take(chunk)) {
        answered(this, {
          status: Number(this.#head.slice(9, 12)),
          firstAt: this.#firstAt,
          text: this.#head.slice(0, 1000)
        })
      } else if (this.#received > this.#length) broken("more bytes than one answer has")
    })
    this.#socket.on("error", (error) => broken(error.message))
    this.#socket.on("end", () => broken("the server closed the connection"))
  }

  send(request: string): void {
    this.#head = ""
    this.#headEnd = -1
    this.#received = 0
    this.#firstAt = 0
    this.#tail = ""
    this.#socket.write(request, "latin1")
  }

  close(): void {
    this.#socket.removeAllListeners("end")
    this.#socket.destroy()
  }

  /** Takes a chunk, and tells whether the answer is complete. */
  #take(chunk: Buffer): boolean {
    let body = chunk
    if (this.#headEnd < 0) {
      const before = this.#head.length
      this.#head += chunk.toString("latin1", 0, 4096)
      this.#headEnd = this.#head.indexOf("\r\n\r\n")
      if (this.#headEnd < 0) return false
      const length = lengthOf.exec(this.#head.slice(0, this.#headEnd))?.[1]
      this.#length = length === undefined ? Number.POSITIVE_INFINITY : Number(length)
      body = chunk.subarray(this.#headEnd + 4 - before)
    }
    if (body.length > 0 && this.#firstAt === 0) this.#firstAt = performance.now()
    this.#received += body.length
    if (this.#length !== Number.POSITIVE_INFINITY) return this.#received === this.#length
    this.#tail = (this.#tail + body.toString("latin1", Math.max(0, body.length - 5))).slice(-5)
    return this.#tail === lastChunk
  }
}
