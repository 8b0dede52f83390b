/** Describes failures of commands in one line. */
import { Cause, Console, Effect, Option, Predicate, Schema, SchemaIssue } from "effect"
import { CliError, CliOutput } from "effect/cli"
import { HttpClientError } from "effect/http"
import { CommandFailed } from "./connection.ts"

const ErrorBody = Schema.Struct({ detail: Schema.String, hint: Schema.optionalKey(Schema.String) })
const decodeError = Schema.decodeUnknownOption(ErrorBody)
const decodeErrorText = Schema.decodeUnknownOption(Schema.fromJsonString(ErrorBody))

/** The detail of an error, with its hint. */
const detailWithHint = ({ detail, hint = "" }: typeof ErrorBody.Type): string => `${detail} ${hint}`.trimEnd()

const tokenSources = "It comes from --token, AUSPEX_ADMIN_TOKEN, or the file admin-token in AUSPEX_DATA_DIR."

const ofHttp = Effect.fnUntraced(function* (error: HttpClientError.HttpClientError) {
  const { request, response } = error
  const server = URL.canParse(request.url) ? new URL(request.url).origin : request.url
  if (response === undefined) {
    return `No server answers at ${server}. Start one with npm start, or say where it is with --url.`
  }
  const body = yield* response.text.pipe(Effect.orElseSucceed(() => ""))
  return Option.getOrElse(
    Option.map(decodeErrorText(body), detailWithHint),
    () => `${server} answered ${response.status} to ${request.method} ${request.url}: is that Auspex?`
  )
})

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

/** Problems of the user's data, with their paths. */
export const problemsOf = (error: Schema.SchemaError): string =>
  formatIssues(error.issue)
    .issues.map(({ message, path }) => {
      const place = (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")
      return place === "" ? message : `${place}: ${message}`
    })
    .join("; ")

/** One line for an error; empty if it was already shown. */
export const explain = (error: unknown): Effect.Effect<string> => {
  if (HttpClientError.isHttpClientError(error)) return ofHttp(error)
  if (CliError.isCliError(error)) return Effect.succeed("")
  if (Schema.isSchemaError(error)) return Effect.succeed(problemsOf(error))
  const answered = decodeError(error)
  if (Option.isSome(answered)) {
    const ofToken = Predicate.hasProperty(error, "code") && error.code === "invalid_token"
    return Effect.succeed(
      ofToken ? `${detailWithHint(answered.value)} ${tokenSources}` : detailWithHint(answered.value)
    )
  }
  if (error instanceof CommandFailed) return Effect.succeed(error.message)
  return Effect.succeed(error instanceof Error ? error.message.split("\n").join(" ") : String(error))
}

/** Prints a failure on stderr; the caller sets the exit code. */
export const reported =
  (name: string) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    program.pipe(
      Effect.tapCause(
        Effect.fnUntraced(function* (cause) {
          if (Cause.hasInterruptsOnly(cause)) return
          const failed = Cause.findErrorOption(cause)
          const line = Option.isSome(failed) ? yield* explain(failed.value) : Cause.pretty(cause)
          if (line !== "") yield* Console.error(`${name}: ${line}`)
        })
      ),
      Effect.onInterrupt(() => Console.error(`${name}: interrupted`))
    )

/** A wrong invocation gets a line or two; --help shows the whole help. */
export const brief = CliOutput.layerPresenter({
  present: Effect.fnUntraced(function* (event) {
    if (event._tag !== "InvalidInvocation") return yield* CliOutput.defaultPresenter.present(event)
    for (const error of event.errors) yield* Console.error(error.message)
    yield* Console.error(`Usage: ${event.helpDoc.usage} (--help tells more)`)
  })
})
