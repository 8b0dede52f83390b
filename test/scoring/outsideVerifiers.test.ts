/** Verifiers that others wrote accept what ours accepts, and refuse what it refuses. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { verify } from "../../src/scoring/verifier/verify.ts"
import { isFull } from "../support/breadth.ts"
import { buildGoVerifier, checkWithSigstore } from "../support/outsideVerifiers.ts"
import { noteKey, openingOf, otherEntries, proofFile, sealed } from "../support/provenLog.ts"

const key = noteKey("auspex.example/log/global")
const prediction = sealed()
const go = await buildGoVerifier()

const proofAt = (index: number, size: number) =>
  proofFile({
    entries: otherEntries(size).map((entry, at) => (at === index ? prediction.entry : entry)),
    index,
    key,
    extra: openingOf(prediction)
  })

/** The proof with another entry, index, hash, root or signature. */
const changed = (proof: string): ReadonlyArray<string> => {
  const other = proofFile({ entries: otherEntries(9), index: 4, key, extra: openingOf(sealed()) })
  const [header = "", extra = "", index = "", ...rest] = proof.split("\n")
  const lines = [header, extra, index, ...rest]
  return [
    [header, other.split("\n")[1] ?? "", index, ...rest].join("\n"),
    [header, extra, "index 5", ...rest].join("\n"),
    lines.toSpliced(3, 1).join("\n"),
    lines.toSpliced(3, 2, lines[4] ?? "", lines[3] ?? "").join("\n"),
    proof.replace("\n9\n", "\n8\n"),
    proof.replace(/(?<=— \S+ .{20})./, (letter) => (letter === "Z" ? "Y" : "Z"))
  ]
}

/** A proof whose entry is in the log, and whose salt and body are those of another prediction. */
const swapped = proofFile({
  entries: otherEntries(9).toSpliced(4, 1, prediction.entry),
  index: 4,
  key,
  extra: { ...openingOf(sealed()), entry: prediction.entry }
})

describe("@sigstore/verify", () => {
  it("@sigstore/verify accepts our proofs, and refuses what ours refuses", async () => {
    for (const [index, size] of [
      [0, 1],
      [4, 9],
      [8, 9],
      [255, 256],
      [256, 300]
    ] as const) {
      const proof = proofAt(index, size)
      assert.doesNotThrow(() => checkWithSigstore(key.verifierKey, proof))
      assert.isTrue((await verify({ proof, keys: [key.verifierKey] })).holds)
    }
    for (const proof of changed(proofAt(4, 9))) {
      assert.throws(() => checkWithSigstore(key.verifierKey, proof))
      assert.isFalse((await verify({ proof, keys: [key.verifierKey] })).holds)
    }
    assert.throws(() => checkWithSigstore(noteKey(key.name).verifierKey, proofAt(4, 9)))
  })
})

describe("Verification by hand, with docs/examples/byhand.sh", () => {
  const script = readFileSync(new URL("../../docs/examples/byhand.sh", import.meta.url), "utf8")
  const tools = ["bash", "openssl", "jq", "sha256sum"]
  const missing = tools.filter((tool) => spawnSync(tool, ["--version"]).error !== undefined)
  const directory = mkdtempSync(join(tmpdir(), "auspex-by-hand-"))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  const run = (proof: string) => {
    writeFileSync(join(directory, "proof"), proof)
    const program = ["-c", script, "byhand.sh", "proof", key.verifierKey]
    return spawnSync("bash", program, { cwd: directory, encoding: "utf8" })
  }

  it.runIf(isFull)("The programs openssl and sha256sum agree with our verifier", ({ skip }) => {
    if (missing.length > 0) return skip(`skipped: there is no ${missing.join(", ")}`)
    for (const [index, size] of [
      [0, 1],
      [4, 9]
    ] as const) {
      const { status, stderr, stdout } = run(proofAt(index, size))
      assert.strictEqual(status, 0, stderr)
      assert.deepStrictEqual(stdout.trimEnd().split("\n"), [
        "Signature Verified Successfully",
        `entry ${index} is in the tree of ${size}`,
        prediction.commit,
        prediction.entry,
        prediction.body
      ])
    }
    for (const proof of [...changed(proofAt(4, 9)), swapped]) assert.notStrictEqual(run(proof).status, 0)
  })
})

describe("Go's sumdb", () => {
  afterAll(() => ("missing" in go ? undefined : go.remove()))

  it("Go's sumdb accepts our proofs, and refuses what ours refuses", async ({ skip }) => {
    if ("missing" in go) return skip(`skipped: ${go.missing}`)
    for (const [index, size] of [
      [0, 1],
      [4, 9],
      [256, 300]
    ] as const) {
      const output = await go.proof(key.verifierKey, proofAt(index, size))
      assert.include(output, `entry ${index} of ${size}`)
      assert.include(output, `sealed: ${prediction.body}\n`)
    }
    const answers = await Promise.allSettled(
      [...changed(proofAt(4, 9)), swapped].map((proof) => go.proof(key.verifierKey, proof))
    )
    assert.isTrue(answers.every(({ status }) => status === "rejected"))
  })
})
