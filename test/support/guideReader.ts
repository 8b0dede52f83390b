/**
 * Whoever knows nothing but the guide for agents: takes its examples from the page, fills in their placeholders from what
 * earlier answers gave, sends them, and keeps what the page says to keep.
 */
import { Data, Effect, Option } from "effect"
import { member } from "./server.ts"

export interface GuideExample {
  readonly chapter: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** The successes that the page tells. */
  readonly statuses: ReadonlyArray<number>
  /** The names at the top of the answer that the page tells; none where there is no body. */
  readonly members: ReadonlyArray<string>
  /** Where something stands in the answer, and what it is called later. */
  readonly keep: ReadonlyArray<readonly [path: string, name: string]>
}

export interface GuideAnswer {
  readonly status: number
  readonly json: unknown
}

/** What was kept, by placeholder. */
export type Memory = ReadonlyMap<string, string>

export class NothingThere extends Data.TaggedError("NothingThere")<{ readonly placeholder: string }> {}

const quoted = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => found)

/** Names at the top of `{ a, b: { c }, d: [] }`. */
const topOf = (shape: string): ReadonlyArray<string> => {
  let depth = 0
  let flat = ""
  for (const character of shape.split(" or ")[0] ?? "") {
    if ("{[".includes(character)) depth += 1
    if (depth === 1 && !"{[]}".includes(character)) flat += character
    if ("}]".includes(character)) depth -= 1
  }
  return flat
    .split(",")
    .map((name) => name.replace(/:.*/s, "").trim())
    .filter((name) => name !== "" && !name.endsWith("?"))
}

const parsed = (chapter: string, command: string, after: string): GuideExample => {
  const [answers = "", kept = ""] = (after.split("```")[0] ?? "").split("**Keep**")
  return {
    chapter,
    method: /-X ([A-Z]+)/.exec(command)?.[1] ?? "GET",
    url: /-X [A-Z]+ "([^"]+)"/.exec(command)?.[1] ?? "",
    headers: Object.fromEntries(quoted(command, /-H "([^"]+)"/g).map((line) => line.split(": ", 2))),
    body: /-d '([^']*)'/.exec(command)?.[1],
    statuses: quoted(/Answers ([\d or]+)/.exec(answers)?.[0] ?? "", /(\d{3})/g).map(Number),
    members: topOf(/Answers [\d or]+: `([^`]*)`/.exec(answers)?.[1] ?? ""),
    keep: [...(kept.split("\n\n")[0] ?? "").matchAll(/`([^`<]+)` as `<([A-Z_]+)>`/g)].map(
      ([, path = "", name = ""]) => [path, name] as const
    )
  }
}

/** The examples of a page, in order. */
export const examplesIn = (page: string): ReadonlyArray<GuideExample> =>
  page.split(/^## /m).flatMap((chapter) => {
    const [title = "", ...text] = chapter.split("\n")
    const [, ...blocks] = text.join("\n").split("```sh\n")
    return blocks.map((block) => {
      const [command = "", ...after] = block.split("\n```\n")
      return parsed(title, command, after.join("\n```\n"))
    })
  })

const placeholder = /"?<([A-Z_]+)>"?/g

/** What a placeholder stands for: what was kept, else what the reader thinks of itself. */
export type Think = (name: string, memory: Memory, example: GuideExample) => unknown

const filled = (text: string, valueOf: (name: string) => unknown): string =>
  text.replaceAll(placeholder, (found, name: string) => {
    const value = valueOf(name)
    const [opens, closes] = [found.startsWith('"'), found.endsWith('"')]
    // Alone between quotation marks it is a JSON text; within one, or without any, it stands as it is.
    if (opens && closes) return JSON.stringify(String(value))
    const bare = typeof value === "string" ? value : JSON.stringify(value)
    return `${opens ? '"' : ""}${bare}${closes ? '"' : ""}`
  })

const at = (json: unknown, path: string): unknown =>
  member(
    json,
    ...path.split(/[.[\]]+/).flatMap((key) => (key === "" ? [] : [/^\d+$/.test(key) ? Number(key) : key]))
  )

/** Sends an example, filled in. Fails where it needs what no answer has given. */
export const run = Effect.fnUntraced(function* (
  example: GuideExample,
  memory: Map<string, string>,
  think: Think
) {
  const missing = quoted(`${example.url}${example.body ?? ""}`, /<([A-Z_]+)>/g).find(
    (name) => !name.startsWith("YOUR_") && !memory.has(name)
  )
  if (missing !== undefined) return yield* new NothingThere({ placeholder: missing })
  const valueOf = (name: string) => memory.get(name) ?? think(name, memory, example)
  const headers = Object.entries(example.headers).map(
    ([name, value]) => [name, filled(value, valueOf)] as const
  )
  const answer = yield* Effect.promise(async (signal): Promise<GuideAnswer> => {
    const response = await fetch(filled(example.url, valueOf), {
      method: example.method,
      headers: Object.fromEntries(headers),
      signal,
      ...(example.body !== undefined && { body: filled(example.body, valueOf) })
    })
    const text = await response.text()
    return { status: response.status, json: text === "" ? undefined : JSON.parse(text) }
  })
  for (const [path, name] of example.keep) {
    Option.map(Option.fromNullishOr(at(answer.json, path)), (value) => memory.set(name, String(value)))
  }
  return answer
})
