/** The command lines as programs of their own: what they print where, and how they exit. */
import { execFile } from "node:child_process"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { noteKey, openingOf, otherEntries, proofFile, sealed } from "../support/provenLog.ts"
import { testServer, TestServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"

/** How a program ends, and what it prints. */
const program = (args: ReadonlyArray<string>, input = "") =>
  Effect.callback<{ code: unknown; out: string; err: string }>((resume) => {
    const child = execFile(process.execPath, args, (error, out, err) =>
      resume(Effect.succeed({ code: error === null ? 0 : error.code, out, err }))
    )
    // A program may end before it has read all of its input.
    child.stdin?.on("error", () => {})
    child.stdin?.end(input)
  })

layer(testServer())("The program cli/admin.ts", (it) => {
  it.effect("The program exits with 0, or with 1 and a line on stderr", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const admin = (...args: ReadonlyArray<string>) => program(["cli/admin.ts", ...args, "--url", url])
      const [good, bad] = yield* Effect.all(
        [admin("targets", "list"), admin("agents", "show", "x", "--token", testAdminToken)],
        { concurrency: 2 }
      )
      assert.strictEqual(good.code, 0, good.err)
      assert.match(good.out, /^key +name/)
      assert.deepStrictEqual(bad, { code: 1, out: "", err: "admin: There is no agent x.\n" })
    })
  )
})

describe("The program cli/verify.ts", () => {
  it.effect("The program reads what is piped in, and exits with 0 or 1", () =>
    Effect.gen(function* () {
      const key = noteKey("auspex.example/log/global")
      const prediction = sealed()
      const proof = proofFile({
        entries: [...otherEntries(3), prediction.entry],
        index: 3,
        key,
        extra: openingOf(prediction),
        cosigned: [[noteKey("witness.example/w1", 4), 1_795_000_000]]
      })
      const verify = (input: string) => program(["cli/verify.ts", "-", "--vkey", key.verifierKey], input)
      const [good, bad, endless] = yield* Effect.all(
        [verify(proof), verify(`${proof} `), verify("x".repeat(3_000_000))],
        { concurrency: 2 }
      )
      assert.deepStrictEqual([good.code, good.err], [0, ""], good.err)
      assert.deepStrictEqual([bad.code, bad.err], [1, "verify: The proof does not hold: see above.\n"])
      assert.strictEqual(endless.code, 1)
      assert.include(endless.out, "larger than any proof")
    })
  )
})
