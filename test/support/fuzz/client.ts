/** An HTTP/1.1 client for hostile requests: the target, the headers and the body are sent exactly as given. */
import { Agent, request as send } from "node:http"
import { Data, Effect } from "effect"
import { HttpServer } from "effect/http"
import { withoutCoding } from "../codings.ts"

export type Header = readonly [name: string, value: string]

export interface Outgoing {
  readonly method: string
  /** The request target, already encoded and not normalised. */
  readonly target: string
  readonly headers: ReadonlyArray<Header>
  readonly body?: string | Uint8Array | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly milliseconds: number
}

/** The server hung up, or did not answer in time. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly reason: string }> {}

const patience = 30_000
const connections = 8

const bytesOf = (body: Outgoing["body"]) => (typeof body === "string" ? Buffer.from(body) : body)

/** Keep-alive connections to the server under test. */
export const makeClient = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  if (address._tag !== "InetAddressV4") return yield* Effect.die(new Error("expected a server on 127.0.0.1"))
  const { port } = address
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true, maxSockets: connections })),
    (agent) => Effect.sync(() => agent.destroy())
  )
  return (outgoing: Outgoing): Effect.Effect<Answer, NoAnswer> =>
    Effect.callback<Answer, NoAnswer>((resume) => {
      const started = performance.now()
      const body = bytesOf(outgoing.body)
      const named = new Set(outgoing.headers.map(([name]) => name.toLowerCase()))
      const headers = [
        ...(named.has("host") ? [] : ["host", `127.0.0.1:${port}`]),
        ...outgoing.headers.flat(),
        ...(body === undefined || named.has("transfer-encoding") ? [] : ["content-length", `${body.length}`])
      ]
      const request = send({
        agent,
        host: "127.0.0.1",
        port,
        method: outgoing.method,
        path: outgoing.target,
        headers,
        timeout: patience
      })
      request.on("response", (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", (error) => resume(Effect.fail(new NoAnswer({ reason: error.message }))))
        const finish = () => {
          const received = Object.entries(response.headers).map(([name, value]) => [
            name,
            Array.isArray(value) ? value.join(", ") : (value ?? "")
          ])
          resume(
            Effect.succeed({
              status: response.statusCode ?? 0,
              headers: Object.fromEntries(received),
              text: withoutCoding(Buffer.concat(chunks), response.headers["content-encoding"]).toString(
                "utf8"
              ),
              milliseconds: performance.now() - started
            })
          )
        }
        response.on("end", finish)
        // A stream of notices ends when its reader does.
        if (response.headers["content-type"]?.startsWith("text/event-stream")) {
          response.once("data", () => {
            finish()
            request.destroy()
          })
        }
      })
      request.on("timeout", () => request.destroy(new Error(`nothing for ${patience} ms`)))
      request.on("error", (error) => resume(Effect.fail(new NoAnswer({ reason: error.message }))))
      request.end(body)
      return Effect.sync(() => request.destroy())
    })
})
