/** The output of `npm run verify`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { verify } from "../../cli/verify/command.ts"
import { runCommand } from "../support/commands.ts"
import { noteKey, openingOf, otherEntries, proofFile, sealed } from "../support/provenLog.ts"

const directory = mkdtempSync(join(tmpdir(), "auspex-verify-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const file = (name: string, text: string): string => {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const key = noteKey("auspex.example/log/global")
const witness = noteKey("witness.example/w1", 4)
const prediction = sealed()
const text = proofFile({
  entries: [...otherEntries(3), prediction.entry],
  index: 3,
  key,
  extra: openingOf(prediction),
  cosigned: [[witness, 1_795_000_000]]
})
const proof = file("good.tlog-proof", text)
const trusted = ["--vkey", key.verifierKey]

const run = (...args: ReadonlyArray<string>) => runCommand(verify, args)

describe("The verifier's command", () => {
  it.effect("The verifier shows the checks and the prediction of a proof that holds", () =>
    Effect.gen(function* () {
      const receipt = file("receipt.json", prediction.receipt)
      const cosigner = ["--witness", witness.verifierKey]
      const { err, ok, out } = yield* run(proof, ...trusted, ...cosigner, "--receipt", receipt)
      assert.isTrue(ok, err)
      assert.strictEqual(out.match(/^passed /gm)?.length, 6)
      assert.match(out, /The proof holds\. A prediction:/)
      assert.match(out, /Direction +bearish/)
      assert.match(out, /Place in the log +entry 3 of a log of 4/)
    })
  )

  it.effect("The verifier fails without a key, names the claimed signers, and tells where keys are", () =>
    Effect.gen(function* () {
      const { err, ok, out } = yield* run(proof)
      assert.isFalse(ok)
      assert.include(out, `${key.name}+${key.id.toString("hex")}`)
      assert.notInclude(out, "bearish")
      assert.match(err, /^verify: .*--vkey/)
      assert.include(err, "/log/key")
    })
  )

  it.effect("The verifier names the failed check of a changed proof, and shows nothing of it", () =>
    Effect.gen(function* () {
      const changed = file("bad.tlog-proof", text.replace("index 3", "index 2"))
      const { err, ok, out } = yield* run(changed, ...trusted)
      assert.isFalse(ok)
      assert.match(out, /^FAILED +The entry is in the log$/m)
      assert.notInclude(out, "bearish")
      assert.strictEqual(err, "verify: The proof does not hold: see above.")
    })
  )

  it.effect("The verifier takes several keys, and prints JSON for machines", () =>
    Effect.gen(function* () {
      const older = noteKey(key.name).verifierKey
      const { ok, out } = yield* run(proof, "--vkey", older, ...trusted, "--json")
      assert.isTrue(ok)
      assert.isTrue(JSON.parse(out).holds)
    })
  )

  it.effect("The verifier names a file that is not there", () =>
    Effect.gen(function* () {
      const { err } = yield* run(join(directory, "none"), ...trusted)
      assert.match(err, /^verify: There is no file .*none to read\.$/)
    })
  )
})
