/**
 * Agents that predict all the time, and retry until they have an answer, as clients do. Acknowledged predictions are kept with their
 * receipts, other answers are counted, and forbidden answers are kept.
 */
import { createHash } from "node:crypto"
import { Clock, Duration, Effect, Fiber, Option, Random, Schema } from "effect"
import { PredictionAnswer } from "../../../src/services/Arenas.ts"
import { secret } from "./population.ts"
import type { Open } from "./population.ts"

export interface Acknowledged {
  readonly challengeId: string
  readonly agentId: string
  readonly revision: number
  readonly commit: string
}

export interface Tally {
  operations: number
  readonly acknowledged: Array<Acknowledged>
  readonly registered: Array<string>
  /** The grants that were acknowledged to the administrator: the id and the micro-credits. */
  readonly granted: Array<{ readonly id: string; readonly micro: number }>
  /** Predictions that the server has although the acknowledgement was lost: as `challenge agent`. */
  readonly held: Set<string>
  /** The numbers of answers and failures by kind. */
  readonly outcomes: Map<string, number>
  /** The start of the latest acknowledged operation. */
  lastAcknowledgedStart: number
  readonly violations: Array<string>
}

export const makeTally = (): Tally => ({
  operations: 0,
  acknowledged: [],
  registered: [],
  granted: [],
  held: new Set(),
  outcomes: new Map(),
  lastAcknowledgedStart: 0,
  violations: []
})

const count = (tally: Tally, outcome: string) =>
  tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1)

interface Answer {
  readonly status: number
  readonly text: string
}

/** The answer, or `None`: the connection was refused or cut off, or the time was over. */
const ask = (url: string, json: unknown, token?: string): Effect.Effect<Option.Option<Answer>> =>
  Effect.tryPromise(async (signal): Promise<Answer> => {
    const response = await fetch(url, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify(json)
    })
    return { status: response.status, text: await response.text() }
  }).pipe(Effect.timeout("8 seconds"), Effect.option)

const pause = Effect.sleep("50 millis")

const Token = Schema.fromJsonString(Schema.Struct({ access_token: Schema.String }))

const tokenOf = Effect.fnUntraced(function* (url: string, agentId: string) {
  while (true) {
    const answer = yield* ask(`${url}/api/v1/agent/auth/token`, {
      grant_type: "client_credentials",
      agent_id: agentId,
      client_secret: secret
    })
    if (Option.isSome(answer) && answer.value.status === 200) {
      const { access_token } = yield* Effect.orDie(Schema.decodeEffect(Token)(answer.value.text))
      return access_token
    }
    yield* pause
  }
})

const Recorded = Schema.fromJsonString(PredictionAnswer)

const commitOf = (salt: string, body: string) =>
  createHash("sha256")
    .update("auspex/commit/v1\0")
    .update(Buffer.from(salt, "hex"))
    .update(body)
    .digest("hex")

const acknowledge = (tally: Tally, agentId: string, text: string, started: number) => {
  const answer = Schema.decodeOption(Recorded)(text)
  if (Option.isNone(answer)) return tally.violations.push(`an answer that is none: ${text.slice(0, 200)}`)
  const { challenge_id, receipt, revision_count } = answer.value
  if (receipt === null) return count(tally, "too late to count")
  count(tally, "acknowledged")
  tally.lastAcknowledgedStart = Math.max(tally.lastAcknowledgedStart, started)
  if (commitOf(receipt.salt, receipt.body) !== receipt.commit) {
    tally.violations.push(`the receipt ${receipt.commit} does not open its commit`)
  }
  return tally.acknowledged.push({
    challengeId: challenge_id,
    agentId,
    revision: revision_count,
    commit: receipt.commit
  })
}

/** Retries until the server has told the result. */
const predict = Effect.fnUntraced(function* (
  tally: Tally,
  url: string,
  agent: { readonly id: string; readonly token: string },
  challenge: Open,
  isRevision: boolean
) {
  const direction = yield* Random.choice(["bullish", "bearish", "neutral"] as const)
  const confidence = (yield* Random.nextIntBetween(0, 100)) / 100
  let uncertain = false
  while (true) {
    const started = yield* Clock.currentTimeMillis
    const answer = yield* ask(
      `${url}/api/v1/eval/challenges/${challenge.id}/predict`,
      { direction, confidence, is_revision: isRevision },
      agent.token
    )
    if (Option.isNone(answer)) {
      count(tally, "no answer")
      uncertain = true
      yield* pause
      continue
    }
    const { status, text } = answer.value
    switch (status) {
      case 200:
      case 201:
        return acknowledge(tally, agent.id, text, started)
      case 429:
        return count(tally, "limited")
      case 503:
        count(tally, "503")
        uncertain = true
        yield* pause
        continue
      default:
        if (status === 400 && text.includes("duplicate_prediction") && uncertain) {
          tally.held.add(`${challenge.id} ${agent.id}`)
          return count(tally, "was recorded before")
        }
        count(tally, String(status))
        return tally.violations.push(`${status}: ${text.slice(0, 300)}`)
    }
  }
})

/** Runs one agent until the load ends. */
const agentLoad = Effect.fnUntraced(function* (
  tally: Tally,
  url: string,
  id: string,
  challenges: ReadonlyArray<Open>,
  goesOn: () => boolean
) {
  const token = yield* tokenOf(url, id)
  const predicted = new Set<string>()
  while (goesOn()) {
    const now = yield* Clock.currentTimeMillis
    // Challenges that close while the request is in flight are included.
    const open = challenges.filter(({ deadline }) => deadline > now - 20)
    if (open.length === 0) {
      yield* pause
      continue
    }
    const challenge = yield* Random.choice(open.slice(0, 20))
    yield* predict(tally, url, { id, token }, challenge, predicted.has(challenge.id))
    predicted.add(challenge.id)
    tally.operations += 1
    // The pause leaves room for settlements on the slowest machine.
    yield* pause
  }
})

const Registered = Schema.fromJsonString(Schema.Struct({ agent_id: Schema.String }))

/** Registers one agent after the other: several statements in one transaction, unlike a prediction. */
const registrations = Effect.fnUntraced(function* (tally: Tally, url: string, goesOn: () => boolean) {
  while (goesOn()) {
    const answer = yield* ask(`${url}/api/v1/agent/registry/register`, { name: "newcomer" })
    const status = Option.match(answer, { onNone: () => 0, onSome: (each) => each.status })
    if (Option.isSome(answer) && status === 201) {
      const { agent_id } = yield* Effect.orDie(Schema.decodeEffect(Registered)(answer.value.text))
      tally.registered.push(agent_id)
      count(tally, "registered")
    } else if (Option.isSome(answer) && status !== 503) {
      tally.violations.push(`registration ${status}: ${answer.value.text.slice(0, 300)}`)
    }
    yield* pause
  }
})

const Granted = Schema.fromJsonString(Schema.Struct({ id: Schema.String }))

/**
 * Gives credit to one agent after the other, and repeats each grant until it is acknowledged, some of them once more: a key gives
 * once, whatever was lost on the way.
 */
const grants = Effect.fnUntraced(function* (
  tally: Tally,
  options: { readonly url: string; readonly adminToken: string; readonly agents: ReadonlyArray<string> },
  goesOn: () => boolean
) {
  const { adminToken, agents, url } = options
  for (let number = 1; goesOn(); number++) {
    const agent = yield* Random.choice(agents)
    const micro = yield* Random.nextIntBetween(1, 10_000_000)
    const sent = { amount: micro / 1e6, reason: "the harness", idempotency_key: `harness-${number}` }
    let wanted = yield* Random.choice([1, 2])
    while (wanted > 0) {
      const answer = yield* ask(`${url}/api/v1/admin/agents/${agent}/credits`, sent, adminToken)
      const status = Option.match(answer, { onNone: () => 0, onSome: (each) => each.status })
      if (Option.isSome(answer) && status === 201) {
        const { id } = yield* Effect.orDie(Schema.decodeEffect(Granted)(answer.value.text))
        tally.granted.push({ id, micro })
        count(tally, "granted")
        wanted -= 1
      } else if (Option.isSome(answer) && status !== 503) {
        tally.violations.push(`grant ${status}: ${answer.value.text.slice(0, 300)}`)
        wanted = 0
      }
      yield* pause
    }
  }
})

export interface Load {
  readonly tally: Tally
  /** Begins no more operations; those in flight are finished. */
  readonly end: Effect.Effect<void>
}

/** Starts all of them concurrently in the background. */
export const startLoad = Effect.fnUntraced(function* (options: {
  readonly url: string
  readonly adminToken: string
  readonly agents: ReadonlyArray<string>
  readonly challenges: ReadonlyArray<Open>
  readonly seed: number
}) {
  const { agents, challenges, seed, url } = options
  const tally = makeTally()
  const state = { goesOn: true }
  const goesOn = () => state.goesOn
  const everybody = [
    registrations(tally, url, goesOn),
    grants(tally, options, goesOn).pipe(Random.withSeed(`${seed}:grants`)),
    ...agents.map((id, index) =>
      agentLoad(tally, url, id, challenges, goesOn).pipe(Random.withSeed(`${seed}:${index}`))
    )
  ]
  const fiber = yield* Effect.all(everybody, { concurrency: "unbounded", discard: true }).pipe(
    Effect.forkScoped
  )
  const load: Load = {
    tally,
    end: Effect.suspend(() => {
      state.goesOn = false
      return Fiber.join(fiber)
    }).pipe(Effect.timeout(Duration.seconds(30)), Effect.orDie)
  }
  return load
})
