// @effect-diagnostics globalDate:off -- the yardstick is plain Node
/**
 * The yardstick of predictions: a small Fastify + pg server that does the work of the predict endpoint (token, limit, validation, the
 * service's statement, the answer with its receipt), as a competent team would write it.
 */
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto"
import fastify from "fastify"
import { Pool } from "pg"
import { epochMillis } from "../../test/support/growth/identifiers.ts"
import { site, tokenSecret } from "../world.ts"
import { fill } from "./template.ts"
import type { Template } from "./template.ts"

export interface FastifyOptions {
  readonly databaseUrl: string
  readonly planCacheMode: string
  readonly statement: Template
}

/** The service has as many connections. */
const poolSize = 18
/** The service caches an agent's token epoch for as long. */
const epochMaxAgeMillis = 3000
const windowMillis = 60_000
const limitPerMinute = 999_999_999

/** Fastify answers with the error's status. */
const rejected = (statusCode: number, message: string) => Object.assign(new Error(message), { statusCode })

/** Checks signature, expiry, site, scope, and that the agent's tokens have not been revoked. */
const tokenCheck = (pool: Pool) => {
  const cached = new Map<string, { readonly until: number; readonly epoch: number }>()
  const epochOf = async (agentId: string): Promise<number> => {
    const known = cached.get(agentId)
    if (known !== undefined && known.until > performance.now()) return known.epoch
    const { rows } = await pool.query<{ token_epoch: number }>({
      name: "epoch",
      text: "select token_epoch from agents where id = $1::uuid and suspended_at is null",
      values: [agentId]
    })
    const epoch = rows[0]?.token_epoch ?? -1
    cached.set(agentId, { until: performance.now() + epochMaxAgeMillis, epoch })
    return epoch
  }
  return async (authorization: string | undefined): Promise<string> => {
    const [head, payload, signature] = (authorization ?? "").replace(/^Bearer /, "").split(".")
    if (head === undefined || payload === undefined || signature === undefined)
      throw rejected(401, "malformed")
    const given = Buffer.from(signature, "base64url")
    const right = createHmac("sha256", tokenSecret).update(`${head}.${payload}`).digest()
    if (given.length !== right.length || !timingSafeEqual(given, right)) throw rejected(401, "forged")
    const claims: { sub: string; site: string; scope: string; epoch: number; exp: number } = JSON.parse(
      Buffer.from(payload, "base64url").toString()
    )
    if (claims.exp * 1000 < epochMillis()) throw rejected(401, "expired")
    if (claims.site !== site) throw rejected(403, "another site's")
    if (!claims.scope.split(" ").includes("prediction:submit")) throw rejected(403, "scope")
    if ((await epochOf(claims.sub)) !== claims.epoch) throw rejected(401, "revoked")
    return claims.sub
  }
}

/** A sliding window of two buckets, stored like the service's: one upsert into an unlogged table. */
const limiter = async (pool: Pool) => {
  await pool.query(`
    create unlogged table if not exists bench_limits
      (subject text primary key, bucket bigint not null, current int not null, previous int not null)`)
  return async (subject: string) => {
    const now = epochMillis()
    const bucket = Math.floor(now / windowMillis)
    const { rows } = await pool.query<{ current: number; previous: number }>({
      name: "limit",
      text: `
        insert into bench_limits as l (subject, bucket, current, previous) values ($1, $2::bigint, 1, 0)
        on conflict (subject) do update set
          bucket = excluded.bucket,
          current = case when l.bucket = excluded.bucket then l.current + 1 else 1 end,
          previous = case when l.bucket = excluded.bucket then l.previous
                          when l.bucket = excluded.bucket - 1 then l.current else 0 end
        returning current, previous`,
      values: [subject, bucket]
    })
    const [row] = rows
    const overlap = 1 - (now - bucket * windowMillis) / windowMillis
    if (row === undefined || row.previous * overlap + row.current > limitPerMinute)
      throw rejected(429, "too many")
  }
}

const bodySchema = {
  type: "object",
  required: ["direction", "confidence", "reasoning"],
  properties: {
    direction: { enum: ["bullish", "bearish", "neutral"] },
    confidence: { type: "number", minimum: 0, maximum: 1 },
    reasoning: { type: "string", maxLength: 4000 }
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const forbiddenText = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/

const uuidV7 = (now: number): string => {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now, 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const serve = async ({ databaseUrl, planCacheMode, statement }: FastifyOptions): Promise<number> => {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: poolSize,
    idleTimeoutMillis: 60_000,
    options: `-c plan_cache_mode=${planCacheMode}`
  })
  const app = fastify({ logger: false, keepAliveTimeout: 65_000 })
  const authenticate = tokenCheck(pool)
  const take = await limiter(pool)
  // Every answer of the service has these headers.
  app.addHook("onSend", async (_request, reply) => {
    reply.headers({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-request-id": randomUUID(),
      "cache-control": "no-store"
    })
  })
  app.post<{ Params: { id: string }; Body: { direction: string; confidence: number; reasoning: string } }>(
    "/api/v1/eval/challenges/:id/predict",
    { schema: { body: bodySchema } },
    async (request, reply) => {
      const agentId = await authenticate(request.headers.authorization)
      await take(agentId)
      const challengeId = request.params.id
      if (!uuid.test(challengeId)) throw rejected(404, "no such challenge")
      const { confidence, direction } = request.body
      const reasoning = request.body.reasoning.replaceAll("\r\n", "\n").normalize("NFC")
      if (!reasoning.isWellFormed() || forbiddenText.test(reasoning)) throw rejected(400, "reasoning")
      const now = Math.floor(epochMillis())
      const id = uuidV7(now)
      const receivedAt = new Date(now).toISOString()
      const values = fill(statement, {
        id,
        agentId,
        challengeId,
        salt: randomBytes(32).toString("hex"),
        receivedAt,
        direction,
        confidence: String(confidence),
        reasoning,
        reasoningHash: createHash("sha256").update(reasoning).digest("hex")
      })
      const { rows } = await pool.query<
        Record<"outcome" | "salt" | "body" | "commit", string> & { revision: number }
      >({ name: "predict", text: statement.text, values })
      const [row] = rows
      if (row?.outcome !== "recorded") throw rejected(409, row?.outcome ?? "no row")
      const { body, commit, revision, salt } = row
      return reply.code(201).send({
        prediction_id: id,
        challenge_id: challengeId,
        direction,
        confidence,
        created_at: receivedAt,
        counts_for_score: true,
        revision_count: revision,
        receipt: { commit, salt, body }
      })
    }
  )
  await app.listen({ host: "127.0.0.1", port: 0 })
  const address = app.server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

process.once("message", (options: FastifyOptions) => {
  serve(options).then(
    (port) => process.send?.({ port }),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      process.exit(1)
    }
  )
})
// The bench has ended without a message.
process.on("disconnect", () => process.exit(0))
// Ctrl-C is for the bench, which then ends this process.
process.on("SIGINT", () => {})
