// @effect-diagnostics globalDate:off -- the yardstick is plain Node
/** The service's sliding window, by the service's own statement. */
import type { Pool } from "pg"
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
      const values = statement.places.map(({ constant, role }) => {
        switch (role) {
          case "key":
            return before + subject + after
          case "bucket":
            return bucket
          case "expiresAt":
            return new Date((bucket + 2) * windowMillis)
          case "remaining":
            return windowMillis - (now - bucket * windowMillis)
          case "window":
            return windowMillis
          case "room":
            return config.limitPerMinute - 1
          case "constant":
            return constant
        }
      })
      const { rows } = await pool.query<object>({ name: "limit", text: statement.text, values })
      if (rows.length === 0) throw new Refused(429, "too many")
    }
  }
  return config.limit === null ? () => Promise.resolve() : taker(config.limit)
}
