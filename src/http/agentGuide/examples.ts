/** One call of the API as an example that can be run, with what it answers and what of it is needed later. */
import type { Call } from "./calls.ts"

export interface Example {
  /** Of the call, as the API names it. */
  readonly call: string
  /** For the parameters of its path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  /** JSON; a placeholder stands where a value is filled in. */
  readonly body?: string
  /** Where to send it, when an earlier answer said so. */
  readonly url?: string
  /** What to keep of the answer: where it stands there, and what later examples call it. */
  readonly keep?: Readonly<Record<string, string>>
}

const urlOf = (baseUrl: string, call: Call, { params = {}, query = "", url }: Example): string =>
  url ??
  baseUrl +
    call.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => {
      const value = params[name]
      if (value === undefined) throw new Error(`the example of ${call.id} has no ${name}`)
      return value
    }) +
    query

const answersOf = ({ answers }: Call): string => {
  const shapes = [...new Set(answers.map(({ shape }) => shape))].filter((shape) => shape !== "")
  const statuses = answers.map(({ status }) => status).join(" or ")
  return shapes.length === 0 ? `Answers ${statuses}.` : `Answers ${statuses}: \`${shapes.join(" or ")}\``
}

/** As Markdown: the call for a shell, its answer, what to keep. */
export const exampleOf = (baseUrl: string, calls: ReadonlyMap<string, Call>) => {
  return (example: Example): string => {
    const call = calls.get(example.call)
    if (call === undefined) throw new Error(`the API has no ${example.call}`)
    const lines = [
      `curl -sS -X ${call.method} "${urlOf(baseUrl, call, example)}"`,
      ...(call.needsToken ? [`  -H "Authorization: Bearer <ACCESS_TOKEN>"`] : []),
      ...(example.body === undefined
        ? []
        : [`  -H "Content-Type: application/json"`, `  -d '${example.body}'`])
    ]
    const kept = Object.entries(example.keep ?? {}).map(([path, name]) => `\`${path}\` as \`<${name}>\``)
    return [
      "```sh",
      lines.join(" \\\n"),
      "```",
      "",
      [
        answersOf(call),
        ...(call.scope === undefined ? [] : [`Scope: \`${call.scope}\`.`]),
        ...(kept.length === 0 ? [] : [`**Keep** ${kept.join(", ")}.`])
      ].join("\n")
    ].join("\n")
  }
}
