/** Uniform numbers in (0, 1), from a seed: mulberry32. */
export const uniforms = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return (((bits ^ (bits >>> 14)) >>> 0) + 0.5) / 2 ** 32
  }
}
