/**
 * A request's body, from Node's stream itself: a stream of ours around it would cost more than all else that is done to
 * a short body.
 */
import { IncomingMessage } from "node:http"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage } from "effect/http"
import type { HttpServerRequest } from "effect/http"

type Unread = "too_large" | "broken"

/** What came in pieces, as one; a short body is one already. */
export const joined = (chunks: ReadonlyArray<Buffer>): Buffer => {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

const fromNode = (source: IncomingMessage, largest: number): Effect.Effect<Uint8Array, Unread> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > largest) return finish(Effect.fail("too_large"))
      chunks.push(chunk)
    }
    // The listeners go with the request, and nothing comes after its end that resuming once more would change.
    const onEnd = () => resume(Effect.succeed(joined(chunks)))
    const onBroken = () => finish(Effect.fail("broken"))
    const stop = () => {
      source.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken)
      source.pause()
    }
    const finish = (read: Effect.Effect<Uint8Array, Unread>) => {
      stop()
      resume(read)
    }
    source.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken)
    return Effect.sync(stop)
  })

/** Of at most so many bytes. */
export const wholeBody = (
  request: HttpServerRequest.HttpServerRequest,
  largest: ByteSize.ByteSize
): Effect.Effect<Uint8Array, Unread> => {
  const { headers, source } = request
  const most = Number(largest)
  if (Number(headers["content-length"] ?? 0) > most) return Effect.fail("too_large")
  // Who asks whether to go on is told so by the platform, when it reads.
  if (source instanceof IncomingMessage && headers["expect"] === undefined && !source.destroyed) {
    return fromNode(source, most)
  }
  return request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, largest),
    Effect.mapBoth({
      onSuccess: (bytes) => new Uint8Array(bytes),
      onFailure: ({ reason }) =>
        reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? "too_large" : "broken"
    })
  )
}
