import { Context } from "effect"
import type { DrainingServer } from "./DrainingServer.ts"

/** The server that listens, for what answers requests before they are routed. */
export class NodeServer extends Context.Service<NodeServer, DrainingServer>()("auspex/http/NodeServer") {}
