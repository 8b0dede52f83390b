/** Secure random bytes, drawn from the system many at a time: asking it for sixteen takes as long as for thousands. */
import { randomFillSync } from "node:crypto"
import { Layer } from "effect"
import { SecureRandom } from "effect/crypto"

const poolSize = 4096

const make = () => {
  const pool = new Uint8Array(poolSize)
  let at = poolSize
  return (size: number): Uint8Array => {
    if (size > poolSize) return randomFillSync(new Uint8Array(size))
    if (at + size > poolSize) {
      randomFillSync(pool)
      at = 0
    }
    const bytes = pool.slice(at, at + size)
    // Nobody who reads the memory later finds what was handed out.
    pool.fill(0, at, at + size)
    at += size
    return bytes
  }
}

export const layer = Layer.sync(SecureRandom.SecureRandom, () => SecureRandom.make(make()))
