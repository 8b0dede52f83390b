/** `npm run verify -- FILE --vkey KEY`: checks a proof of the track record offline, and reports each check. */
import { Console, Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { verify as verifyProof } from "../../src/scoring/verifier/verify.ts"
import type { Check, Verification } from "../../src/scoring/verifier/verify.ts"
import { CommandFailed } from "../client/connection.ts"
import { printable, record } from "../client/table.ts"

/** The size exceeds any proof; it bounds the memory for input piped by mistake. */
const maxInput = 1_000_000

const fromStandardInput = Effect.gen(function* () {
  const { stdin } = yield* Stdio.Stdio
  return yield* stdin.pipe(
    Stream.mapAccum(
      () => 0,
      (read, chunk) => [read + chunk.length, [{ chunk, read }]] as const
    ),
    Stream.takeWhile(({ read }) => read <= maxInput),
    Stream.map(({ chunk }) => chunk),
    Stream.mkUint8Array
  )
})

/** The bytes of a file, or of standard input for `-`. */
const contentOf = (file: string) =>
  file === "-"
    ? fromStandardInput
    : FileSystem.FileSystem.use((fs) => fs.readFile(file)).pipe(
        Effect.mapError(() => new CommandFailed({ message: `There is no file ${file} to read.` }))
      )

const withoutKey = [
  "A proof is worth as much as the key that it is checked with: give the log's key with --vkey.",
  "The site shows it at GET /log/key and at /verify; better take it from where you have met the log before: an earlier",
  "copy of yours, its operator's announcement, or somebody else who watches the log."
].join("\n  ")

export const verify = Command.make(
  "verify",
  {
    file: Argument.String("FILE").pipe(
      Argument.withDescription("A .tlog-proof file, or - for what is piped in")
    ),
    keys: Flag.String("vkey").pipe(
      Flag.withMetavar("KEY"),
      Flag.withDescription("The log's verifier key, which you trust; several after a change of keys"),
      Flag.atLeast(0)
    ),
    witnesses: Flag.String("witness").pipe(
      Flag.withMetavar("VKEY"),
      Flag.withDescription("The verifier key of a witness that must have cosigned; any number"),
      Flag.atLeast(0)
    ),
    receipt: Flag.String("receipt").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("The server's answer to the prediction, to be compared with the proof"),
      Flag.optional
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print the outcome as JSON, for machines"),
      Flag.withDefault(false)
    )
  },
  Effect.fn("verify")(function* ({ file, json, keys, receipt, witnesses }) {
    const proof = yield* contentOf(file)
    const held = Option.isSome(receipt) ? yield* contentOf(receipt.value) : undefined
    const verification = yield* Effect.promise(() =>
      verifyProof({ proof, keys, witnesses, ...(held !== undefined && { receipt: held }) })
    )
    yield* Console.log(json ? JSON.stringify(verification, null, 2) : report(verification))
    if (verification.holds) return
    return yield* new CommandFailed({
      message: keys.length === 0 ? withoutKey : "The proof does not hold: see above."
    })
  })
).pipe(
  Command.withDescription(
    "Checks a proof of the track record without asking any server; exits with 0 only if every check that was made passed."
  ),
  Command.withExamples([
    {
      command: "npm run verify -- prediction.tlog-proof --vkey auspex.example/log/global+1a2b3c4d+AbCd...",
      description: "A proof that was downloaded"
    },
    {
      command: "curl -s https://auspex.example/api/v1/log/proof/$COMMIT | npm run verify -- - --vkey $KEY",
      description: "A proof as it comes"
    }
  ])
)

const words: Readonly<Record<Check["outcome"], string>> = {
  passed: "passed",
  failed: "FAILED",
  not_made: "not made"
}

const widest = Math.max(...Object.values(words).map((word) => word.length))

const indented = (text: string, depth: number): string => `${" ".repeat(depth)}${text}`

const checkLines = ({ outcome, says, title }: Check): string =>
  [`${words[outcome].padEnd(widest)}  ${title}`, indented(printable(says), widest + 2)].join("\n")

const report = ({ checks, holds, statement }: Verification): string => {
  const made = checks.map(checkLines).join("\n")
  if (!holds || statement === null) return `${made}\n\nThis proves nothing.`
  return [
    `${made}\n`,
    `The proof holds. ${statement.title}:`,
    ...record(statement.facts)
      .split("\n")
      .map((line) => indented(line, 2)),
    ...statement.limits.map((limit) => `\n${limit}`)
  ].join("\n")
}
