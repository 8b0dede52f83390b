/**
 * Mails owners of gateway keys when 80 % of a limit is spent, and when all of it is spent or too little is left for a call. Each
 * mail is sent once for a period of the limit, and once more for a changed limit.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export class GatewayAlerts extends Context.Service<
  GatewayAlerts,
  {
    /** Sends the mails of new alerts; returns their number. Any number of replicas may do so at once. */
    readonly sendDue: Effect.Effect<number>
  }
>()("auspex/services/GatewayAlerts") {}
