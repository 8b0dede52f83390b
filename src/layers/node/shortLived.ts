/**
 * What a request makes is dead when it is answered. Some of it outlives two small collections all the same while much is under
 * way, and V8 then allocates all that comes from the same places in the program as old from the start ("allocation-site
 * pretenuring"): there it stays, and keeps what it points to, until all memory is collected. Small collections took 12 to
 * 20 ms for that, and take 2 to 5 without (docs/performance.md).
 */
import { setFlagsFromString } from "node:v8"

setFlagsFromString("--no-allocation-site-pretenuring")
