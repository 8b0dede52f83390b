/** Notices over HTTP. A stream reads the next notices only after the previous ones were sent, so nothing piles up. */
import { IncomingMessage } from "node:http"
import { Clock, DateTime, Duration, Effect, Layer, Random, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Notices, isPublic } from "../../services/Notices.ts"
import type { Notice, NoticeRead, NoticeType, Reader } from "../../services/Notices.ts"
import { InvalidRequest } from "../../services/domain/errors.ts"
import { defaultLimit, pageOf } from "../../services/domain/paging.ts"
import { Tokens } from "../../services/Tokens.ts"
import { Webhooks } from "../../services/Webhooks.ts"
import { Api } from "../api/Api.ts"
import { CurrentRequest } from "../CurrentRequest.ts"
import { unstored } from "../httpCaching.ts"
import { caller, CurrentAgent } from "../api/middleware.ts"
import { principalOf } from "../middleware/authentication.ts"

/** The interval of signs of life on a stream. Proxies usually close a connection after a silent minute. */
const heartbeat = Duration.seconds(15)

/** A reader that accepts nothing for this long is disconnected. */
const maxStall = Duration.seconds(30)

/** The delay of reconnections in milliseconds; it is random, so that not all clients return at once. */
const reconnect = Random.nextIntBetween(1000, 5000)

const maxEvents = 50

interface Streaming {
  readonly reader: Reader
  readonly types: ReadonlyArray<NoticeType> | undefined
  readonly after: string
  /** The time for which the reader may still receive notices; zero when it has ended. */
  readonly permitted: Effect.Effect<Duration.Duration>
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text)

/** Many streams send the same notices. */
const rendered = new WeakMap<NoticeRead["notices"], Uint8Array>()

const eventsOf = (notices: NoticeRead["notices"]): Uint8Array => {
  const bytes = rendered.get(notices) ?? bytesOf(notices.map(event).join(""))
  rendered.set(notices, bytes)
  return bytes
}

const nothingYet = bytesOf(":\n\n")

const event = ({ cursor, notice }: { readonly cursor: string; readonly notice: Notice }): string =>
  `id: ${cursor}\ndata: ${JSON.stringify(notice)}\n\n`

/** Ends the connection of a reader that does not accept the bytes handed to it. */
const makeStallWatch = Effect.gen(function* () {
  const { source } = yield* HttpServerRequest.HttpServerRequest
  const socket = source instanceof IncomingMessage ? source.socket : undefined
  let handedAt: number | undefined
  yield* Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (handedAt !== undefined && now - handedAt >= Duration.toMillis(maxStall)) socket?.destroy()
  }).pipe(Effect.delay(maxStall), Effect.forever, Effect.forkScoped)
  return {
    taken: Effect.sync(() => (handedAt = undefined)),
    handed: Effect.map(Clock.currentTimeMillis, (now) => (handedAt = now))
  }
})

type Waiter = Parameters<Notices["Service"]["reserveWaiter"]>[0]

const waiterOf = (reader: Reader) =>
  reader === "public"
    ? Effect.map(CurrentRequest, ({ address }): Waiter => ({ address }))
    : Effect.succeed<Waiter>("agent")

const makeStream = Effect.gen(function* () {
  const notices = yield* Notices

  /** The texts of a stream. A client that reconnects continues after the last `id` it received; the first text has one. */
  const textsOf = Effect.fnUntraced(function* ({
    after,
    permitted,
    reader,
    waiter,
    types
  }: Streaming & { readonly waiter: Waiter }) {
    const { handed, taken } = yield* makeStallWatch
    yield* notices.reserveWaiter(waiter)
    const retry = `retry: ${yield* reconnect}\n`
    const next = Effect.fnUntraced(function* (cursor: string | undefined) {
      yield* taken
      const time = yield* permitted
      if (cursor === undefined || Duration.isZero(time)) return undefined
      const query = { after: cursor, types, limit: maxEvents }
      const read = yield* notices.next(reader, query, Duration.min(time, heartbeat))
      // The permission may have ended meanwhile.
      if (Duration.isZero(yield* permitted)) return undefined
      yield* handed
      const events = read.notices.length === 0 ? nothingYet : eventsOf(read.notices)
      return read.isEnding
        ? ([Buffer.concat([events, bytesOf(`${retry}\n`)]), undefined] as const)
        : ([events, read.cursor] as const)
    })
    return Stream.concat(
      Stream.succeed(bytesOf(`${retry}id: ${after}\n\n`)),
      // The stream ends on an error of its cursor; the client's next request is answered with it.
      Stream.unfold(after, (cursor: string | undefined) =>
        Effect.orElseSucceed(next(cursor), () => undefined)
      )
    )
  })

  return Effect.fnUntraced(function* (streaming: Streaming) {
    // A refusal becomes a status here. The stream itself reserves its waiter when it is sent.
    const waiter = yield* waiterOf(streaming.reader)
    yield* Effect.scoped(notices.reserveWaiter(waiter))
    const request = yield* HttpServerRequest.HttpServerRequest
    const texts = textsOf({ ...streaming, waiter }).pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      Effect.catchTag("WaitRefused", ({ retry_after }) =>
        Effect.succeed(Stream.succeed(bytesOf(`retry: ${retry_after * 1000}\n\n`)))
      )
    )
    return HttpServerResponse.stream(Stream.unwrap(texts), {
      contentType: "text/event-stream",
      headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
    })
  })
})

/** The cursor at which a stream begins. An invalid one is rejected before the stream starts. */
const makeBegin = Effect.gen(function* () {
  const notices = yield* Notices
  return Effect.fnUntraced(function* (
    reader: Reader,
    sent: { readonly after: string | undefined; readonly lastEventId: string | undefined }
  ) {
    const cursor = sent.lastEventId ?? sent.after
    if (cursor === undefined) return yield* notices.latest(reader)
    yield* notices
      .read(reader, { after: cursor, types: undefined, limit: 1 })
      .pipe(
        Effect.mapError((error) =>
          error._tag === "InvalidRequest" && sent.lastEventId !== undefined
            ? InvalidRequest.of("last-event-id", "Expected the id of an event of this stream")
            : error
        )
      )
    return cursor
  })
})

const agentHandlers = HttpApiBuilder.group(
  Api,
  "notices",
  Effect.fnUntraced(function* (handlers) {
    const notices = yield* Notices
    const tokens = yield* Tokens
    const begin = yield* makeBegin
    const streamOf = yield* makeStream

    /** Permits the stream as long as the token is valid. */
    const whileValid = (bearer: string) =>
      principalOf(tokens, bearer).pipe(
        Effect.flatMap(({ expiresAt }) =>
          Effect.map(DateTime.now, (now) =>
            expiresAt === undefined ? Duration.zero : DateTime.distance(now, expiresAt)
          )
        ),
        Effect.orElseSucceed(() => Duration.zero)
      )

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { after, limit = defaultLimit, types, wait = 0 } }) {
        const { agentId } = yield* CurrentAgent
        const query = { after, limit, types }
        const read =
          wait === 0
            ? yield* notices.read(agentId, query)
            : yield* Effect.scoped(
                Effect.andThen(
                  notices.reserveWaiter("agent"),
                  notices.next(agentId, query, Duration.seconds(wait))
                )
              )
        return { items: read.notices.map(({ notice }) => notice), next_cursor: read.cursor }
      }),
      stream: Effect.fnUntraced(function* ({ headers, query: { after, types } }) {
        const { agentId } = yield* CurrentAgent
        const request = yield* HttpServerRequest.HttpServerRequest
        const bearer = (request.headers["authorization"] ?? "").replace(/^bearer +/i, "")
        const start = yield* begin(agentId, { after, lastEventId: headers["last-event-id"] })
        const permitted = Effect.provideService(
          whileValid(bearer),
          HttpServerRequest.HttpServerRequest,
          request
        )
        return yield* streamOf({ reader: agentId, types, after: start, permitted })
      })
    })
  })
)

const publicHandlers = HttpApiBuilder.group(
  Api,
  "publicNotices",
  Effect.fnUntraced(function* (handlers) {
    const notices = yield* Notices
    const begin = yield* makeBegin
    const streamOf = yield* makeStream
    return handlers.handleAll({
      list: ({ query: { after, limit = defaultLimit, types } }) =>
        Effect.map(notices.read("public", { after, limit, types }), (read) => ({
          items: read.notices.map(({ notice }) => notice).filter(isPublic),
          next_cursor: read.cursor
        })),
      stream: Effect.fnUntraced(function* ({ headers, query: { after, types } }) {
        const start = yield* begin("public", { after, lastEventId: headers["last-event-id"] })
        return yield* streamOf({
          reader: "public",
          types,
          after: start,
          permitted: Effect.succeed(heartbeat)
        })
      })
    })
  })
)

const webhookHandlers = HttpApiBuilder.group(
  Api,
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const webhooks = yield* Webhooks
    return handlers.handleAll({
      create: ({ payload }) =>
        Effect.flatMap(caller, (agent) => webhooks.create(agent, payload)).pipe(Effect.map(unstored)),
      list: () => Effect.flatMap(caller, webhooks.list).pipe(Effect.map((items) => ({ items }))),
      update: ({ params, payload }) =>
        Effect.flatMap(caller, (agent) => webhooks.update(agent, params.webhook_id, payload)),
      remove: ({ params }) => Effect.flatMap(caller, (agent) => webhooks.remove(agent, params.webhook_id)),
      rotate: ({ params }) =>
        Effect.flatMap(caller, (agent) => webhooks.rotate(agent, params.webhook_id)).pipe(
          Effect.map(unstored)
        ),
      test: ({ params }) => Effect.flatMap(caller, (agent) => webhooks.test(agent, params.webhook_id)),
      deliveries: ({ params, query }) =>
        Effect.flatMap(caller, (agent) => webhooks.deliveries(agent, params.webhook_id, pageOf(query))),
      redeliver: ({ params }) =>
        Effect.flatMap(caller, (agent) => webhooks.redeliver(agent, params.webhook_id, params.notice_id))
    })
  })
)

export const layer = Layer.mergeAll(agentHandlers, publicHandlers, webhookHandlers)
