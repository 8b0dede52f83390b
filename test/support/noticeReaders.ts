/** Readers of notices of every kind, each cut off at random moments and continuing from its place. */
import { createServer } from "node:http"
import type { Server } from "node:http"
import { Effect, Random } from "effect"

/** The ids of a reader's notices, in the order in which they came. */
export interface Told {
  readonly kind: string
  /** Null for a reader of public notices. */
  readonly agentId: string | null
  readonly ids: () => ReadonlyArray<string>
}

interface Reading {
  readonly agentId: string | null
  readonly token: string | null
  /** The address of an instance; it may be another at each call. */
  readonly instance: Effect.Effect<string>
  readonly start: string
}

const headersOf = ({ token }: Reading): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` }

const pathOf = ({ token }: Reading) => `/api/v1/${token === null ? "public" : "agent"}/notices`

/** Runs for a moment, is cut off, and is run again, until the scope ends. Failures are those of a service that is away. */
const cutOff = (life: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const millis = yield* Random.nextIntBetween(50, 3000)
    yield* Effect.timeoutOption(life, millis).pipe(Effect.catchCause(() => Effect.sleep("100 millis")))
  }).pipe(Effect.forever, Effect.forkScoped)

const getJson = (url: string, headers: Record<string, string>) =>
  Effect.tryPromise(
    async (signal): Promise<{ items: ReadonlyArray<{ id: string }>; next_cursor: string }> => {
      const response = await fetch(url, { headers, signal })
      if (response.status !== 200) throw new Error(String(response.status))
      return (await response.json()) as { items: ReadonlyArray<{ id: string }>; next_cursor: string }
    }
  )

/** Reads everything after the start, page by page, without interruptions. */
export const readAll = Effect.fnUntraced(function* (reading: Reading) {
  const ids: Array<string> = []
  const base = yield* reading.instance
  let after = reading.start
  let page: { readonly items: ReadonlyArray<{ readonly id: string }>; readonly next_cursor: string }
  do {
    page = yield* getJson(`${base}${pathOf(reading)}?after=${after}&limit=200`, headersOf(reading))
    ids.push(...page.items.map(({ id }) => id))
    after = page.next_cursor
  } while (page.items.length > 0)
  return ids
})

/** Asks again and again, and waits for notices. */
export const startPolling = Effect.fnUntraced(function* (reading: Reading) {
  const ids: Array<string> = []
  let cursor = reading.start
  const wait = reading.token === null ? "" : "&wait=5"
  yield* cutOff(
    Effect.gen(function* () {
      const base = yield* reading.instance
      const url = `${base}${pathOf(reading)}?after=${cursor}&limit=50${wait}`
      const page = yield* getJson(url, headersOf(reading))
      ids.push(...page.items.map(({ id }) => id))
      cursor = page.next_cursor
      if (wait === "") yield* Effect.sleep("200 millis")
    }).pipe(Effect.forever)
  )
  const told: Told = { kind: "poll", agentId: reading.agentId, ids: () => ids }
  return told
})

/** Reads a stream, and reconnects with the id of the last complete event. */
export const startStreaming = Effect.fnUntraced(function* (reading: Reading) {
  const ids: Array<string> = []
  let last = reading.start
  const life = Effect.gen(function* () {
    const base = yield* reading.instance
    yield* Effect.tryPromise(async (signal) => {
      const headers = { ...headersOf(reading), "last-event-id": last }
      const response = await fetch(`${base}${pathOf(reading)}/stream`, { headers, signal })
      if (response.status !== 200 || response.body === null) throw new Error(String(response.status))
      let text = ""
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk
        const end = text.lastIndexOf("\n\n")
        if (end < 0) continue
        for (const [, id = "", data = ""] of text.slice(0, end + 2).matchAll(/^id: (.*)\ndata: (.*)\n\n/gm)) {
          ids.push((JSON.parse(data) as { id: string }).id)
          last = id
        }
        text = text.slice(end + 2)
      }
    })
    // The stream ended regularly, and told the time to reconnect.
    yield* Effect.sleep("100 millis")
  })
  yield* cutOff(life)
  const told: Told = { kind: "stream", agentId: reading.agentId, ids: () => ids }
  return told
})

/** The port of a server that listens until the scope ends. */
export const portOf = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  ).pipe(
    Effect.map(() => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    })
  )

/** Accepts posts, each id once; some requests break off before or after the acceptance, none of them twice. */
export const startReceiving = Effect.fnUntraced(function* (seed: number) {
  const told = new Map<string, Array<string>>()
  const broken = new Set<string>()
  let draw = seed
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      const [hook = "", id = ""] = [request.url ?? "", String(request.headers["webhook-id"])]
      const key = `${hook} ${id}`
      // The same seed and order give the same draws.
      draw = (draw * 1_103_515 + 12_345) % 2 ** 31
      const breaks = !broken.has(key) && draw % 50 === 0
      if (breaks) broken.add(key)
      if (breaks && draw % 100 === 0) return void request.socket.destroy()
      const ids = told.get(hook) ?? []
      told.set(hook, ids)
      if (!ids.includes(id)) ids.push(id)
      return breaks ? void request.socket.destroy() : void response.writeHead(204).end()
    })
  })
  const port = yield* portOf(server)
  return {
    urlOf: (agentId: string) => `http://127.0.0.1:${port}/${agentId}`,
    of: (agentId: string): Told => ({
      kind: "webhook",
      agentId,
      ids: () => told.get(`/${agentId}`) ?? []
    })
  }
})
