/** What is known of the request under way: its id, and the address it counts by. */
import { Context } from "effect"

export const CurrentRequest = Context.Reference<{ readonly requestId: string; readonly address: string }>(
  "auspex/http/CurrentRequest",
  { defaultValue: () => ({ requestId: "none", address: "unknown" }) }
)
