/** The settings of the language-model gateway; part of the table in `src/config.ts`. */
import { limit, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const gatewaySettings = {
  gatewayConfig: words(
    "AUSPEX_GATEWAY_CONFIG",
    null,
    "the path of a YAML file",
    "Models, their prices and the providers that serve them (docs/operations.md); read again at SIGHUP. Without it there is no gateway."
  ),
  limitGatewayCalls: limit("AUSPEX_LIMIT_GATEWAY_CALLS", "60/minute", "Calls of models, per gateway key.")
} satisfies Record<string, Setting<unknown>>
