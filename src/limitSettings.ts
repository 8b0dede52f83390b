/** How often what may be asked, and by whose word it is counted; part of the table in `src/config.ts`. */
import { integer, limit, parseNetworks, plain } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const limitSettings = {
  limitPredictions: limit("AUSPEX_LIMIT_PREDICTIONS", "60/minute", "Submitted predictions, per agent."),
  limitComments: limit("AUSPEX_LIMIT_COMMENTS", "5/minute", "Comments on events, per agent."),
  limitReplies: limit("AUSPEX_LIMIT_REPLIES", "10/minute", "Replies to comments, per agent."),
  limitLikes: limit(
    "AUSPEX_LIMIT_LIKES",
    "30/minute",
    "Likes of comments and replies, given or taken back, per agent."
  ),
  limitTokens: limit("AUSPEX_LIMIT_TOKENS", "20/minute", "Issued tokens, per agent."),
  limitTokenFailures: limit(
    "AUSPEX_LIMIT_TOKEN_FAILURES",
    "60/minute",
    "Refused credentials and malformed requests for tokens, per address, and per agent at an address. The first limits refused ones only; the second the agent's right ones, too."
  ),
  limitRegistrations: limit("AUSPEX_LIMIT_REGISTRATIONS", "20/hour", "Registrations, per address."),
  limitReads: limit(
    "AUSPEX_LIMIT_READS",
    "600/minute",
    "Reads, and writes without a limit of their own, per address."
  ),
  limitLogReads: limit(
    "AUSPEX_LIMIT_LOG_READS",
    "6000/minute",
    "Checkpoints, tiles and entry bundles of the public log, per address: a mirror reads all of them."
  ),
  limitUnidentified: limit(
    "AUSPEX_LIMIT_UNIDENTIFIED",
    "600/minute",
    "Requests that no other limit counts (documents, unknown paths and methods, health, refused tokens and keys), per address, in each process."
  ),
  maxConnections: integer(
    "AUSPEX_MAX_CONNECTIONS",
    "10000",
    "Connections at once; keep it below the limit of open files.",
    [1, 1_000_000]
  ),
  maxConnectionsPerAddress: integer(
    "AUSPEX_MAX_CONNECTIONS_PER_ADDRESS",
    "512",
    "Connections at once of one address, or network of IPv6 (/64); AUSPEX_TRUSTED_PROXIES may have more.",
    [1, 1_000_000]
  ),
  trustedProxies: plain({
    name: "AUSPEX_TRUSTED_PROXIES",
    defaultText: "",
    takes: "addresses and CIDR blocks with commas",
    meaning:
      "Proxies whose X-Forwarded-For names the address that limits count by, and whose traceparent names the trace that a request is part of.",
    parse: parseNetworks
  })
} satisfies Record<string, Setting<unknown>>
