/**
 * What `JSON.parse` lets pass and we do not: duplicate members (which value counts is anybody's guess) and deep nesting
 * (which overflows whoever walks the value later).
 */
import { printParseErrorCode, visit } from "jsonc-parser"
import type { ParseErrorCode } from "jsonc-parser"
import { Option } from "effect"

const maxDepth = 64

/** Thrown out of the visitor, so that a hostile body costs no more than its first fault. */
class JsonFault {
  readonly path: string
  readonly message: string
  constructor(path: string, message: string) {
    this.path = path
    this.message = message
  }
}

const described = (code: ParseErrorCode): string =>
  printParseErrorCode(code)
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()

/** The first fault of a JSON text, by the path of the member it is in; `undefined` when there is none. */
export const jsonFault = (text: string): { readonly path: string; readonly message: string } | undefined => {
  const members: Array<Set<string>> = []
  let depth = 0
  const enter = () => {
    depth += 1
    if (depth > maxDepth) throw new JsonFault("", `Expected JSON nested at most ${maxDepth} levels deep`)
  }
  const leave = () => {
    depth -= 1
  }
  try {
    visit(
      text,
      {
        onObjectBegin: () => {
          enter()
          members.push(new Set())
        },
        onObjectEnd: () => {
          leave()
          members.pop()
        },
        onArrayBegin: enter,
        onArrayEnd: leave,
        onObjectProperty: (name, _offset, _length, _line, _character, pathSupplier) => {
          const seen = members.at(-1)
          if (seen?.has(name))
            throw new JsonFault([...pathSupplier(), name].join("."), "Expected each member once")
          seen?.add(name)
        },
        onError: (code, _offset, _length, line, character) => {
          throw new JsonFault(
            "",
            `Malformed JSON at line ${line + 1}, column ${character + 1}: ${described(code)}`
          )
        }
      },
      { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }
    )
    return undefined
  } catch (fault) {
    if (fault instanceof JsonFault) return fault
    throw fault
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const withoutProto = (name: string, value: unknown): unknown => {
  if (name === "__proto__") throw new SyntaxError("a member is named __proto__")
  return value
}

/** JSON of strangers, as bytes: UTF-8 without a byte order mark, each member once, nothing deep, nothing named __proto__. */
export const parseStrictJson = Option.liftThrowable((bytes: Uint8Array): unknown => {
  const text = utf8.decode(bytes)
  const fault = jsonFault(text)
  if (fault !== undefined) throw new SyntaxError(fault.message)
  return JSON.parse(text, withoutProto)
})
