/** What every administration command works with: a client of the server, and how answers are shown. */
import { Console, Context, Effect, Layer, Option, Terminal } from "effect"
import type { Config, FileSystem, Path, Redacted } from "effect"
import { Flag } from "effect/cli"
import type { HttpClient } from "effect/http"
import {
  administratorToken,
  anonymousClient,
  clientWith,
  tokenFlag,
  urlFlag,
  usualUrl
} from "../client/connection.ts"
import type { ApiClient, CommandFailed } from "../client/connection.ts"
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
    /** For what anybody may read. */
    readonly anyone: ApiClient
    /** Looks for the administrator's token only where a command needs it. */
    readonly administrator: Effect.Effect<ApiClient, CommandFailed | Config.ConfigError>
    /** The answer itself with --json, else what `text` makes of it. */
    readonly show: <Answer>(answer: Answer, text: (answer: Answer) => string) => Effect.Effect<void>
    /** A page of a list, and how to get the next one. */
    readonly showPage: <Item>(
      page: { readonly items: ReadonlyArray<Item>; readonly next_cursor: string | null },
      columns: ReadonlyArray<Column<Item>>,
      none: string
    ) => Effect.Effect<void>
    /** A table that fits the terminal. */
    readonly fitted: <Row>(rows: ReadonlyArray<Row>, columns: ReadonlyArray<Column<Row>>) => string
  }
>()("auspex/cli/Session") {}

/** Escapes what JSON leaves as it is and terminals act on. */
const json = (answer: unknown): string =>
  JSON.stringify(answer, null, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

const make = Effect.fnUntraced(function* (input: SessionInput) {
  const url = Option.getOrElse(input.url, () => "")
  const address = url === "" ? yield* usualUrl : url
  const context = yield* Effect.context<FileSystem.FileSystem | Path.Path | HttpClient.HttpClient>()
  const columns = yield* (yield* Terminal.Terminal).columns
  const width = columns === 0 ? undefined : columns
  const fitted: Session["Service"]["fitted"] = (rows, shown) => table(rows, shown, width)
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
    showPage: (page, shown, none) =>
      show(page, ({ items, next_cursor }) => {
        if (items.length === 0) return none
        const more = next_cursor === null ? "" : `\n\nThere are more: --cursor ${next_cursor}`
        return `${fitted(items, shown)}${more}`
      })
  })
})

export const layer = (input: SessionInput) => Layer.effect(Session, make(input))

/** For commands that list. */
export const pageFlags = {
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("How many at most, 1 to 200 (default 50)"),
    Flag.optional
  ),
  cursor: Flag.String("cursor").pipe(
    Flag.withDescription("Continue where the page before ended"),
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
