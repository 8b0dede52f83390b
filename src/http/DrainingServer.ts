/**
 * A Node server whose closing waits for requests, not for connections. Node's own waits for every one that has sent
 * nothing yet, or half a head, or that polls, and no longer enforces its time limits meanwhile.
 */
import { IncomingMessage, Server, ServerResponse } from "node:http"
import type { ServerOptions } from "node:http"
import type { Socket } from "node:net"

export class DrainingServer extends Server {
  /** Asked first of every request: true, it answers it. */
  lane: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined

  /** Of every connection, how many requests are under way; clients that pipeline have several. */
  readonly #underWay = new Map<Socket, number>()

  constructor(options: ServerOptions) {
    super(options)
    this.on("connection", (socket: Socket) => {
      this.#underWay.set(socket, 0)
      socket.once("close", () => this.#underWay.delete(socket))
    })
  }

  override emit(event: string, ...given: ReadonlyArray<unknown>): boolean {
    const [request, response] = given
    if (request instanceof IncomingMessage && response instanceof ServerResponse) {
      this.#follow(request, response)
      if (event === "request" && this.lane?.(request, response) === true) return true
    }
    return super.emit(event, ...given)
  }

  #follow({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#count(socket, 1)
    if (!this.listening) response.setHeader("connection", "close")
    response.once("close", () => {
      const left = this.#count(socket, -1)
      if (!this.listening && left === 0) socket.end()
    })
  }

  #count(socket: Socket, change: 1 | -1): number {
    const count = (this.#underWay.get(socket) ?? 0) + change
    if (!socket.destroyed) this.#underWay.set(socket, count)
    return count
  }

  /** Whatever is still under way ends here. */
  hangUp(): void {
    this.lane = undefined
    for (const socket of this.#underWay.keys()) socket.destroy()
  }

  override close(whenClosed?: (error?: Error) => void): this {
    super.close(whenClosed)
    for (const [socket, count] of this.#underWay) if (count === 0) socket.destroy()
    return this
  }
}
