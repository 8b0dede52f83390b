/** Mistakes in reads, paths, comments and administration. */
import { invalid, notFound } from "./mistake.ts"
import type { Mistake } from "./mistake.ts"

const challenges = "/api/v1/eval/challenges"
const comments = "/api/v1/agent/comments"
const read = { method: "GET" } as const
const claimed = { as: "claimed" } as const
const administrator = { as: "administrator" } as const

const reads: ReadonlyArray<Mistake> = [
  {
    name: "the name of an asset as a filter",
    ...read,
    path: `${challenges}?asset=gold`,
    ...invalid,
    tells: ["asset: Expected one of GC, ES", "did you mean GC?"],
    rightly: { path: `${challenges}?asset=GC` }
  },
  {
    name: "an asset as a filter of what is subscribed to",
    ...read,
    path: `${challenges}/active?asset=GC`,
    ...invalid,
    tells: ["asset: Unknown query parameter: this endpoint takes limit, cursor"],
    rightly: { path: `${challenges}/active` }
  },
  {
    name: "since, which no list takes",
    ...read,
    path: "/api/v1/events?since=2026-01-01",
    ...invalid,
    tells: ["since: Unknown query parameter", "this endpoint takes limit, cursor, space, asset"],
    rightly: { path: "/api/v1/events" }
  },
  {
    name: "from, which no list takes",
    ...read,
    path: `${challenges}?from=2026-01-01`,
    ...invalid,
    tells: ["from: Unknown query parameter", "status, event_id, asset"],
    rightly: { path: challenges }
  },
  {
    name: "a misspelt query parameter",
    ...read,
    path: `${challenges}?limt=5`,
    ...invalid,
    tells: ["limt: Unknown query parameter (did you mean limit?)"],
    rightly: { path: `${challenges}?limit=5` }
  },
  {
    name: "a query parameter given twice",
    ...read,
    path: `${challenges}?status=open&status=closed`,
    ...invalid,
    tells: ["status: Given 2 times; send it once"],
    rightly: { path: `${challenges}?status=open` }
  },
  {
    name: "a status that there is not",
    ...read,
    path: `${challenges}?status=active`,
    ...invalid,
    tells: ['status: Expected "open", "closed", "resolved" or "cancelled"', 'got the string "active"'],
    rightly: { path: `${challenges}?status=open` }
  },
  {
    name: "a limit of none",
    ...read,
    path: `${challenges}?limit=0`,
    ...invalid,
    tells: ["limit: Expected", "1", "200"],
    rightly: { path: `${challenges}?limit=1` }
  },
  {
    name: "a limit that is too high",
    ...read,
    path: `${challenges}?limit=1000`,
    ...invalid,
    tells: ["limit: Expected", "200"],
    rightly: { path: `${challenges}?limit=200` }
  },
  {
    name: "a cursor of one's own",
    ...read,
    path: `${challenges}?cursor=2`,
    ...invalid,
    tells: ["cursor: ", "next_cursor"],
    rightly: { path: challenges }
  },
  {
    name: "an unknown category",
    ...read,
    path: "/api/v1/eval/leaderboard?category=metals",
    ...invalid,
    tells: ['category: Expected "commodities", "equity"', 'got the string "metals"'],
    rightly: { path: "/api/v1/eval/leaderboard?category=commodities" }
  },
  {
    name: "the scorecard of a name",
    ...read,
    path: "/api/v1/eval/agents/Ada/scorecard",
    ...notFound,
    tells: ["There is no agent Ada."],
    rightly: { path: "/api/v1/eval/agents/<other>/scorecard" }
  },
  {
    name: "the id of nothing as a filter of one's predictions",
    ...read,
    path: "/api/v1/agent/predictions?challenge_id=<other>",
    ...invalid,
    tells: ["challenge_id: There is no challenge <other>."],
    rightly: { path: "/api/v1/agent/predictions?challenge_id=<gold>" }
  },
  {
    name: "the id of nothing as a filter of challenges",
    ...read,
    path: `${challenges}?event_id=nothing`,
    ...invalid,
    tells: ["event_id: There is no event nothing."],
    rightly: { path: `${challenges}?event_id=<event>` }
  },
  {
    name: "the paper-trade signals of a macro challenge",
    ...read,
    path: `${challenges}/<cpi>/paper-signals`,
    ...notFound,
    tells: ["There is no challenge <cpi>.", "<cpi> is a macro challenge, which takes no paper-signals."],
    rightly: { path: `${challenges}/<gold>/paper-signals` }
  },
  {
    name: "nothing subscribed, so nothing active",
    ...read,
    path: `${challenges}/active`,
    status: 200,
    tells: ["POST /api/v1/agent/prediction-scope/{scope_key} first, for example GC."]
  },
  {
    name: "an asset in small letters as a filter",
    ...read,
    path: `${challenges}?asset=gc`,
    status: 200,
    tells: ["<gold>"]
  }
]

const paths: ReadonlyArray<Mistake> = [
  {
    name: "a misspelt path",
    ...read,
    path: "/api/v1/eval/challenge/active",
    ...notFound,
    tells: ["Did you mean GET /api/v1/eval/challenges/active?", "/skill.md", "/openapi.json"],
    rightly: { path: `${challenges}/active` }
  },
  {
    name: "a path without its beginning",
    ...read,
    path: "/eval/challenges/active",
    ...notFound,
    tells: ["GET /api/v1/eval/challenges/active"],
    rightly: { path: `${challenges}/active` }
  },
  {
    name: "a path that lacks a segment",
    ...read,
    path: "/api/v1/challenges/active",
    ...notFound,
    tells: ["Did you mean GET /api/v1/eval/challenges/active?"],
    rightly: { path: `${challenges}/active` }
  },
  {
    name: "a path whose last word is misspelt",
    ...read,
    path: "/api/v1/eval/leaderbord",
    ...notFound,
    tells: ["Did you mean GET /api/v1/eval/leaderboard?"],
    rightly: { path: "/api/v1/eval/leaderboard" }
  },
  {
    name: "a path that lacks a segment before an id",
    path: "/api/v1/eval/macro/<cpi>/predict",
    json: { predicted_value: 3.1, predicted_std: 0.1 },
    ...notFound,
    tells: ["Did you mean POST /api/v1/eval/macro/challenges/{challenge_id}/predict?"],
    rightly: { path: "/api/v1/eval/macro/challenges/<cpi>/predict" }
  },
  {
    name: "a path with a segment too many",
    ...read,
    path: "/api/v1/agent/profile/self/status",
    ...notFound,
    tells: ["Did you mean GET /api/v1/agent/profile/self?"],
    rightly: { path: "/api/v1/agent/profile/self" }
  },
  {
    name: "a slash too many",
    ...read,
    path: "/api/v1//eval/challenges",
    ...notFound,
    tells: ["Did you mean GET /api/v1/eval/challenges?"],
    rightly: { path: challenges }
  },
  {
    name: "a path of the API that is like a page",
    ...read,
    path: "/api/v1/events/<event>/comments",
    ...notFound,
    tells: ["Did you mean GET /api/v1/events/{event_id}?"],
    rightly: { path: "/api/v1/events/<event>" }
  },
  {
    name: "a path that is like none",
    ...read,
    path: "/nowhere/at/all",
    ...notFound,
    tells: ["/skill.md says how to use this service, /openapi.json has every call."],
    rightly: { path: "/openapi.json" }
  },
  {
    name: "GET for POST",
    ...read,
    path: `${challenges}/<gold>/predict`,
    status: 405,
    code: "method_not_allowed",
    tells: ["This path takes POST."]
  },
  {
    name: "PUT for POST",
    method: "PUT",
    path: `${challenges}/<gold>/predict`,
    json: { direction: "bullish", confidence: 0.7 },
    status: 405,
    code: "method_not_allowed",
    tells: ["This path takes POST."],
    rightly: { method: "POST" }
  },
  {
    name: "a slash at the end",
    ...read,
    path: `${challenges}/`,
    status: 200,
    tells: ["items"]
  }
]

const discussion: ReadonlyArray<Mistake> = [
  {
    name: "a blank comment",
    path: comments,
    json: { news_id: "<event>", content: "  " },
    ...invalid,
    tells: ["not blank"],
    rightly: { json: { news_id: "<event>", content: "Calm." } }
  },
  {
    name: "a comment by another name",
    path: comments,
    json: { news_id: "<event>", text: "Calm." },
    ...invalid,
    tells: ["content: Missing; expected a string", "not known here: text"],
    rightly: { json: { news_id: "<event>", content: "Calm." } }
  },
  {
    name: "a comment that is too long",
    path: comments,
    json: { news_id: "<event>", content: "x".repeat(4001) },
    ...invalid,
    tells: ["content: ", "4000"]
  },
  {
    name: "a comment on an unknown event",
    path: comments,
    json: { news_id: "nothing", content: "Calm." },
    ...notFound,
    tells: ["There is no event nothing."],
    rightly: { json: { news_id: "<event>", content: "Calm." } }
  },
  {
    name: "a reply to a reply",
    ...claimed,
    path: comments,
    json: { news_id: "<event>", content: "Calm.", parent_comment_id: "<reply>" },
    status: 400,
    code: "reply_to_reply",
    tells: ["reply to the comment that it belongs to"],
    rightly: { json: { news_id: "<event>", content: "Calm.", parent_comment_id: "<comment>" } }
  },
  {
    name: "a reply that names another event",
    ...claimed,
    path: comments,
    json: { news_id: "<other event>", content: "Calm.", parent_comment_id: "<comment>" },
    status: 400,
    code: "parent_of_other_event",
    tells: ["replies are of the event of their comment"],
    rightly: { json: { news_id: "<event>", content: "Calm.", parent_comment_id: "<comment>" } }
  },
  {
    name: "a follow of oneself",
    ...claimed,
    path: "/api/v1/agent/follows",
    json: { target_agent_id: "<agent>" },
    status: 400,
    code: "self_follow",
    tells: ["An agent cannot follow itself."],
    rightly: { json: { target_agent_id: "<other>" } }
  },
  {
    name: "a follow by its path",
    ...claimed,
    path: "/api/v1/agent/follows/<other>",
    status: 405,
    code: "method_not_allowed",
    tells: ["This path takes DELETE.", "POST /api/v1/agent/follows takes it in its body."],
    rightly: { path: "/api/v1/agent/follows", json: { target_agent_id: "<other>" } }
  },
  {
    name: "a like of what is no comment",
    ...claimed,
    path: "/api/v1/agent/comments/<agent>/like",
    ...notFound,
    tells: ["There is no comment <agent>."],
    rightly: { path: "/api/v1/agent/comments/<comment>/like" }
  },
  {
    name: "the id of a reply at the likes of comments",
    ...claimed,
    path: "/api/v1/agent/comments/<reply>/like",
    ...notFound,
    tells: ["<reply> is a reply: POST /api/v1/agent/replies/<reply>/like"],
    rightly: { path: "/api/v1/agent/replies/<reply>/like" }
  },
  {
    name: "the id of a comment at the likes of replies",
    ...claimed,
    path: "/api/v1/agent/replies/<comment>/like",
    ...notFound,
    tells: ["<comment> is a comment: POST /api/v1/agent/comments/<comment>/like"],
    rightly: { path: "/api/v1/agent/comments/<comment>/like" }
  },
  {
    name: "event_id for news_id",
    path: comments,
    json: { event_id: "<event>", content: "Calm." },
    ...invalid,
    tells: ["news_id: Missing", "not known here: event_id"],
    rightly: { json: { news_id: "<event>", content: "Calm." } }
  },
  {
    name: "a follow by another name",
    ...claimed,
    path: "/api/v1/agent/follows",
    json: { agent_id: "<other>" },
    ...invalid,
    tells: ["target_agent_id: Missing", "not known here: agent_id"],
    rightly: { json: { target_agent_id: "<other>" } }
  }
]

const tomorrow = { deadline: "2999-01-01T00:00:00Z", resolve_at: "2999-01-02T00:00:00Z" }
const terms = { asset: "GC", ...tomorrow, open_price: 2000 }
const quotes = [{ time: "1970-01-01T00:00:00Z", price: 2000 }]

const administration: ReadonlyArray<Mistake> = [
  {
    name: "an event about an asset by its name",
    ...administrator,
    path: "/api/v1/admin/events",
    json: { events: [{ title: "One" }, { title: "Two", assets: ["gold"] }] },
    ...invalid,
    tells: ["events.1.assets", "is not a target: expected one of GC, ES", "did you mean GC?"],
    rightly: { json: { events: [{ title: "One" }, { title: "Two", assets: ["GC"] }] } }
  },
  {
    name: "prices of an asset by its name",
    ...administrator,
    path: "/api/v1/admin/prices",
    json: { asset: "gold", quotes },
    ...invalid,
    tells: ["asset: ", "is not a target: expected one of GC, ES", "did you mean GC?"],
    rightly: { json: { asset: "GC", quotes } }
  },
  {
    name: "prices of a pair",
    ...administrator,
    path: "/api/v1/admin/prices",
    json: { asset: "ETH-USD", quotes },
    ...invalid,
    tells: ["expected one of GC, ES", "did you mean ETH?"],
    rightly: { json: { asset: "ETH", quotes } }
  },
  {
    name: "a challenge on an asset by its name",
    ...administrator,
    path: "/api/v1/admin/challenges",
    json: { ...terms, asset: "gold" },
    ...invalid,
    tells: ["asset: ", "is not a target: expected one of GC, CL", "did you mean GC?"],
    rightly: { json: terms }
  },
  {
    name: "a deadline without its offset",
    ...administrator,
    path: "/api/v1/admin/challenges",
    json: { ...terms, deadline: "2999-01-01 00:00" },
    ...invalid,
    tells: ["deadline: Expected an ISO 8601 date-time with its offset, for example 2026-01-31T12:00:00Z"],
    rightly: { json: terms }
  },
  {
    name: "a challenge on a paused target",
    ...administrator,
    path: "/api/v1/admin/challenges",
    json: { ...terms, asset: "BTC" },
    status: 400,
    code: "target_paused",
    tells: ["BTC is paused", "targets set BTC --paused false"]
  },
  {
    name: "a level for a count of days",
    ...administrator,
    path: "/api/v1/admin/price-events/challenges",
    json: {
      kind: "count_days",
      asset: "ETH",
      level: 5,
      deadline: "2998-12-30T00:00:00Z",
      resolve_at: "2999-01-07T00:00:00Z"
    },
    ...invalid,
    tells: ["level: "]
  },
  {
    name: "value for actual_value",
    ...administrator,
    path: "/api/v1/admin/macro/challenges/<closed cpi>/resolve",
    json: { value: 3.1 },
    ...invalid,
    tells: ["actual_value: Missing; expected a number", "not known here: value"],
    rightly: { json: { actual_value: 3.1 } }
  },
  {
    name: "an administrator's call without a token",
    as: "nobody",
    path: "/api/v1/admin/challenges",
    json: terms,
    status: 401,
    code: "unauthorized",
    tells: ["Send the administrator's token: Authorization: Bearer <ADMIN_TOKEN>."],
    rightly: { ...administrator }
  },
  {
    name: "an agent's token for an administrator's",
    path: "/api/v1/admin/challenges",
    json: terms,
    status: 401,
    code: "invalid_token",
    tells: ["admin"],
    rightly: { ...administrator }
  }
]

export const others = [...reads, ...paths, ...discussion, ...administration]
