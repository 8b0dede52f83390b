// @effect-diagnostics globalDate:off -- the yardstick is plain Node
/** The predict endpoint, as a competent team would write it with Fastify and pg: same checks, same statements, same answer. */
import { createHash, randomBytes } from "node:crypto"
import canonicalize from "canonicalize"
import type { FastifyInstance } from "fastify"
import type { Pool } from "pg"
import type { Prepared, PredictionRole } from "../statements/roles.ts"
import { epochMillis } from "../world.ts"
import type { BaselineConfig } from "./config.ts"
import { limiter } from "./limits.ts"
import { Refused, tokenCheck } from "./tokens.ts"

interface Prediction {
  readonly direction: "bullish" | "bearish" | "neutral"
  readonly confidence: number
  readonly reasoning?: string
  readonly is_revision?: boolean
}

const body = {
  type: "object",
  required: ["direction", "confidence"],
  properties: {
    direction: { enum: ["bullish", "bearish", "neutral"] },
    confidence: { type: "number", minimum: 0, maximum: 1 },
    reasoning: { type: "string", maxLength: 4000 },
    is_revision: { type: "boolean" }
  }
}

const text = { type: "string" }
const answer = {
  type: "object",
  properties: {
    prediction_id: text,
    challenge_id: text,
    direction: text,
    confidence: { type: "number" },
    created_at: text,
    counts_for_score: { type: "boolean" },
    note: { type: "string", nullable: true },
    revision_count: { type: "integer" },
    receipt: {
      type: "object",
      properties: { commit: text, salt: text, body: text, leaf_index: { type: "integer", nullable: true } }
    }
  }
}

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
// oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
const refusedText = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/

const uuidV7 = (now: number): string => {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now, 0, 6)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

interface Item {
  readonly agentId: string
  readonly challengeId: string
  readonly prediction: Prediction
  readonly reasoning: string | null
}

const valuesOf = (statement: Prepared<PredictionRole>, item: Item) => {
  const { agentId, challengeId, prediction, reasoning } = item
  const now = Math.floor(epochMillis())
  const received_at = new Date(now).toISOString()
  const id = uuidV7(now)
  const before = canonicalize({
    agent_id: agentId,
    challenge_id: challengeId,
    kind: "directional",
    reasoning_sha256: reasoning === null ? null : createHash("sha256").update(reasoning).digest("hex"),
    received_at
  })
  const values = canonicalize({ confidence: prediction.confidence, direction: prediction.direction })
  const byRole: Record<PredictionRole | "constant", unknown> = {
    id,
    challengeId,
    agentId,
    direction: prediction.direction,
    confidence: String(prediction.confidence),
    reasoning,
    isRevision: prediction.is_revision === true,
    receivedAt: received_at,
    salt: randomBytes(32).toString("hex"),
    head: `${before?.slice(0, -1)},"revision":`,
    tail: `,"values":${values}}`,
    constant: null
  }
  return {
    id,
    created_at: received_at,
    values: statement.places.map(({ isArray, role }) => (isArray ? [byRole[role]] : byRole[role]))
  }
}

interface Row {
  readonly outcome: string
  readonly revision: number
  readonly salt: string
  readonly body: string
  readonly commit: string
}

const statusOf: Readonly<Record<string, number>> = { unknown: 404, capped: 403, closed: 409 }

export const predictRoute = (
  app: FastifyInstance,
  pool: Pool,
  config: BaselineConfig,
  statement: Prepared<PredictionRole>
) => {
  const authenticate = tokenCheck(config, pool)
  const take = limiter(config, pool)
  app.post<{ Params: { challenge_id: string }; Body: Prediction }>(
    "/api/v1/eval/challenges/:challenge_id/predict",
    { schema: { body, response: { 200: answer, 201: answer } } },
    async (request, reply) => {
      const agentId = await authenticate(request.headers.authorization)
      await take(agentId)
      const challengeId = request.params.challenge_id
      if (!uuidShape.test(challengeId)) throw new Refused(404, "no such challenge")
      const prediction = request.body
      const sent = prediction.reasoning?.replaceAll("\r\n", "\n").normalize("NFC") ?? null
      if (sent !== null && (!sent.isWellFormed() || refusedText.test(sent)))
        throw new Refused(400, "reasoning")
      const item = valuesOf(statement, { agentId, challengeId, prediction, reasoning: sent })
      const { rows } = await pool.query<Row>({ name: "predict", text: statement.text, values: item.values })
      const [row] = rows
      if (row === undefined || (row.outcome !== "recorded" && row.outcome !== "revised")) {
        throw new Refused(statusOf[row?.outcome ?? ""] ?? 400, row?.outcome ?? "none")
      }
      return reply.code(row.outcome === "recorded" ? 201 : 200).send({
        prediction_id: item.id,
        challenge_id: challengeId,
        direction: prediction.direction,
        confidence: prediction.confidence,
        created_at: item.created_at,
        counts_for_score: true,
        note: null,
        revision_count: row.revision,
        receipt: { commit: row.commit, salt: row.salt, body: row.body, leaf_index: null }
      })
    }
  )
}
