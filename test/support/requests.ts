/** Requests to the test server. Tests of services use them without loading the HTTP API. */
import { connect } from "node:net"
import { Context, Effect, Predicate, Schema } from "effect"
import { passing, until } from "./waiting.ts"

export class TestServer extends Context.Service<
  TestServer,
  { readonly url: string; readonly port: number }
>()("auspex/test/TestServer") {}

/** An answer. `json` is empty if it is no JSON object; `text` is always the raw text. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly json: Schema.JsonObject
  readonly text: string
}

export interface RequestOptions {
  /** An access token, or the administrator's. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** A value that is sent as JSON. */
  readonly json?: unknown
  /** A body that is sent as it is; bytes have no content type, a stream goes out in chunks. */
  readonly body?: string | Uint8Array<ArrayBuffer> | URLSearchParams | ReadableStream
  /** Gets the text of the answer so far, each time that more comes. */
  readonly onText?: (text: string) => void
}

const parsed = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))

/** A stream of notices ends when its reader does: a request for one returns its beginning. */
const isEndless = (path: string): boolean => /\/notices\/stream(\?|$)/.test(path)

const textOf = async (response: Response, onText: (text: string) => void, endless: boolean) => {
  const decoder = new TextDecoder()
  let text = ""
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    onText(text)
    if (endless) break
  }
  return text
}

export const send = Effect.fnUntraced(function* (method: string, path: string, options: RequestOptions = {}) {
  const { url } = yield* TestServer
  const headers = new Headers(options.headers)
  if (options.token !== undefined) headers.set("authorization", `Bearer ${options.token}`)
  if ("json" in options && !headers.has("content-type")) headers.set("content-type", "application/json")
  const body = "json" in options ? JSON.stringify(options.json) : options.body
  return yield* Effect.promise(async (signal): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body !== undefined && { body, duplex: "half" as const })
    })
    const { onText = () => {} } = options
    const text = await textOf(response, onText, options.onText === undefined && isEndless(path))
    const json = parsed(text)
    return {
      status: response.status,
      headers: response.headers,
      json: json._tag === "Some" ? json.value : {},
      text
    }
  })
})

export const get = (path: string, options?: RequestOptions) => send("GET", path, options)
export const post = (path: string, options?: RequestOptions) => send("POST", path, options)

/** Counts the heartbeat spaces of a slow answer, and moves the clock on until this many have come. */
export const heartbeat = () => {
  let come = ""
  return {
    onText: (text: string) => {
      come = text
    },
    until: (count: number) =>
      passing(
        until(() => come.length >= count),
        "5 seconds"
      )
  }
}

/** The member at a path into an answer, or `undefined`. */
export const member = (json: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((value, key) => (Predicate.hasProperty(value, key) ? value[key] : undefined), json)

/** The paths that the `errors` of a 400 name, each once. */
export const wrongFields = (answer: Answer): ReadonlyArray<unknown> => {
  const errors = answer.json["errors"]
  return Array.isArray(errors) ? [...new Set(errors.map((each) => member(each, "path")))].sort() : []
}

/** Sends raw bytes, as no client would; returns the answer until the server hung up. */
export const raw = Effect.fnUntraced(function* (bytes: string) {
  const { port } = yield* TestServer
  return yield* Effect.callback<string>((resume) => {
    const received: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"))
    const finish = () => resume(Effect.succeed(Buffer.concat(received).toString()))
    socket.on("data", (chunk) => received.push(chunk))
    socket.on("error", finish)
    socket.on("close", finish)
    return Effect.sync(() => socket.destroy())
  })
})
