// @effect-diagnostics globalConsole:off -- a plain script that prints
/**
 * Runs all tools that hold the code (`npm run check`), each to its end, and then tells which of them found something.
 * `npm run check -- --changed` gives those that can look at single files the ones that differ from the last commit, and leaves out the tools
 * that need all of the code but the types.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

interface Tool {
  readonly name: string
  readonly command: ReadonlyArray<string>
  /** The files that it looks at where only changed ones are asked for; absent of a tool that is then left out. */
  readonly takes?: RegExp
  /** It looks at all of the code in any case. */
  readonly always?: true
}

const tools: ReadonlyArray<Tool> = [
  { name: "oxlint", command: ["oxlint"], takes: /\.[jt]sx?$/ },
  { name: "oxfmt", command: ["oxfmt", "--check"], takes: /\.([jt]sx?|json|md|ya?ml|css)$/ },
  { name: "knip", command: ["knip"] },
  { name: "house", command: ["node", "scripts/house.ts", "--structure"], always: true },
  { name: "types", command: ["tsc", "-p", "."], always: true }
]

const project = fileURLToPath(new URL("..", import.meta.url))

const git = (...words: ReadonlyArray<string>): ReadonlyArray<string> =>
  spawnSync("git", words, { cwd: project, encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => line !== "")

const run = ([command = "", ...words]: ReadonlyArray<string>): boolean =>
  spawnSync(command, words, { cwd: project, stdio: "inherit" }).status === 0

const changed = process.argv.includes("--changed")
  ? [
      ...git("diff", "--name-only", "--diff-filter=d", "HEAD"),
      ...git("ls-files", "--others", "--exclude-standard")
    ]
  : undefined

const wordsFor = ({ always, command, takes }: Tool): ReadonlyArray<string> | undefined => {
  if (changed === undefined || always === true) return command
  const files = changed.filter((path) => takes?.test(path) === true)
  return files.length === 0 ? undefined : [...command, ...files]
}

run(["effect-tsgo", "patch"])
const results = tools.flatMap((tool) => {
  const words = wordsFor(tool)
  if (words === undefined) return []
  const started = performance.now()
  const isGood = run(words)
  return [{ name: tool.name, isGood, seconds: (performance.now() - started) / 1000 }]
})

for (const { isGood, name, seconds } of results) {
  console.log(`${name.padEnd(8)}${isGood ? "good" : "FAULTS"}  ${seconds.toFixed(1)} s`)
}
const bad = results.filter(({ isGood }) => !isGood).map(({ name }) => name)
console.log(bad.length === 0 ? "All is good." : `To mend: ${bad.join(", ")}.`)
process.exitCode = bad.length === 0 ? 0 : 1
