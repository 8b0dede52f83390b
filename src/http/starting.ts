/** What an instance answers while it starts: it listens before it migrates, so that a taken port changes no database. */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readiness } from "../services/Health.ts"
import { pathOf } from "./routes.ts"

export const notYet = (doing: string): Readiness => ({
  status: "not_ready",
  checks: [{ name: "starting", ok: false, reason: doing }]
})

/** By Node alone, for the application is not there yet; `doing` says what the start is at. */
export const whileStarting =
  (doing: () => string) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const path = pathOf(request.url ?? "")
    const send = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => {
      const text = JSON.stringify(body)
      response.writeHead(status, {
        "content-type": "application/json; charset=utf-8",
        "content-length": Buffer.byteLength(text),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-request-id": randomUUID(),
        ...headers
      })
      response.end(text)
    }
    if (path === "/health/live") return send(200, { status: "live" })
    if (path === "/health/ready") return send(503, notYet(doing()))
    send(
      503,
      { detail: "This instance is starting: try again shortly.", code: "unavailable", retry_after: 1 },
      { "retry-after": "1" }
    )
  }
