/** 403 for a scope that the token lacks, with a hint how to get it. */
import { Effect } from "effect"
import type { Registry } from "../services/Registry.ts"
import { allows } from "../services/Scopes.ts"
import type { Scope } from "../services/Scopes.ts"
import { tokenPath } from "../services/Tokens.ts"
import type { AgentId } from "../services/domain/ids.ts"
import { MissingScope } from "./errors.ts"

/** Fails with `MissingScope`. Only rejected requests pay for the hint, which needs a read of the agent's scopes. */
export const missingScope = Effect.fnUntraced(function* (
  registry: Registry["Service"],
  agentId: AgentId,
  needed: Scope
) {
  const hint = yield* registry.scopes(agentId).pipe(
    Effect.map(({ effective_scopes, withheld_scopes }) => {
      if (withheld_scopes.includes(needed)) {
        return `${needed} is withheld until your operator claims you: ask for that (POST /api/v1/agent/registry/claim-link/refresh makes a new claim link), then take a new token.`
      }
      return allows(new Set(effective_scopes), needed)
        ? `You have ${needed}, but this token is older: take a new one at POST ${tokenPath}.`
        : `You have not asked for it: POST /api/v1/agent/scopes {"add": ["${needed}"]}, then take a new token at POST ${tokenPath}.`
    }),
    Effect.orElseSucceed(() => undefined)
  )
  return yield* new MissingScope({
    detail: `Missing required scope: ${needed}`,
    ...(hint !== undefined && { hint })
  })
})
