/** The session that administration commands share: client, output, paging flags and instants. */
import { Console, Context, DateTime, Duration, Effect, Layer, Option, Schema, Terminal } from "effect"
import type { Config, FileSystem, Path, Redacted } from "effect"
import { Flag } from "effect/cli"
import type { HttpClient } from "effect/http"
import { Instant, wholeSecond } from "../../src/services/domain/text.ts"
import {
  CommandFailed,
  administratorToken,
  anonymousClient,
  clientWith,
  tokenFlag,
  urlFlag,
  usualUrl
} from "../client/connection.ts"
import type { ApiClient } from "../client/connection.ts"
import { table } from "../client/table.ts"
import type { Column } from "../client/table.ts"

export const sessionFlags = {
  url: urlFlag.pipe(Flag.optional),
  token: tokenFlag,
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the server's answer as JSON, for machines"),
    Flag.withDefault(false)
  )
}

interface SessionInput {
  readonly url: Option.Option<string>
  readonly token: Option.Option<Redacted.Redacted>
  readonly json: boolean
}

export class Session extends Context.Service<
  Session,
  {
    /** The client without a token. */
    readonly anyone: ApiClient
    /** Reads the administrator's token only when a command needs it. */
    readonly administrator: Effect.Effect<ApiClient, CommandFailed | Config.ConfigError>
    /** Prints the response as JSON with --json, otherwise as `text` formats it. */
    readonly show: <Answer>(answer: Answer, text: (answer: Answer) => string) => Effect.Effect<void>
    /** Prints a page, and the flag for the next one. */
    readonly showPage: <Item>(
      page: { readonly items: ReadonlyArray<Item>; readonly next_cursor: string | null },
      columns: ReadonlyArray<Column<Item>>,
      none: string
    ) => Effect.Effect<void>
    /** A table that fits the terminal. */
    readonly fitted: <Row>(rows: ReadonlyArray<Row>, columns: ReadonlyArray<Column<Row>>) => string
  }
>()("auspex/cli/Session") {}

/** Escapes control characters that JSON allows and terminals act on. */
const json = (answer: unknown): string =>
  JSON.stringify(answer, null, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

const make = Effect.fnUntraced(function* (input: SessionInput) {
  const url = Option.getOrElse(input.url, () => "")
  const address = url === "" ? yield* usualUrl : url
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path | HttpClient.HttpClient>()
  const terminalWidth = yield* (yield* Terminal.Terminal).columns
  const width = terminalWidth === 0 ? undefined : terminalWidth
  const fitted: Session["Service"]["fitted"] = (rows, columns) => table(rows, columns, width)
  const show: Session["Service"]["show"] = (answer, text) =>
    Console.log(input.json ? json(answer) : text(answer))
  return Session.of({
    anyone: yield* anonymousClient(address),
    administrator: administratorToken(input.token).pipe(
      Effect.flatMap((token) => clientWith(address, token)),
      Effect.provideContext(context)
    ),
    show,
    fitted,
    showPage: (page, columns, none) =>
      show(page, ({ items, next_cursor }) => {
        if (items.length === 0) return none
        const more = next_cursor === null ? "" : `\n\nThere are more: --cursor ${next_cursor}`
        return `${fitted(items, columns)}${more}`
      })
  })
})

export const layer = (input: SessionInput) => Layer.effect(Session, make(input))

export const pageFlags = {
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("The maximum number of items, 1 to 200 (default 50)"),
    Flag.optional
  ),
  cursor: Flag.String("cursor").pipe(
    Flag.withDescription("Continue where the previous page ended"),
    Flag.optional
  )
}

interface PageInput {
  readonly limit: Option.Option<number>
  readonly cursor: Option.Option<string>
}

export const pageQueryOf = ({ cursor, limit }: PageInput) => ({
  limit: Option.getOrUndefined(limit),
  cursor: Option.getOrUndefined(cursor)
})

const units: ReadonlyArray<readonly [name: RegExp, milliseconds: number]> = [
  [/^(s|secs?|seconds?)$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
  [/^(w|weeks?)$/, 604_800_000]
]

const fromNow = (text: string): Option.Option<Duration.Duration> => {
  const shape = /^(?:in\s+)?(\d+(?:\.\d+)?)\s*([a-z]+)$/.exec(text.trim().toLowerCase())
  const unit = units.find(([name]) => name.test(shape?.[2] ?? ""))
  return shape === null || unit === undefined
    ? Option.none()
    : Option.some(Duration.millis(Number(shape[1]) * unit[1]))
}

const decodeInstant = Schema.decodeUnknownEffect(Instant)

/** Parses an instant in ISO 8601, or relative to `now`: "in 2 hours", "90 minutes", "45s". */
export const instantOf = (flag: string, text: string, now: DateTime.Utc) =>
  Option.match(fromNow(text), {
    onSome: (distance) => Effect.succeed(wholeSecond(DateTime.addDuration(now, distance))),
    onNone: () =>
      decodeInstant(text).pipe(
        Effect.mapError(
          () =>
            new CommandFailed({
              message: `--${flag} ${JSON.stringify(text)} is no instant: expected for example 2026-01-31T12:00:00Z or "in 2 hours".`
            })
        )
      )
  })
