/**
 * JSON as we read it. `JSON.parse` also takes duplicate members (the value that counts is undefined), deep nesting (which overflows
 * later recursion) and numbers too large for a double (which would become infinite, and null when written again).
 */
import { printParseErrorCode, visit } from "jsonc-parser"
import type { ParseErrorCode } from "jsonc-parser"
import { Option, Result } from "effect"

const maxDepth = 64

/** A fault, thrown out of the visitor so that a hostile body costs no more than its first fault. */
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

/** The text at this place; a byte order mark is invisible. */
const gotAt = (text: string, offset: number): string => {
  const [character = ""] = text.slice(offset, offset + 2)
  if (character === "\ufeff") return ", got a byte order mark"
  return /[!-~]/.test(character) ? `, got ${character}` : ""
}

/** The value of a JSON text, or its first fault, by the path of its member. */
export const readStrictJson = (text: string): Result.Result<unknown, JsonFault> => {
  const root: Array<unknown> = []
  /** The open arrays and objects, and the name of the open member of each object. */
  const open: Array<Array<unknown> | Map<string, unknown>> = [root]
  const names: Array<string> = []
  const add = (value: unknown) => {
    const around = open.at(-1)
    if (Array.isArray(around)) around.push(value)
    else around?.set(names.at(-1) ?? "", value)
  }
  const enter = (container: Array<unknown> | Map<string, unknown>) => {
    open.push(container)
    if (open.length - 1 > maxDepth) {
      throw new JsonFault("", `Expected JSON nested at most ${maxDepth} levels deep`)
    }
  }
  const leave = () => {
    const container = open.pop()
    // This makes a member of any name, `__proto__` included.
    add(container instanceof Map ? Object.fromEntries(container) : container)
  }
  try {
    visit(
      text,
      {
        onObjectBegin: () => {
          enter(new Map())
          names.push("")
        },
        onObjectEnd: () => {
          names.pop()
          leave()
        },
        onArrayBegin: () => enter([]),
        onArrayEnd: leave,
        onLiteralValue: (value, _offset, _length, _line, _character, pathSupplier) => {
          if (value === Infinity || value === -Infinity) {
            throw new JsonFault(pathSupplier().join("."), "Expected a number of at most 1.7e308 in size")
          }
          add(value)
        },
        onObjectProperty: (name, _offset, _length, _line, _character, pathSupplier) => {
          const members = open.at(-1)
          if (members instanceof Map && members.has(name)) {
            throw new JsonFault([...pathSupplier(), name].join("."), "Expected each member once")
          }
          names.splice(-1, 1, name)
          add(undefined)
        },
        onError: (code, offset, _length, line, character) => {
          throw new JsonFault(
            "",
            `Malformed JSON at line ${line + 1}, column ${character + 1}: ${described(code)}${gotAt(text, offset)}`
          )
        }
      },
      { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }
    )
    return Result.succeed(root[0])
  } catch (fault) {
    if (fault instanceof JsonFault) return Result.fail(fault)
    throw fault
  }
}

export const jsonFault = (text: string): JsonFault | undefined =>
  Option.getOrUndefined(Result.getFailure(readStrictJson(text)))

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const withoutProto = (name: string, value: unknown): unknown => {
  if (name === "__proto__") throw new SyntaxError("a member is named __proto__")
  return value
}

/** Parses JSON from outside, as bytes: UTF-8 without a byte order mark, each member once, no deep nesting, no member __proto__. */
export const parseStrictJson = Option.liftThrowable((bytes: Uint8Array): unknown => {
  const text = utf8.decode(bytes)
  const fault = jsonFault(text)
  if (fault !== undefined) throw new SyntaxError(fault.message)
  return JSON.parse(text, withoutProto)
})
