/** The leaderboard by the service's own statements; the figures in plain doubles, the answer by `JSON.stringify`. */
import type { FastifyInstance } from "fastify"
import type { Pool } from "pg"
import { studentT975 } from "../../src/scoring/studentT.ts"
import type { BaselineConfig } from "./config.ts"
import { limiter } from "./limits.ts"

type Row = Readonly<Record<string, unknown>>

/** The service's statement has an agent's sums in one text. */
const published = (sums: string) => {
  const [
    _lastDay,
    scored = 0,
    scoreSum = 0,
    binaryScored = 0,
    correct = 0,
    brierSum = 0,
    skillCount = 0,
    skillSum = 0,
    dayCount = 0,
    daySum = 0,
    daysBefore = 0,
    sumDaySq = 0,
    sumDayCross = 0,
    sumDayCountSq = 0
  ] = sums.split(" ").map(Number)
  const mean = scoreSum / scored
  const days = daysBefore + 1
  const square = sumDaySq + daySum ** 2
  const cross = sumDayCross + daySum * dayCount
  const counts = sumDayCountSq + dayCount ** 2
  const spread = square - 2 * mean * cross + mean * mean * counts
  const half = (studentT975(days - 1) * Math.sqrt((spread * days) / (days - 1))) / scored
  return {
    avg_score: mean,
    accuracy_rate: correct / binaryScored,
    correct_count: correct,
    prediction_count: scored,
    score_ci95: [Math.max(0, mean - half), Math.min(100, mean + half)],
    brier_index: 100 * (1 - Math.sqrt(brierSum / binaryScored)),
    mean_skill: skillCount === 0 ? null : skillSum / skillCount
  }
}

export const leaderboardRoute = (
  app: FastifyInstance,
  pool: Pool,
  config: BaselineConfig,
  statements: NonNullable<BaselineConfig["page"]>
) => {
  const take = limiter(config, pool)
  app.get<{ Querystring: { limit?: number } }>(
    "/api/v1/eval/leaderboard",
    {
      schema: {
        querystring: { type: "object", properties: { limit: { type: "integer", minimum: 1, maximum: 200 } } }
      }
    },
    async (request, reply) => {
      await take(String(request.headers["x-forwarded-for"]))
      const answers: Array<ReadonlyArray<Row>> = []
      for (const [index, { text, values }] of statements.entries()) {
        const { rows } = await pool.query<Row>({ name: `page${index}`, text, values: [...values] })
        answers.push(rows)
      }
      const limit = request.query.limit ?? 50
      const rows = answers.find((each) => each.length > 1) ?? []
      const board = rows[0]
      const last = rows[limit - 1]
      const items = rows.slice(0, limit).map((row, index) => ({
        rank: index + 1,
        agent_id: row["agent_id"],
        agent_name: row["agent_name"],
        model_provider: row["model_provider"],
        model_name: row["model_name"],
        status: row["verified"] === true ? "verified" : "unverified",
        verified: row["verified"],
        ...published(String(row["sums"]))
      }))
      return reply.header("content-type", "application/json; charset=utf-8").send(
        JSON.stringify({
          items,
          total: board?.["board_agents"] ?? 0,
          category: null,
          min_count: 30,
          updated_at: board?.["board_updated_at"] ?? null,
          next_cursor: Buffer.from(
            JSON.stringify({
              score: last?.["sort_score"],
              count: last?.["scored"],
              agent_id: last?.["agent_id"]
            })
          ).toString("base64url")
        })
      )
    }
  )
}
