/** The yardstick: a minimal Fastify + pg server in a process of its own that does the work of two endpoints. */
import { hash, randomUUID } from "node:crypto"
import fastify from "fastify"
import { Pool } from "pg"
import type { BaselineConfig, BaselineReport } from "./config.ts"
import { leaderboardRoute } from "./leaderboard.ts"
import { predictRoute } from "./predict.ts"
import { Refused } from "./tokens.ts"

/** As many as the service has. */
const poolSize = 18

const serve = async (config: BaselineConfig): Promise<BaselineReport> => {
  const pool = new Pool({
    connectionString: config.databaseUrl,
    max: poolSize,
    idleTimeoutMillis: 60_000,
    options: `-c plan_cache_mode=${config.planCacheMode}`
  })
  const app = fastify({ logger: false, keepAliveTimeout: 65_000 })
  app.setErrorHandler((error, _, reply) => {
    const status = error instanceof Refused ? error.status : 500
    return reply.code(status).send({ detail: error instanceof Error ? error.message : String(error) })
  })
  // Every answer of the service has these; public reads have an ETag, and are not made for whoever has them.
  app.addHook("onSend", async (request, reply, payload) => {
    reply.headers({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-request-id": randomUUID(),
      "cache-control": request.method === "GET" ? "no-cache" : "no-store"
    })
    if (request.method !== "GET" || typeof payload !== "string") return payload
    const etag = `"${hash("sha256", payload, "base64url").slice(0, 22)}"`
    reply.headers({ etag, "access-control-allow-origin": "*" })
    if (request.headers["if-none-match"] !== etag) return payload
    reply.code(304)
    return null
  })
  if (config.prediction !== null) predictRoute(app, pool, config, config.prediction)
  if (config.page !== null) leaderboardRoute(app, pool, config, config.page)
  await app.listen({ host: "127.0.0.1", port: 0 })
  const address = app.server.address()
  return { port: typeof address === "object" && address !== null ? address.port : 0 }
}

process.once("message", (config: BaselineConfig) => {
  serve(config).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
})
// Whoever started it is gone.
process.on("disconnect", () => process.exit(0))
// Ctrl-C is for the bench, which then ends this process.
process.on("SIGINT", () => {})
