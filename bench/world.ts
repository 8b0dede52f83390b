/** What all processes of the bench agree on: who there is, how they are told apart, what they send, and the secrets. */
import { createHash, createHmac } from "node:crypto"
import { defaultScopes } from "../src/services/Scopes.ts"

export const site = "global"
export const tokenSecret = "bench-token-secret-0123456789-0123456789"
export const adminToken = "bench-admin-token-0123456789-0123456789"

/** Limits that nobody reaches; they are counted all the same. */
export const limitPerMinute = 999_999_999

/** Seeded agents. On a hot challenge each predicts once. */
export const agentCount = 100_000
/**
 * Those that predict in the spread scenario at a time: few enough to be remembered between two of their predictions. When
 * each has predicted everything, as many others take their place.
 */
export const busyAgents = 2000
export const spreadChallenges = 1024
/** Every round on a hot challenge takes fresh ones. They follow the spread ones. */
export const hotChallenges = 400
/** Those that stake: each once in a pool. */
export const stakerCount = 25_000
/** Pools that are staked in by turns, and how many agents have forecast them. */
export const spreadPools = 100
export const spreadStakers = 2000
/** What is sent once to see which statements the service makes of it. */
export const sample = { agent: agentCount, challenge: spreadChallenges + hotChallenges }

const numbered = (prefix: string) => (number: number) =>
  `${prefix}-0000-7000-8000-${number.toString(16).padStart(12, "0")}`

export const agentPrefix = "0190a000"
export const challengePrefix = "0190c000"
export const ownerPrefix = "0190b800"
export const agentId = numbered(agentPrefix)
export const challengeId = numbered(challengePrefix)
export const ownerId = numbered(ownerPrefix)

/** The same identifiers in SQL, of an expression that is a number. */
export const uuidText = (prefix: string, number: string) =>
  `('${prefix}-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))`

/** The real time without `Date`, which only the service's clock may use. */
export const epochMillis = () => performance.timeOrigin + performance.now()

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
const kid = createHash("sha256").update("auspex token key").update(tokenSecret).digest("hex").slice(0, 16)
const tokenHead = base64url({ alg: "HS256", kid, typ: "JWT" })
const scope = [...defaultScopes, "credits:stake"].join(" ")

/** An access token as `Tokens.issue` signs it; without WebCrypto, since 100 000 of them are needed. */
export const tokenOf = (agent: number): string => {
  const now = Math.floor(epochMillis() / 1000)
  const claims = {
    iss: "auspex",
    sub: agentId(agent),
    site,
    trust_level: "claimed",
    scope,
    epoch: 0,
    jti: challengeId(agent),
    iat: now,
    exp: now + 3600
  }
  const signed = `${tokenHead}.${base64url(claims)}`
  return `${signed}.${createHmac("sha256", tokenSecret).update(signed).digest("base64url")}`
}

export const directions = ["bullish", "bearish", "neutral"] as const

export const reasoning =
  "Real yields fell for a third day and the curve steepened, so demand for the metal should hold into the close."

/** Which agent predicts which challenge, or stakes in its pool, one pair after the other, none twice. */
export type Pairs =
  | { readonly kind: "spread" }
  /** All agents on the first challenge, then all on the second, and so on. */
  | { readonly kind: "hot"; readonly challenges: ReadonlyArray<number> }
  /** These many pools by turns, from this challenge on, each with so many agents. */
  | { readonly kind: "pools"; readonly first: number; readonly count: number; readonly agents: number }

/** Neighbours must be different agents, so that what arrives together is of different agents. */
export const spreadStride = 7

export const pairAt = (
  pairs: Pairs,
  index: number
): { readonly agent: number; readonly challenge: number } => {
  if (pairs.kind === "spread") {
    const challenge = index % spreadChallenges
    const turn = Math.floor(index / spreadChallenges)
    if (turn >= agentCount) throw new Error("the spread scenario has run out of fresh pairs")
    const first = turn - (turn % busyAgents)
    return { challenge, agent: first + ((turn + challenge * spreadStride) % busyAgents) }
  }
  if (pairs.kind === "pools") {
    const pool = index % pairs.count
    const turn = Math.floor(index / pairs.count)
    if (turn >= pairs.agents) throw new Error("the pools have run out of fresh agents")
    return { challenge: pairs.first + pool, agent: (turn + pool * spreadStride) % pairs.agents }
  }
  const challenge = pairs.challenges[Math.floor(index / agentCount)]
  if (challenge === undefined) throw new Error("the hot scenario has run out of fresh pairs")
  return { challenge, agent: index % agentCount }
}

/** Everything the server of a scenario needs; the limits leave room for every request. */
export const serverEnvironment = (databaseUrl: string, port: number): Readonly<Record<string, string>> => ({
  PATH: "/usr/bin:/bin",
  DATABASE_URL: databaseUrl,
  AUSPEX_PORT: String(port),
  AUSPEX_OPS_PORT: "off",
  AUSPEX_SITE: site,
  AUSPEX_TOKEN_SECRET: tokenSecret,
  AUSPEX_ADMIN_TOKEN: adminToken,
  AUSPEX_ROLES: "api",
  AUSPEX_LOG_FORMAT: "json",
  AUSPEX_LIMIT_PREDICTIONS: `${limitPerMinute}/minute`,
  // Two windows, as by default.
  AUSPEX_LIMIT_STAKES: `${limitPerMinute}/minute,${limitPerMinute}/day`,
  AUSPEX_LIMIT_READS: `${limitPerMinute}/minute`,
  AUSPEX_LIMIT_UNIDENTIFIED: `${limitPerMinute}/minute`,
  // Readers come from many addresses, as behind a proxy: one address would be one row that all readers update.
  AUSPEX_TRUSTED_PROXIES: "127.0.0.1"
})
