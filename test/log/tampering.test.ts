/**
 * Changes by somebody who has the database, with every trigger out of the way: each one of who said what, or who owns
 * what, is named by one of the three checks an operator runs.
 */
import { generateKeyPairSync } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Option, Predicate } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { AdminAudit } from "../../src/services/AdminAudit.ts"
import { Audit } from "../../src/services/Audit.ts"
import { LogSequencer } from "../../src/services/LogSequencer.ts"
import { Registry } from "../../src/services/Registry.ts"
import { Scoring } from "../../src/services/Scoring.ts"
import { oneIn } from "../support/breadth.ts"
import { claimedAgent, provisionalAgent, agentsOf, ownersOn } from "../support/agents.ts"
import { freshWeek, importQuotes, moveTo, newChallenge, plus, predict } from "../support/challenges.ts"
import { asOwner } from "../support/database.ts"
import { loggedFixture, revealAll } from "../support/loggedFixture.ts"
import { checkpoints } from "../support/logbook.ts"
import { testServices } from "../support/services.ts"
import { restored, unconstrained, withoutTriggers } from "../support/tampering.ts"

/** The checks by the names that `npm run admin` has for them. */
type Check = "log audit" | "figures check" | "ledger check"

interface Tampering {
  readonly what: string
  /** Statements, each with the table that it changes. */
  readonly changes: ReadonlyArray<readonly [table: string, statement: string]>
  readonly by: Check
  readonly says: RegExp
}

const row = (what: string, changes: Tampering["changes"], by: Check, says: RegExp): Tampering => ({
  what,
  changes,
  by,
  says
})

const agent = (name: string) => `(select id from agents where name = '${name}')`
/** A prediction of the second agent on a challenge that is settled, which it revised. */
const prediction = `agent_id = ${agent("agent 1")} and revision = 21`
const settled = `(select challenge_id from settlements where version = 2 and close_price is not null)`
const macro = `(select id from challenges where type = 'macro' and resolved_at is not null)`
const stake = `challenge_id = ${macro} and agent_id = ${agent("agent 3")}`

const predictions = [
  row(
    "the direction of a prediction",
    [["predictions", `update predictions set direction = 'neutral' where ${prediction}`]],
    "log audit",
    /^prediction of agent .* direction is not what its sealed body says$/
  ),
  row(
    "its confidence",
    [["predictions", `update predictions set confidence = 0.99 where ${prediction}`]],
    "log audit",
    /confidence is not what its sealed body says$/
  ),
  row(
    "its reasoning",
    [["predictions", `update predictions set reasoning = 'I said so.' where ${prediction}`]],
    "log audit",
    /reasoning is not what its sealed body says$/
  ),
  row(
    "when it was received",
    [
      [
        "predictions",
        `update predictions set received_at = received_at - interval '1 minute' where ${prediction}`
      ]
    ],
    "log audit",
    /received_at is not what its sealed body says$/
  ),
  row(
    "its deadline",
    [["predictions", `update predictions set deadline = deadline + interval '1 day' where ${prediction}`]],
    "log audit",
    /deadline is not that of its challenge$/
  ),
  row(
    "its salt",
    [["predictions", `update predictions set salt = sha256(salt) where ${prediction}`]],
    "log audit",
    /salt and body do not give its commit$/
  ),
  row(
    "its commit",
    [["predictions", `update predictions set commit = sha256(commit) where ${prediction}`]],
    "log audit",
    /salt and body do not give its commit$/
  ),
  row(
    "its body, with the column",
    [
      [
        "predictions",
        `update predictions set direction = 'neutral',
                body = convert_to(replace(convert_from(body, 'UTF8'), 'bearish', 'neutral'), 'UTF8')
          where ${prediction}`
      ]
    ],
    "log audit",
    /salt and body do not give its commit$/
  ),
  row(
    "its body, with the column, the commit and the entry",
    [
      [
        "predictions",
        `update predictions set direction = 'neutral',
                body = convert_to(replace(convert_from(body, 'UTF8'), 'bearish', 'neutral'), 'UTF8')
          where ${prediction}`
      ],
      [
        "predictions",
        `update predictions set commit = sha256(convert_to('auspex/commit/v1', 'UTF8') || '\\x00' || salt || body)
          where ${prediction}`
      ],
      [
        "log_entries",
        `update log_entries e set commit = p.commit, entry = log_commit_entry(p.challenge_id, p.commit)
           from predictions p
          where ${prediction} and e.index = (
            select min(index) from log_entries o
             where o.type = 'prediction.commit' and o.challenge_id = p.challenge_id
               and not exists (select from predictions q where q.commit = o.commit))`
      ]
    ],
    "log audit",
    /do not have the root|have their stored hash|its root is not that/
  ),
  row(
    "whose it is",
    [
      [
        "predictions",
        `update predictions set agent_id = ${agent("unclaimed")}
          where challenge_id = ${settled} and agent_id = ${agent("agent 1")}`
      ]
    ],
    "log audit",
    /agent_id is not what its sealed body says$/
  ),
  row(
    "whose it is, with its body",
    [
      [
        "predictions",
        `update predictions set agent_id = ${agent("unclaimed")},
                body = convert_to(replace(convert_from(body, 'UTF8'), agent_id::text, ${agent("unclaimed")}::text), 'UTF8')
          where challenge_id = ${settled} and agent_id = ${agent("agent 1")}`
      ]
    ],
    "log audit",
    /salt and body do not give its commit$/
  ),
  row(
    "that it was made: the last revision is gone",
    [["predictions", `delete from predictions where ${prediction}`]],
    "log audit",
    /there is no prediction with its commit/
  ),
  row(
    "a prediction of an agent that made none",
    [
      [
        "predictions",
        `insert into predictions (challenge_id, agent_id, revision, id, direction, confidence, received_at, deadline, salt,
                                  body, commit)
         select challenge_id, ${agent("unclaimed")}, 0, uuidv7(), direction, confidence, received_at, deadline, salt, body,
                sha256(salt)
           from predictions where ${prediction}`
      ]
    ],
    "log audit",
    /its commit is not in the log$/
  )
]

const scores = [
  row(
    "a score",
    [
      [
        "prediction_scores",
        `update prediction_scores set score = 100 where challenge_id = ${settled} and agent_id = ${agent("agent 1")}`
      ]
    ],
    "log audit",
    /^score of agent .* score is not|scores \(their root\) is not what entry/
  ),
  row(
    "whose score it is",
    [
      [
        "prediction_scores",
        `update prediction_scores set agent_id = ${agent("unclaimed")}
          where challenge_id = ${settled} and agent_id = ${agent("agent 1")}`
      ]
    ],
    "log audit",
    /scores \(their root\) is not what entry/
  ),
  row(
    "that a prediction was scored",
    [
      [
        "prediction_scores",
        `delete from prediction_scores where challenge_id = ${settled} and agent_id = ${agent("agent 1")}`
      ]
    ],
    "log audit",
    /number of scores is not what entry/
  ),
  row(
    "which prediction was right",
    [["prediction_scores", `update prediction_scores set is_correct = not is_correct`]],
    "figures check",
    /^score in challenge /
  ),
  row(
    "the sum of an agent's scores",
    [
      [
        "agent_stats",
        `update agent_stats set score_sum = score_sum + 10 where board = 'global' and agent_id = ${agent("agent 1")}`
      ]
    ],
    "figures check",
    /^global: /
  ),
  row(
    "how many scores an agent has",
    [
      [
        "agent_stats",
        `update agent_stats set scored = scored + 30 where board = 'global' and agent_id = ${agent("agent 1")}`
      ]
    ],
    "figures check",
    /^global: /
  ),
  row(
    "that an agent is on the leaderboard",
    [["agent_stats", `delete from agent_stats where agent_id = ${agent("agent 1")}`]],
    "figures check",
    /^global: /
  ),
  row(
    "that an agent which nobody claimed is verified",
    [["agent_stats", `update agent_stats set verified = true where agent_id = ${agent("unclaimed")}`]],
    "figures check",
    /^global: .* is verified, but not claimed$/
  ),
  row(
    "that a claimed agent is verified",
    [["agent_stats", `update agent_stats set verified = false where agent_id = ${agent("agent 1")}`]],
    "figures check",
    /^global: .* is not verified, but claimed$/
  )
]

const challenges = [
  row(
    "a question",
    [["challenges", `update challenges set question = question || '?' where id = ${settled}`]],
    "log audit",
    /question or resolution criteria is not what entry/
  ),
  row(
    "a deadline",
    [
      [
        "challenges",
        `update challenges set deadline = deadline - interval '1 second',
                resolve_at = resolve_at - interval '1 second' where id = ${settled}`
      ]
    ],
    "log audit",
    /^challenge .* deadline is not what entry/
  ),
  row(
    "when a challenge closed",
    [
      [
        "challenges",
        `update challenges set closed_at = closed_at + interval '1 hour',
                resolved_at = resolved_at + interval '1 hour' where id = ${settled}`
      ]
    ],
    "log audit",
    /^challenge .* closed_at is not what entry/
  ),
  row(
    "a price that settled",
    [
      [
        "settlements",
        `update settlements set close_price = 150 where challenge_id = ${settled} and version = 1`
      ]
    ],
    "log audit",
    /close_price or actual_value is not what entry/
  ),
  row(
    "a result",
    [
      [
        "settlements",
        `update settlements set result = 'neutral' where challenge_id = ${settled} and version = 2`
      ]
    ],
    "log audit",
    /result is not what entry/
  ),
  row(
    "the source of a price",
    [
      [
        "settlements",
        `update settlements set source = 'exchange' where challenge_id = ${settled} and version = 1`
      ]
    ],
    "log audit",
    /source is not what entry/
  ),
  row(
    "why a settlement was amended",
    [
      [
        "settlements",
        `update settlements set reason = 'a typo' where challenge_id = ${settled} and version = 2`
      ]
    ],
    "log audit",
    /reason is not what entry/
  ),
  row(
    "that a settlement was amended",
    [
      ["prediction_scores", `delete from prediction_scores where challenge_id = ${settled} and version = 2`],
      ["settlements", `delete from settlements where challenge_id = ${settled} and version = 2`]
    ],
    "log audit",
    /there is no settlement of challenge .* version 2$/
  ),
  row(
    "why a challenge was cancelled",
    [["challenges", `update challenges set cancel_reason = 'no price' where cancel_reason is not null`]],
    "log audit",
    /cancel_reason or reason is not what entry/
  )
]

/** The id of an administrator's grant to the second agent. */
const given = `'grant:admin:agent:' || ${agent("agent 1")} || ':staking'`
/** A grant to the second agent in the form that the ledger has of requested ones, with both balances. */
const forgedGrant: Tampering["changes"] = [
  [
    "transfers",
    `insert into transfers (id, kind, debit, credit, amount, reason, at)
     select 'grant:admin:' || account || ':forged', 'post', 'treasury', account, 500000000, 'for everything', at
       from (select 'agent:' || ${agent("agent 1")} as account) a
      cross join (select max(at) as at from transfers) t`
  ],
  [
    "accounts",
    `update accounts set posted = posted + case id when 'treasury' then -500000000 else 500000000 end
      where id in ('treasury', 'agent:' || ${agent("agent 1")})`
  ]
]

const credit = [
  row(
    "the amount of a stake, with its bin's",
    [
      ["stakes", `update stakes set amount = amount + 1000000 where ${stake}`],
      [
        "pool_bins",
        `update pool_bins set staked = staked + 1000000
          where challenge_id = ${macro} and bin = (select bin from stakes where ${stake})`
      ]
    ],
    "log audit",
    /staked is not|\(their root\) is not what entry/
  ),
  row(
    "the bin of a stake",
    [["stakes", `update stakes set bin = bin + 1 where ${stake}`]],
    "log audit",
    /bin is not where its predicted_value lies$/
  ),
  row(
    "whose stake it is",
    [["stakes", `update stakes set agent_id = ${agent("unclaimed")} where ${stake}`]],
    "log audit",
    /its agent has not predicted$/
  ),
  row(
    "whose agent staked",
    [
      [
        "stakes",
        `update stakes set owner_id = (select id from operators where id <> owner_id limit 1) where ${stake}`
      ]
    ],
    "log audit",
    /owner_id is not whose agent it is$/
  ),
  row(
    "a reward",
    [["pool_rewards", `update pool_rewards set reward = reward + 1000000 where ${stake}`]],
    "log audit",
    /^stake of agent .* amount is not|\(their root\) is not what entry/
  ),
  row(
    "what a pool paid",
    [["pool_settlements", `update pool_settlements set paid = paid - 1000000 where challenge_id = ${macro}`]],
    "log audit",
    /paid is not/
  ),
  row(
    "two balances, moved from one to the other",
    [
      [
        "accounts",
        `update accounts set posted = posted + case id when 'agent:' || ${agent("agent 1")} then 1000000 else -1000000 end
          where id in ('agent:' || ${agent("agent 1")}, 'agent:' || ${agent("agent 2")})`
      ]
    ],
    "ledger check",
    /^account agent:.* its transfers sum to /
  ),
  row(
    "the amount of a transfer",
    [["transfers", `update transfers set amount = amount + 1 where id = ${given}`]],
    "ledger check",
    /^account agent:.* its transfers sum to /
  ),
  row(
    "whom a transfer paid",
    [["transfers", `update transfers set credit = 'agent:' || ${agent("agent 2")} where id = ${given}`]],
    "ledger check",
    /^account agent:.* its transfers sum to /
  ),
  row(
    "what an agent was given for its claim",
    [["agents", `update agents set claim_grant = 500000000 where name = 'agent 1'`]],
    "ledger check",
    /^agent .* records a claim grant of /
  ),
  row(
    "a grant that nobody asked for, with both balances",
    forgedGrant,
    "ledger check",
    /^transfer grant:admin:agent:.*:forged gives agent:.* without a recorded call of an administrator$/
  ),
  row(
    "a grant that nobody asked for, with both balances and a call that asks for it",
    [
      ...forgedGrant,
      [
        "audit_log",
        `insert into audit_log (id, at, action, path, request_id, body)
         select uuidv7(), at, 'grantAgent', '/api/v1/admin/agents/' || ${agent("agent 1")} || '/credits', request_id,
                '{"amount": 500, "reason": "for everything", "idempotency_key": "forged"}'
           from audit_log where path = '/called/1'`
      ]
    ],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: audit_chain has no link for it$/
  )
]

const administrators = [
  row(
    "a call of an administrator, which is gone",
    [["audit_log", `delete from audit_log where path = '/called/1'`]],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: link \d+ of audit_chain records it, but it is missing$/
  ),
  row(
    "a call that the log has no head after, which is gone with its end",
    [
      [
        "audit_outcomes",
        `delete from audit_outcomes where entry_id = (select id from audit_log where path = '/called/2')`
      ],
      ["audit_log", `delete from audit_log where path = '/called/2'`]
    ],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: link \d+ of audit_chain records it, but it is missing$/
  ),
  row(
    "what an administrator sent",
    [["audit_log", `update audit_log set body = 'another' where path = '/called/1'`]],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: it is not what link \d+ of audit_chain recorded$/
  ),
  row(
    "when an administrator called",
    [["audit_log", `update audit_log set at = at - interval '1 microsecond' where path = '/called/1'`]],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: it is not what link \d+ of audit_chain recorded$/
  ),
  row(
    "a call that no administrator made",
    [
      [
        "audit_log",
        `insert into audit_log (id, at, action, path, request_id, body)
         select uuidv7(), at, action, path, request_id, body from audit_log where path = '/called/1'`
      ]
    ],
    "log audit",
    /^audit_log, [-0-9a-f]{36}: audit_chain has no link for it$/
  ),
  row(
    "how a call ended, which is gone",
    [
      [
        "audit_outcomes",
        `delete from audit_outcomes where entry_id = (select id from audit_log where path = '/called/1')`
      ]
    ],
    "log audit",
    /^audit_outcomes, [-0-9a-f]{36}: link \d+ of audit_chain records it, but it is missing$/
  ),
  row(
    "how a call ended",
    [
      [
        "audit_outcomes",
        `update audit_outcomes set status = 500 where entry_id = (select id from audit_log where path = '/called/1')`
      ]
    ],
    "log audit",
    /^audit_outcomes, [-0-9a-f]{36}: it is not what link \d+ of audit_chain recorded$/
  ),
  row(
    "a link of the chain",
    [["audit_chain", `update audit_chain set hash = sha256(hash) where number = 2`]],
    "log audit",
    /^audit_(log|outcomes), [-0-9a-f]{36}: it is not what link 2 of audit_chain recorded$/
  ),
  row(
    "the head of the chain",
    [["audit_head", `update audit_head set hash = sha256(hash)`]],
    "log audit",
    /^audit_head: it is not the last link of audit_chain, which is \d+$/
  ),
  row(
    "how many links the chain has",
    [["audit_head", `update audit_head set count = count + 1`]],
    "log audit",
    /^audit_head: it is not the last link of audit_chain, which is \d+$/
  ),
  row(
    "every call, every end, and the chain of them",
    [
      ["audit_outcomes", `delete from audit_outcomes`],
      ["audit_log", `delete from audit_log`],
      ["audit_chain", `delete from audit_chain`],
      ["audit_head", `update audit_head set count = 0, logged = 0, hash = decode(repeat('00', 32), 'hex')`]
    ],
    "log audit",
    /^entry \d+ records \d+ links of the audit log, but audit_chain has no link \d+$/
  )
]

const otherOwner = `(select owner_id from agents where name = 'agent')`
const agents = [
  row(
    "an agent's name",
    [["agents", `update agents set name = 'agent of renown' where name = 'agent 1'`]],
    "log audit",
    /^agent [-0-9a-f]{36}: name is not what entry \d+ recorded$/
  ),
  row(
    "names and secrets of two agents, swapped",
    [
      [
        "agents",
        `update agents a set name = b.name, secret_hash = b.secret_hash
           from agents b
          where (a.name, b.name) in (('agent 1', 'agent 2'), ('agent 2', 'agent 1'))`
      ]
    ],
    "log audit",
    /^agent .*: name is not what entry/
  ),
  row(
    "an agent's secret",
    [["agents", `update agents set secret_hash = sha256('mine') where name = 'agent 1'`]],
    "log audit",
    /^agent .*: secret_hash, public_key or jwks_url is not what entry/
  ),
  row(
    "the secret of an agent that has a new one, back to the first",
    [["agents", `update agents set secret_hash = sha256('first'), key_set_at = null where name = 'rotated'`]],
    "log audit",
    /^agent .*: secret_hash, public_key or jwks_url is not what entry/
  ),
  row(
    "when an agent got its secret",
    [["agents", `update agents set key_set_at = key_set_at - interval '1 day' where name = 'rotated'`]],
    "log audit",
    /^agent .*: key_set_at is not what entry/
  ),
  row(
    "an agent's public key",
    [["agents", `update agents set public_key = replace(public_key, 'A', 'B') where name = 'signing'`]],
    "log audit",
    /^agent .*: secret_hash, public_key or jwks_url is not what entry/
  ),
  row(
    "where an agent's keys are had",
    [["agents", `update agents set jwks_url = 'https://keys.example/mine' where name = 'publishing'`]],
    "log audit",
    /^agent .*: secret_hash, public_key or jwks_url is not what entry/
  ),
  row(
    "how an agent authenticates",
    [
      [
        "agents",
        `update agents set auth_method = 'client_credentials', public_key = null where name = 'signing'`
      ]
    ],
    "log audit",
    /^agent .*: auth_method is not what entry/
  ),
  row(
    "when an agent registered",
    [["agents", `update agents set created_at = created_at - interval '1 year' where name = 'agent 1'`]],
    "log audit",
    /^agent .*: created_at is not what entry/
  ),
  row(
    "an agent's owner",
    [["agents", `update agents set owner_id = ${otherOwner} where name = 'agent 1'`]],
    "log audit",
    /^agent .*: owner_id is not what entry/
  ),
  row(
    "two operators, made one",
    [
      ["operators", `delete from operators where id = (select owner_id from agents where name = 'agent 1')`],
      ["agents", `update agents set owner_id = ${otherOwner} where claimed_at is not null`]
    ],
    "log audit",
    /^agent .*: owner_id is not what entry/
  ),
  row(
    "when an agent was claimed",
    [["agents", `update agents set claimed_at = claimed_at - interval '1 day' where name = 'agent 1'`]],
    "log audit",
    /^agent .*: claimed_at is not what entry/
  ),
  row(
    "that an agent was claimed",
    [["agents", `update agents set claimed_at = null, owner_id = null where name = 'agent 1'`]],
    "log audit",
    /^agent .*: claimed_at is not what entry/
  ),
  row(
    "a claim that nobody made",
    [
      [
        "agents",
        `update agents set claimed_at = created_at, owner_id = (select owner_id from agents where name = 'agent 1'),
                prediction_limit = null where name = 'unclaimed'`
      ]
    ],
    "log audit",
    /^agent .*: its claim \(claimed_at, owner_id\) is not in the log$/
  ),
  row(
    "an agent, which is gone",
    [["agents", `delete from agents where name = 'agent 1'`]],
    "log audit",
    /^entry \d+: there is no agent [-0-9a-f]{36}$/
  ),
  row(
    "an agent that nobody registered",
    [
      [
        "agents",
        `insert into agents
         select (jsonb_populate_record(a, '{"id": "0190f000-0000-7000-8000-00000000000a", "held_name": null, "held_fold": null}')).* from agents a where name = 'agent 1'`
      ]
    ],
    "log audit",
    /^agent 0190f000-0000-7000-8000-00000000000a: its registration is not in the log$/
  )
]

const log = [
  row(
    "a byte of an entry",
    [
      [
        "log_entries",
        `update log_entries set entry = set_byte(entry, 20, get_byte(entry, 20) # 1) where type = 'agent.register' and index < 5`
      ]
    ],
    "log audit",
    /there is no agent|its registration is not in the log/
  ),
  row(
    "the name in an agent's registration, and the agent's",
    [
      ["agents", `update agents set name = 'agent of renown' where name = 'agent 1'`],
      [
        "log_entries",
        `update log_entries e set entry = agent_register_entry(a) from agents a
          where a.name = 'agent of renown' and e.type = 'agent.register' and log_entry_agent(e.entry) = a.id::text`
      ]
    ],
    "log audit",
    /its root is not that of|have their stored hash/
  ),
  row(
    "the newest entry, which is gone",
    [["log_entries", `delete from log_entries where index = (select max(index) from log_entries)`]],
    "log audit",
    /is missing|its size is|the log has only \d+ entries/
  ),
  row(
    "which predictions stand where",
    [
      [
        "log_entries",
        `update log_entries set index = 1000000
          where index = (select min(index) from log_entries where type = 'prediction.commit')`
      ]
    ],
    "log audit",
    /^entry \d+ is missing/
  ),
  row(
    "a hash of the tree",
    [["log_nodes", `update log_nodes set hash = sha256(hash) where n = 0 and level = 1`]],
    "log audit",
    /have their stored hash/
  ),
  row(
    "the root of the tree",
    [["log_state", `update log_state set root = sha256(root)`]],
    "log audit",
    /^log_state: its root is not that of/
  ),
  row(
    "what was signed",
    [
      [
        "log_checkpoints",
        `update log_checkpoints set root = sha256(root) where size = (select min(size) from log_checkpoints)`
      ]
    ],
    "log audit",
    /^checkpoint of size \d+: its root is not that of/
  ),
  row(
    "every checkpoint, which are gone",
    [["log_checkpoints", `delete from log_checkpoints`]],
    "log audit",
    /^checkpoint of size \d+, which was seen \(log-seen\): neither it nor a later one is kept/
  ),
  row(
    "the newest checkpoint, which is gone",
    [["log_checkpoints", `delete from log_checkpoints where size = (select max(size) from log_checkpoints)`]],
    "log audit",
    /^checkpoint of size \d+, which was seen \(log-seen\): neither it nor a later one is kept/
  ),
  row(
    "the name of the log",
    [["log_identity", `update log_identity set origin = 'other.example/log/global'`]],
    "log audit",
    /the origin of this log$/
  ),
  row(
    "the key of the log",
    [["log_keys", `update log_keys set verifier_key = replace(verifier_key, 'A', 'B')`]],
    "log audit",
    /log_keys|no key of this log signed its note/
  )
]

/** Changes, and the check that names each. Anything else to be noticed is one more row. */
const tamperings = [...predictions, ...scores, ...challenges, ...credit, ...administrators, ...agents, ...log]

const checks: Readonly<Record<Check, Effect.Effect<ReadonlyArray<string>, never, Audit>>> = {
  "log audit": Audit.use(({ verifyLog }) => Effect.map(verifyLog, ({ differences }) => differences)),
  "figures check": Audit.use(({ verifyStats }) => Effect.map(verifyStats, ({ differences }) => differences)),
  "ledger check": Audit.use(({ verifyLedger }) => Effect.map(verifyLedger, ({ differences }) => differences))
}

const all = Effect.all(checks)
const clean = { "log audit": [], "figures check": [], "ledger check": [] }

/** PostgreSQL's code of its reason to refuse. */
const codeOf = ({ reason: { cause } }: SqlError.SqlError) =>
  Predicate.hasProperty(cause, "code") ? String(cause.code) : String(cause)

const pem = () =>
  generateKeyPairSync("ec", { namedCurve: "P-256" })
    .publicKey.export({ type: "spki", format: "pem" })
    .toString()

/** An administrator's call, and its end. */
const called = Effect.fnUntraced(function* (path: string) {
  const audit = yield* AdminAudit
  yield* audit.complete(yield* audit.begin({ action: "changeAgent", path, requestId: "r", body: "{}" }), 200)
})

/**
 * The world of the log's audit, agents of every kind, and two calls of an administrator, after the first of which the log has the
 * head of their chain.
 */
const world = Effect.gen(function* () {
  const registry = yield* Registry
  yield* loggedFixture
  const monday = yield* freshWeek
  const unclaimed = yield* provisionalAgent("unclaimed")
  yield* agentsOf(yield* ownersOn(["pro"]))
  yield* registry.rotateSecret(yield* claimedAgent("rotated"), "keep")
  yield* registry.register({ name: "signing", auth_method: "private_key_jwt", public_key: pem() })
  yield* registry.register({
    name: "publishing",
    auth_method: "private_key_jwt",
    jwks_url: "https://keys.example/agent"
  })
  const deadline = plus(monday, "1 hour")
  yield* predict(unclaimed, yield* newChallenge({ deadline }))
  yield* moveTo(deadline)
  yield* importQuotes("GC", [[deadline, 102]])
  yield* Scoring.use((scoring) => scoring.settleDue)
  yield* called("/called/1")
  yield* AdminAudit.use((audit) => audit.logHead)
  yield* revealAll
  yield* called("/called/2")
})

/** The codes of privileges, and of the triggers that keep records. */
const refusals = new Set(["42501", "23001"])

/** Changes that the role that runs can make all the same, since they are its own work: where, why, and which. */
const ownWork: ReadonlyArray<readonly [table: string, why: string, what: ReadonlyArray<string>]> = [
  [
    "predictions",
    "Predictions are added; this one is let in by privilege and trigger, and only its commit is not that of its body.",
    ["a prediction of an agent that made none"]
  ],
  [
    "agent_stats",
    "Figures are sums of scores, kept up to date with each settlement and claim.",
    [
      "the sum of an agent's scores",
      "how many scores an agent has",
      "that an agent which nobody claimed is verified",
      "that a claimed agent is verified"
    ]
  ],
  [
    "pool_bins",
    "Sums of stakes, kept up to date with each stake.",
    ["the amount of a stake, with its bin's"]
  ],
  [
    "transfers",
    "All credit is given so; balances follow by trigger alone, and the ledger's check asks what each grant was given for.",
    [
      "a grant that nobody asked for, with both balances",
      "a grant that nobody asked for, with both balances and a call that asks for it"
    ]
  ],
  [
    "audit_log",
    "Calls are recorded so, each a link of the chain by trigger.",
    [
      "a grant that nobody asked for, with both balances and a call that asks for it",
      "a call that no administrator made"
    ]
  ],
  [
    "agents",
    "Agents register, get another secret, are claimed once and get a grant: triggers record the first three in the log, and the checks compare the rest.",
    [
      "what an agent was given for its claim",
      "an agent's secret",
      "the secret of an agent that has a new one, back to the first",
      "when an agent got its secret",
      "a claim that nobody made",
      "an agent that nobody registered"
    ]
  ],
  [
    "log_checkpoints",
    "Old ones are thinned out; that the newest is kept is held against the file of what was signed.",
    ["every checkpoint, which are gone", "the newest checkpoint, which is gone"]
  ]
]

layer(testServices())("Tampering with the database", (it) => {
  it.effect("The role that runs is refused every change by privilege or trigger, its own work aside", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* world
      assert.deepStrictEqual(yield* all, clean)
      const made: Array<string> = []
      for (const { changes, what } of tamperings) {
        for (const [table, statement] of changes) {
          const outcome = yield* Effect.flip(
            sql.withTransaction(Effect.andThen(sql.unsafe(statement), Effect.fail("made" as const)))
          )
          if (outcome === "made" || !refusals.has(codeOf(outcome))) made.push(`${table}: ${what}`)
        }
      }
      const listed = ownWork.flatMap(([table, , whats]) => whats.map((what) => `${table}: ${what}`))
      assert.deepStrictEqual(made.toSorted(), listed.toSorted())
      assert.deepStrictEqual(yield* all, clean)
    })
  )

  it.effect("A change of who said what, or who owns what, is named by a check", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tablesOf = ({ changes }: Tampering) => [...new Set(changes.map(([table]) => table))]
      yield* unconstrained([...new Set(tamperings.flatMap(tablesOf))])
      const unnamed: Array<string> = []
      for (const tampering of oneIn(8, tamperings)) {
        const { by, changes, says, what } = tampering
        const tables = tablesOf(tampering)
        let changed = 0
        yield* withoutTriggers(
          tables,
          Effect.forEach(changes, ([, statement]) =>
            Effect.map(sql.unsafe(`with c as (${statement} returning 1) select 1 from c`), (rows) => {
              if (rows.length > 0) changed += 1
            })
          )
        )
        assert.strictEqual(changed, changes.length, `${what}: nothing was changed`)
        const found = yield* all
        if (!found[by].some((line) => says.test(line)))
          unnamed.push(`${what}: ${by} should say ${says}\n    ${JSON.stringify(found, null, 4)}`)
        yield* withoutTriggers(
          tables,
          Effect.forEach(tables, (table) => restored(table))
        )
      }
      assert.deepStrictEqual(unnamed, [])
      assert.deepStrictEqual(yield* all, clean)
    })
  )

  it.effect("Triggers forbid another name, owner or time of registration, and the deletion of an agent", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      for (const change of [
        `update agents set name = 'agent of renown' where name = 'agent 1'`,
        `update agents set auth_method = 'client_credentials', public_key = null where name = 'signing'`,
        `update agents set created_at = created_at - interval '1 year' where name = 'agent 1'`,
        `update agents set owner_id = ${otherOwner} where name = 'agent 1'`,
        `update agents set claimed_at = claimed_at - interval '1 year' where name = 'agent 1'`,
        `delete from agents where name = 'publishing'`
      ]) {
        const { reason } = yield* Effect.flip(asOwner(sql.unsafe(change)))
        assert.include(JSON.stringify(reason.cause), "23001", change)
      }
      assert.deepStrictEqual(yield* all, clean)
    })
  )

  it.effect("Deleted checkpoints stop a sequencer that would sign new ones: the log has a fault", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sequencer = yield* LogSequencer
      const seen = Option.getOrThrow(yield* sequencer.seen)
      yield* withoutTriggers(["log_checkpoints"], sql`delete from log_checkpoints`)
      yield* newChallenge()
      yield* sequencer.sequence
      yield* sequencer.publish
      assert.deepStrictEqual(yield* checkpoints, [])
      assert.include(
        (yield* sequencer.fault) ?? "",
        `${seen.size} entries were signed, and no checkpoint is kept`
      )
      const found = yield* checks["log audit"]
      assert.match(found.join("\n"), /neither it nor a later one is kept/)

      yield* withoutTriggers(["log_checkpoints"], restored("log_checkpoints"))
      assert.deepStrictEqual(yield* all, clean)
      yield* sequencer.sequence
      yield* sequencer.publish
      assert.isNull(yield* sequencer.fault)
      assert.isTrue((yield* checkpoints).some(({ size }) => size > seen.size))
    })
  )
})
