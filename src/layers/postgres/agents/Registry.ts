import { Cause, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { Claims } from "../../../services/Claims.ts"
import { Plan } from "../../../services/Operators.ts"
import { OwnerMails } from "../../../services/OwnerMails.ts"
import { registrationAnswerSchema, RegistrationJudge } from "../../../services/RegistrationJudge.ts"
import {
  Action,
  ChallengeAlreadyPassed,
  ChallengeLocked,
  PublicProfile,
  Registry,
  SecretAlreadyUsed,
  SelfProfile
} from "../../../services/Registry.ts"
import type { ScopeSummary } from "../../../services/Registry.ts"
import {
  Scope,
  allScopes,
  effectiveScopes,
  needlessScopes,
  requestedScopes
} from "../../../services/Scopes.ts"
import { Settings } from "../../../services/Settings.ts"
import { DisposableAddress, emailAddressOf, isOfDomains } from "../../../services/domain/emails.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { AgentId, OperatorId, RegistrationChallengeId, isUuid } from "../../../services/domain/ids.ts"
import { Cursors } from "../../../services/domain/paging.ts"
import { registeredKey } from "../../keys/publicKeys.ts"
import { makeClientSecret, sha256 } from "../../crypto/secrets.ts"
import { statusAt } from "../../../services/domain/agentStatus.ts"
import {
  arrayParam,
  findAll,
  findOption,
  isoTimestamp,
  orDie,
  pageAfter,
  timestamp,
  transaction
} from "../sql.ts"
import { textsOf } from "../../mail/language.ts"
import { makeSecretRotation, makeTokenFailures } from "./credentials.ts"
import { requestedScopesOf } from "./scopes.ts"
import { submitUrl } from "./pendingChallenge.ts"
import { disambiguator } from "../disambiguator.ts"
import { insertAgentNotices } from "../notices/insertNotices.ts"

const {
  status: _,
  verification_status: __,
  owner: ___,
  effective_scopes: ____,
  withheld_scopes: _____,
  ...stored
} = SelfProfile.fields
const instant = Schema.DateTimeUtcFromDate

const SuspendedRow = Schema.Struct({ name: Schema.String, owner_id: Schema.NullOr(Schema.String) })

const ProfileRow = Schema.Struct({
  ...stored,
  grace_ends: instant,
  challenge_passed_at: Schema.NullOr(instant),
  claimed_at: Schema.NullOr(instant),
  suspended_at: Schema.NullOr(instant),
  owner_id: Schema.NullOr(OperatorId),
  plan: Schema.NullOr(Plan)
})

const Attempt = Schema.Struct({
  agent_id: AgentId,
  event_slug: Schema.String,
  attempts: Schema.Int,
  max_attempts: Schema.Int,
  provisional_until: instant,
  prediction_limit: Schema.Int,
  name: Schema.String,
  operator_contact: Schema.NullOr(Schema.String)
})

const PromptState = Schema.Struct({
  prompt: Schema.String,
  attempts: Schema.Int,
  max_attempts: Schema.Int,
  passed: Schema.Boolean
})

/** After this many attempts feedback has points only, since repeated attempts must not reveal the expected answer. */
const explainedAttempts = 2
const unexplained = "Points were lost here: read what instructions.criteria says of this criterion."

const ScopeRow = Schema.Struct({ requested_scopes: Schema.Array(Scope), claimed: Schema.Boolean })

const nextToken = "Effective as of the next token: request one. Tokens already held stay as they are."

const scopeNote = (withheld: ReadonlyArray<Scope>): string =>
  withheld.length === 0
    ? nextToken
    : `${nextToken} What is withheld is enabled once the operator has claimed the agent.`

const scopeSummary = (row: typeof ScopeRow.Type): ScopeSummary => {
  const effective = effectiveScopes(row.requested_scopes, row.claimed ? "claimed" : "provisional")
  const held = new Set(effective)
  const withheld = row.requested_scopes.filter((scope) => !held.has(scope))
  return {
    requested_scopes: row.requested_scopes,
    effective_scopes: effective,
    withheld_scopes: withheld,
    note: scopeNote(withheld)
  }
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const judge = yield* RegistrationJudge
  const claims = yield* Claims
  const mails = yield* OwnerMails
  const failures = yield* makeTokenFailures
  const random = yield* SecureRandom.SecureRandom
  const rotate = yield* makeSecretRotation
  const profileRow = findOption(ProfileRow)
  const suspendedRow = findOption(SuspendedRow)
  const attemptRow = findOption(Attempt)
  const triedRow = findOption(Schema.Struct({ id: AgentId, is_its_challenge: Schema.Boolean }))
  const challengeSlug = findOption(Schema.Struct({ event_slug: Schema.String }))
  const promptRow = findOption(PromptState)
  const scopeRow = findOption(ScopeRow)
  const publicProfileRow = findOption(PublicProfile)
  const actionRows = findAll(Schema.Struct({ action: Action }))
  const pages = (yield* Cursors).listById("actions")
  const challengeState = findOption(Schema.Struct({ passed: Schema.Boolean, max_attempts: Schema.Int }))

  const instructions = (maxAttempts: number) => ({
    max_attempts: maxAttempts,
    pass_score: judge.passScore,
    criteria: judge.criteria,
    answer_schema: registrationAnswerSchema
  })

  const register: Registry["Service"]["register"] = Effect.fn("Registry.register")(function* (sent) {
    const key = yield* Effect.fromResult(registeredKey(sent, { ownMachine: settings.ownMachineUrls }))
    const now = yield* DateTime.now
    const agentId = AgentId.make(yield* random.uuidV7())
    // This id is fully random, since it is half of the proof that resend-secret asks for.
    const challengeId = RegistrationChallengeId.make(yield* random.uuidV4())
    const secret = makeClientSecret()
    const { requested, ignored } = requestedScopes(sent.requested_scopes ?? [])
    const contact = emailAddressOf(sent.operator_contact ?? "")
    if (Option.isSome(contact) && isOfDomains(contact.value, settings.disposableDomains)) {
      return yield* InvalidRequest.of("operator_contact", DisposableAddress.of(contact.value).detail)
    }
    const event = yield* judge.choose(agentId)
    yield* transaction(sql)(
      Effect.gen(function* () {
        yield* sql`
          insert into agents ${sql.insert({
            id: agentId,
            name: sent.name,
            type: sent.type ?? "commenter",
            bio: sent.bio ?? null,
            languages: sent.languages ?? [],
            model_provider: sent.model_provider ?? null,
            model_name: sent.model_name ?? null,
            model_version: sent.model_version ?? null,
            model_capability_tag: sent.model_capability_tag ?? "reasoning",
            operator_contact: sent.operator_contact ?? null,
            hosting_mode: sent.hosting_mode ?? "cloud",
            policy_profile: sent.policy_profile ?? "standard",
            owner_org: sent.owner_org ?? null,
            disclosure_level: sent.disclosure_level ?? "public",
            default_spaces: [...new Set(sent.default_spaces ?? [])],
            auth_method: sent.auth_method ?? "client_credentials",
            ...key,
            requested_scopes: requested.filter((scope) => scope !== "webhook:write"),
            webhook_scope: requested.includes("webhook:write"),
            secret_hash: sha256(secret),
            created_at: timestamp(now),
            provisional_until: timestamp(DateTime.addDuration(now, settings.provisionalGrace)),
            prediction_limit: settings.provisionalPredictionLimit
          })}`
        yield* sql`
          insert into registration_challenges (id, agent_id, event_slug, prompt, max_attempts, created_at)
          values (${challengeId}::uuid, ${agentId}::uuid, ${event.slug}, ${event.prompt},
                  ${settings.registrationAttempts}, ${timestamp(now)})`
      })
    )
    return {
      agent_id: agentId,
      client_secret: secret,
      challenge_id: challengeId,
      challenge_prompt: event.prompt,
      submit_url: submitUrl(settings.baseUrl, challengeId),
      instructions: instructions(settings.registrationAttempts),
      max_attempts: settings.registrationAttempts,
      ignored_scopes: ignored
    }
  })

  const noChallenge = (id: string) => NotFound.of("registration challenge", id)

  const locked = (maxAttempts: number) =>
    new ChallengeLocked({ detail: `All ${maxAttempts} attempts are used: register again.` })

  const alreadyPassed = () =>
    new ChallengeAlreadyPassed({
      detail:
        "This registration challenge has been passed: request a token. A lost claim link is renewed by claim-link/refresh."
    })

  /** Counts an attempt before it is judged, in a short statement, since judging may take a while. */
  const takeAttempt = Effect.fnUntraced(function* (challengeId: string) {
    const taken = yield* attemptRow(sql`
      update registration_challenges c set attempts = c.attempts + 1
        from agents a
       where c.id = ${challengeId}::uuid and a.id = c.agent_id and c.passed_at is null and c.attempts < c.max_attempts
      returning c.agent_id::text, c.event_slug, c.attempts, c.max_attempts, a.provisional_until,
                coalesce(a.prediction_limit, 0) as prediction_limit, a.name, a.operator_contact`)
    if (Option.isSome(taken)) return taken.value
    const state = yield* challengeState(sql`
      select passed_at is not null as passed, max_attempts from registration_challenges
       where id = ${challengeId}::uuid`)
    if (Option.isNone(state)) return yield* noChallenge(challengeId)
    if (state.value.passed) return yield* alreadyPassed()
    return yield* locked(state.value.max_attempts)
  })

  const challenge: Registry["Service"]["challenge"] = Effect.fn("Registry.challenge")(
    function* (agentId, challengeId) {
      const found = isUuid(challengeId)
        ? yield* promptRow(sql`
            select prompt, attempts, max_attempts, passed_at is not null as passed from registration_challenges
             where id = ${challengeId}::uuid and agent_id = ${agentId}::uuid`)
        : Option.none()
      if (Option.isNone(found)) return yield* noChallenge(challengeId)
      const { attempts, max_attempts, passed, prompt } = found.value
      if (passed) return yield* alreadyPassed()
      if (attempts >= max_attempts) return yield* locked(max_attempts)
      const id = RegistrationChallengeId.make(challengeId)
      return {
        challenge_id: id,
        challenge_prompt: prompt,
        submit_url: submitUrl(settings.baseUrl, id),
        instructions: instructions(max_attempts),
        attempts_remaining: max_attempts - attempts
      }
    }
  )

  const submit: Registry["Service"]["submit"] = Effect.fn("Registry.submit")(function* (challengeId, answer) {
    if (!isUuid(challengeId)) return yield* noChallenge(challengeId)
    const slug = yield* challengeSlug(sql`
      select event_slug from registration_challenges where id = ${challengeId}::uuid`)
    if (Option.isNone(slug)) return yield* noChallenge(challengeId)
    // An event that the judge no longer knows costs no attempt.
    if (Option.isNone(yield* judge.event(slug.value.event_slug))) {
      return yield* new NotFound({
        detail:
          "The event of this registration challenge is no longer in use: register again for another one."
      })
    }
    const attempt = yield* takeAttempt(challengeId)
    const verdict = yield* judge.judge(attempt.event_slug, answer)
    const remaining = attempt.max_attempts - attempt.attempts
    const outcome = {
      score: verdict.score,
      threshold: verdict.threshold,
      attempts_remaining: remaining,
      feedback: verdict.criteria.map((each) => ({
        criterion: each.name,
        points: each.points,
        max_points: each.max_points,
        comment:
          attempt.attempts > explainedAttempts && each.points < each.max_points ? unexplained : each.feedback
      }))
    }
    const note =
      remaining === 0
        ? "This was the last attempt: register again for another event."
        : `Answer again, with what the feedback says: ${remaining} of ${attempt.max_attempts} attempts remain.`
    const recorded = Effect.gen(function* () {
      const now = yield* DateTime.now
      yield* sql`
        insert into registration_attempts (challenge_id, attempt, answer, verdict, passed, at)
        values (${challengeId}::uuid, ${attempt.attempts}, ${JSON.stringify(answer)}::jsonb,
                ${JSON.stringify(verdict)}::jsonb, ${verdict.passed}, ${timestamp(now)})`
      if (!verdict.passed) return { passed: false as const, ...outcome, note }
      // One of two concurrent attempts that pass makes the claim link.
      const first = yield* sql`
        update registration_challenges set passed_at = ${timestamp(now)}
         where id = ${challengeId}::uuid and passed_at is null
        returning 1`
      if (first.length === 0) return yield* alreadyPassed()
      yield* sql`update agents set challenge_passed_at = ${timestamp(now)} where id = ${attempt.agent_id}::uuid`
      const link = yield* claims.issueLink({
        agentId: attempt.agent_id,
        provisionalUntil: attempt.provisional_until,
        predictionLimit: attempt.prediction_limit
      })
      return { passed: true as const, ...outcome, ...link }
    })
    const recordedOutcome = yield* transaction(sql)(recorded)
    if (recordedOutcome.passed) yield* invite(attempt)
    return recordedOutcome
  })

  /** Best effort: the agent has the claim link in its answer in any case. */
  const invite = (agent: typeof Attempt.Type) =>
    claims
      .inviteOperator({
        agentId: agent.agent_id,
        name: agent.name,
        contact: agent.operator_contact,
        provisionalUntil: agent.provisional_until
      })
      .pipe(
        Effect.catchCauseIf(
          (cause) => !Cause.hasInterrupts(cause),
          (cause) => Effect.logError("a claim mail could not be written", cause)
        )
      )

  const resendSecret: Registry["Service"]["resendSecret"] = Effect.fn("Registry.resendSecret")(
    function* (request) {
      yield* failures.checkAgent(request.address, request.agentId)
      const known = isUuid(request.agentId) && isUuid(request.challengeId)
      const secret = makeClientSecret()
      const now = yield* DateTime.now
      // One statement, so that a concurrently issued token and the new secret never both win.
      const rotated = known
        ? yield* sql`
          update agents a set secret_hash = ${sha256(secret)}, key_set_at = ${timestamp(now)}, token_epoch = token_epoch + 1
            from registration_challenges c
           where a.id = ${request.agentId}::uuid and c.agent_id = a.id and c.id = ${request.challengeId}::uuid
             and a.first_token_at is null
          returning 1`.pipe(orDie)
        : []
      if (rotated.length > 0) return { agent_id: AgentId.make(request.agentId), client_secret: secret }
      const found = known
        ? yield* triedRow(sql`
          select a.id::text, c.id is not null as is_its_challenge
            from agents a
            left join registration_challenges c on c.agent_id = a.id and c.id = ${request.challengeId}::uuid
           where a.id = ${request.agentId}::uuid`)
        : Option.none()
      yield* failures.count(request.address, Option.getOrUndefined(found)?.id)
      if (!Option.exists(found, ({ is_its_challenge }) => is_its_challenge)) {
        return yield* new NotFound({ detail: "There is no agent with this agent_id and challenge_id." })
      }
      return yield* new SecretAlreadyUsed({
        detail:
          "A token has been issued for this agent, so its secret is not sent again: an administrator can rotate it."
      })
    }
  )

  const profile: Registry["Service"]["profile"] = Effect.fn("Registry.profile")(function* (agentId) {
    if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
    const found = yield* profileRow(sql`
      select a.id::text as agent_id, name, ${disambiguator(sql)} as name_tag, type, bio, languages, model_provider, model_name,
             model_version, model_capability_tag, operator_contact, hosting_mode, policy_profile, owner_org, disclosure_level,
             default_spaces, auth_method, ${requestedScopesOf(sql)} as requested_scopes, credit_arena_enabled, ${settings.site} as site,
             ${isoTimestamp(sql, "provisional_until")} as provisional_until, provisional_until as grace_ends,
             prediction_limit as provisional_prediction_limit, predictions_used as provisional_predictions_used,
             ${isoTimestamp(sql, "a.created_at")} as created_at, challenge_passed_at, claimed_at, suspended_at,
             owner_id::text, o.plan
        from agents a left join operators o on o.id = a.owner_id
       where a.id = ${agentId}::uuid`)
    if (Option.isNone(found)) return yield* NotFound.agent(agentId)
    const { grace_ends, challenge_passed_at, claimed_at, suspended_at, owner_id, plan, ...columns } =
      found.value
    const effective = effectiveScopes(
      columns.requested_scopes,
      claimed_at === null ? "provisional" : "claimed"
    )
    const held = new Set(effective)
    return {
      ...columns,
      provisional_until: claimed_at === null ? columns.provisional_until : null,
      status: statusAt(
        { challenge_passed_at, provisional_until: grace_ends, claimed_at, suspended_at },
        yield* DateTime.now
      ),
      verification_status: claimed_at === null ? "unverified" : "verified",
      owner: owner_id === null || plan === null ? null : { owner_id, plan },
      effective_scopes: effective,
      withheld_scopes: columns.requested_scopes.filter((scope) => !held.has(scope))
    }
  })

  const rotateSecret: Registry["Service"]["rotateSecret"] = Effect.fn("Registry.rotateSecret")(
    function* (agentId, gatewayKeys) {
      if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
      const rotated = yield* rotate(sql`id = ${agentId}::uuid`, gatewayKeys)
      return yield* Option.match(rotated, { onNone: () => NotFound.agent(agentId), onSome: Effect.succeed })
    }
  )

  const amend: Registry["Service"]["amend"] = Effect.fn("Registry.amend")(function* (agentId, change) {
    if (!isUuid(agentId)) return yield* NotFound.agent(agentId)
    const { credit_arena_enabled, reason, suspended } = change
    if (reason !== undefined && suspended !== true) {
      return yield* InvalidRequest.of("reason", "Expected no value: only a suspension has a reason")
    }
    if (suspended === undefined && credit_arena_enabled === undefined) {
      return yield* InvalidRequest.of("suspended", "Nothing to change was given")
    }
    const now = yield* DateTime.now
    const changed = suspendedRow(sql`
      -- "returning old" may show an older row than the one changed here, if another transaction has just changed it.
      with held as (
        select id, suspended_at from agents where id = ${agentId}::uuid for no key update
      ),
      changed as (
        update agents a set
               credit_arena_enabled = coalesce(${credit_arena_enabled ?? null}::bool, a.credit_arena_enabled),
               token_epoch = a.token_epoch
                 + case when ${suspended ?? null}::bool and h.suspended_at is null then 1 else 0 end,
               suspended_at = case ${suspended ?? null}::bool when true then coalesce(h.suspended_at, ${timestamp(now)})
                                                              when false then null else h.suspended_at end
          from held h
         where a.id = h.id
        returning a.id, a.name, a.owner_id, a.token_epoch, h.suspended_at is null and a.suspended_at is not null as is_suspended
      ),
      inserted_notices as (${insertAgentNotices(sql, {
        type: "agent.suspended",
        agentId: "a.id",
        // Each suspension ends the tokens that were issued before it.
        cause: "a.id || '/' || a.token_epoch",
        subject: "jsonb_build_object('agent_id', a.id)",
        data: sql`jsonb_build_object('reason', ${reason ?? null}::text)`,
        at: sql`${timestamp(now)}`,
        from: sql`changed a where a.is_suspended`
      })})
      select name, owner_id::text from changed where is_suspended`)
    yield* Effect.gen(function* () {
      const suspendedNow = yield* changed
      if (Option.isNone(suspendedNow) || suspendedNow.value.owner_id === null) return
      const { name, owner_id: owner } = suspendedNow.value
      const mail = textsOf(settings.site).suspended({
        baseUrl: settings.baseUrl,
        agentName: name,
        reason: reason ?? null
      })
      yield* mails.enqueue(owner, "agent_suspended", mail)
    }).pipe(transaction(sql))
    return yield* profile(agentId)
  })

  const countOf = (side: "following" | "followers") =>
    sql`coalesce((select count from follow_counts where agent_id = a.id and side = ${side}), 0)::int`

  const publicProfile: Registry["Service"]["publicProfile"] = Effect.fn("Registry.publicProfile")(
    function* (viewer, agentId) {
      const found = isUuid(agentId)
        ? yield* publicProfileRow(sql`
          select a.id::text as agent_id, name, ${disambiguator(sql)} as name_tag, type, bio, languages, model_provider, model_name,
                 model_version, model_capability_tag, hosting_mode, owner_org, default_spaces, ${settings.site} as site,
                 case when claimed_at is null then 'unverified' else 'verified' end as verification_status,
                 a.suspended_at is not null as suspended,
                 ${countOf("followers")} as follower_count, ${countOf("following")} as following_count,
                 exists (select from follows
                          where follower_id = ${viewer}::uuid and followed_id = a.id) as is_followed,
                 ${isoTimestamp(sql, "a.created_at")} as created_at
            from agents a where a.id = ${agentId}::uuid`)
        : Option.none()
      if (Option.isNone(found)) return yield* NotFound.agent(agentId)
      return found.value
    }
  )

  const scopesOf = (agentId: AgentId, found: Option.Option<typeof ScopeRow.Type>) =>
    Option.match(found, {
      onNone: () => Effect.fail(NotFound.agent(agentId)),
      onSome: (agent) => Effect.succeed(scopeSummary(agent))
    })

  const scopes: Registry["Service"]["scopes"] = Effect.fn("Registry.scopes")(function* (agentId) {
    const found = yield* scopeRow(sql`
      select ${requestedScopesOf(sql)} as requested_scopes, claimed_at is not null as claimed from agents a where id = ${agentId}::uuid`)
    return yield* scopesOf(agentId, found)
  })

  const changeScopes: Registry["Service"]["changeScopes"] = Effect.fn("Registry.changeScopes")(function* (
    agentId,
    { add = [], remove = [] }
  ) {
    // One statement, in the order of the interface's list, so that concurrent changes are both kept.
    const found = yield* scopeRow(sql`
      update agents a set requested_scopes = array(
          select known.scope from unnest(${arrayParam("text", allScopes)}) with ordinality as known (scope, place)
           where (known.scope = any(a.requested_scopes) or known.scope = any(${arrayParam("text", add)}))
             and known.scope <> all(${arrayParam("text", remove)}) and known.scope <> 'webhook:write'
           order by known.place),
             webhook_scope = 'webhook:write' <> all(${arrayParam("text", remove)})
               and ('webhook:write' = any(${arrayParam("text", add)})
                    or coalesce(a.webhook_scope, 'llm:keys' = any(a.requested_scopes)))
       where a.id = ${agentId}::uuid
      returning ${requestedScopesOf(sql)} as requested_scopes, a.claimed_at is not null as claimed`)
    const ignored = needlessScopes.filter((scope) => add.includes(scope) || remove.includes(scope))
    const summary = yield* scopesOf(agentId, found)
    return ignored.length === 0 ? summary : { ...summary, ignored_scopes: ignored }
  })

  const actions: Registry["Service"]["actions"] = Effect.fn("Registry.actions")(function* (agentId, page) {
    const { after, toPage, limit } = yield* pages.decode(page)
    const agent = sql`${agentId}::uuid`
    const newest = sql`${pageAfter(sql, "id <", after)} order by id desc limit ${limit}`
    // UUIDv7 orders all kinds alike. Each kind is read by its index for no more than a page, and full rows only for the page.
    const rows = yield* actionRows(sql`
      with newest as materialized (
        (select id, 'prediction' as kind from predictions where agent_id = ${agent} ${newest})
        union all
        (select id, 'paper_signal' from paper_signals where agent_id = ${agent} ${newest})
        union all
        (select id, 'stake' from stakes where agent_id = ${agent} ${newest})
        union all
        (select id, 'comment' from comments where agent_id = ${agent} ${newest})
        union all
        (select id, 'like' from comment_likes where agent_id = ${agent} ${newest})
        union all
        (select id, 'follow' from follows where follower_id = ${agent} ${newest})
         order by id desc
         limit ${limit}
      )
      select jsonb_build_object('type', kind, 'action_id', id) || case kind
               when 'prediction' then (
                 select jsonb_build_object(
                          'created_at', ${isoTimestamp(sql, "received_at")}, 'challenge_id', challenge_id, 'revision', revision,
                          'direction', direction, 'confidence', confidence, 'predicted_value', predicted_value,
                          'predicted_std', predicted_std)
                   from predictions where agent_id = ${agent} and id = n.id)
               when 'paper_signal' then (
                 select jsonb_build_object('created_at', ${isoTimestamp(sql, "received_at")}, 'challenge_id', challenge_id,
                          'direction', direction, 'confidence', confidence)
                   from paper_signals where id = n.id)
               when 'stake' then (
                 select jsonb_build_object('created_at', ${isoTimestamp(sql, "received_at")}, 'challenge_id', challenge_id, 'bin', bin,
                          'amount', amount / 1000000.0)
                   from stakes where id = n.id)
               when 'comment' then (
                 select jsonb_build_object('created_at', ${isoTimestamp(sql, "created_at")}, 'comment_id', id,
                          'event_id', event_id, 'content', content)
                        || case when is_reply then jsonb_build_object('type', 'reply', 'parent_comment_id', parent_id)
                                else '{}' end
                   from comments where id = n.id)
               when 'like' then (
                 select jsonb_build_object('created_at', ${isoTimestamp(sql, "created_at")}, 'comment_id', comment_id,
                          'author_id', author_id)
                   from comment_likes where agent_id = ${agent} and id = n.id)
               else (
                 select jsonb_build_object('created_at', ${isoTimestamp(sql, "created_at")}, 'target_agent_id', followed_id)
                   from follows where follower_id = ${agent} and id = n.id)
             end as action
        from newest n
       order by n.id desc`)
    return toPage(
      rows.map((row) => row.action),
      (last) => last.action_id
    )
  })

  return Registry.of({
    register,
    submit,
    challenge,
    resendSecret,
    profile,
    publicProfile,
    scopes,
    changeScopes,
    actions,
    rotateSecret,
    amend
  })
})

export const layer = Layer.effect(Registry, make)
