/** The operator's list of feeds: a YAML file. */
import { Effect, FileSystem, Result, Schema } from "effect"
import { parse } from "yaml"
import { FeedSource, FeedsUnusable } from "../../services/Events.ts"
import { list } from "../../services/text.ts"
import { isOwnMachine, literalAddress } from "../keys/jwksUrl.ts"
import { isPublicAddress } from "../keys/publicAddresses.ts"

const FeedList = Schema.Struct({ feeds: list(FeedSource, { minimum: 1, maximum: 500 }) })
const decode = Schema.decodeUnknownEffect(FeedList)

/** What is wrong with the address of a feed, if anything. The name is looked up, and judged, when it is fetched. */
export const feedUrlFault = (text: string, allow: { readonly ownMachine: boolean }): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "Expected an http or https URL"
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  if (allow.ownMachine && isOwnMachine(url)) return undefined
  const address = literalAddress(url.hostname)
  return address === undefined || isPublicAddress(address)
    ? undefined
    : "Expected a host on the public internet"
}

export const readFeedList = Effect.fnUntraced(function* (
  path: string,
  allow: { readonly ownMachine: boolean }
) {
  const fileSystem = yield* FileSystem.FileSystem
  const unusable = (message: string) =>
    new FeedsUnusable({ message: `AUSPEX_EVENT_FEEDS=${path} cannot be used: ${message}` })
  const text = yield* fileSystem
    .readFileString(path)
    .pipe(Effect.mapError(({ message }) => unusable(message)))
  const parsed: unknown = yield* Effect.fromResult(
    Result.try({
      try: (): unknown => parse(text, { maxAliasCount: 0 }),
      catch: (cause) =>
        unusable(cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause))
    })
  )
  const { feeds } = yield* decode(parsed, { errors: "all" }).pipe(
    Effect.mapError(({ message }) => unusable(message.replaceAll(/\s*\n\s*/g, " ")))
  )
  const seen = new Set<string>()
  for (const [index, { url }] of feeds.entries()) {
    const fault = feedUrlFault(url, allow)
    if (fault !== undefined) return yield* unusable(`feeds.${index}.url: ${fault}`)
    if (seen.has(url)) return yield* unusable(`feeds.${index}.url: Expected each feed once`)
    seen.add(url)
  }
  return feeds
})
