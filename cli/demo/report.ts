/** The demonstration's output: a line a round, then the leaderboard and the checked receipts. */
import { createHash } from "node:crypto"
import { Console, Effect, Option, Schema } from "effect"
import type { Receipt } from "../../src/services/domain/Prediction.ts"
import { decimals, leaderboardColumns, table } from "../client/table.ts"
import type { Agent, Sent } from "./agent.ts"
import type { Game, Settled } from "./play.ts"

const labelWidth = 16
const priceWidth = 8
const predictionWidth = 15

const changeOf = (open: number, close: number): string => {
  const percent = (close / open - 1) * 100
  return `${percent < 0 ? "" : "+"}${percent.toFixed(2)} %`
}

export const heading = (agents: ReadonlyArray<Agent>): string =>
  [
    "hour".padEnd(labelWidth),
    "open".padStart(priceWidth),
    ...agents.map(({ name }) => name.padEnd(predictionWidth)),
    "close".padStart(priceWidth),
    "move".padStart(8),
    "result"
  ].join("  ")

const verdicts = { right: "✓", wrong: "✗" }

/** An agent's prediction in the public results. */
const predictionText = (agent: Agent, round: Settled): string => {
  const found = Option.getOrUndefined(round.results)?.predictions.find(
    ({ agent_id }) => agent_id === agent.id
  )
  if (found === undefined) return "too late".padEnd(predictionWidth)
  const revised = (round.sent.get(agent.id)?.revision_count ?? 0) > 0 ? "r" : ""
  const verdict = found.is_correct === true ? verdicts.right : verdicts.wrong
  return `${found.direction} ${found.confidence?.toFixed(2)}${revised} ${verdict}`.padEnd(predictionWidth)
}

export const roundLine = (agents: ReadonlyArray<Agent>, round: Settled): string => {
  const label = round.hour.label.padEnd(labelWidth)
  if (Option.isNone(round.results)) return `${label}  was not settled in time`
  const { close_price, open_price, result } = round.results.value
  return [
    label,
    String(open_price).padStart(priceWidth),
    ...agents.map((agent) => predictionText(agent, round)),
    String(close_price ?? "-").padStart(priceWidth),
    close_price === null || open_price === null ? "-" : changeOf(open_price, close_price).padStart(8),
    result ?? "-"
  ].join("  ")
}

/** Leaderboard rows of agents other than the demonstration's. */
const maxOthers = 10

const showLeaderboard = Effect.fnUntraced(function* (game: Game) {
  const ours = new Set<string>(game.agents.map(({ id }) => id))
  const board = yield* game.anyone.public.leaderboard({ query: { limit: 200 } })
  const rows = board.items.filter(({ agent_id }, index) => index < maxOthers || ours.has(agent_id))
  const columns = leaderboardColumns.filter(({ title }) => title !== "agent_id")
  yield* Console.log(`\nLeaderboard (${board.agents} agents; a rank needs an operator's claim):\n`)
  yield* Console.log(table(rows, columns))
  yield* Console.log("")
  for (const agent of game.agents) {
    const card = yield* game.anyone.public.scorecard({ params: { agent_id: agent.id }, query: { limit: 1 } })
    const { avg_score, correct_count, prediction_count } = card.overall
    yield* Console.log(
      `${agent.name.padEnd(10)}  ${correct_count} of ${prediction_count} right, on average ${decimals(avg_score, 2) ?? "-"} points; /api/v1/eval/agents/${agent.id}/scorecard`
    )
  }
})

/** Recomputes every receipt and compares it with the server's record. */
const receiptFaults = Effect.fnUntraced(function* (agent: Agent, rounds: ReadonlyArray<Settled>) {
  const { items } = yield* agent.predictions(200)
  const now = new Map<string, string>(
    items.map(({ challenge_id, receipt }) => [challenge_id, receipt.commit])
  )
  return rounds.flatMap(({ challengeId, hour, sent }) => {
    const answer = sent.get(agent.id)
    if (answer === undefined) return []
    const fault =
      faultOf(answer.receipt, { ...answer, agent_id: agent.id }) ??
      (now.get(challengeId) === answer.receipt?.commit ? undefined : "the server now tells another commit")
    return fault === undefined ? [] : [`${agent.name}, ${hour.label}: ${fault}`]
  })
})

const showReceipt = Effect.fnUntraced(function* (agent: Agent, answer: Sent) {
  if (answer.receipt === null) return
  const { body, commit, salt } = answer.receipt
  yield* Console.log(
    [
      `\nA receipt of ${agent.name}: what it sent, and when, is fixed by one hash.`,
      `  body       ${body}`,
      `  salt       ${salt}`,
      `  commit     ${commit}`,
      `  recomputed ${commitOf(answer.receipt)}  SHA-256("auspex/commit/v1" 0x00 salt body)`
    ].join("\n")
  )
})

/** Settlements that differ from the played prices. */
const settlementFaults = (rounds: ReadonlyArray<Settled>): ReadonlyArray<string> =>
  rounds.flatMap(({ hour, results }) => {
    if (Option.isNone(results)) return [`${hour.label}: not settled`]
    const { close_price } = results.value
    return close_price === hour.close
      ? []
      : [`${hour.label}: settled on ${close_price}, played was ${hour.close}`]
  })

/** Prints the end of the demonstration and returns all faults. */
export const conclude = Effect.fn("demo.conclude")(function* (game: Game, rounds: ReadonlyArray<Settled>) {
  yield* showLeaderboard(game)
  const [first] = game.agents
  const last =
    first === undefined ? undefined : rounds.findLast(({ sent }) => sent.has(first.id))?.sent.get(first.id)
  if (first !== undefined && last !== undefined) yield* showReceipt(first, last)
  const ofReceipts = (yield* Effect.forEach(game.agents, (agent) => receiptFaults(agent, rounds))).flat()
  const count = rounds.reduce((sum, { sent }) => sum + sent.size, 0)
  yield* Console.log(
    `\n${count - ofReceipts.length} of ${count} receipts hold: each commit was recomputed and equals the server's current one.`
  )
  return [...settlementFaults(rounds), ...ofReceipts]
})

/** SHA-256("auspex/commit/v1" 0x00 salt body), in hex. */
export const commitOf = ({ body, salt }: typeof Receipt.Type): string =>
  createHash("sha256")
    .update("auspex/commit/v1\0", "utf8")
    .update(Buffer.from(salt, "hex"))
    .update(body, "utf8")
    .digest("hex")

const Committed = Schema.fromJsonString(
  Schema.Struct({
    agent_id: Schema.String,
    challenge_id: Schema.String,
    received_at: Schema.String,
    values: Schema.Struct({ direction: Schema.String, confidence: Schema.Finite })
  })
)

const decodeBody = Schema.decodeUnknownOption(Committed)

interface Stated {
  readonly agent_id: string
  readonly challenge_id: string
  readonly direction: string | null
  readonly confidence: number | null
  readonly created_at: string
}

/** The fault of a receipt; undefined if it is correct. */
export const faultOf = (receipt: typeof Receipt.Type | null, stated: Stated): string | undefined => {
  if (receipt === null) return "there is no receipt"
  if (commitOf(receipt) !== receipt.commit) return "the commit is not the hash of the body"
  const body = decodeBody(receipt.body)
  if (Option.isNone(body)) return "the body is not what it should be"
  const { agent_id, challenge_id, received_at, values } = body.value
  const same =
    agent_id === stated.agent_id &&
    challenge_id === stated.challenge_id &&
    received_at === stated.created_at &&
    values.direction === stated.direction &&
    values.confidence === stated.confidence
  return same ? undefined : "the body says something else than what was sent"
}
