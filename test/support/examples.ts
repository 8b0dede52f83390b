/** Recorded calls, as the published document shows them. */
import { Predicate } from "effect"
import { member } from "./requests.ts"

/** Replacements of secrets and of values that are shown once. */
const hidden: Readonly<Record<string, string>> = {
  access_token: "eyJhbGciOiJIUzI1NiJ9...",
  client_secret: "aus_cs_...",
  claim_url: "https://auspex.example/claim/aus_cl_...",
  pairing_code: "K7M-2QX",
  challenge_prompt: "The central bank raised its rate ... Analyse this event: ..."
}

/** A value with one item of each list of objects, at the address of an example, without secrets. */
export const shown = (value: unknown, url: string): unknown => {
  if (Array.isArray(value)) {
    return value
      .filter((item, index) => index === 0 || !Predicate.isObject(item))
      .map((item) => shown(item, url))
  }
  if (typeof value === "string") return value.replaceAll(url, "https://auspex.example")
  if (!Predicate.isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, hidden[key] ?? shown(each, url)])
  )
}

/** The operation id of a call in the document, whose path has `<NAMES>` for parameters. */
export const operationAt = (document: unknown, method: string, path: string): string => {
  const plain = (text: string) => text.replaceAll(/\{\w+\}|<[A-Z_]+>/g, "{}")
  const [, methods] =
    Object.entries(Object(member(document, "paths"))).find(([each]) => plain(each) === plain(path)) ?? []
  return String(member(methods, method.toLowerCase(), "operationId"))
}
