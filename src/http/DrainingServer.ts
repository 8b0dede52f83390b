/**
 * A Node server whose closing waits for requests, not for connections. Node's own waits for every one that has sent
 * nothing yet, or half a head, or that polls, and no longer enforces its time limits meanwhile.
 */
import { Server } from "node:http"
import type { IncomingMessage, ServerOptions, ServerResponse } from "node:http"
import type { Socket } from "node:net"

export class DrainingServer extends Server {
  /** Of every connection, how many requests are under way; clients that pipeline have several. */
  readonly #underWay = new Map<Socket, number>()

  constructor(options: ServerOptions) {
    super(options)
    this.on("connection", (socket: Socket) => {
      this.#underWay.set(socket, 0)
      socket.once("close", () => this.#underWay.delete(socket))
    })
    const follow = ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#count(socket, 1)
      if (!this.listening) response.setHeader("connection", "close")
      response.once("close", () => {
        const left = this.#count(socket, -1)
        if (!this.listening && left === 0) socket.end()
      })
    }
    this.on("request", follow)
    this.on("checkContinue", follow)
  }

  #count(socket: Socket, change: 1 | -1): number {
    const count = (this.#underWay.get(socket) ?? 0) + change
    if (!socket.destroyed) this.#underWay.set(socket, count)
    return count
  }

  override close(whenClosed?: (error?: Error) => void): this {
    super.close(whenClosed)
    for (const [socket, count] of this.#underWay) if (count === 0) socket.destroy()
    return this
  }
}
