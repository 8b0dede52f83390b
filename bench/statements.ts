/**
 * The statement that records a prediction, taken from the service by running it once, with its varying parts marked. So the yardsticks do
 * the same work as `src` today.
 */
import { createHash } from "node:crypto"
import { DateTime, Effect, Result } from "effect"
import {
  agentId,
  agentPrefix,
  challengeId,
  challengePrefix,
  uuidText
} from "../test/support/growth/identifiers.ts"
import { sentBy, typeOf, valueOf } from "../test/support/growth/statements.ts"
import type { Recorded } from "../test/support/growth/statements.ts"
import { Arenas } from "../src/services/Arenas.ts"
import { AgentId } from "../src/services/domain/ids.ts"
import { BenchFailed } from "./machine/processes.ts"
import { reasoning, sample } from "./world.ts"
import type { Part, Pieces, Template } from "./yardsticks/template.ts"

/** Longer values come first, since one may be part of another. */
type Marks = ReadonlyArray<readonly [value: string, part: Part]>

const cut = (text: string, marks: Marks): Pieces => {
  const found = marks.find(([value]) => text.includes(value))
  if (found === undefined) return text === "" ? [] : [text]
  const [value, part] = found
  return text
    .split(value)
    .flatMap((piece, index) => (index === 0 ? cut(piece, marks) : [{ part }, ...cut(piece, marks)]))
}

const templateOf = ({ params, text }: Recorded, marks: Marks): Template => ({
  text: text.replaceAll(/\$(\d+)/g, (place, number: string) => {
    const type = typeOf(params[Number(number) - 1])
    return type === undefined ? place : `${place}::${type}`
  }),
  params: params.map((param) => {
    const value = valueOf(param)
    const isArray = Array.isArray(value)
    const one: unknown = isArray ? value[0] : value
    if (one === null || one === undefined) return { isArray, value: null }
    if (typeof one === "boolean") return { isArray, value: one }
    return { isArray, value: cut(one instanceof Date ? one.toISOString() : String(one), marks) }
  })
})

/** Has the service record the sample in this database. */
export const recordPrediction = Effect.fnUntraced(function* (url: string) {
  const receivedAt = yield* DateTime.now
  const [agent, challenge] = [AgentId.make(agentId(sample.agent)), challengeId(sample.challenge)]
  const answer = { direction: "bearish", confidence: 0.4375, reasoning } as const
  const submission = { agentId: agent, challengeId: challenge, answer, receivedAt, owed: [] }
  const [recorded] = yield* sentBy(url, [{ run: Arenas.use((arenas) => arenas.predict([submission])) }])
  const statement = recorded?.sent.find(({ text }) => text.includes("insert into predictions"))
  const made = recorded?.answer.map(Result.getOrThrow)[0]?.answer
  if (statement === undefined || made === undefined || made.receipt === null) {
    return yield* new BenchFailed({ message: "the service sent no statement that records a prediction" })
  }
  return templateOf(statement, [
    [reasoning, "reasoning"],
    [createHash("sha256").update(reasoning).digest("hex"), "reasoningHash"],
    [made.receipt.salt, "salt"],
    [made.prediction_id, "id"],
    [agent, "agentId"],
    [challenge, "challengeId"],
    [DateTime.formatIso(receivedAt), "receivedAt"],
    [answer.direction, "direction"],
    [String(answer.confidence), "confidence"]
  ])
})

/** pgbench takes a colon before a word for one of its variables, even within quotes. */
const withoutVariables = (text: string) => text.replaceAll(/(?<!:):(?=\w)/g, "' || chr(58) || '")
const quoted = (text: string) => `('${withoutVariables(text.replaceAll("'", "''"))}')`

const expressions: Readonly<Record<Part, string>> = {
  id: "uuidv7()::text",
  agentId: uuidText(agentPrefix, "(:agent)::bigint"),
  challengeId: uuidText(challengePrefix, "(:challenge)::bigint"),
  salt: "md5(random()::text) || md5(random()::text)",
  receivedAt: `to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24' || chr(58) || 'MI' || chr(58) || 'SS.MS"Z"')`,
  direction: "'bearish'",
  confidence: "'0.4375'",
  reasoning: quoted(reasoning),
  reasoningHash: quoted(createHash("sha256").update(reasoning).digest("hex"))
}

const expressionOf = (value: Pieces | boolean | null): string => {
  if (value === null || typeof value === "boolean") return String(value)
  const pieces = value.map((piece) => (typeof piece === "string" ? quoted(piece) : expressions[piece.part]))
  return `(${pieces.length === 0 ? "''" : pieces.join(" || ")})`
}

/** A pgbench script that records one prediction after the other: of `:agent` on `:challenge`, which `sets` compute. */
export const pgbenchScript = ({ params, text }: Template, sets: ReadonlyArray<string>): string => {
  const statement = withoutVariables(text.replaceAll(/--[^\n]*/g, ""))
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/\$(\d+)/g, (_, number: string) => {
      const param = params[Number(number) - 1]
      const expression = expressionOf(param?.value ?? null)
      return param?.isArray === true ? `array[${expression}]` : expression
    })
  return [...sets, `${statement};`, ""].join("\n")
}
