import { createHash } from "node:crypto"
import { BigDecimal, Cause, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { boundedSkill, brierScore, referenceSkill } from "../../../scoring/reference.ts"
import { maxCount } from "../../../scoring/kinds/facts.ts"
import { rps, rpsScore } from "../../../scoring/ordered.ts"
import { Arenas } from "../../../services/Arenas.ts"
import type { Submission } from "../../../services/Arenas.ts"
import type { NewAnswer } from "../../../services/domain/Answer.ts"
import { ChallengeType, ReferenceForecast, levelFields } from "../../../services/domain/Challenge.ts"
import { AgentId, ChallengeId } from "../../../services/domain/ids.ts"
import { Instances } from "../../../services/Instances.ts"
import { ReferenceAgents, ReferenceMethod } from "../../../services/ReferenceAgents.ts"
import { firstObserved } from "../prices/Prices.ts"
import {
  arrayParam,
  boundNow,
  decimal,
  execute,
  findAll,
  whenGiven,
  isoTimestamp,
  timestamp,
  transaction
} from "../sql.ts"
import {
  floatOf,
  impliedProbability,
  hasStatus,
  outcomesOf,
  scoringScale,
  submittedColumns,
  submittedValues
} from "./challengeRows.ts"
import { makeEarlierPrints } from "./macroTerms.ts"
import { makeReferences, referenceNow } from "./reference.ts"
import { shownLevels } from "../levels.ts"

const OpenRow = Schema.Struct({
  id: ChallengeId,
  type: ChallengeType,
  kind: Schema.String,
  target: Schema.String,
  unit: Schema.NullOr(Schema.String),
  created_at: Schema.String,
  resolve_at: Schema.String,
  open_price: Schema.NullOr(Schema.Finite),
  dead_zone_pct: Schema.NullOr(Schema.Finite),
  ...levelFields,
  window_from: Schema.NullOr(Schema.String),
  volatility: Schema.NullOr(Schema.Finite),
  odds: Schema.NullOr(Schema.Array(Schema.Finite)),
  outcomes: Schema.NullOr(Schema.Array(Schema.String)),
  reference: Schema.NullOr(Schema.Array(Schema.Finite)),
  reference_scale: Schema.NullOr(Schema.Finite),
  price: Schema.NullOr(
    Schema.Struct({ price: Schema.Finite, observed_at: Schema.String, source: Schema.String })
  ),
  before: Schema.NullOr(Schema.Finite),
  answered: Schema.Array(AgentId)
})
type Open = typeof OpenRow.Type

const KnownAgent = Schema.Struct({ id: AgentId, method: ReferenceMethod })

/** The confidence of a method that knows a direction and little more. */
const slight = 0.1

/** A run answers at most this many questions; the next run continues. */
const maxQuestions = 500

/** Rounds probabilities to six decimals; the last one takes the rest, so that they sum to 1. */
const rounded = (odds: ReadonlyArray<number>): ReadonlyArray<number> => {
  const others = odds.slice(0, -1).map((each) => Number(each.toFixed(6)))
  const rest = Number((1 - others.reduce((sum, each) => sum + each, 0)).toFixed(6))
  return [...others, Math.max(0, rest)]
}

const vector = (names: ReadonlyArray<string>, odds: ReadonlyArray<number>): NewAnswer => {
  const parts = rounded(odds)
  return { probabilities: Object.fromEntries(names.map((name, index) => [name, parts[index] ?? 0])) }
}

const spreadOf = (counts: ReadonlyArray<number>) => {
  const mean = counts.reduce((sum, p, count) => sum + p * count, 0)
  return { mean, sd: Math.sqrt(counts.reduce((sum, p, count) => sum + p * (count - mean) ** 2, 0)) }
}

const number = (value: number, std: number | null): NewAnswer | undefined =>
  std !== null && std > 0
    ? { predicted_value: Number(value.toPrecision(12)), predicted_std: Number(std.toPrecision(12)) }
    : undefined

/** The answer of the walk itself; undefined if it has no forecast. */
const walked = (question: Open, known: ReferenceForecast | null): NewAnswer | undefined => {
  if (known === null) return undefined
  if (known.odds !== undefined && question.outcomes !== null) return vector(question.outcomes, known.odds)
  if (known.counts !== undefined) {
    const { mean, sd } = spreadOf(known.counts)
    return number(mean, sd)
  }
  return known.mean === undefined ? undefined : number(known.mean, known.sd ?? null)
}

/** The answer in the direction of the last move over the same length of time, or against it. */
const trending = (
  { before, kind, outcomes, price, reference_scale }: Open,
  sign: 1 | -1
): NewAnswer | undefined => {
  if (before === null || price === null) return undefined
  const move = sign * (price.price - before)
  if (outcomes !== null) return { direction: move >= 0 ? "bullish" : "bearish", confidence: slight }
  const max = maxCount(kind)
  return max === null
    ? number(price.price + move, reference_scale)
    : number(move >= 0 ? Math.ceil(max / 2) : Math.floor(max / 2), reference_scale)
}

export const layer = Layer.effect(
  ReferenceAgents,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const arenas = yield* Arenas
    const instances = yield* Instances
    const random = yield* SecureRandom.SecureRandom
    const references = yield* makeReferences
    const earlierPrints = yield* makeEarlierPrints
    const known = findAll(KnownAgent)
    const openRows = findAll(OpenRow)
    const { poolDue } = yield* makePool

    const find = known(sql`
      select id::text, reference as method from agents
       where reference = any(${arrayParam("text", ReferenceMethod.literals)})`)

    /** Creates the missing agents. Nobody knows their secrets. */
    const made = Effect.gen(function* () {
      const now = yield* DateTime.now
      for (const method of [...ReferenceMethod.literals, consensus]) {
        yield* transaction(sql)(makeAgent(method, yield* random.uuidV7(), now))
      }
      return yield* find
    })

    const makeAgent = (method: string, id: string, now: DateTime.Utc) =>
      execute(sql`
        with made as (
          insert into agents
            (id, name, type, bio, languages, model_capability_tag, hosting_mode, policy_profile, disclosure_level,
             default_spaces, requested_scopes, auth_method, secret_hash, created_at, provisional_until, reference)
          values (${id}::uuid, ${`Reference: ${method}`}, 'trader', ${bios[method] ?? null}, '{}', 'reference', 'local', 'standard',
                  'public', '{}', '{}', 'client_credentials', ${createHash("sha256").update(id).update(now.toString()).digest()}::bytea,
                  ${timestamp(now)}, 'infinity', ${method})
          on conflict do nothing
          returning id
        )
        insert into prediction_scopes (agent_id, target, created_at)
        select made.id, t.key, ${timestamp(now)} from made cross join targets t where t.kind = 'asset'`)

    const open = (now: DateTime.Utc, ids: ReadonlyArray<AgentId>) =>
      openRows(sql`
        select c.id::text, c.type, c.kind, c.target, c.unit, ${isoTimestamp(sql, "c.created_at")} as created_at,
               ${isoTimestamp(sql, "c.resolve_at")} as resolve_at, c.open_price::float8 as open_price,
               c.dead_zone_pct::float8 as dead_zone_pct, ${shownLevels(sql)},
               ${isoTimestamp(sql, "c.window_from")} as window_from, c.volatility::float8 as volatility,
               c.odds::float8[] as odds, ${outcomesOf(sql)} as outcomes, c.reference::float8[] as reference,
               ${scoringScale(sql)}::float8 as reference_scale,
               (select jsonb_build_object('price', o.close, 'source', o.source,
                                          'observed_at', ${isoTimestamp(sql, "o.observed_at")})
                  from (${firstObserved(sql, sql`p.asset = c.target and p.observed_at <= ${timestamp(now)}`, "desc")}) o) as price,
               (select o.close
                  from (${firstObserved(sql, sql`p.asset = c.target and p.observed_at <= ${timestamp(now)}::timestamptz - (c.resolve_at - c.created_at)`, "desc")}) o)::float8
                 as before,
               array(select p.agent_id::text from predictions p
                      where p.challenge_id = c.id and p.agent_id = any(${arrayParam("uuid", ids)})) as answered
          from challenges c
         where ${hasStatus(sql, "open", now)}
         order by c.deadline, c.id
         limit ${maxQuestions}`)

    const answerBy = Effect.fnUntraced(function* (method: ReferenceMethod, question: Open) {
      const { outcomes, price, reference, reference_scale, type } = question
      const isSeries = type === "macro"
      switch (method) {
        case "random walk":
          return isSeries ? undefined : walked(question, referenceNow(question))
        case "always neutral":
          return !isSeries && outcomes?.includes("neutral") === true
            ? ({ direction: "neutral", confidence: 0 } as const)
            : undefined
        case "momentum":
          return isSeries ? undefined : trending(question, 1)
        case "contrarian":
          return isSeries ? undefined : trending(question, -1)
        case "last print": {
          if (!isSeries || outcomes !== null) return undefined
          const last = (yield* earlierPrints(question.target, question.unit ?? undefined)).at(-1)
          return last === undefined ? undefined : number(BigDecimal.toNumberUnsafe(last), reference_scale)
        }
        case "climatology": {
          if (isSeries)
            return outcomes === null || reference === null ? undefined : vector(outcomes, reference)
          if (outcomes !== null)
            return vector(outcomes, yield* references.baseOdds(question, outcomes, yield* DateTime.now))
          const max = maxCount(question.kind)
          if (max !== null) return number(max / 2, reference_scale)
          return price === null ? undefined : number(price.price, reference_scale)
        }
      }
    })

    const predictDue: ReferenceAgents["Service"]["predictDue"] = Effect.gen(function* () {
      const now = yield* boundNow(sql)
      const before = yield* find
      const questions = yield* open(
        now,
        before.map(({ id }) => id)
      )
      // The agents are created for the first question. Their answers are vectors, which stop programs that do not know
      // forms.
      if (questions.length === 0 || !(yield* instances.allRead("forms"))) return 0
      const methods = before.length === ReferenceMethod.literals.length ? before : yield* made
      const submissions: Array<Submission> = []
      for (const question of questions) {
        for (const { id, method } of methods) {
          if (question.answered.includes(id)) continue
          const answer = yield* answerBy(method, question)
          if (answer === undefined) continue
          submissions.push({
            agentId: id,
            challengeId: question.id,
            type: question.type,
            answer: { ...answer, reasoning: `By method: ${method}.` },
            receivedAt: now,
            owed: []
          })
        }
      }
      if (submissions.length > 0) yield* arenas.predict(submissions)
      return submissions.length
    }).pipe(Effect.withSpan("ReferenceAgents.predictDue"))

    return ReferenceAgents.of({ predictDue, poolDue })
  })
)

const consensus = "consensus"

const bios: Readonly<Record<string, string>> = {
  "random walk":
    "What a random walk without drift knows: the last price, the volatility, the time that is left.",
  climatology:
    "How often each outcome came in the last 250 periods; of a number the last price with the usual spread.",
  "always neutral": "Says neutral, always.",
  momentum: "Goes with the last move.",
  contrarian: "Goes against the last move.",
  "last print": "Says that a figure will be what it was.",
  consensus: "The mean of what all claimed agents said, one voice an owner, reckoned at the deadline."
}

/** A question is pooled within this time after its settlement. */
const pooledWithin = { days: 7 }

const maxPooled = 200

const Settled = Schema.Struct({
  id: ChallengeId,
  type: ChallengeType,
  outcomes: Schema.NullOr(Schema.Array(Schema.String)),
  reference_loss: Schema.NullOr(Schema.Finite),
  reference_scale: Schema.NullOr(Schema.Finite),
  last: Schema.NullOr(ReferenceForecast),
  resolved_at: Schema.DateTimeUtcFromDate
})

const Pooled = Schema.Struct({
  owners: Schema.Int,
  odds: Schema.NullOr(Schema.Array(Schema.Finite)),
  value: Schema.NullOr(Schema.Finite)
})

/** The skill of the pooled vector for each possible outcome; undefined without a reference. */
const skillsOf = (
  { last, outcomes, reference_loss, reference_scale, type }: typeof Settled.Type,
  odds: ReadonlyArray<number>
) => {
  if (outcomes === null) return undefined
  if (type === "macro") {
    return reference_scale === null
      ? undefined
      : outcomes.map((_, outcome) => rpsScore(rps(odds, outcome), reference_scale).skill)
  }
  const reference = last?.odds
  if (reference === undefined || reference_loss === null) return undefined
  return outcomes.map((_, outcome) =>
    referenceSkill(brierScore(odds, outcome), brierScore(reference, outcome), reference_loss)
  )
}

/** Pools the answers of all claimed agents, one voice an owner: the mean vector, or the mean of numbers. */
const makePool = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settled = findAll(Settled)
  const pooled = findAll(Pooled)

  const poolOf = ({ id, outcomes }: typeof Settled.Type) =>
    pooled(sql`
      with answer as (
        select p.owner_id, p.direction, p.confidence, p.predicted_value, ${submittedValues(sql)} -> 'probabilities' as vector
          from (
            select distinct on (p.agent_id) a.owner_id, p.direction, p.confidence, p.predicted_value, ${submittedColumns(sql)}
              from predictions p join agents a on a.id = p.agent_id and p.received_at >= a.claimed_at
             where p.challenge_id = ${id}::uuid
             order by p.agent_id, p.revision desc) p
      ),
      part as (
        select s.owner_id, n.place, avg(case
                 when s.vector is not null then coalesce((s.vector ->> n.name)::numeric, 0)
                 when s.direction = n.name then ${impliedProbability(sql, sql.literal("s.confidence"))}
                 else (1 - s.confidence) / 2 / ${Math.max(1, (outcomes?.length ?? 2) - 1)}::int end) as p
          from answer s
         cross join unnest(${arrayParam("text", outcomes ?? [])}) with ordinality as n (name, place)
         group by s.owner_id, n.place
      )
      select (select count(distinct owner_id)::int from answer) as owners,
             (select array_agg(m.p order by m.place) from (
                select place, ${floatOf(sql, "avg(p)")} as p from part group by place) m) as odds,
             (select ${floatOf(sql, "avg(v)")} from (select avg(predicted_value) as v from answer group by owner_id) o) as value`)

  const pool = Effect.fnUntraced(function* (question: typeof Settled.Type, now: DateTime.Utc) {
    const [found] = yield* poolOf(question)
    const odds = question.outcomes === null ? null : (found?.odds ?? null)
    const skills = odds === null ? undefined : skillsOf(question, odds)
    const numerics = (values: ReadonlyArray<number> | null | undefined) =>
      values === null || values === undefined
        ? null
        : arrayParam(
            "numeric",
            values.map((each) => decimal(Number(each.toFixed(12))))
          )
    yield* execute(sql`
      insert into challenge_consensus (challenge_id, owners, odds, value, skills, bounded, made_at)
      values (${question.id}::uuid, ${found?.owners ?? 0}, ${numerics(odds)}::numeric[],
              ${question.outcomes === null ? (found?.value ?? null) : null}::numeric,
              ${numerics(skills)}::numeric[],
              ${numerics(skills?.map((skill) => boundedSkill(skill, skills)))}::numeric[], ${timestamp(now)})
      on conflict do nothing`)
  })

  const page = (now: DateTime.Utc, after: typeof Settled.Type | undefined) =>
    settled(sql`
      select c.id::text, c.type, ${outcomesOf(sql)} as outcomes, c.reference_loss::float8 as reference_loss,
             c.reference_scale::float8 as reference_scale, r.steps -> -1 as last, c.resolved_at
        from challenges c left join challenge_references r on r.challenge_id = c.id
       where c.resolved_at > ${timestamp(DateTime.subtract(now, pooledWithin))}
         ${whenGiven(sql, after, (last) => sql`and (c.resolved_at, c.id) < (${timestamp(last.resolved_at)}, ${last.id}::uuid)`)}
         and not exists (select from challenge_consensus k where k.challenge_id = c.id)
       order by c.resolved_at desc, c.id desc
       limit ${maxPooled}`)

  const poolDue = Effect.gen(function* () {
    const now = yield* DateTime.now
    let questions = yield* page(now, undefined)
    let pooled = 0
    while (questions.length > 0) {
      for (const question of questions) {
        // A question that cannot be pooled must not stop the others.
        pooled += yield* pool(question, now).pipe(
          Effect.as(1),
          Effect.catchCauseIf(
            (cause) => !Cause.hasInterrupts(cause),
            (cause) =>
              Effect.logError(
                "a consensus could not be computed; it is tried again at the next run",
                cause
              ).pipe(Effect.annotateLogs({ challenge_id: question.id }), Effect.as(0))
          )
        )
      }
      questions = questions.length < maxPooled ? [] : yield* page(now, questions.at(-1))
    }
    return pooled
  }).pipe(Effect.withSpan("ReferenceAgents.poolDue"))
  return { poolDue }
})
