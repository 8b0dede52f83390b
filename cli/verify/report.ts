/** The outcome of a verification, for a terminal. */
import type { Check, Verification } from "../../src/scoring/verifier/verify.ts"
import { printable, record } from "../client/table.ts"

const words: Readonly<Record<Check["outcome"], string>> = {
  passed: "passed",
  failed: "FAILED",
  not_made: "not made"
}

const widest = Math.max(...Object.values(words).map((word) => word.length))

const indented = (text: string, depth: number): string => `${" ".repeat(depth)}${text}`

const checkLines = ({ outcome, says, title }: Check): string =>
  [`${words[outcome].padEnd(widest)}  ${title}`, indented(printable(says), widest + 2)].join("\n")

export const report = ({ checks, holds, statement }: Verification): string => {
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
