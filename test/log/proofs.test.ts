/** Merkle proofs from the stored nodes, against the algorithms of RFC 9162 that verify them. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { consistencyProof, inclusionProof } from "../../src/layers/postgres/log/proofs.ts"
import { database } from "../support/database.ts"
import { leafOf, rootByInclusion, rootsByConsistency } from "../support/log/rfc6962.ts"
import type { Rfc6962Tree } from "../support/log/rfc6962.ts"
import { entryAt, makeEntries } from "../support/log/syntheticLog.ts"

/** A full tile of tiles, a full tile beside it, and a beginning. */
const maxEntries = 65_536 + 256 + 40

class Log extends Context.Service<Log, Rfc6962Tree>()("auspex/test/Log") {}
const log = Layer.effect(Log, makeEntries(maxEntries)).pipe(Layer.provideMerge(database))

const edges = [1, 2, 3, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 65_792, maxEntries]

const verifyInclusion = Effect.fnUntraced(function* (index: number, size: number) {
  const sql = yield* SqlClient.SqlClient
  const tree = yield* Log
  const path = yield* inclusionProof(sql, index, size)
  const leaf = leafOf(Buffer.from(entryAt(index)))
  assert.deepStrictEqual(
    rootByInclusion({ leaf, index, size, path }),
    tree.root(0, size),
    `leaf ${index} of ${size}`
  )
  return path
})

const verifyConsistency = Effect.fnUntraced(function* (oldSize: number, size: number) {
  const sql = yield* SqlClient.SqlClient
  const tree = yield* Log
  const path = yield* consistencyProof(sql, oldSize, size)
  const oldRoot = tree.root(0, oldSize)
  if (oldSize === size) return assert.lengthOf(path, 0)
  assert.deepStrictEqual(
    rootsByConsistency({ oldSize, size, oldRoot, path }),
    { oldRoot, root: tree.root(0, size) },
    `${oldSize} to ${size}`
  )
})

/** A size up to the largest, and one of a thousand places in it. */
const Cases = (largest: number) =>
  Schema.Tuple([
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: largest })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 }))
  ])
const below = (size: number, thousandths: number) => Math.floor((size * thousandths) / 1000)

const runs = { arbitrary: { runs: 80 } }

layer(log)("Merkle proofs", (it) => {
  for (const largest of [20, 1000, maxEntries]) {
    it.effect.prop(
      `An inclusion proof leads to the root, in any tree of up to ${largest}`,
      [Cases(largest)],
      ([[size, place]]) => verifyInclusion(below(size, place), size),
      runs
    )

    it.effect.prop(
      `A consistency proof leads to both roots, of any trees of up to ${largest}`,
      [Cases(largest)],
      ([[size, place]]) => verifyConsistency(below(size, place) + 1, size),
      runs
    )
  }

  it.effect("Merkle proofs hold where tiles and tiles of tiles begin and end", () =>
    Effect.gen(function* () {
      for (const size of edges) {
        for (const index of [0, 1, 254, 255, 256, 65_535, 65_536, size - 1]) {
          if (index < size) yield* verifyInclusion(index, size)
        }
        for (const oldSize of edges) if (oldSize <= size) yield* verifyConsistency(oldSize, size)
      }
    })
  )

  it.effect("An inclusion proof has one hash for each level that the leaf rises", () =>
    Effect.gen(function* () {
      assert.lengthOf(yield* verifyInclusion(0, 1), 0)
      assert.lengthOf(yield* verifyInclusion(0, 65_536), 16)
      assert.lengthOf(yield* verifyInclusion(65_536, 65_537), 1)
    })
  )

  it.effect("Every tree begins with the empty one, and that takes no proof", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* consistencyProof(sql, 0, 1000), [])
    })
  )

  it.effect("A leaf that is not in the tree, and a tree that shrinks, are defects", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const wrong of [
        inclusionProof(sql, 5, 5),
        inclusionProof(sql, -1, 5),
        consistencyProof(sql, 6, 5),
        // The tree has fewer entries.
        inclusionProof(sql, 0, 2 * maxEntries)
      ]) {
        assert.isTrue((yield* Effect.exit(wrong))._tag === "Failure")
      }
    })
  )

  it.effect("The verifier refuses a proof with a changed, missing or additional hash", () =>
    Effect.gen(function* () {
      const tree = yield* Log
      const [index, size] = [300, 1000]
      const path = yield* verifyInclusion(index, size)
      const leaf = leafOf(Buffer.from(entryAt(index)))
      const [first, ...rest] = path
      assert(first !== undefined)
      for (const wrong of [rest, [...path, first], [leafOf(first), ...rest]]) {
        assert.notDeepEqual(rootByInclusion({ leaf, index, size, path: wrong }), tree.root(0, size))
      }
    })
  )
})
