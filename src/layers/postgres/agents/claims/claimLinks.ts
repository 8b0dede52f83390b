/** The claim link and its pairing code. */
import { DateTime, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  claimPage,
  ClaimLinkEnded,
  ClaimLocked,
  NotClaimableYet,
  WrongPairingCode
} from "../../../../services/Claims.ts"
import type { Claims, ClaimView } from "../../../../services/Claims.ts"
import { AgentId } from "../../../../services/identifiers.ts"
import { RateLimiter } from "../../../../services/RateLimiter.ts"
import { Settings } from "../../../../services/Settings.ts"
import {
  isToken,
  makePairingCode,
  makeToken,
  pairingCodeHmac,
  sameHash,
  sha256
} from "../../../crypto/secrets.ts"
import { execute, findOption, orDie, timestamp, transaction } from "../../sql.ts"
import { agentOf, endOf, linkColumns, linkFields } from "./agentRows.ts"
import type { Ownership } from "./ownership.ts"
import { alreadyClaimed, noLink } from "./errors.ts"

const LinkRow = Schema.Struct({ ...linkFields, wrong_codes: Schema.Int })
const Try = Schema.Struct({ agent_id: AgentId, code_hmac: Schema.Uint8Array, wrong_codes: Schema.Int })
const RefreshedRow = Schema.Struct({
  provisional_until: Schema.DateTimeUtcFromDate,
  prediction_limit: Schema.NullOr(Schema.Int),
  passed: Schema.Boolean,
  claimed: Schema.Boolean
})

const ended = (reason: "expired" | "replaced") =>
  new ClaimLinkEnded({
    detail:
      reason === "expired"
        ? "This claim link is too old: the agent can make a new one with claim-link/refresh."
        : "The agent has made a newer claim link: this one no longer works.",
    reason
  })

const locked = () =>
  new ClaimLocked({
    detail: "Too many wrong pairing codes: the agent can make a new link and code with claim-link/refresh."
  })

export const makeClaimLinks = Effect.fnUntraced(function* ({ own }: Ownership) {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const hmac = pairingCodeHmac(settings.tokenSecret)
  const linkRow = findOption(LinkRow)
  const tryRow = findOption(Try)
  const refreshedRow = findOption(RefreshedRow)

  const issueLink: Claims["Service"]["issueLink"] = Effect.fn("Claims.issueLink")(function* (agent) {
    const now = yield* DateTime.now
    const expiresAt = DateTime.addDuration(now, settings.claimLinkTtl)
    const token = makeToken("claimLink")
    const code = makePairingCode()
    yield* execute(sql`
      update claim_links set superseded_at = ${timestamp(now)}
       where agent_id = ${agent.agentId}::uuid and superseded_at is null and used_at is null`)
    yield* execute(sql`
      insert into claim_links (token_hash, agent_id, code_hmac, created_at, expires_at)
      values (${sha256(token)}, ${agent.agentId}::uuid, ${hmac(code)}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
    return {
      claim_url: settings.baseUrl + claimPage(token),
      pairing_code: code,
      provisional_until: DateTime.formatIso(agent.provisionalUntil),
      provisional_prediction_limit: agent.predictionLimit
    }
  })

  const refresh: Claims["Service"]["refresh"] = Effect.fn("Claims.refresh")(function* (agentId) {
    yield* limits.consume("claim_refresh", agentId)
    const refreshed = Effect.gen(function* () {
      // Held until the new link is there, so that neither a claim nor another refresh slips in between.
      const found = yield* refreshedRow(sql`
        select provisional_until, prediction_limit, challenge_passed_at is not null as passed,
               claimed_at is not null as claimed
          from agents where id = ${agentId}::uuid
           for no key update`)
      if (Option.exists(found, ({ claimed }) => claimed)) return yield* alreadyClaimed()
      if (!Option.exists(found, ({ passed }) => passed)) {
        return yield* new NotClaimableYet({
          detail:
            "The registration challenge has not been passed yet: submit an answer to its submit_url first."
        })
      }
      const { provisional_until, prediction_limit } = yield* Effect.orDie(Effect.fromOption(found))
      return yield* issueLink({
        agentId,
        provisionalUntil: provisional_until,
        predictionLimit: prediction_limit ?? 0
      })
    })
    return yield* transaction(sql)(refreshed)
  })

  const find = Effect.fnUntraced(function* (token: string) {
    if (!isToken("claimLink", token)) return yield* noLink()
    const found = yield* linkRow(sql`
      select ${linkColumns(sql)}, l.wrong_codes
        from claim_links l join agents a on a.id = l.agent_id
       where l.token_hash = ${sha256(token)}`)
    return yield* Option.match(found, { onNone: noLink, onSome: Effect.succeed })
  })

  const viewOf = (row: typeof LinkRow.Type, now: DateTime.Utc): ClaimView => {
    const agent = agentOf(row)
    const end = endOf(row, now)
    if (end !== undefined) return { ...end, agent }
    const triesLeft = Math.max(0, settings.pairingCodeTries - row.wrong_codes)
    return triesLeft === 0
      ? { state: "locked", agent }
      : { state: "open", triesLeft, expiresAt: row.expires_at, agent }
  }

  const view: Claims["Service"]["view"] = Effect.fn("Claims.view")(function* (token) {
    return viewOf(yield* find(token), yield* DateTime.now)
  })

  /** Counts one try, if the link has one left: the condition of the update is the decision, however many come at once. */
  const takeTry = Effect.fnUntraced(function* (token: string) {
    const now = yield* DateTime.now
    return yield* tryRow(sql`
      update claim_links l set wrong_codes = l.wrong_codes + 1
        from agents a
       where l.token_hash = ${sha256(token)} and a.id = l.agent_id and a.claimed_at is null
         and l.superseded_at is null and l.used_at is null and l.expires_at > ${timestamp(now)}
         and l.wrong_codes < ${settings.pairingCodeTries}
      returning l.agent_id::text, l.code_hmac, l.wrong_codes`)
  })

  /** Why there was no try to take. */
  const refusal = Effect.fnUntraced(function* (token: string) {
    const { state } = yield* view(token)
    switch (state) {
      case "claimed":
        return yield* alreadyClaimed()
      case "expired":
      case "replaced":
        return yield* ended(state)
      case "locked":
      case "open":
        // Open again only for whoever looks now: the last try was another's, and right.
        return yield* locked()
    }
  })

  const claimWithCode: Claims["Service"]["claimWithCode"] = Effect.fn("Claims.claimWithCode")(function* ({
    token,
    pairingCode,
    operatorId
  }) {
    const { agent } = yield* view(token)
    const taken = yield* takeTry(token)
    if (Option.isNone(taken)) return yield* refusal(token)
    if (!sameHash(hmac(pairingCode), taken.value.code_hmac)) {
      const left = settings.pairingCodeTries - taken.value.wrong_codes
      if (left <= 0) return yield* locked()
      return yield* new WrongPairingCode({
        detail: `This is not the pairing code of this link: ${left} of ${settings.pairingCodeTries} tries are left.`,
        tries_left: left
      })
    }
    const claimed = Effect.gen(function* () {
      yield* own(taken.value.agent_id, operatorId)
      const now = yield* DateTime.now
      const used = yield* sql`
          update claim_links set used_at = ${timestamp(now)}, wrong_codes = wrong_codes - 1
           where token_hash = ${sha256(token)} and superseded_at is null and used_at is null
          returning 1`
      if (used.length === 0) return yield* ended("replaced")
      return agent
    })
    return yield* transaction(sql)(claimed).pipe(
      // The code was right: what else stood in the way costs no try.
      Effect.onError(() => Effect.ignoreCause(giveBack(token)))
    )
  })

  const giveBack = (token: string) =>
    sql`update claim_links set wrong_codes = wrong_codes - 1 where token_hash = ${sha256(token)}`.pipe(orDie)

  return { issueLink, refresh, view, claimWithCode }
})
