// @effect-diagnostics globalDate:off -- the yardstick is plain Node
/** The service's sliding window, by the service's own statement. */
import type { Pool } from "pg"
import type { LimitRole } from "../statements/roles.ts"
import { epochMillis } from "../world.ts"
import type { BaselineConfig, LimitConfig } from "./config.ts"
import { Refused } from "./tokens.ts"

const windowMillis = 60_000

export const limiter = (config: BaselineConfig, pool: Pool) => {
  const taker = ({ statement, keyPattern }: LimitConfig) => {
    const [before = "", after = ""] = keyPattern.split("\u0001")
    return async (subject: string) => {
      const now = Math.floor(epochMillis())
      const bucket = Math.floor(now / windowMillis)
      const byRole: Record<LimitRole | "constant", unknown> = {
        key: before + subject + after,
        window: windowMillis,
        most: config.limitPerMinute,
        bucket,
        uses: 1,
        expiresAt: new Date((bucket + 2) * windowMillis),
        now,
        constant: null
      }
      const values = statement.places.map(({ isArray, role }) => (isArray ? [byRole[role]] : byRole[role]))
      const { rows } = await pool.query<{ readonly granted: number }>({
        name: "limit",
        text: statement.text,
        values
      })
      if (rows[0]?.granted !== 1) throw new Refused(429, "too many")
    }
  }
  return config.limit === null ? () => Promise.resolve() : taker(config.limit)
}
