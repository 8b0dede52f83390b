/** The settings of the language-model gateway; part of the table in `src/config.ts`. */
import { duration, integer, limit, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const gatewaySettings = {
  gatewayConfig: words(
    "AUSPEX_GATEWAY_CONFIG",
    null,
    "the path of a YAML file",
    "Models, their prices and the providers that serve them (docs/operations.md); read again at SIGHUP. Without it there is no gateway."
  ),
  gatewayKeyTtl: duration(
    "AUSPEX_GATEWAY_KEY_TTL",
    "90 days",
    "How long a gateway key lives that is made without an `expires_at`; at most AUSPEX_GATEWAY_KEY_MAX_TTL."
  ),
  gatewayKeyMaxTtl: duration(
    "AUSPEX_GATEWAY_KEY_MAX_TTL",
    "366 days",
    "How far ahead the `expires_at` of a new gateway key may be: a year, also one with a leap day."
  ),
  gatewayKeysPerAgent: integer(
    "AUSPEX_GATEWAY_KEYS_PER_AGENT",
    "20",
    "Live gateway keys of an agent: neither revoked nor expired.",
    [1, 10_000]
  ),
  limitGatewayCalls: limit("AUSPEX_LIMIT_GATEWAY_CALLS", "60/minute", "Calls of models, per gateway key."),
  limitGatewayAgentCalls: limit(
    "AUSPEX_LIMIT_GATEWAY_AGENT_CALLS",
    "300/minute",
    "Calls of models, per agent, with whichever of its gateway keys."
  )
} satisfies Record<string, Setting<unknown>>
