/** Recorded statements as pgbench runs them: with expressions in the place of parameters. */
import { agentPrefix, challengePrefix, uuidText } from "../world.ts"
import type { Prediction, Recorded } from "./record.ts"
import { typedText, valueOf } from "./roles.ts"

/** pgbench takes a colon before a word for one of its variables, also within quotes. */
const withoutVariables = (quoted: string) => quoted.replaceAll(/(?<!:):(?=\w)/g, "' || chr(58) || '")

const literal = (text: string) => `('${withoutVariables(text.replaceAll("'", "''"))}')`

/** A text in which some parts differ from run to run: each part with the expression that makes it. */
const varying = (text: string, parts: ReadonlyArray<readonly [part: string, expression: string]>): string => {
  const found = parts.find(([part]) => text.includes(part))
  if (found === undefined) return literal(text)
  const [part, expression] = found
  return `(${text
    .split(part)
    .map((piece) => varying(piece, parts))
    .join(` || ${expression} || `)})`
}

const expressionOf = (param: unknown, parts: ReadonlyArray<readonly [string, string]>): string => {
  const value = valueOf(param)
  if (value === null || value === undefined) return "null"
  if (value instanceof Date) return literal(value.toISOString())
  return typeof value === "string" ? varying(value, parts) : literal(String(value))
}

/** The text with every parameter replaced; arrays hold the one value they were recorded with. */
const inlined = (recorded: Recorded, parts: ReadonlyArray<readonly [string, string]>): string =>
  withoutVariables(typedText(recorded)).replaceAll(
    /\$(\d+)(::\w+\[\])?/g,
    (_, number: string, arrayType: string | undefined) => {
      const expression = expressionOf(recorded.params[Number(number) - 1], parts)
      return arrayType === undefined ? expression : `array[${expression}]${arrayType}`
    }
  )

const oneLine = (text: string) =>
  `${text
    .replaceAll(/--[^\n]*/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()};`

/** The insert of one prediction after the other, of `:agent` on `:challenge`, which `sets` computes. */
export const predictionScript = (
  recorded: Recorded,
  sample: Prediction,
  sets: ReadonlyArray<string>
): string => {
  const parts = [
    [sample.id, "uuidv7()::text"],
    [sample.salt, "md5(random()::text) || md5(random()::text)"],
    [sample.agentId, uuidText(agentPrefix, "(:agent)::bigint")],
    [sample.challengeId, uuidText(challengePrefix, "(:challenge)::bigint")]
  ] as const
  return [...sets, oneLine(inlined(recorded, parts)), ""].join("\n")
}

/** The same statements again and again. */
export const constantScript = (recorded: ReadonlyArray<Recorded>): string =>
  [...recorded.map((each) => oneLine(inlined(each, []))), ""].join("\n")
