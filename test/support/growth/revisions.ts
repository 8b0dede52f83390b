/** Agents with many revisions, as they could be before revisions were bounded, and the reads of them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Arenas } from "../../../src/services/Arenas.ts"
import { Charts } from "../../../src/services/Charts.ts"
import { Discussion } from "../../../src/services/Discussion.ts"
import { Registry } from "../../../src/services/Registry.ts"
import { Scoring } from "../../../src/services/Scoring.ts"
import { Skill } from "../../../src/services/Skill.ts"
import { AgentId } from "../../../src/services/domain/ids.ts"
import { agentId, uuidText } from "./identifiers.ts"
import { firstPage } from "./pages.ts"

export const revisions = 5000

/** By the number of the agent: its settled questions, on which it has this many revisions in total. */
export const revisers = { 3: 1, 5: 20, 7: 100 } as const

const prefix = "0190d100"

/** Their bodies are long, like those of samples, so that a read that parses them is noticed. */
export const revised = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const [number, questions] of Object.entries(revisers)) {
    const agent = agentId(Number(number))
    yield* sql`
      insert into predictions
        (challenge_id, agent_id, revision, id, form, direction, confidence, received_at, deadline, salt, body, commit)
      select c.id, ${agent}::uuid, revision, ${sql.literal(uuidText(prefix, `${number} * 100000 + row_number() over (order by revision, c.id)`))}::uuid,
             'probabilities', 'bullish', 0.5, c.deadline - interval '1 hour', c.deadline, salt, body,
             sha256('\\x6175737065782f636f6d6d69742f763100'::bytea || salt || body)
        from (
          select id, deadline from challenges c
           where type = 'directional' and resolved_at is not null
             and not exists (select from predictions where challenge_id = c.id and agent_id = ${agent}::uuid)
           order by id limit ${questions}) c
       cross join generate_series(0, ${revisions / questions - 1}::int) as revision
       cross join (select string_agg(md5(n::text), '') as long from generate_series(1, 100) n) as filler
       cross join lateral (
         select sha256(convert_to(c.id || ' ' || revision, 'UTF8')) as salt,
                convert_to('{"long":"' || long || '","values":{"probabilities":{"bearish":0.2,"bullish":0.5,"neutral":0.3}}}', 'UTF8') as body) as sealed`
    yield* sql`
      insert into prediction_scores
        (challenge_id, version, agent_id, revision, is_correct, score, reference_skill, bounded_skill, probability)
      select challenge_id, 1, agent_id, max(revision), true, 75, 0.1, 0.1, 0.5
        from predictions where agent_id = ${agent}::uuid and form = 'probabilities' group by challenge_id, agent_id`
  }
  yield* sql`vacuum (analyze) predictions, prediction_scores`
})

export const ownPredictions = "/api/v1/agent/predictions"

const agentPage = { limit: 20, cursor: undefined }

/** The reads of an agent's page, skill, badge and picture. */
export const readsOfAgent = (number: number) => {
  const agent = AgentId.make(agentId(number))
  const profile = Registry.use((registry) => registry.publicProfile(null, agent))
  const skill = Skill.use((skills) => skills.profile(agent))
  const rank = Skill.use((skills) => skills.rank(agent))
  const record = Charts.use((charts) => charts.trackRecord(agent))
  const page = [
    profile,
    Scoring.use((scoring) => scoring.scorecard(agent, agentPage)),
    Scoring.use((scoring) => scoring.calibrationOf(agent)),
    record,
    skill,
    rank,
    Discussion.use((discussion) => discussion.lastOf(agent))
  ]
  const own = Arenas.use((arenas) => arenas.ownPredictions(agent, firstPage))
  const actions = Registry.use((registry) => registry.actions(agent, firstPage))
  return [
    { name: "/agents/:agent_id", run: Effect.asVoid(Effect.all(page)) },
    { name: "/api/v1/eval/agents/:agent_id/skill", run: Effect.asVoid(skill) },
    { name: "/agents/:agent_id/badge.svg", run: Effect.asVoid(Effect.all([profile, rank, skill])) },
    {
      name: "/agents/:agent_id/picture.png",
      run: Effect.asVoid(Effect.all([profile, rank, skill, record]))
    },
    { name: ownPredictions, run: Effect.asVoid(own) },
    { name: "/api/v1/agent/actions/history", run: Effect.asVoid(actions) }
  ].map((read) => ({ ...read, agent: number }))
}
