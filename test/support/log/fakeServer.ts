/** A foreign HTTP server on loopback, which answers correctly until a test changes its behaviour. */
import { createServer } from "node:http"
import type { IncomingHttpHeaders } from "node:http"
import { Effect } from "effect"

export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** The behaviour that replaces its work; `work` does that work, with all its effects, as if this had been asked. */
export type Behaviour = (
  request: ReceivedRequest,
  work: (request?: ReceivedRequest) => Promise<Reply>
) => Promise<Reply>

export interface FakeServer {
  readonly url: string
  /** The requests so far, oldest first. */
  readonly requests: ReadonlyArray<ReceivedRequest>
  /** Forgets the requests so far. */
  readonly forget: () => void
  /** Returns once it has had this many requests in all. */
  readonly received: (times: number) => Effect.Effect<void>
  /** Sets the behaviour from now on; without one it works. */
  readonly behave: (behaviour?: Behaviour) => void
}

export const fakeServer = (work: (request: ReceivedRequest) => Promise<Reply>) =>
  Effect.acquireRelease(
    Effect.callback<FakeServer & { readonly close: Effect.Effect<void> }>((resume) => {
      const requests: Array<ReceivedRequest> = []
      const waiting = new Set<() => void>()
      let behaviour: Behaviour | undefined
      const server = createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const body = Buffer.concat(chunks)
          const question = { path: request.url ?? "", headers: request.headers, body }
          requests.push(question)
          for (const look of waiting) look()
          const answer =
            behaviour === undefined ? work(question) : behaviour(question, (as = question) => work(as))
          answer
            .catch((error: unknown): Reply => ({ status: 500, body: String(error) }))
            .then(({ body: sent = "", headers = {}, status }) =>
              response.writeHead(status, headers).end(sent)
            )
        })
      })
      const received = (times: number) =>
        Effect.callback<void>((done) => {
          const look = () => {
            if (requests.length < times) return
            waiting.delete(look)
            done(Effect.void)
          }
          waiting.add(look)
          look()
        })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = Effect.callback<void>((closed) => {
          server.closeAllConnections()
          server.close(() => closed(Effect.void))
        })
        const behave = (next?: Behaviour) => {
          behaviour = next
        }
        const forget = () => {
          requests.length = 0
        }
        resume(Effect.succeed({ forget, url: `http://127.0.0.1:${port}`, requests, received, behave, close }))
      })
    }),
    ({ close }) => close
  )
