/**
 * The `fetch` of price sources: it follows no redirect, limits the size of answers, is aborted with its effect, and hashes the
 * bodies.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Duration, Effect } from "effect"
import { SourceFailed } from "../../services/PriceSource.ts"

/** An exchange's list of markets has some megabytes. */
const maxBytes = 32 * 1024 * 1024

const timeout = Duration.seconds(20)
/** The pause between two requests to one source; the slowest exchange requires it. */
const spacing = Duration.toMillis(Duration.seconds(1))

/** The underlying `fetch`; tests replace it. */
export class Outbound extends Context.Reference<typeof globalThis.fetch>("auspex/layers/prices/Outbound", {
  defaultValue: () => globalThis.fetch
}) {}

export interface Recorded<A> {
  readonly value: A
  /** One hash over all bodies, in order of arrival. */
  readonly payloadHash: Uint8Array
}

export interface Recorder {
  readonly fetch: typeof globalThis.fetch
  /** Runs calls one at a time, with a pause between them and a time limit. */
  readonly during: <A>(
    ask: () => Promise<A>,
    failed: (error: unknown) => SourceFailed
  ) => Effect.Effect<Recorded<A>, SourceFailed>
}

const bodyOf = async (response: Response): Promise<Uint8Array<ArrayBuffer>> => {
  const chunks: Array<Uint8Array> = []
  let received = 0
  for await (const chunk of response.body ?? []) {
    received += chunk.length
    if (received > maxBytes) throw new Error("its answer is too large")
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

const withoutBody = new Set([204, 205, 304])

/** `inspect` may reject an answer before the client sees it. */
export const makeRecorder = Effect.fnUntraced(function* (
  name: string,
  inspect: (status: number, body: Uint8Array) => void = () => {}
) {
  const outbound = yield* Outbound
  let signal: AbortSignal | undefined
  let hash = createHash("sha256")
  let freeAt = 0

  const recorded: typeof globalThis.fetch = async (input, init) => {
    const signals = [init?.signal, signal].filter((each) => each !== undefined && each !== null)
    const response = await outbound(input, {
      ...init,
      redirect: "error",
      signal: AbortSignal.any(signals)
    })
    const body = await bodyOf(response)
    hash.update(body)
    inspect(response.status, body)
    return new Response(withoutBody.has(response.status) ? null : body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
    })
  }

  const during: Recorder["during"] = Effect.fnUntraced(function* (ask, failed) {
    yield* Effect.sleep(Math.max(0, freeAt - (yield* Clock.currentTimeMillis)))
    return yield* Effect.tryPromise({
      try: async (ending) => {
        signal = ending
        hash = createHash("sha256")
        const value = await ask()
        return { value, payloadHash: new Uint8Array(hash.digest()) }
      },
      catch: failed
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          new SourceFailed({
            reason: `${name} took longer than ${Duration.toSeconds(timeout)} s`,
            kind: "unavailable"
          })
      }),
      Effect.ensuring(
        Effect.map(Clock.currentTimeMillis, (now) => {
          freeAt = now + spacing
        })
      )
    )
  })

  const recorder: Recorder = { fetch: recorded, during }
  return recorder
})
