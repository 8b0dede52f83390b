/** Facts that all processes of the bench share: agents, challenges, tokens, and which agent predicts which challenge. */
import { createHash, createHmac } from "node:crypto"
import { agentId, challengeId, epochMillis } from "../test/support/growth/identifiers.ts"

export const site = "global"
export const tokenSecret = "bench-token-secret-0123456789-0123456789"
export const adminToken = "bench-admin-token-0123456789-0123456789"

/** The number of seeded agents. Each predicts once on one challenge. */
export const agentCount = 100_000
/** The number of open challenges that the spread load predicts. */
export const spreadChallenges = 1024
/** Their numbers follow the spread ones: every round of the hot load takes a fresh one. */
export const hotChallenges = 200
/** The sample predicts once, so that the bench sees which statement the service sends. */
export const sample = { agent: agentCount, challenge: spreadChallenges + hotChallenges }

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
const kid = createHash("sha256").update("auspex token key").update(tokenSecret).digest("hex").slice(0, 16)
const tokenHead = base64url({ alg: "HS256", kid, typ: "JWT" })

/** An access token in the service's form; HMAC makes it directly, since the bench needs 100 000 of them. */
export const tokenOf = (agent: number): string => {
  const now = Math.floor(epochMillis() / 1000)
  const claims = {
    iss: "auspex",
    sub: agentId(agent),
    site,
    trust_level: "claimed",
    scope: "prediction:submit challenge:read",
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

/** A number of challenges from the first on, predicted in turn, each by one agent after the other. */
export interface Challenges {
  readonly first: number
  readonly count: number
}

/** Neighbouring requests have different agents, and the server can cache the epochs of the few busy ones. */
export const agentStride = 2

export const pairAt = (
  { count, first }: Challenges,
  index: number
): { readonly agent: number; readonly challenge: number } => {
  const turn = Math.floor(index / count)
  if (turn >= agentCount) throw new Error("the load has run out of fresh pairs")
  const challenge = first + (index % count)
  return { challenge, agent: (turn + challenge * agentStride) % agentCount }
}

const unlimited = "999999999/minute"

/** The settings of a server; its limits are counted, and leave room for every request. */
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
  AUSPEX_LIMIT_PREDICTIONS: unlimited,
  AUSPEX_LIMIT_READS: unlimited,
  AUSPEX_LIMIT_UNIDENTIFIED: unlimited,
  AUSPEX_LIMIT_GATEWAY_CALLS: unlimited,
  AUSPEX_LIMIT_GATEWAY_AGENT_CALLS: unlimited
})
