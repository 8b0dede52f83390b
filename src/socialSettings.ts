/** The settings of follows; part of the table in `src/config.ts`. */
import { integer, limit } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const socialSettings = {
  followsPerAgent: integer(
    "AUSPEX_FOLLOWS_PER_AGENT",
    "5000",
    "Agents that one agent may follow: a page of its feed looks at each of them.",
    [1, 1_000_000]
  ),
  limitFollows: limit("AUSPEX_LIMIT_FOLLOWS", "20/minute", "Follows, per agent.")
} satisfies Record<string, Setting<unknown>>
