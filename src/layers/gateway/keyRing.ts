/**
 * The keys of one provider share its calls evenly; a refused key cools down alone. The state is in memory, like the circuits,
 * and starts anew with each load of the file.
 */
import type { ProviderKey } from "./configuration.ts"

/** An operator must repair a refused key or account; a limit passes with time. */
const refusedMillis = 300_000
const limitMillis = 30_000
const minCoolMillis = 1000
const maxCoolMillis = 3_600_000

export interface KeyRefusal {
  /** The key's limit is reached; otherwise the key or its account is refused. */
  readonly isLimit: boolean
  readonly retryAfterMillis: number | undefined
}

/** Reads a status as a refusal of the key. 403 is none: often a region or a model is refused, to all keys. */
export const keyRefusal = (
  status: number | null,
  retryAfterMillis: number | undefined
): KeyRefusal | undefined =>
  status === 401 || status === 402 || status === 429
    ? { isLimit: status === 429, retryAfterMillis }
    : undefined

/** An undefined key belongs to a provider that needs none. */
export interface KeyRing {
  /** The next key that is not cooling down; if all are, the one that will be ready first. */
  readonly take: (now: number) => ProviderKey | undefined
  readonly refused: (key: ProviderKey | undefined, now: number, refusal: KeyRefusal) => void
  /** The keys that are not cooling down. */
  readonly ready: (now: number) => ReadonlyArray<ProviderKey>
}

export const makeKeyRing = (keys: ReadonlyArray<ProviderKey>): KeyRing => {
  /** Epoch milliseconds, like all times in this file. */
  const coolUntil = new Map<ProviderKey | undefined, number>()
  const until = (key: ProviderKey): number => coolUntil.get(key) ?? 0
  const ready = (now: number) => keys.filter((key) => until(key) <= now)
  let turn = 0
  return {
    take: (now) => {
      const [first, ...others] = [...keys.slice(turn), ...keys.slice(0, turn)]
      if (first === undefined) return undefined
      const key = others.reduce(
        (best, each) => (Math.max(until(each), now) < Math.max(until(best), now) ? each : best),
        first
      )
      turn = (keys.indexOf(key) + 1) % keys.length
      return key
    },
    refused: (key, now, { isLimit, retryAfterMillis = isLimit ? limitMillis : refusedMillis }) => {
      coolUntil.set(key, now + Math.min(Math.max(retryAfterMillis, minCoolMillis), maxCoolMillis))
    },
    ready
  }
}
