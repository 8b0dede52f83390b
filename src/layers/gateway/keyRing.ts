/**
 * The keys of one provider, which share its calls evenly; one that is refused cools down alone. Kept in memory, as circuits
 * are, and made anew with each load of the file.
 */
import type { ProviderKey } from "./configuration.ts"

/** A key or account that is refused is mended by an operator, a limit by time. */
const refusedMillis = 300_000
const limitMillis = 30_000
const minCoolMillis = 1000
const maxCoolMillis = 3_600_000

export interface KeyRefusal {
  /** The key's limit is reached; otherwise it, or its account, is refused. */
  readonly isLimit: boolean
  readonly retryAfterMillis: number | undefined
}

/** What a status says of the key; 403 is often of a region or a model, which are refused to all keys. */
export const keyRefusal = (
  status: number | null,
  retryAfterMillis: number | undefined
): KeyRefusal | undefined =>
  status === 401 || status === 402 || status === 429
    ? { isLimit: status === 429, retryAfterMillis }
    : undefined

/** `undefined` is the key of a provider that needs none. */
export interface KeyRing {
  /** The next one that does not cool down; where all do, the one that is ready first. */
  readonly take: (now: number) => ProviderKey | undefined
  readonly refused: (key: ProviderKey | undefined, now: number, refusal: KeyRefusal) => void
  /** Those that do not cool down. */
  readonly ready: (now: number) => ReadonlyArray<ProviderKey>
}

export const makeKeyRing = (keys: ReadonlyArray<ProviderKey>): KeyRing => {
  /** Epoch milliseconds, as all times here. */
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
