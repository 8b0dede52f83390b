/** Answers of an instance that is starting: it listens before it migrates, so that a taken port changes no database. */
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readiness } from "../services/Health.ts"
import { pathOf } from "./routes.ts"

export const notReady = (progress: string): Readiness => ({
  status: "not_ready",
  checks: [{ name: "starting", ok: false, reason: progress }]
})

/** Answers with Node alone, because the application does not exist yet; `progress` names the current step of the start. */
export const respondWhileStarting =
  (progress: () => string) =>
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
    if (path === "/health/ready") return send(503, notReady(progress()))
    send(
      503,
      { detail: "This instance is starting: try again shortly.", code: "unavailable", retry_after: 1 },
      { "retry-after": "1" }
    )
  }
