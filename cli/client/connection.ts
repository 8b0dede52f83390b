/** The typed client of a server's API, and the sources of the administrator's token. */
import { Config, Data, Effect, FileSystem, Option, Path, Redacted, Schema } from "effect"
import { Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"

/** A failure that the user can correct. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

export type ApiClient = HttpApiClient.ForApi<typeof Api>

const WebAddress = Schema.String.check(
  Schema.makeFilter((text: string) =>
    /^https?:\/\/./.test(text) && URL.canParse(text) ? undefined : "Expected an http or https URL"
  )
)

const localUrl = (port: string) => `http://127.0.0.1:${port}`
const defaultPort = "8080"

export const urlFlag = Flag.String("url").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription(
    `The server (default: AUSPEX_BASE_URL, else this machine at AUSPEX_PORT, else ${localUrl(defaultPort)})`
  ),
  Flag.withSchema(WebAddress)
)

export const tokenFlag = Flag.Redacted("token").pipe(
  Flag.withMetavar("TOKEN"),
  Flag.withDescription(
    "The administrator's token (default: AUSPEX_ADMIN_TOKEN, else the file admin-token in AUSPEX_DATA_DIR)"
  ),
  Flag.optional
)

/** An empty setting counts as absent, like in the server. */
const setting = (name: string) =>
  Config.option(Config.String(name)).pipe(Config.map(Option.filter((value) => value !== "")))

export const usualUrl = Effect.gen(function* () {
  const base = yield* setting("AUSPEX_BASE_URL")
  if (Option.isSome(base)) return base.value
  return localUrl(Option.getOrElse(yield* setting("AUSPEX_PORT"), () => defaultPort))
})

/** The token from the flag, the environment, or the file that the first start of a local server wrote. */
export const administratorToken = Effect.fnUntraced(function* (
  given: Option.Option<Redacted.Redacted>
): Effect.fn.Return<
  Redacted.Redacted,
  CommandFailed | Config.ConfigError,
  FileSystem.FileSystem | Path.Path
> {
  if (Option.isSome(given)) return given.value
  const set = yield* setting("AUSPEX_ADMIN_TOKEN")
  if (Option.isSome(set)) return Redacted.make(set.value)
  const fs = yield* FileSystem.FileSystem
  const directory = Option.getOrElse(yield* setting("AUSPEX_DATA_DIR"), () => ".auspex")
  const file = (yield* Path.Path).join(directory, "admin-token")
  return yield* fs.readFileString(file).pipe(
    Effect.map((text) => Redacted.make(text.trim())),
    Effect.mapError(
      () =>
        new CommandFailed({
          message: `No administrator's token: give --token, set AUSPEX_ADMIN_TOKEN, or AUSPEX_DATA_DIR to where the server keeps it (there is no ${file} to read).`
        })
    )
  )
})

export const anonymousClient = (url: string) => HttpApiClient.make(Api, { baseUrl: url })

export const clientWith = (url: string, bearer: Redacted.Redacted | string) =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: HttpClient.mapRequest(HttpClientRequest.bearerToken(bearer))
  })
