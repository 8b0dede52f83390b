/**
 * One kept-alive HTTP/1.1 connection that sends a prepared request and reads the answer's status, and nothing more:
 * the generator shares the machine with what it measures, so it must cost little.
 */
import { connect } from "node:net"
import type { Socket } from "node:net"

export interface Answer {
  readonly status: number
  readonly bytes: number
  /** The beginning of the body, decoded only when asked for. */
  readonly body: () => string
}

const lengthOf = /\r\ncontent-length: *(\d+)/i

export class Connection {
  readonly number: number
  readonly #socket: Socket
  readonly #answered: (connection: Connection, answer: Answer) => void
  #pieces: Array<Buffer> = []
  #received = 0
  #expected = 0
  #headEnd = 0
  #status = 0

  constructor(
    options: { readonly number: number; readonly port: number },
    answered: (connection: Connection, answer: Answer) => void,
    broken: (reason: string) => void
  ) {
    this.number = options.number
    this.#answered = answered
    this.#socket = connect({ port: options.port, host: "127.0.0.1", noDelay: true })
    this.#socket.on("data", (chunk: Buffer) => {
      const fault = this.#take(chunk)
      if (fault !== undefined) broken(fault)
    })
    this.#socket.on("error", (error) => broken(error.message))
    this.#socket.on("end", () => broken("the server closed the connection"))
  }

  send(request: string): void {
    this.#socket.write(request, "latin1")
  }

  close(): void {
    this.#socket.removeAllListeners("end")
    this.#socket.destroy()
  }

  #take(chunk: Buffer): string | undefined {
    if (this.#received === 0) {
      const head = chunk.toString("latin1", 0, Math.min(chunk.length, 4096))
      const end = head.indexOf("\r\n\r\n")
      const length = lengthOf.exec(head)?.[1]
      if (end < 0 || length === undefined) return `an answer without Content-Length: ${head.slice(0, 400)}`
      this.#status = Number(head.slice(9, 12))
      this.#headEnd = end + 4
      this.#expected = this.#headEnd + Number(length)
    }
    this.#pieces.push(chunk)
    this.#received += chunk.length
    if (this.#received < this.#expected) return undefined
    if (this.#received > this.#expected) return "more bytes than one answer has"
    const [pieces, from, status, bytes] = [this.#pieces, this.#headEnd, this.#status, this.#received]
    this.#pieces = []
    this.#received = 0
    this.#answered(this, {
      status,
      bytes,
      body: () => Buffer.concat(pieces).toString("utf8", from, from + 1000)
    })
    return undefined
  }
}
