/** Random numbers that a seed repeats. */

/** Each index has its own numbers, so that other draws do not change them. */
export interface Draw {
  readonly seed: number
  readonly index: number
}

/** Marsaglia's xorshift32. */
export const makeRandom = ({ index, seed }: Draw) => {
  let state = Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b) || 1
  const below = (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  const pick = <A>(from: readonly [A, ...ReadonlyArray<A>]): A => from[below(from.length)] ?? from[0]
  return { below, pick, chance: (percent: number) => below(100) < percent }
}
export type Random = ReturnType<typeof makeRandom>
