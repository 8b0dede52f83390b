/** `npm run admin -- <command>`: the administration endpoints through the typed client of the same API. */
import { Command } from "effect/cli"
import { agents, owners } from "./agents.ts"
import { archive } from "./archive.ts"
import { challenges, settle } from "./challenges.ts"
import { ledger, purchases } from "./credits.ts"
import { events } from "./events.ts"
import { audit, stats, leaderboard, targets } from "./leaderboard.ts"
import { gateway } from "./gateway.ts"
import { log } from "./log.ts"
import { macro } from "./macro.ts"
import { priceEvents } from "./priceEvents.ts"
import { prices } from "./prices.ts"
import { releaseCalendar } from "./releaseCalendar.ts"
import { layer, sessionFlags } from "./session.ts"

export const admin = Command.make("admin").pipe(
  Command.withDescription("Administration of an Auspex server, through its API."),
  Command.withSharedFlags(sessionFlags),
  Command.withSubcommands([
    events,
    prices,
    challenges,
    macro,
    priceEvents,
    releaseCalendar,
    archive,
    settle,
    targets,
    agents,
    owners,
    purchases,
    audit,
    stats,
    log,
    gateway,
    ledger,
    leaderboard
  ]),
  Command.provide(layer)
)
