/**
 * Mails to owners of gateway keys: when 80 % of a limit is spent, and when all of it is or it refuses a call for good. Each is
 * sent once for a period of the limit, and once more for a limit that was changed.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export class GatewayAlerts extends Context.Service<
  GatewayAlerts,
  {
    /** Mails what was found since, and answers how many mails. Any number of replicas may do so at once. */
    readonly sendDue: Effect.Effect<number>
  }
>()("auspex/services/GatewayAlerts") {}
