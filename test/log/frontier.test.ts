import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  emptyRoot,
  Frontier,
  leafHash,
  levelsOf,
  nodeHash,
  partialTile,
  rootOf
} from "../../src/layers/postgres/log/frontier.ts"
import type { FullNode } from "../../src/layers/postgres/log/frontier.ts"
import { breadth, oneIn } from "../support/breadth.ts"

/** The leaves and roots that the authors of RFC 6962 publish with their implementation. */
const publishedLeaves = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f"
].map((hex) => Buffer.from(hex, "hex"))
const publishedRoots = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
]

/** The definition of RFC 6962, section 2.1, word by word. */
const mth = (leaves: ReadonlyArray<Buffer>): Buffer => {
  const [first] = leaves
  if (first === undefined) return emptyRoot
  if (leaves.length === 1) return first
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1)
  return nodeHash(mth(leaves.slice(0, split)), mth(leaves.slice(split)))
}

const leavesOf = (count: number): ReadonlyArray<Buffer> =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(String(index))))

/** A tree of the leaves, and all full nodes by level in the order in which they were completed. */
const grown = (leaves: ReadonlyArray<Buffer>) => {
  const frontier = new Frontier()
  const nodes: Array<FullNode> = leaves.flatMap((leaf) => frontier.append(leaf))
  const ofLevel = (level: number) =>
    level === 0 ? leaves : nodes.filter((node) => node.level === level).map((node) => node.hash)
  return { frontier, nodes, ofLevel }
}

describe("Frontier", () => {
  it("A frontier has the published roots of RFC 6962", () => {
    const frontier = new Frontier()
    const roots = [frontier.root().toString("hex")]
    for (const leaf of publishedLeaves) {
      frontier.append(leafHash(leaf))
      roots.push(frontier.root().toString("hex"))
    }
    assert.deepStrictEqual(roots, publishedRoots)
  })

  it("A frontier has the root of the definition after every leaf", () => {
    const leaves = leavesOf(600)
    const frontier = new Frontier()
    for (const [index, leaf] of leaves.entries()) {
      frontier.append(leaf)
      assert.deepStrictEqual(frontier.root(), mth(leaves.slice(0, index + 1)))
    }
  })

  it.prop(
    "A frontier has the root of the definition, however many leaves",
    [Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3000 }))],
    ([count]) => {
      assert.deepStrictEqual(rootOf(leavesOf(count)), mth(leavesOf(count)))
    },
    { arbitrary: { runs: breadth(20, 100) } }
  )

  it("A frontier emits the root of each full tile once, when its last leaf comes", () => {
    const leaves = leavesOf(2 * 256 * 256 + 300)
    const { nodes } = grown(leaves)
    assert.deepStrictEqual(
      nodes.filter(({ level }) => level === 2).map(({ n }) => n),
      [0, 1]
    )
    assert.deepStrictEqual(
      nodes.filter(({ level }) => level === 1).map(({ n }) => n),
      Array.from({ length: 2 * 256 + 1 }, (_, n) => n)
    )
    for (const { level, n, hash } of nodes.filter((node) => node.level === 2 || node.n % 100 === 0)) {
      assert.deepStrictEqual(hash, mth(leaves.slice(n * 256 ** level, (n + 1) * 256 ** level)))
    }
  })

  it("A frontier goes on from the last tile of each level as if it had never stopped", () => {
    const leaves = leavesOf(70_000)
    const sizes = [0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 65_536 + 256, 69_000]
    for (const size of oneIn(3, sizes)) {
      const before = grown(leaves.slice(0, size))
      const tiles = Array.from({ length: levelsOf(size) }, (_, level) => {
        const { from, width } = partialTile(size, level)
        return before.ofLevel(level).slice(from, from + width)
      })
      const resumed = Frontier.resume(size, tiles)
      assert.strictEqual(resumed.size, size)
      assert.deepStrictEqual(resumed.root(), before.frontier.root())
      for (const leaf of leaves.slice(size, size + 600)) {
        assert.deepStrictEqual(resumed.append(leaf), before.frontier.append(leaf))
      }
      assert.deepStrictEqual(resumed.root(), before.frontier.root())
    }
  })

  it("A frontier knows the last tiles of the example of C2SP: 70 000 leaves", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3].map((level) => partialTile(70_000, level).width),
      [112, 17, 1, 0]
    )
    assert.strictEqual(levelsOf(70_000), 3)
  })

  it("A frontier does not go on from tiles of another size", () => {
    const [leaf] = leavesOf(1)
    assert.throws(
      () => Frontier.resume(2, [[leaf ?? emptyRoot]]),
      /level 0 of a tree of 2 has 2 hashes, not 1/
    )
    assert.throws(
      () => Frontier.resume(0, [[leaf ?? emptyRoot]]),
      /level 0 of a tree of 0 has 0 hashes, not 1/
    )
    assert.throws(() => Frontier.resume(256, [[]]), /level 1 of a tree of 256 has 1 hashes, not 0/)
  })
})
