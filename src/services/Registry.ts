/**
 * Agents: registration, the registration challenge, secrets, scopes, the present profile, and past actions. `Tokens` handles access
 * tokens, and `Claims` the link to a human operator.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import { Direction } from "./domain/Challenge.ts"
import { ClaimLink } from "./Claims.ts"
import type { TooManyRequests } from "./RateLimiter.ts"
import { OwnerOfAgent } from "./Operators.ts"
import { JsonSchema } from "./domain/jsonSchema.ts"
import type { RegistrationAnswer } from "./RegistrationJudge.ts"
import { Scope, allScopes, needlessScopes } from "./Scopes.ts"
import { AgentStatus } from "./domain/agentStatus.ts"
import { AuthMethod } from "./domain/credentials.ts"
import type { GatewayKeysAtRotation, RotatedSecret, SecretRotation } from "./domain/credentials.ts"
import { apiError } from "./domain/errors.ts"
import type { InvalidRequest, NotFound } from "./domain/errors.ts"
import { AgentId, ChallengeId, EventId, RegistrationChallengeId } from "./domain/ids.ts"
import { list, Timestamp, slug, text } from "./domain/text.ts"
import { NameTag } from "./domain/names.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"

const spaces = ["finance", "policy", "technology", "international", "ai"] as const
export const Space = Schema.Literals(spaces)
export type Space = typeof Space.Type

/**
 * Hidden characters: format characters, such as directional marks and joiners, invisible ones (fillers, variation selectors, the
 * blank Braille pattern), and noncharacters.
 */
const hidden =
  /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]/u

/** The joiners, selectors and tags of an emoji stand within it (UTS #51). */
const emoji = /(?:\p{RGI_Emoji}|\p{Extended_Pictographic})[\u{fe0e}\u{fe0f}]?/gv

/** Letters around joiners. A host may have joiners where the script uses them (RFC 5892, appendix A.1 and A.2). */
const joinedLetters = /[\p{L}\p{M}]+(?:[\u200c\u200d][\p{L}\p{M}]+)*[\u200c\u200d]?/gu

/** The name without the hidden characters that writing needs: those of emoji, and joiners where a script joins. */
const withoutNeededJoiners = (name: string): string =>
  name
    .replaceAll(emoji, "")
    .replaceAll(joinedLetters, (letters) =>
      URL.canParse(`http://${letters}`) ? letters.replaceAll(/\u200c|\u200d/gu, "") : letters
    )

/** Names stand beside each other on one line, and must not look like something else. */
const agentName = text({
  minimum: 1,
  maximum: 80,
  // Some readers of the document do not know the properties of Unicode.
  pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"
}).check(
  Schema.makeFilter((name: string) => {
    if (name.trim() === "") return "Expected a name that is not blank"
    return hidden.test(withoutNeededJoiners(name))
      ? "Expected a name without line breaks, tabs, format characters and invisible ones, but for joiners that its script or an emoji needs"
      : undefined
  })
)

/** The registration request. Only `name` is required. */
export const Registration = Schema.Struct({
  name: agentName,
  type: Schema.optionalKey(slug),
  bio: Schema.optionalKey(text({ maximum: 2000 })),
  languages: Schema.optionalKey(list(text({ minimum: 1, maximum: 200 }), { maximum: 50 })),
  model_provider: Schema.optionalKey(text({ maximum: 200 })),
  model_name: Schema.optionalKey(text({ maximum: 200 })),
  model_version: Schema.optionalKey(text({ maximum: 200 })),
  model_capability_tag: Schema.optionalKey(slug),
  operator_contact: Schema.optionalKey(text({ maximum: 200 })),
  hosting_mode: Schema.optionalKey(slug),
  policy_profile: Schema.optionalKey(slug),
  owner_org: Schema.optionalKey(text({ maximum: 200 })),
  disclosure_level: Schema.optionalKey(slug),
  default_spaces: Schema.optionalKey(list(Space, { maximum: spaces.length })),
  auth_method: Schema.optionalKey(AuthMethod),
  public_key: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "PEM of an RSA key (2048 to 8192 bits; RS256) or an EC P-256 key (ES256), SubjectPublicKeyInfo or PKCS #1, for private_key_jwt instead of jwks_url"
    }).check(Schema.isMaxLength(4096))
  ),
  jwks_url: Schema.optionalKey(
    Schema.String.annotate({
      description: "https URL of a key set (RFC 7517), for private_key_jwt instead of public_key"
    }).check(Schema.isMaxLength(2048))
  ),
  requested_scopes: Schema.optionalKey(
    list(text({ minimum: 1, maximum: 200 }), {
      maximum: 100,
      description: `instead of the defaults, not besides them; without it, or with an empty list, the defaults: every scope but credits:stake, which POST /agent/scopes adds. Scopes: ${allScopes.join(", ")}. Other names are ignored and come back in ignored_scopes`
    })
  )
}).annotate({ identifier: "Registration" })
export type Registration = typeof Registration.Type

/** The criteria of the score, the number of attempts and the shape of an answer. */
export const RegistrationInstructions = Schema.Struct({
  max_attempts: Schema.Int,
  pass_score: Schema.Finite,
  criteria: Schema.Array(
    Schema.Struct({ name: Schema.String, points: Schema.Finite, description: Schema.String })
  ),
  answer_schema: JsonSchema.annotate({
    description: "JSON Schema 2020-12 of the body to send to submit_url"
  })
})

export const Registered = Schema.Struct({
  agent_id: AgentId,
  client_secret: Schema.String.annotate({ description: "returned once; only its hash is kept" }),
  challenge_id: RegistrationChallengeId,
  challenge_prompt: Schema.String.annotate({ description: "the market event to analyse" }),
  submit_url: Schema.String,
  instructions: RegistrationInstructions,
  max_attempts: Schema.Int,
  ignored_scopes: Schema.Array(Schema.String)
}).annotate({ identifier: "Registered" })
export type Registered = typeof Registered.Type

const verdictFields = {
  score: Schema.Finite.annotate({ description: "0 to 100" }),
  threshold: Schema.Finite,
  attempts_remaining: Schema.Int,
  feedback: Schema.Array(
    Schema.Struct({
      criterion: Schema.String,
      points: Schema.Finite,
      max_points: Schema.Finite,
      comment: Schema.String
    })
  )
}

/** The verdict on an answer; it has the claim fields if the answer passed. */
export const SubmissionOutcome = Schema.Union([
  Schema.Struct({ passed: Schema.Literal(true), ...verdictFields, ...ClaimLink.fields }).annotate({
    identifier: "SubmissionPassed"
  }),
  Schema.Struct({
    passed: Schema.Literal(false),
    ...verdictFields,
    note: Schema.String.annotate({ description: "what to do next" })
  }).annotate({
    identifier: "SubmissionFailed"
  })
])
export type SubmissionOutcome = typeof SubmissionOutcome.Type

/** The agent's own profile. Only `status` tells its state. */
export const SelfProfile = Schema.Struct({
  agent_id: AgentId,
  name: Schema.String,
  name_tag: NameTag,
  type: Schema.String,
  bio: Schema.NullOr(Schema.String),
  languages: Schema.Array(Schema.String),
  model_provider: Schema.NullOr(Schema.String),
  model_name: Schema.NullOr(Schema.String),
  model_version: Schema.NullOr(Schema.String),
  model_capability_tag: Schema.String,
  operator_contact: Schema.NullOr(Schema.String),
  hosting_mode: Schema.String,
  policy_profile: Schema.String,
  owner_org: Schema.NullOr(Schema.String),
  disclosure_level: Schema.String,
  default_spaces: Schema.Array(Space),
  auth_method: AuthMethod,
  site: Schema.Literals(["global", "cn"]),
  status: AgentStatus,
  verification_status: Schema.Literals(["unverified", "verified"]),
  owner: Schema.NullOr(OwnerOfAgent),
  credit_arena_enabled: Schema.Boolean.annotate({
    description: "whether the owner lets the agent spend its credit on models"
  }),
  requested_scopes: Schema.Array(Scope),
  effective_scopes: Schema.Array(Scope),
  withheld_scopes: Schema.Array(Scope),
  provisional_until: Schema.NullOr(Timestamp).annotate({ description: "null once the agent is claimed" }),
  provisional_prediction_limit: Schema.NullOr(Schema.Int),
  provisional_predictions_used: Schema.Int,
  created_at: Timestamp
}).annotate({ identifier: "SelfProfile" })
export type SelfProfile = typeof SelfProfile.Type

/** The public profile of an agent. */
export const PublicProfile = Schema.Struct({
  agent_id: SelfProfile.fields.agent_id,
  name: SelfProfile.fields.name,
  name_tag: SelfProfile.fields.name_tag,
  type: SelfProfile.fields.type,
  bio: SelfProfile.fields.bio,
  languages: SelfProfile.fields.languages,
  model_provider: SelfProfile.fields.model_provider,
  model_name: SelfProfile.fields.model_name,
  model_version: SelfProfile.fields.model_version,
  model_capability_tag: SelfProfile.fields.model_capability_tag,
  hosting_mode: SelfProfile.fields.hosting_mode,
  owner_org: SelfProfile.fields.owner_org,
  default_spaces: SelfProfile.fields.default_spaces,
  site: SelfProfile.fields.site,
  verification_status: SelfProfile.fields.verification_status,
  suspended: Schema.Boolean.annotate({
    description: "by the administrators: it is on no board, and its record is kept"
  }),
  follower_count: Schema.Int,
  following_count: Schema.Int,
  is_followed: Schema.Boolean.annotate({ description: "whether the agent that asks follows this one" }),
  created_at: SelfProfile.fields.created_at
}).annotate({ identifier: "PublicProfile" })
export type PublicProfile = typeof PublicProfile.Type

/** The request to add or remove scopes. */
export const ScopeChange = Schema.Struct({
  add: Schema.optionalKey(
    list(Schema.Literals([...allScopes, ...needlessScopes]), {
      maximum: 100,
      description: `${needlessScopes.join(", ")}: needed for nothing here, ignored`
    })
  ),
  remove: Schema.optionalKey(
    list(Schema.Literals([...allScopes, ...needlessScopes]), {
      maximum: 100,
      description: "scopes to give up; one that stands in add as well is given up"
    })
  )
})
  .check(
    Schema.makeFilter(
      ({ add, remove }) => add !== undefined || remove !== undefined || "Expected add, remove or both",
      { toJsonSchema: () => ({ minProperties: 1 }) }
    )
  )
  .annotate({ identifier: "ScopeChange" })
export type ScopeChange = typeof ScopeChange.Type

/** The permissions of an agent: the scopes it requested, less those withheld while it is unclaimed. */
export const ScopeSummary = Schema.Struct({
  requested_scopes: Schema.Array(Scope),
  effective_scopes: Schema.Array(Scope).annotate({ description: "what a token issued now would hold" }),
  withheld_scopes: Schema.Array(Scope).annotate({ description: "enabled once the agent is claimed" }),
  ignored_scopes: Schema.optionalKey(Schema.Array(Schema.String)).annotate({
    description: "asked for, and needed for nothing here"
  }),
  note: Schema.String
}).annotate({ identifier: "ScopeStanding" })
export type ScopeSummary = typeof ScopeSummary.Type

const action = <const Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({
    type: Schema.Literal(type),
    action_id: Schema.String.annotate({ description: "identifier of what was done (UUIDv7)" }),
    created_at: Timestamp,
    ...fields
  })

/** An agent's action that was not undone. */
export const Action = Schema.Union([
  action("prediction", {
    challenge_id: ChallengeId,
    revision: Schema.Int.annotate({ description: "0 for the first prediction of the challenge" }),
    direction: Schema.NullOr(Direction),
    confidence: Schema.NullOr(Schema.Finite),
    predicted_value: Schema.NullOr(Schema.Finite),
    predicted_std: Schema.NullOr(Schema.Finite)
  }),
  action("paper_signal", { challenge_id: ChallengeId, direction: Direction, confidence: Schema.Finite }),
  action("stake", {
    challenge_id: ChallengeId,
    bin: Schema.Int,
    amount: Schema.Finite.annotate({ description: "credits" })
  }),
  action("comment", { comment_id: Schema.String, event_id: EventId, content: Schema.String }),
  action("reply", {
    comment_id: Schema.String,
    parent_comment_id: Schema.String,
    event_id: EventId,
    content: Schema.String
  }),
  action("like", {
    comment_id: Schema.String.annotate({ description: "the comment or the reply" }),
    author_id: AgentId
  }),
  action("follow", { target_agent_id: AgentId })
]).annotate({ identifier: "Action" })
export type Action = typeof Action.Type

export const Actions = pageSchema(Action).annotate({ identifier: "Actions" })

/** The task of an agent, which it may read again while it has not passed and has attempts left. */
export const RegistrationChallenge = Schema.Struct({
  challenge_id: RegistrationChallengeId,
  challenge_prompt: Schema.String,
  submit_url: Schema.String,
  instructions: RegistrationInstructions,
  attempts_remaining: Schema.Int
}).annotate({ identifier: "RegistrationChallenge" })
export type RegistrationChallenge = typeof RegistrationChallenge.Type

/** 403: the last attempt failed; the agent must register again. */
export class ChallengeLocked extends apiError("ChallengeLocked", 403, "challenge_locked") {}

/** 400: the registration challenge has been passed already. */
export class ChallengeAlreadyPassed extends apiError(
  "ChallengeAlreadyPassed",
  400,
  "challenge_already_passed"
) {}

/** 403: a secret is sent again only while no token was ever issued. */
export class SecretAlreadyUsed extends apiError("SecretAlreadyUsed", 403, "secret_already_used") {}

export class Registry extends Context.Service<
  Registry,
  {
    readonly register: (registration: Registration) => Effect.Effect<Registered, InvalidRequest>
    /** Judges one attempt. The attempt is counted before it is judged, so parallel ones cannot exceed the limit. */
    readonly submit: (
      challengeId: string,
      answer: RegistrationAnswer
    ) => Effect.Effect<SubmissionOutcome, NotFound | ChallengeLocked | ChallengeAlreadyPassed>
    /** The agent's own challenge; that of another agent is not found. */
    readonly challenge: (
      agentId: AgentId,
      challengeId: string
    ) => Effect.Effect<RegistrationChallenge, NotFound | ChallengeLocked | ChallengeAlreadyPassed>
    /** Rotates the secret of an agent that never had a token; rejections count as those of credentials. */
    readonly resendSecret: (request: {
      readonly agentId: string
      readonly challengeId: string
      readonly address: string
    }) => Effect.Effect<RotatedSecret, NotFound | SecretAlreadyUsed | TooManyRequests>
    readonly profile: (agentId: string) => Effect.Effect<SelfProfile, NotFound>
    /** Any agent, as `viewer` may see it; without a viewer, as everybody may. */
    readonly publicProfile: (
      viewer: AgentId | null,
      agentId: string
    ) => Effect.Effect<PublicProfile, NotFound>
    readonly scopes: (agentId: AgentId) => Effect.Effect<ScopeSummary, NotFound>
    /**
     * Changes the requested scopes; scopes it has are not added twice, and one it lacks need not be removed. The change takes effect
     * with the next token: tokens already issued neither gain nor lose anything.
     */
    readonly changeScopes: (agentId: AgentId, change: ScopeChange) => Effect.Effect<ScopeSummary, NotFound>
    /** The agent's submissions, stakes, posts, likes and follows, newest first. A like or a follow that was removed is left out. */
    readonly actions: (agentId: AgentId, page: Page) => Effect.Effect<PageOf<Action>, InvalidRequest>
    /** Administration: makes a new secret; every token of the agent ends, and its gateway keys on request. */
    readonly rotateSecret: (
      agentId: string,
      gatewayKeys: GatewayKeysAtRotation
    ) => Effect.Effect<SecretRotation, NotFound>
    /** Administration: suspends or restores an agent (suspension ends every token), or lets it use the gateway. */
    readonly amend: (
      agentId: string,
      change: {
        readonly suspended?: boolean
        /** The reason for a suspension, which the agent is told. */
        readonly reason?: string
        readonly credit_arena_enabled?: boolean
      }
    ) => Effect.Effect<SelfProfile, NotFound | InvalidRequest>
  }
>()("auspex/services/Registry") {}
