/** What an endpoint says about itself, for the middleware to act on. */
import { ByteSize, Context } from "effect"
import type { Scope } from "../../services/Scopes.ts"
import type { LimitName } from "../../services/Settings.ts"

/** The scope a token must hold; none by default. */
export const RequiredScope = Context.Reference<Scope | undefined>("auspex/http/RequiredScope", {
  defaultValue: () => undefined
})

/** The limit a request counts towards, and whose: the agent's or the address's. `null`: the handler's own business. */
export const CountsTowards = Context.Reference<{
  readonly limit: LimitName
  readonly of: "agent" | "address"
} | null>("auspex/http/CountsTowards", { defaultValue: () => ({ limit: "reads", of: "address" }) })

/**
 * Where the body decides which scope is needed and which limit is counted towards: told from whatever was sent. The request
 * counts if the scope is held; whether it is, the handler says once the body has been found to be right.
 */
export const DecidedByBody = Context.Reference<
  ((body: unknown) => { readonly scope: Scope; readonly limit: LimitName }) | undefined
>("auspex/http/DecidedByBody", { defaultValue: () => undefined })

/**
 * The limit that requests with a wrong body count towards, by address; null: none. Once it is used up they are 429, and
 * right ones are taken as before.
 */
export const BadBodiesCountTowards = Context.Reference<LimitName | null>(
  "auspex/http/BadBodiesCountTowards",
  { defaultValue: () => null }
)

/** Enough for a form, for credentials, or for a registration. */
export const smallBody = ByteSize.kibibytes(16)

/** The largest body an endpoint takes. */
export const MaxBody = Context.Reference<ByteSize.ByteSize>("auspex/http/MaxBody", {
  defaultValue: () => ByteSize.kibibytes(256)
})

/** What an endpoint's body may be. */
export const BodyTypes = Context.Reference<ReadonlyArray<string>>("auspex/http/BodyTypes", {
  defaultValue: () => ["application/json"]
})

/** The same for everybody who asks, and no worse for being a second old: made once for all. */
export const KeptForAll = Context.Reference<boolean>("auspex/http/KeptForAll", { defaultValue: () => false })
