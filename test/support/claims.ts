/** Agents that wait for their operator, with what the operator gets. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Claims } from "../../src/services/Claims.ts"
import type { OperatorId } from "../../src/services/domain/ids.ts"
import { Mailer } from "../../src/services/Mailer.ts"
import type { Message } from "../../src/services/Mailer.ts"
import { Operators, toAccount } from "../../src/services/Operators.ts"
import { Registry } from "../../src/services/Registry.ts"
import type { Registration } from "../../src/services/Registry.ts"
import { passingAnswer } from "./responses.ts"
import { linksIn, Mailbox } from "./mailbox.ts"
import { address } from "./operators.ts"

/** What stands behind the last slash of a link. */
export const tokenOf = (url: string | undefined): string =>
  (url ?? "").replace(/\/not-mine$/, "").replace(/.*\//, "")

/** A registered agent that has passed its challenge, with its claim link. */
export const claimable = Effect.fnUntraced(function* (fields: Partial<Registration> = {}) {
  const registry = yield* Registry
  const registered = yield* registry.register({ name: "Ada", ...fields })
  const outcome = yield* registry.submit(registered.challenge_id, passingAnswer(registered.challenge_prompt))
  if (!outcome.passed) return yield* Effect.die(new Error("the answer did not pass"))
  return {
    agentId: registered.agent_id,
    secret: registered.client_secret,
    token: tokenOf(outcome.claim_url),
    code: outcome.pairing_code,
    link: outcome
  }
})

/** Sends what is due, and answers what has come since. */
export const newMails = Effect.gen(function* () {
  const { delivered } = yield* Mailbox
  const before = delivered.length
  yield* Mailer.use((mailer) => mailer.drain)
  return delivered.slice(before)
})

/** The links of a mail about an agent: the one that claims, and the one that declines. */
export const claimLinks = (message: Message | undefined) => {
  const [, claim, decline] = linksIn(message)
  return { claim: tokenOf(claim), decline: tokenOf(decline) }
}

/** Signs in by a mail to `email`, as a person would. */
export const signedIn = Effect.fnUntraced(function* (email: string) {
  const operators = yield* Operators
  yield* operators.requestSignIn({ email: address(email), returnTo: toAccount, address: "192.0.2.1" })
  const mails = yield* newMails
  const { session } = yield* operators.signIn(tokenOf(linksIn(mails.at(-1))[1]))
  return session
})

let people = 0
/** An operator nobody else is. */
export const anOperator = Effect.suspend(() => {
  people += 1
  return Effect.map(signedIn(`person-${people}@example.org`), ({ operatorId }) => operatorId)
})

export const claimWithCode = (token: string, pairingCode: string, operatorId: OperatorId) =>
  Claims.use((claims) => claims.claimWithCode({ token, pairingCode, operatorId }))

/** A code that is well-formed, and not this one. */
export const wrongCode = (code: string): string => `${code.slice(0, -1)}${code.endsWith("A") ? "B" : "A"}`

/** What is stored of an agent's claim. */
export const agentRow = Effect.fnUntraced(function* (agentId: string) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`
    select claimed_at, owner_id::text, prediction_limit, grace_notices, issuance_paused_at, provisional_until
      from agents where id = ${agentId}::uuid`
  return row ?? {}
})
