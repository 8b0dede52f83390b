/**
 * RFC 6962 and RFC 9162 as they are written, as a check of the service's own methods: the root by its recursive definition, and
 * proofs by the verification algorithms. It shares no code with the service.
 */
import { createHash } from "node:crypto"

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const node = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right)

export const leafOf = (entry: Uint8Array): Buffer => sha256(Buffer.of(0), entry)

/** RFC 6962 2.1, MTH over parts of a list of entries. */
export class Rfc6962Tree {
  readonly entries: ReadonlyArray<Uint8Array>
  readonly #known = new Map<string, Buffer>()

  constructor(entries: ReadonlyArray<Uint8Array>) {
    this.entries = entries
  }

  root(from: number, to: number): Buffer {
    const [first] = this.entries.slice(from, from + 1)
    if (to === from || first === undefined) return sha256()
    if (to - from === 1) return leafOf(first)
    const key = `${from} ${to}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    let k = 1
    while (k * 2 < to - from) k *= 2
    const made = node(this.root(from, from + k), this.root(from + k, to))
    this.#known.set(key, made)
    return made
  }
}

const isOdd = (number: number): boolean => number % 2 === 1
const half = (number: number): number => Math.floor(number / 2)

/** RFC 9162 2.1.3.2: the root of an inclusion proof; `undefined` if it has too few or too many hashes. */
export const rootByInclusion = (proof: {
  readonly leaf: Uint8Array
  readonly index: number
  readonly size: number
  readonly path: ReadonlyArray<Uint8Array>
}): Buffer | undefined => {
  if (proof.index >= proof.size) return undefined
  let fn = proof.index
  let sn = proof.size - 1
  let r: Buffer = Buffer.from(proof.leaf)
  for (const p of proof.path) {
    if (sn === 0) return undefined
    if (isOdd(fn) || fn === sn) {
      r = node(p, r)
      while (!isOdd(fn) && fn !== 0) {
        fn = half(fn)
        sn = half(sn)
      }
    } else {
      r = node(r, p)
    }
    fn = half(fn)
    sn = half(sn)
  }
  return sn === 0 ? r : undefined
}

/** RFC 9162 2.1.4.2: the two roots of a consistency proof; `undefined` if it is malformed. */
export const rootsByConsistency = (proof: {
  readonly oldSize: number
  readonly size: number
  readonly oldRoot: Uint8Array
  readonly path: ReadonlyArray<Uint8Array>
}): { readonly oldRoot: Buffer; readonly root: Buffer } | undefined => {
  const isPowerOfTwo = Number.isInteger(Math.log2(proof.oldSize))
  const [first, ...rest] = isPowerOfTwo ? [proof.oldRoot, ...proof.path] : proof.path
  if (first === undefined) return undefined
  let fn = proof.oldSize - 1
  let sn = proof.size - 1
  while (isOdd(fn)) {
    fn = half(fn)
    sn = half(sn)
  }
  let fr: Buffer = Buffer.from(first)
  let sr: Buffer = Buffer.from(first)
  for (const c of rest) {
    if (sn === 0) return undefined
    if (isOdd(fn) || fn === sn) {
      fr = node(c, fr)
      sr = node(c, sr)
      while (!isOdd(fn) && fn !== 0) {
        fn = half(fn)
        sn = half(sn)
      }
    } else {
      sr = node(sr, c)
    }
    fn = half(fn)
    sn = half(sn)
  }
  return sn === 0 ? { oldRoot: fr, root: sr } : undefined
}
