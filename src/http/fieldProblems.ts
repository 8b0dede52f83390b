/** Describes the wrong fields of a request: the expected value beside the one that was sent. */
import { Predicate, SchemaAST, SchemaIssue } from "effect"
import { InvalidRequest } from "../services/domain/errors.ts"
import type { FieldProblem } from "../services/domain/errors.ts"
import { nearest } from "../services/domain/nearest.ts"
import { secretName, withoutSecretValues } from "./redaction.ts"

/** At most this many field errors are returned. */
const maxProblems = 100
const maxPath = 200
const maxMessage = 500
const maxDetail = 2000
const maxMembers = 20

type Path = ReadonlyArray<PropertyKey>

/** One error that lists every wrong field of `sent`. */
export const invalidRequest = (issue: SchemaIssue.Issue, sent: unknown): InvalidRequest => {
  const errors = problemsOf(issue, sent)
  return new InvalidRequest({ detail: detailOf(errors), errors })
}

/** The error, extended by the names of unknown members, which may be misspelt. */
export const withUnknownNames = (error: InvalidRequest, unknown: ReadonlyArray<UnknownMember>) => {
  const names = unknownNames(unknown)
  if (names === undefined) return error
  const { detail, errors, hint } = error
  return new InvalidRequest({ detail: `${detail}; ${names}`, errors, ...(hint !== undefined && { hint }) })
}

/** An unknown member, with the known members beside it. */
export interface UnknownMember {
  readonly path: string
  readonly name: string
  readonly members: Iterable<string>
}

export const problemsOf = (issue: SchemaIssue.Issue, sent: unknown): ReadonlyArray<FieldProblem> => {
  const found: Array<FieldProblem> = []
  collect(issue, [], undefined, (path, message, words = []) => {
    if (found.length === maxProblems) return
    const got = message.startsWith("Expected") ? gotAt(sent, path, message, words) : ""
    found.push({
      path: path.map(String).join(".").slice(0, maxPath),
      message: `${message.slice(0, maxMessage)}${got}`
    })
  })
  return found
}

/** All problems in one text. */
export const detailOf = (errors: ReadonlyArray<FieldProblem>): string =>
  errors
    .map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
    .join("; ")
    .slice(0, maxDetail)

/** Receives a problem. `words` are the permitted values if the schema permits only some. */
type Report = (path: Path, message: string, words?: ReadonlyArray<string>) => void

/** `message` is the message of the enclosing check; it applies to everything inside. */
const collect = (issue: SchemaIssue.Issue, path: Path, message: string | undefined, report: Report): void => {
  switch (issue._tag) {
    case "Filter":
      return collect(issue.issue, path, message ?? checkMessage(issue), report)
    case "Encoding":
      return collect(issue.issue, path, message, report)
    case "Pointer":
      return collect(issue.issue, [...path, ...issue.path], message, report)
    case "Composite":
      for (const each of issue.issues) {
        const missing = missingIn(issue.ast, each)
        collect(each, path, message ?? missing, report)
      }
      return
    case "AnyOf":
      if (issue.issues.length === 0) {
        return report(
          path,
          message ?? messageOf(issue.ast.annotations) ?? expected(issue.ast),
          wordsOf(issue.ast)
        )
      }
      for (const each of issue.issues) collect(each, path, message, report)
      return
    case "InvalidType":
      return report(
        path,
        message ?? messageOf(issue.ast.annotations) ?? expected(issue.ast),
        wordsOf(issue.ast)
      )
    default:
      return report(path, message ?? SchemaIssue.defaultLeafHook(issue))
  }
}

const messageOf = (annotations: object | undefined): string | undefined =>
  Predicate.hasProperty(annotations, "message") && typeof annotations.message === "string"
    ? annotations.message
    : undefined

const checkMessage = (issue: SchemaIssue.Filter): string | undefined => {
  const message = SchemaIssue.defaultCheckHook(issue)
  if (message !== undefined || issue.issue._tag !== "InvalidValue") return message
  const text = issue.filter.annotations?.["expected"]
  return typeof text === "string" ? `Expected ${text}` : undefined
}

const missingIn = (ast: SchemaAST.AST, issue: SchemaIssue.Issue): string | undefined => {
  if (issue._tag !== "Pointer" || issue.issue._tag !== "MissingKey" || !SchemaAST.isObjects(ast)) {
    return undefined
  }
  const [name] = issue.path
  const member = ast.propertySignatures.find((each) => each.name === name)
  return member === undefined
    ? undefined
    : `Missing; ${expected(member.type).replace("Expected", "expected")}`
}

/** Describes a schema by its encoded values, not by its name. */
const expected = (ast: SchemaAST.AST): string => {
  const kinds = [...new Set(alternatives(ast))]
  const last = kinds.at(-1) ?? "a valid value"
  return kinds.length > 1 ? `Expected ${kinds.slice(0, -1).join(", ")} or ${last}` : `Expected ${last}`
}

const alternatives = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  const sent = ast.encoding?.at(-1)?.to
  if (sent !== undefined) return alternatives(sent)
  const message = ast.checks?.map((check) => messageOf(check.annotations)).find((each) => each !== undefined)
  if (message?.startsWith("Expected ") === true) return [message.slice("Expected ".length)]
  switch (ast._tag) {
    case "Union":
      return ast.types.flatMap(alternatives)
    case "Undefined":
      return []
    case "Null":
      return ["null"]
    case "Literal":
      return [typeof ast.literal === "bigint" ? String(ast.literal) : JSON.stringify(ast.literal)]
    case "Boolean":
      return ["true", "false"]
    case "String":
      return ["a string"]
    case "Number":
      return [`a number${bounds(ast)}`]
    case "Arrays":
      return ["an array"]
    case "Objects":
      return [`an object${members(ast)}`]
    default: {
      const kind = ast.annotations?.["expected"]
      return typeof kind === "string" ? [/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`] : []
    }
  }
}

const wordsOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(wordsOf)
  return SchemaAST.isLiteral(ast) && typeof ast.literal === "string" ? [ast.literal] : []
}

const bounds = (ast: SchemaAST.AST): string =>
  (ast.checks ?? [])
    .map((check) => check.annotations?.["expected"])
    .filter((text) => typeof text === "string" && text.startsWith("a value "))
    .map((text) => String(text).slice("a value".length))
    .join(" and")

const members = ({ propertySignatures }: SchemaAST.Objects): string => {
  const names = propertySignatures.map(({ name, type }) =>
    SchemaAST.isOptional(type) ? `${String(name)} (optional)` : String(name)
  )
  return names.length === 0 ? "" : ` with ${names.slice(0, maxMembers).join(", ")}`
}

const maxShown = 40

/** The value that was sent, shortened and without secrets; a body sent as a JSON string is a frequent mistake. */
const gotAt = (sent: unknown, path: Path, message: string, words: ReadonlyArray<string>): string => {
  const value = path.reduce<unknown>(
    (within, key) => (Predicate.hasProperty(within, key) ? within[key] : undefined),
    sent
  )
  if (value === undefined) return ""
  if (Array.isArray(value)) return `, got a list of ${value.length}`
  if (Predicate.isObject(value)) {
    return path.length === 0 || message.startsWith("Expected an object") ? "" : ", got an object"
  }
  if (typeof value !== "string") return `, got ${String(value)}`
  if (/Expected an? (?:object|array)/.test(message)) {
    return /^\s*[[{]/.test(value) ? ", got a string: send the JSON itself, not quoted" : ", got a string"
  }
  if (path.some((key) => secretName.test(String(key)))) return ", got a string that is not shown"
  const meant = nearest(value, words)
  return `, got the string ${shown(value)}${meant === undefined ? "" : ` (did you mean ${JSON.stringify(meant)}?)`}`
}

const shown = (value: string): string => {
  // The beginning of a secret is redacted, too.
  const safe = withoutSecretValues(value.slice(0, 1000))
  const text = JSON.stringify(safe.slice(0, maxShown)).replaceAll(
    /[\p{Cf}\p{Zl}\p{Zp}]/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
  return safe.length > maxShown ? `${text}... (${Array.from(value).length} characters)` : text
}

const maxUnknown = 10

/** Names of unknown members, each with the known member that was probably meant. */
const unknownNames = (unknown: ReadonlyArray<UnknownMember>): string | undefined => {
  if (unknown.length === 0) return undefined
  const names = unknown.slice(0, maxUnknown).map(({ members: known, name, path }) => {
    const meant = nearest(name, known)
    const shownPath = withoutSecretValues(path).slice(0, maxShown)
    return meant === undefined ? shownPath : `${shownPath} (did you mean ${meant}?)`
  })
  const more = unknown.length > maxUnknown ? ", ..." : ""
  return `not known here: ${names.join(", ")}${more}`
}
