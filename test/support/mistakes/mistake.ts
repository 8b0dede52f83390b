/** A mistake that an agent makes, and the parts of the answer that let it correct the request in one step. */
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { allScopes } from "../../../src/services/Scopes.ts"
import { onboard, onboardClaimed, register } from "../agents.ts"
import { freshWeek, newChallenge, newMacro, newPriceEvent } from "../challenges.ts"
import { creditFor } from "../credit.ts"
import { comment, newEvent, reply } from "../discussion.ts"
import { member, post, send } from "../requests.ts"
import type { Answer } from "../requests.ts"
import { testAdminToken } from "../settings.ts"

/** In a call, `<gold>` is the id of the challenge on gold, and so on. */
interface Call {
  /** The method; the default is POST. */
  readonly method?: string
  readonly path: string
  readonly json?: unknown
  /** A body that is sent as it is, instead of `json`. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The caller; the default is a new provisional agent. A claimed one has every scope, and credit. */
  readonly as?: "agent" | "claimed" | "administrator" | "nobody"
}

export interface Mistake extends Call {
  readonly name: string
  /** Calls that come first, and succeed. */
  readonly after?: ReadonlyArray<Call>
  readonly status: number
  /** The code of a rejection. */
  readonly code?: string
  readonly tells: ReadonlyArray<string>
  /** The change that the answer suggests, after which the call succeeds. */
  readonly rightly?: Partial<Call>
}

export const invalid = { status: 400, code: "invalid_request" }
export const notFound = { status: 404, code: "not_found" }

/** The data that the mistakes refer to. */
const makeWorld = Effect.gen(function* () {
  yield* freshWeek
  const closedGold = yield* newChallenge()
  const closedCpi = yield* newMacro()
  yield* TestClock.adjust("2 hours")
  const gold = yield* newChallenge()
  const cancelled = yield* newChallenge()
  yield* post(`/api/v1/admin/challenges/${cancelled.id}/cancel`, {
    token: testAdminToken,
    json: { reason: "A test." }
  })
  const cpi = yield* newMacro()
  const barrier = yield* newPriceEvent({ kind: "barrier" })
  const close = yield* newPriceEvent({ kind: "numeric_close" })
  const count = yield* newPriceEvent({ kind: "count_days" })
  const other = yield* onboard()
  const event = yield* newEvent()
  const otherEvent = yield* newEvent()
  const posted = yield* comment(other.registered.agent_id, event)
  const replied = yield* reply(other.registered.agent_id, posted)
  return new Map(
    Object.entries({
      "closed gold": closedGold.id,
      "closed cpi": closedCpi.id,
      gold: gold.id,
      cancelled: cancelled.id,
      cpi: cpi.id,
      barrier: barrier.id,
      close: close.id,
      count: count.id,
      event: event.event_id,
      "other event": otherEvent.event_id,
      comment: posted.comment_id,
      reply: replied.comment_id,
      other: other.agentId
    })
  )
})

type World = ReadonlyMap<string, string>

const filled = (text: string, world: World): string =>
  text.replaceAll(/<([a-z ]+)>/g, (mark, name: string) => world.get(name) ?? mark)

const tokenFor = Effect.fnUntraced(function* (as: Call["as"]) {
  const agent = as === "claimed" ? yield* onboardClaimed({ requested_scopes: allScopes }) : yield* onboard()
  if (as === "claimed") yield* creditFor([agent.agentId])
  const pending = yield* register()
  const own: ReadonlyArray<readonly [string, string]> = [
    ["agent", agent.agentId],
    ["secret", agent.secret],
    ["passed", agent.registered.challenge_id],
    ["token", agent.token],
    ["basic", Buffer.from(`${agent.agentId}:${agent.secret}`).toString("base64")],
    ["pending agent", pending.agent_id],
    ["pending secret", pending.client_secret],
    ["pending challenge", pending.challenge_id]
  ]
  return own
})

const made = ({ as, body, headers, json, method = "POST", path }: Call, world: World) => {
  const tokens = {
    administrator: testAdminToken,
    nobody: undefined,
    agent: world.get("token"),
    claimed: world.get("token")
  }
  const token = tokens[as ?? "agent"]
  const text = json === undefined ? body : JSON.stringify(json)
  return send(method, filled(path, world), {
    ...(token !== undefined && { token }),
    headers: {
      ...(json !== undefined && { "content-type": "application/json" }),
      ...Object.fromEntries(
        Object.entries(headers ?? {}).map(([name, value]) => [name, filled(value, world)])
      )
    },
    ...(text !== undefined && { body: filled(text, world) })
  })
}

/** The text of an answer: of a rejection its texts, otherwise the whole. */
const textOf = ({ json, status, text }: Answer): string => {
  if (status < 400) return text
  const errors = Array.isArray(json["errors"]) ? json["errors"] : []
  return [json["detail"], json["hint"], ...errors.map((each) => member(each, "message"))].join(" ")
}

const schemaNames =
  /RegistrationAnswer|NewAnswer|AnswerTo|NewForecast|NewStake|Registration\b|ScopeChange|NewPost/

/** The fault of the answer to a mistake; undefined if there is none. */
const faultOf = Effect.fnUntraced(function* (mistake: Mistake, shared: World) {
  const { after = [], code, name, rightly, status, tells } = mistake
  const world = new Map([...shared, ...(yield* tokenFor(mistake.as))])
  for (const call of after) {
    const before = yield* made(call, world)
    if (before.status >= 300) return { name, before: before.text }
  }
  const answer = yield* made(mistake, world)
  const lacking = tells.filter((told) => !textOf(answer).includes(filled(told, world)))
  if (
    answer.status !== status ||
    answer.json["code"] !== code ||
    lacking.length > 0 ||
    schemaNames.test(answer.text)
  ) {
    return { name, status: answer.status, lacking, answer: answer.text }
  }
  if (rightly === undefined) return undefined
  const corrected = yield* made({ ...mistake, ...rightly }, world)
  return corrected.status < 300 ? undefined : { name, corrected: corrected.text }
})

/** The faults of the answers to mistakes. */
export const faultsOf = Effect.fnUntraced(function* (mistakes: ReadonlyArray<Mistake>) {
  const world = yield* makeWorld
  const faults = yield* Effect.forEach(mistakes, (mistake) => faultOf(mistake, world))
  return faults.filter((fault) => fault !== undefined)
})
