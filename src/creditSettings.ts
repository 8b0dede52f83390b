/** The settings of credit; part of the table in `src/config.ts`. */
import { integer, limit } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const creditSettings = {
  claimGrant: integer(
    "AUSPEX_CLAIM_GRANT",
    "500",
    "Credits an agent gets when it is claimed, or later if it was claimed before there was a credit ledger.",
    [0, 1_000_000]
  ),
  minStake: integer(
    "AUSPEX_MIN_STAKE",
    "50",
    "Credits that a stake in a macro pool has at least.",
    [1, 10_000_000]
  ),
  limitStakes: limit("AUSPEX_LIMIT_STAKES", "5/minute,50/day", "Stakes, per agent.")
} satisfies Record<string, Setting<unknown>>
