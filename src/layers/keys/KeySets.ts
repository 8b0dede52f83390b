/**
 * Key sets in the memory of this replica: kept for five minutes, fetched again once for a `kid` that is not among them,
 * and for a day when they cannot be fetched. Whoever waits for the same one shares a single fetch.
 */
import { Clock, Deferred, Duration, Effect, Layer, Option, Result, Semaphore } from "effect"
import type { Scope } from "effect"
import { KeySets } from "../../services/KeySets.ts"
import type { AssertionKey } from "../../services/KeySets.ts"
import { TooManyRequests } from "../../services/Limits.ts"
import { Settings } from "../../services/Settings.ts"
import { fetchDocument } from "./fetchDocument.ts"
import type { FetchFailed } from "./fetchDocument.ts"
import { jwksUrlFault } from "./jwksUrl.ts"
import { readKeySet } from "./keySetDocument.ts"

const minutes = (count: number) => Duration.toMillis(Duration.minutes(count))
const kept = minutes(5)
const keptWithoutNews = minutes(24 * 60)
/** Nobody makes us ask one place more often than this, whatever they send. */
const cooldown = minutes(1)
const mostAtOnce = 16
const mostRemembered = 1000
/** What a caller waits for a fetch, those in front of it included. */
const patience = Duration.seconds(5)

const fetchLimits = { mostBytes: 64 * 1024, mostMillis: 3000 }

type Keys = ReadonlyMap<string, AssertionKey>
type Fetch = (url: URL, ownMachine: boolean) => Effect.Effect<Uint8Array, FetchFailed>

interface Remembered {
  readonly keys: Keys
  /** When the keys came, and when they were last asked for, in milliseconds. */
  readonly fetchedAt: number
  readonly askedAt: number
}

const none: Remembered = { keys: new Map(), fetchedAt: -Infinity, askedAt: -Infinity }

/** `fetch` is the real one but in tests. */
export const make = Effect.fnUntraced(function* (
  fetch: Fetch = (url, ownMachine) => fetchDocument(url, { ...fetchLimits, ownMachine })
): Effect.fn.Return<KeySets["Service"], never, Settings | Scope.Scope> {
  const { ownMachineKeySets: ownMachine } = yield* Settings
  const scope = yield* Effect.scope
  const turns = yield* Semaphore.make(mostAtOnce)
  const memory = new Map<string, Remembered>()
  const underWay = new Map<string, Deferred.Deferred<void>>()

  /** The one that was asked for the longest ago goes first. */
  const remember = (url: string, what: Remembered) => {
    memory.delete(url)
    memory.set(url, what)
    const [oldest] = memory.keys()
    if (memory.size > mostRemembered && oldest !== undefined) memory.delete(oldest)
  }

  const load = Effect.fnUntraced(function* (url: string) {
    const fault = jwksUrlFault(url, { ownMachine })
    if (fault !== undefined) return yield* Effect.fail(fault)
    const document = yield* Effect.mapError(fetch(new URL(url), ownMachine), ({ reason }) => reason)
    const keys = readKeySet(document)
    return yield* Effect.mapError(Effect.fromOption(keys), () => "it is no key set")
  })

  const refresh = Effect.fn("KeySets.refresh")(function* (url: string) {
    const askedAt = yield* Clock.currentTimeMillis
    const before = memory.get(url) ?? none
    const loaded = yield* Effect.result(load(url))
    const fetched = Result.isSuccess(loaded)
    remember(url, fetched ? { keys: loaded.success, fetchedAt: askedAt, askedAt } : { ...before, askedAt })
    yield* Effect.logInfo(fetched ? "fetched a key set" : "a key set could not be had").pipe(
      Effect.annotateLogs({
        jwks_url: url,
        ...(fetched ? { keys: loaded.success.size } : { reason: loaded.failure })
      })
    )
  })

  /** Joins the fetch under way, or starts one, which goes on when its caller hangs up: others may wait for it. */
  const refreshed = Effect.fnUntraced(function* (url: string) {
    const joined = underWay.get(url)
    if (joined !== undefined) return yield* Deferred.await(joined)
    const done = Deferred.makeUnsafe<void>()
    underWay.set(url, done)
    const finish = Effect.suspend(() => {
      underWay.delete(url)
      return Deferred.succeed(done, undefined)
    })
    yield* turns
      .withPermit(refresh(url))
      .pipe(Effect.interruptible, Effect.ensuring(finish), Effect.forkIn(scope))
    return yield* Effect.interruptible(Deferred.await(done))
  }, Effect.uninterruptible)

  const find: KeySets["Service"]["find"] = Effect.fn("KeySets.find")(function* (url, kid) {
    const now = yield* Clock.currentTimeMillis
    const { askedAt, fetchedAt, keys } = memory.get(url) ?? none
    const isFresh = now - fetchedAt < kept
    if (now - askedAt >= cooldown && !(isFresh && keys.has(kid))) {
      yield* refreshed(url).pipe(
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () =>
            Effect.fail(
              new TooManyRequests({
                detail: "Key sets of many agents are being fetched just now. Try again in 5 s.",
                retry_after: 5
              })
            )
        })
      )
    }
    const known = memory.get(url) ?? none
    return now - known.fetchedAt < keptWithoutNews
      ? Option.fromUndefinedOr(known.keys.get(kid))
      : Option.none()
  })

  return KeySets.of({ find })
})

export const layer = Layer.effect(KeySets, make())
