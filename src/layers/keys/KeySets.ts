/**
 * Key sets in this replica's memory: cached for five minutes, or a day while they cannot be fetched, and fetched once more for a key that
 * they lack. Callers that wait for the same set share one fetch.
 */
import { Clock, Deferred, Duration, Effect, Layer, Option, Result, Semaphore } from "effect"
import type { Scope } from "effect"
import { KeySets, NoSuchKey } from "../../services/KeySets.ts"
import type { WantedKey } from "../../services/KeySets.ts"
import { countedAddress, TooManyRequests } from "../../services/RateLimiter.ts"
import { Settings } from "../../services/Settings.ts"
import { addressesOf, dnsLookup, fetchAt } from "./fetchDocument.ts"
import type { Addresses, FetchFailed } from "./fetchDocument.ts"
import { isOwnMachine, publicUrlFault } from "./publicUrl.ts"
import { readKeySet } from "./publicKeys.ts"
import type { KeySet } from "./publicKeys.ts"

const minutes = (count: number) => Duration.toMillis(Duration.minutes(count))
const keysTtl = minutes(5)
const staleKeysTtl = minutes(24 * 60)
/** The minimum time between two fetches of one URL. */
const cooldown = minutes(1)
/** The maximum of concurrent fetches, in all and for one host and address, so that hosts that hang delay few others. */
const maxAtOnce = 64
const maxOfHost = 2
const maxOfAddress = 8
const maxCached = 1000
/** The maximum wait of a caller for a fetch, including those queued before it. */
const maxFetchWait = Duration.seconds(5)

const fetchLimits = { maxBytes: 64 * 1024, maxMillis: 3000 }

/** The keys of a set that an assertion may mean. */
const matching = ({ keys }: KeySet, { algorithm, kid }: WantedKey) =>
  keys.filter((each) => each.key.algorithm === algorithm && (kid === undefined || each.kid === kid))

/** The wanted key of a set, if exactly one matches. */
const keyIn = (set: KeySet, wanted: WantedKey) => {
  const { algorithm, kid } = wanted
  const [only, ...others] = matching(set, wanted)
  const named = kid === undefined ? "" : " with this kid"
  const unread = set.unread === 0 ? "" : `, of whose keys the last ${set.unread} are not read`
  if (only === undefined) {
    return Result.fail(
      new NoSuchKey({
        detail: `The key set at the agent's jwks_url has no ${algorithm} key${named}${unread}`
      })
    )
  }
  return others.length === 0
    ? Result.succeed(only.key)
    : Result.fail(
        new NoSuchKey({
          detail: `The key set at the agent's jwks_url has several ${algorithm} keys${named}: expected the kid of one`
        })
      )
}

/** The means of fetching a key set; tests replace it. */
export interface Source {
  readonly addressesOf: (url: URL) => Effect.Effect<Addresses, FetchFailed>
  readonly fetchAt: (url: URL, addresses: Addresses) => Effect.Effect<Uint8Array, FetchFailed>
}

const realSource = (ownMachine: boolean): Source => {
  const byDns = dnsLookup()
  const options = (url: URL) => ({
    ...fetchLimits,
    ownMachine,
    ...(!(ownMachine && isOwnMachine(url)) && { resolve: byDns })
  })
  return {
    addressesOf: (url) => addressesOf(url, options(url)),
    fetchAt: (url, addresses) => Effect.map(fetchAt(url, addresses, options(url)), ({ bytes }) => bytes)
  }
}

/** Runs at most `max` effects of each key at a time. */
const limitPerKey = (max: number) => {
  const turns = new Map<string, { readonly semaphore: Semaphore.Semaphore; users: number }>()
  return (key: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        const turn = turns.get(key) ?? { semaphore: Semaphore.makeUnsafe(max), users: 0 }
        turns.set(key, turn)
        turn.users += 1
        return Effect.ensuring(
          turn.semaphore.withPermit(effect),
          Effect.sync(() => {
            turn.users -= 1
            if (turn.users === 0) turns.delete(key)
          })
        )
      })
}

interface CachedKeys {
  readonly set: KeySet
  /** The times of the fetch and of the last use, in milliseconds. */
  readonly fetchedAt: number
  readonly askedAt: number
}

const none: CachedKeys = { set: { keys: [], unread: 0 }, fetchedAt: -Infinity, askedAt: -Infinity }

export const make = Effect.fnUntraced(function* (
  given?: Source
): Effect.fn.Return<KeySets["Service"], never, Settings | Scope.Scope> {
  const { ownMachineUrls: ownMachine } = yield* Settings
  const source = given ?? realSource(ownMachine)
  const scope = yield* Effect.scope
  const turns = yield* Semaphore.make(maxAtOnce)
  const hostTurns = limitPerKey(maxOfHost)
  const addressTurns = limitPerKey(maxOfAddress)
  const cache = new Map<string, CachedKeys>()
  const underWay = new Map<string, Deferred.Deferred<void>>()

  /** Caches a set, and evicts the least recently used one above the maximum. */
  const remember = (url: string, what: CachedKeys) => {
    cache.delete(url)
    cache.set(url, what)
    const [oldest] = cache.keys()
    if (cache.size > maxCached && oldest !== undefined) cache.delete(oldest)
  }

  const load = Effect.fnUntraced(function* (url: string) {
    const fault = publicUrlFault(url, { ownMachine })
    if (fault !== undefined) return yield* Effect.fail(fault)
    const place = new URL(url)
    const document = yield* source.addressesOf(place).pipe(
      Effect.flatMap((addresses) =>
        source
          .fetchAt(place, addresses)
          .pipe(turns.withPermit, addressTurns(countedAddress(addresses[0].address)))
      ),
      hostTurns(place.hostname),
      Effect.mapError(({ reason }) => reason)
    )
    return yield* Effect.mapError(Effect.fromOption(readKeySet(document)), () => "it is no key set")
  })

  const refresh = Effect.fn("KeySets.refresh")(function* (url: string) {
    const askedAt = yield* Clock.currentTimeMillis
    const before = cache.get(url) ?? none
    const loaded = yield* Effect.result(load(url))
    const fetched = Result.isSuccess(loaded)
    remember(url, fetched ? { set: loaded.success, fetchedAt: askedAt, askedAt } : { ...before, askedAt })
    yield* Effect.logInfo(fetched ? "a key set was fetched" : "a key set could not be fetched").pipe(
      Effect.annotateLogs({
        jwks_url: url,
        ...(fetched
          ? { keys: loaded.success.keys.length, unread: loaded.success.unread }
          : { reason: loaded.failure })
      })
    )
  })

  /** Joins the fetch in flight or starts one. The fetch continues when its caller leaves, because others may wait for it. */
  const refreshed = Effect.fnUntraced(function* (url: string) {
    const joined = underWay.get(url)
    if (joined !== undefined) return yield* Deferred.await(joined)
    const done = Deferred.makeUnsafe<void>()
    underWay.set(url, done)
    const finish = Effect.suspend(() => {
      underWay.delete(url)
      return Deferred.succeed(done, undefined)
    })
    yield* refresh(url).pipe(Effect.interruptible, Effect.ensuring(finish), Effect.forkIn(scope))
    return yield* Effect.interruptible(Deferred.await(done))
  }, Effect.uninterruptible)

  const find: KeySets["Service"]["find"] = Effect.fn("KeySets.find")(function* (
    url,
    wanted,
    mayFetch = Effect.void
  ) {
    const now = yield* Clock.currentTimeMillis
    const isWanted = () => {
      const { askedAt, fetchedAt, set } = cache.get(url) ?? none
      const isFresh = now - fetchedAt < keysTtl
      return now - askedAt >= cooldown && !(isFresh && matching(set, wanted).length > 0)
    }
    if (isWanted()) yield* mayFetch
    // Another caller may have fetched the set meanwhile.
    if (isWanted()) {
      yield* refreshed(url).pipe(
        Effect.timeoutOrElse({
          duration: maxFetchWait,
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
    const known = cache.get(url) ?? none
    return now - known.fetchedAt < staleKeysTtl
      ? Option.some(yield* Effect.fromResult(keyIn(known.set, wanted)))
      : Option.none()
  })

  return KeySets.of({ find })
})

export const layer = Layer.effect(KeySets, make())
