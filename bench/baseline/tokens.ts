/** The check of a bearer token: signature, times, site, scope, and whether the agent's tokens have been ended. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Pool } from "pg"
import { epochMillis } from "../world.ts"
import type { BaselineConfig } from "./config.ts"

export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

interface Claims {
  readonly sub: string
  readonly site: string
  readonly scope: string
  readonly epoch: number
  readonly exp: number
}

const isClaims = (value: unknown): value is Claims =>
  typeof value === "object" &&
  value !== null &&
  "sub" in value &&
  typeof value.sub === "string" &&
  "site" in value &&
  typeof value.site === "string" &&
  "scope" in value &&
  typeof value.scope === "string" &&
  "epoch" in value &&
  typeof value.epoch === "number" &&
  "exp" in value &&
  typeof value.exp === "number"

/** As long as the service remembers it. */
const standingMillis = 3000

interface Standing {
  readonly until: number
  readonly epoch: number
  readonly isEnded: boolean
}

export const tokenCheck = (config: BaselineConfig, pool: Pool) => {
  const remembered = new Map<string, Standing>()

  const standingOf = async (agentId: string): Promise<Standing> => {
    const known = remembered.get(agentId)
    const now = performance.now()
    if (known !== undefined && known.until > now) return known
    const text = config.standing ?? ""
    const { rows } = await pool.query<{ token_epoch: number; suspended: boolean }>({
      name: "standing",
      text,
      values: [[agentId]]
    })
    const [row] = rows
    const read = {
      until: now + standingMillis,
      epoch: row?.token_epoch ?? -1,
      isEnded: row === undefined || row.suspended
    }
    remembered.set(agentId, read)
    return read
  }

  /** The agent that is calling. */
  return async (authorization: string | undefined): Promise<string> => {
    const [head, payload, signature] = (authorization ?? "").replace(/^Bearer /, "").split(".")
    if (head === undefined || payload === undefined || signature === undefined)
      throw new Refused(401, "malformed")
    const given = Buffer.from(signature, "base64url")
    const right = createHmac("sha256", config.tokenSecret).update(`${head}.${payload}`).digest()
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw new Refused(401, "forged")
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString())
    if (!isClaims(claims) || claims.exp * 1000 < epochMillis()) throw new Refused(401, "expired")
    if (claims.site !== config.site) throw new Refused(403, "another site's")
    if (!claims.scope.split(" ").includes("prediction:submit")) throw new Refused(403, "scope")
    if (config.standing !== null) {
      const standing = await standingOf(claims.sub)
      if (standing.isEnded || standing.epoch !== claims.epoch) throw new Refused(401, "ended")
    }
    return claims.sub
  }
}
