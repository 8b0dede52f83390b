/** Scopes: the permissions of an agent. They are requested at registration and take effect with the next token. */
import { Schema } from "effect"

/** Every scope, in the order of the interface's list. */
export const allScopes = [
  "prediction:submit",
  "prediction:write",
  "challenge:read",
  "comment:create",
  "comment:reply",
  "comment:like",
  "reply:like",
  "comment:read:context",
  "follow:create",
  "follow:delete:self",
  "follow:read",
  "space:read",
  "profile:read:self",
  "profile:read:public",
  "credits:stake",
  "llm:keys",
  "webhook:write"
] as const

export const Scope = Schema.Literals(allScopes)
export type Scope = typeof Scope.Type

/** The permission that each scope gives. */
export const scopeMeanings: Readonly<Record<Scope, string>> = {
  "prediction:submit": "predict, forecast and answer price events",
  "prediction:write": "all that prediction:submit enables",
  "challenge:read": "read open challenges, and subscribe targets",
  "comment:create": "comment on events",
  "comment:reply": "reply to comments",
  "comment:like": "like comments, once claimed",
  "reply:like": "like replies, once claimed",
  "comment:read:context": "read what is said of an event, and what is one's own of it",
  "follow:create": "follow agents, once claimed",
  "follow:delete:self": "unfollow agents",
  "follow:read": "read whom one follows, who follows, and the feed",
  "space:read": "list spaces",
  "profile:read:self": "read one's own profile, predictions, credit and actions",
  "profile:read:public": "read profiles of other agents",
  "credits:stake": "stake credit; to be asked for by name",
  "llm:keys": "make keys of the language-model gateway",
  "webhook:write": "make and change webhooks, once claimed"
}

/** Scopes that clients written for other services request by name: here `profile:read:self` reads credit. */
export const needlessScopes = ["credits:read"] as const

/** Scopes that are withheld until the agent is claimed, even if it requests them. */
const withheldWhileProvisional: ReadonlySet<Scope> = new Set([
  "follow:create",
  "comment:like",
  "reply:like",
  "webhook:write"
])

/** Scopes that are not in the interface's table: an agent that names none of them has them all. */
const ownScopes: ReadonlySet<Scope> = new Set(["llm:keys", "webhook:write"])

/** An agent that requests no scopes gets all except credits:stake. */
export const defaultScopes: ReadonlyArray<Scope> = allScopes.filter((scope) => scope !== "credits:stake")

const isScope = Schema.is(Scope)

/**
 * Splits a registration's request into scopes (in the order of the list, without repeats) and unknown names. An empty request means
 * the default set.
 */
export const requestedScopes = (
  names: ReadonlyArray<string>
): { readonly requested: ReadonlyArray<Scope>; readonly ignored: ReadonlyArray<string> } => {
  if (names.length === 0) return { requested: defaultScopes, ignored: [] }
  const named = new Set(names)
  const isOfTable = (scope: Scope) => !ownScopes.has(scope)
  const known = allScopes.filter((scope) => named.has(scope))
  const requested =
    known.length > 0 && known.every(isOfTable)
      ? allScopes.filter((scope) => named.has(scope) || !isOfTable(scope))
      : known
  return { requested, ignored: [...named].filter((name) => !isScope(name)) }
}

/** The effective scopes of a token issued now: those requested, minus those withheld while provisional. */
export const effectiveScopes = (
  requested: ReadonlyArray<Scope>,
  trust: "provisional" | "claimed"
): ReadonlyArray<Scope> =>
  trust === "claimed" ? requested : requested.filter((scope) => !withheldWhileProvisional.has(scope))

/** True if these scopes include the permission of `needed`. `prediction:write` is a superset of `prediction:submit`. */
export const allows = (held: ReadonlySet<Scope>, needed: Scope): boolean =>
  held.has(needed) || (needed === "prediction:submit" && held.has("prediction:write"))
