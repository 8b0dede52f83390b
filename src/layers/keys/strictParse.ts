/** JSON of strangers, as bytes: UTF-8 without a byte order mark, each member once, nothing deep, nothing named __proto__. */
import { Option } from "effect"
import { jsonFault } from "../../services/strictJson.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const withoutProto = (name: string, value: unknown): unknown => {
  if (name === "__proto__") throw new SyntaxError("a member is named __proto__")
  return value
}

const parse = Option.liftThrowable((bytes: Uint8Array): unknown => {
  const text = utf8.decode(bytes)
  const fault = jsonFault(text)
  if (fault !== undefined) throw new SyntaxError(fault.message)
  return JSON.parse(text, withoutProto)
})

export const parseStrictJson = (bytes: Uint8Array): Option.Option<unknown> => parse(bytes)
