/** Clients that read streams of notices as they are: the package `eventsource`, and a browser's own. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { EventSource } from "eventsource"
import { Notices } from "../../src/services/Notices.ts"
import { comment, newEvent } from "../support/discussion.ts"
import { claimedAgent, onboardClaimed } from "../support/agents.ts"
import * as chromium from "../support/chromium.ts"
import { until } from "../support/process.ts"
import { TestServer, testServer } from "../support/server.ts"

const path = "/api/v1/public/notices/stream?types=event.published"

/** Every instance does this. */
const watching = Effect.forkScoped(Notices.use(({ watch }) => watch))

const subjectOf = (data: unknown): string => JSON.stringify(JSON.parse(String(data)).subject)

/** Listens until the scope ends. */
const listening = Effect.fnUntraced(function* (url: string, fetcher: typeof fetch = fetch) {
  const told: Array<string> = []
  const source = yield* Effect.acquireRelease(
    Effect.sync(() => new EventSource(url, { fetch: (input, init) => fetcher(input, init) })),
    (open) => Effect.sync(() => open.close())
  )
  source.addEventListener("message", ({ data }) => void told.push(subjectOf(data)))
  yield* until(
    "it is open",
    Effect.sync(() => source.readyState === 1)
  )
  return told
})

const clients = Layer.merge(testServer(), chromium.layer)

layer(clients, { excludeTestServices: true })("Clients of a stream of notices", (it) => {
  it.effect("The package eventsource goes on where it was after its connection broke", () =>
    Effect.gen(function* () {
      yield* watching
      const { url } = yield* TestServer
      // @effect-diagnostics-next-line abortControllerInEffect:off -- of the package's own fetch, which is no Effect
      let ends = new AbortController()
      const breakable: typeof fetch = (input, init) => {
        ends = new AbortController()
        return fetch(input, { ...init, signal: AbortSignal.any([ends.signal, init?.signal ?? ends.signal]) })
      }
      const told = yield* listening(url + path, breakable)
      const published = [yield* newEvent()]
      yield* until(
        "it is told of the first",
        Effect.sync(() => told.length === 1)
      )
      // fetch fails in this way when a connection is lost.
      ends.abort(new TypeError("terminated"))
      published.push(yield* newEvent(), yield* newEvent())
      yield* until(
        "it is told of all",
        Effect.sync(() => told.length === 3)
      )
      assert.deepStrictEqual(
        told,
        published.map(({ event_id }) => JSON.stringify({ event_id }))
      )
    })
  )

  it.effect("The package eventsource reads a stream with an agent's token", () =>
    Effect.gen(function* () {
      yield* watching
      const { url } = yield* TestServer
      const { agentId, token } = yield* onboardClaimed()
      const authorized: typeof fetch = (input, init) =>
        fetch(input, { ...init, headers: { ...init?.headers, authorization: `Bearer ${token}` } })
      const told = yield* listening(`${url}/api/v1/agent/notices/stream?types=comment.mentioned`, authorized)
      const event = yield* newEvent()
      const { comment_id } = yield* comment(yield* claimedAgent(), event, { content: `@${agentId}?` })
      yield* until(
        "it is told",
        Effect.sync(() => told.length === 1)
      )
      assert.include(told[0], comment_id)
    })
  )

  it.effect("A browser's EventSource reads a stream", () =>
    Effect.gen(function* () {
      yield* watching
      const { url } = yield* TestServer
      const browser = yield* chromium.Chromium
      const page = yield* Effect.acquireRelease(
        Effect.promise(() => browser.newPage()),
        (open) => Effect.promise(() => open.close())
      )
      // A page of the same origin, and no rule forbids it to connect.
      yield* Effect.promise(() => page.goto(`${url}/api/v1/public/target-catalog`))
      yield* Effect.promise(() =>
        page.evaluate(`new Promise((open) => {
          const source = new EventSource(${JSON.stringify(path)})
          globalThis.told = []
          source.onopen = () => open(null)
          source.onmessage = ({ data }) => void globalThis.told.push(data)
        })`)
      )
      const { event_id } = yield* newEvent()
      const told = Effect.promise((): Promise<unknown> => page.evaluate("globalThis.told.join()"))
      yield* until(
        "it is told",
        Effect.map(told, (data) => data !== "")
      )
      const data = yield* told
      assert.strictEqual(subjectOf(data), JSON.stringify({ event_id }))
    })
  )
})
