/** The settings of credit; part of the table in `src/config.ts`. */
import { integer, limit } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

const planCredit = (name: string, plan: string) =>
  integer(
    `AUSPEX_PLAN_CREDIT_${name}`,
    "0",
    `Credits that an owner on the ${plan} plan gets each calendar month (UTC), into the owner's account.`,
    [0, 1_000_000]
  )

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
  planCreditFree: planCredit("FREE", "free"),
  planCreditPro: planCredit("PRO", "pro"),
  planCreditTeam: planCredit("TEAM", "team"),
  limitStakes: limit("AUSPEX_LIMIT_STAKES", "5/minute,50/day", "Stakes, per agent.")
} satisfies Record<string, Setting<unknown>>
