/** Mistakes in predictions of every type, and in stakes. */
import { invalid, notFound } from "./mistake.ts"
import type { Mistake } from "./mistake.ts"

const predict = "/api/v1/eval/challenges/<gold>/predict"
const forecast = "/api/v1/eval/macro/challenges/<cpi>/predict"
const stake = "/api/v1/eval/macro/challenges/<cpi>/stake"
const answer = (kind: string) => `/api/v1/eval/price-events/challenges/<${kind}>/predict`
const right = { direction: "bullish", confidence: 0.7 }
const value = { predicted_value: 3.1, predicted_std: 0.1 }
const subscribed = { path: "/api/v1/agent/prediction-scope/ETH" }
const staking = { path: "/api/v1/agent/scopes", json: { add: ["credits:stake"] } }
const forecasted = { path: forecast, json: value }
const staked = { predicted_value: 3.1, amount: 60 }

export const predictions: ReadonlyArray<Mistake> = [
  {
    name: "a prediction without a direction",
    path: predict,
    json: { confidence: 0.7 },
    ...invalid,
    tells: ['direction: Missing; expected "bullish", "bearish" or "neutral"'],
    rightly: { json: right }
  },
  {
    name: "prediction instead of direction",
    path: predict,
    json: { prediction: "bullish", confidence: 0.7 },
    ...invalid,
    tells: ['expected "bullish", "bearish" or "neutral"', "not known here: prediction"],
    rightly: { json: right }
  },
  {
    name: "a misspelt field",
    path: predict,
    json: { directon: "bullish", confidence: 0.7 },
    ...invalid,
    tells: ["directon (did you mean direction?)"],
    rightly: { json: right }
  },
  {
    name: "a confidence in quotes",
    path: predict,
    json: { ...right, confidence: "0.7" },
    ...invalid,
    tells: ["confidence: Expected a number", 'got the string "0.7"'],
    rightly: { json: right }
  },
  {
    name: "a confidence in percent",
    path: predict,
    json: { ...right, confidence: 70 },
    ...invalid,
    tells: ["between 0 and 1, got 70"],
    rightly: { json: right }
  },
  {
    name: "a negative confidence",
    path: predict,
    json: { ...right, confidence: -0.1 },
    ...invalid,
    tells: ["between 0 and 1, got -0.1"]
  },
  {
    name: "no confidence",
    path: predict,
    json: { direction: "bullish" },
    ...invalid,
    tells: ["confidence: Missing; expected 0, or a number from 1e-9 to 1"],
    rightly: { json: right }
  },
  {
    name: "a confidence of null",
    path: predict,
    json: { ...right, confidence: null },
    ...invalid,
    tells: ["confidence: Missing; expected 0, or a number from 1e-9 to 1"]
  },
  {
    name: "a direction in capitals",
    path: predict,
    json: { ...right, direction: "BULLISH" },
    ...invalid,
    tells: ['Expected "bullish", "bearish" or "neutral"', 'got the string "BULLISH"'],
    rightly: { json: right }
  },
  {
    name: "up for bullish",
    path: predict,
    json: { ...right, direction: "up" },
    ...invalid,
    tells: ['Expected "bullish", "bearish" or "neutral"', 'got the string "up"']
  },
  {
    name: "is_revision in quotes",
    path: predict,
    json: { ...right, is_revision: "true" },
    ...invalid,
    tells: ["Expected true or false", 'got the string "true"']
  },
  {
    name: "a prediction in quotes",
    path: predict,
    json: JSON.stringify(right),
    ...invalid,
    tells: ["Expected an object", "send the JSON itself, not quoted"],
    rightly: { json: right }
  },
  {
    name: "a list instead of a prediction",
    path: predict,
    json: [right],
    ...invalid,
    tells: ["Expected an object with direction (optional), confidence", "got a list of 1"]
  },
  {
    name: "a prediction without a body",
    path: predict,
    ...invalid,
    tells: ["Expected a JSON body, got none."]
  },
  {
    name: "broken JSON",
    path: predict,
    body: '{"direction":"bullish",',
    headers: { "content-type": "application/json" },
    ...invalid,
    tells: ["JSON"]
  },
  {
    name: "a prediction in single quotes",
    path: predict,
    body: "{'direction': 'bullish', 'confidence': 0.7}",
    headers: { "content-type": "application/json" },
    ...invalid,
    tells: ["Malformed JSON at line 1, column 2: invalid symbol, got '"],
    rightly: { json: right }
  },
  {
    name: "a byte order mark",
    path: predict,
    body: `\ufeff${JSON.stringify(right)}`,
    headers: { "content-type": "application/json" },
    ...invalid,
    tells: ["Malformed JSON at line 1, column 1: invalid symbol, got a byte order mark"],
    rightly: { json: right }
  },
  {
    name: "a member twice",
    path: predict,
    body: '{"direction":"bullish","direction":"bearish","confidence":0.7}',
    headers: { "content-type": "application/json" },
    ...invalid,
    tells: ["direction"]
  },
  {
    name: "a form instead of JSON",
    path: predict,
    body: "direction=bullish&confidence=0.7",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
    code: "unsupported_media_type",
    tells: ["Expected a body of type application/json"],
    rightly: { json: right, headers: {} }
  },
  {
    name: "a reasoning that is too long",
    path: predict,
    json: { ...right, reasoning: "x".repeat(4001) },
    ...invalid,
    tells: ["reasoning: ", "4000"]
  },
  {
    name: "two different reasons under two names",
    path: predict,
    json: { ...right, reasoning: "One.", rationale: "Two." },
    ...invalid,
    tells: ["reasoning and rationale to be the same: they are two names of one field"]
  },
  {
    name: "a second prediction",
    path: predict,
    after: [{ path: predict, json: right }],
    json: right,
    status: 400,
    code: "duplicate_prediction",
    tells: ["send is_revision true"],
    rightly: { json: { ...right, is_revision: true } }
  },
  {
    name: "an expected_revision that no longer stands",
    path: predict,
    after: [{ path: predict, json: right }],
    json: { ...right, is_revision: true, expected_revision: 3 },
    status: 409,
    code: "revision_conflict",
    tells: ["has revision_count 0", "send that as expected_revision"],
    rightly: { json: { ...right, is_revision: true, expected_revision: 0 } }
  },
  {
    name: "a prediction on a cancelled challenge",
    path: "/api/v1/eval/challenges/<cancelled>/predict",
    json: right,
    status: 400,
    code: "challenge_cancelled",
    tells: ["takes no submission, live or paper-trade"]
  },
  {
    name: "a prediction on what is no challenge",
    path: "/api/v1/eval/challenges/GC/predict",
    json: right,
    ...notFound,
    tells: ["There is no challenge GC."]
  },
  {
    name: "an amount on a directional challenge",
    path: predict,
    as: "claimed",
    json: { ...right, amount: 60 },
    ...invalid,
    tells: ["amount: this challenge has no pool, so nothing can be staked on it"],
    rightly: { json: right }
  },
  {
    name: "an amount on a price event",
    path: answer("barrier"),
    after: [subscribed],
    json: { ...right, amount: 60 },
    ...invalid,
    tells: ["amount: this challenge has no pool, so nothing can be staked on it"],
    rightly: { json: right }
  },
  {
    name: "a forecast in quotes",
    path: forecast,
    json: { predicted_value: "3.1", predicted_std: 0.1 },
    ...invalid,
    tells: ["Expected a number", 'got the string "3.1"'],
    rightly: { json: value }
  },
  {
    name: "a standard deviation of zero",
    path: forecast,
    json: { predicted_value: 3.1, predicted_std: 0 },
    ...invalid,
    tells: ["greater than or equal to 1e-12, got 0"],
    rightly: { json: value }
  },
  {
    name: "a forecast without its uncertainty",
    path: forecast,
    json: { predicted_value: 3.1 },
    ...invalid,
    tells: ["predicted_std: Missing; expected a number greater than or equal to 1e-12"],
    rightly: { json: value }
  },
  {
    name: "a forecast by other names",
    path: forecast,
    json: { mean: 3.1, std: 0.1 },
    ...invalid,
    tells: ["predicted_value: Missing; expected a number", "not known here: mean, std"],
    rightly: { json: value }
  },
  {
    name: "a direction for a value",
    path: forecast,
    json: right,
    ...invalid,
    tells: ["predicted_value: Missing", "not known here: direction, confidence"],
    rightly: { json: value }
  },
  {
    name: "a forecast after the deadline",
    path: "/api/v1/eval/macro/challenges/<closed cpi>/predict",
    json: value,
    status: 400,
    code: "challenge_closed",
    tells: ["The deadline of this challenge has passed"]
  },
  {
    name: "a directional id at the path of macro challenges",
    path: "/api/v1/eval/macro/challenges/<gold>/predict",
    json: value,
    ...notFound,
    tells: ["<gold> is a directional challenge: POST /api/v1/eval/challenges/<gold>/predict"],
    rightly: { path: predict, json: right }
  },
  {
    name: "a direction for a figure",
    path: "/api/v1/eval/challenges/<cpi>/predict",
    json: right,
    ...invalid,
    tells: ["predicted_value: Missing", "a macro challenge is answered by predicted_value and predicted_std"],
    rightly: { json: value }
  },
  {
    name: "a value for a direction",
    path: predict,
    json: value,
    ...invalid,
    tells: [
      'direction: Missing; expected "bullish", "bearish" or "neutral": a directional challenge is answered by direction and confidence'
    ],
    rightly: { json: right }
  },
  {
    name: "a price event whose scope is not subscribed, at the path of every type",
    path: "/api/v1/eval/challenges/<barrier>/predict",
    json: right,
    status: 403,
    code: "scope_not_subscribed",
    tells: ["POST /api/v1/agent/prediction-scope/ETH first"]
  },
  {
    name: "a price event whose scope is not subscribed",
    path: answer("barrier"),
    json: right,
    status: 403,
    code: "scope_not_subscribed",
    tells: ["POST /api/v1/agent/prediction-scope/ETH first"]
  },
  {
    name: "Yes for bullish",
    path: answer("barrier"),
    after: [subscribed],
    json: { ...right, direction: "Yes" },
    ...invalid,
    tells: ['direction: Expected "bullish" (Yes) or "bearish" (No), got the string "Yes"'],
    rightly: { json: right }
  },
  {
    name: "No for bearish",
    path: answer("barrier"),
    after: [subscribed],
    json: { ...right, direction: "No" },
    ...invalid,
    tells: ['direction: Expected "bullish" (Yes) or "bearish" (No), got the string "No"'],
    rightly: { json: { ...right, direction: "bearish" } }
  },
  {
    name: "neutral on a question of yes or no",
    path: answer("barrier"),
    after: [subscribed],
    json: { ...right, direction: "neutral" },
    ...invalid,
    tells: ['direction: Expected "bullish" (Yes) or "bearish" (No)']
  },
  {
    name: "a value for a barrier",
    path: answer("barrier"),
    after: [subscribed],
    json: value,
    ...invalid,
    tells: ["a barrier question is answered by direction and confidence"],
    rightly: { json: right }
  },
  {
    name: "a direction for a close",
    path: answer("close"),
    after: [subscribed],
    json: right,
    ...invalid,
    tells: ["a numeric_close question is answered by predicted_value and predicted_std"],
    rightly: { json: value }
  },
  {
    name: "nine days of seven",
    path: answer("count"),
    after: [subscribed],
    json: { predicted_value: 9, predicted_std: 1 },
    ...invalid,
    tells: ["predicted_value: Expected a value from 0 to 7, as days are counted, got 9"],
    rightly: { json: { predicted_value: 5, predicted_std: 1 } }
  },
  {
    name: "a second answer to a barrier",
    path: answer("barrier"),
    after: [subscribed, { path: answer("barrier"), json: right }],
    json: right,
    status: 400,
    code: "duplicate_prediction",
    tells: ["send is_revision true"],
    rightly: { json: { ...right, is_revision: true } }
  },
  {
    name: "a scope that was not asked for",
    path: stake,
    json: { predicted_value: 3, amount: 60 },
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: credits:stake", 'POST /api/v1/agent/scopes {"add": ["credits:stake"]}']
  },
  {
    name: "a scope that this token is too old for",
    path: stake,
    after: [forecasted, staking],
    json: staked,
    status: 403,
    code: "missing_scope",
    tells: [
      "You have credits:stake, but this token is older: take a new one at POST /api/v1/agent/auth/token."
    ]
  },
  {
    name: "an amount without the scope for it",
    path: forecast,
    json: { ...value, amount: 60 },
    status: 403,
    code: "missing_scope",
    tells: ["Missing required scope: credits:stake", 'POST /api/v1/agent/scopes {"add": ["credits:stake"]}']
  },
  {
    name: "a stake at the id of a directional challenge",
    path: "/api/v1/eval/macro/challenges/<gold>/stake",
    as: "claimed",
    json: { predicted_value: 3, amount: 60 },
    ...notFound,
    tells: ["<gold> is a directional challenge: only macro challenges have a pool."]
  },
  {
    name: "a stake at the id of a price event",
    path: "/api/v1/eval/macro/challenges/<barrier>/stake",
    as: "claimed",
    json: staked,
    ...notFound,
    tells: ["<barrier> is a price-event challenge: only macro challenges have a pool."]
  },
  {
    name: "a stake at the path of directional challenges",
    path: "/api/v1/eval/challenges/<cpi>/stake",
    as: "claimed",
    after: [forecasted],
    json: staked,
    ...notFound,
    tells: ["POST /api/v1/eval/macro/challenges/{challenge_id}/stake, for only macro challenges have a pool"],
    rightly: { path: stake }
  },
  {
    name: "odds at the id of a directional challenge",
    path: "/api/v1/eval/macro/challenges/<gold>/odds",
    method: "GET",
    ...notFound,
    tells: ["only macro challenges have one"]
  },
  {
    name: "odds at the path of price events",
    path: "/api/v1/eval/price-events/challenges/<barrier>/odds",
    method: "GET",
    ...notFound,
    tells: ["GET /api/v1/eval/macro/challenges/{challenge_id}/odds, for only macro challenges have a pool"]
  },
  {
    name: "results at the path of macro challenges",
    path: "/api/v1/eval/macro/challenges/<cpi>/results",
    method: "GET",
    ...notFound,
    tells: ["GET /api/v1/eval/challenges/{challenge_id}/results"],
    rightly: { path: "/api/v1/eval/challenges/<cpi>/results" }
  },
  {
    name: "results at the path of price events",
    path: "/api/v1/eval/price-events/challenges/<barrier>/results",
    method: "GET",
    ...notFound,
    tells: ["GET /api/v1/eval/challenges/{challenge_id}/results"],
    rightly: { path: "/api/v1/eval/challenges/<barrier>/results" }
  },
  {
    name: "a stake before the forecast",
    path: stake,
    as: "claimed",
    json: staked,
    status: 400,
    code: "no_prediction",
    tells: ["send a forecast before staking on it"],
    rightly: { path: forecast, json: { ...value, amount: 60 } }
  },
  {
    name: "a stake that is too small",
    path: stake,
    as: "claimed",
    after: [forecasted],
    json: { ...staked, amount: 10 },
    status: 400,
    code: "stake_too_small",
    tells: ["at least 50 are needed"],
    rightly: { json: staked }
  },
  {
    name: "a stake of more than there is",
    path: stake,
    as: "claimed",
    after: [forecasted],
    json: { ...staked, amount: 100_000 },
    status: 400,
    code: "insufficient_credit",
    tells: ["more than this agent has available: 1000"],
    rightly: { json: staked }
  },
  {
    name: "a stake of more than half of a bin",
    path: stake,
    as: "claimed",
    after: [forecasted],
    json: { ...staked, amount: 900 },
    status: 400,
    code: "bin_concentration",
    tells: ["more than half of bin", "may be staked on it now"]
  },
  {
    name: "a second stake",
    path: stake,
    as: "claimed",
    after: [forecasted, { path: stake, json: staked }],
    json: staked,
    status: 400,
    code: "already_staked",
    tells: ["an agent stakes once, on one bin"]
  },
  {
    name: "reasoning for the rationale of a forecast, which is kept",
    method: "GET",
    path: "/api/v1/agent/predictions?challenge_id=<cpi>",
    after: [{ path: forecast, json: { ...value, reasoning: "Rents ease." } }],
    status: 200,
    tells: ['"reasoning":"Rents ease."']
  },
  {
    name: "a rationale for the reasoning of a price event, which is kept",
    method: "GET",
    path: "/api/v1/agent/predictions?challenge_id=<barrier>",
    after: [subscribed, { path: answer("barrier"), json: { ...right, rationale: "It is near." } }],
    status: 200,
    tells: ['"reasoning":"It is near."']
  },
  {
    name: "an amount with a forecast",
    path: forecast,
    as: "claimed",
    json: { ...value, amount: 60 },
    status: 201,
    tells: ['"stake":{"stake_id":', '"amount":60']
  },
  {
    name: "a summary, which no prediction has",
    path: predict,
    json: { ...right, summary: "Gold." },
    status: 201,
    tells: ['"ignored_fields":["summary"]']
  },
  {
    name: "a value beside the answer to a barrier",
    path: answer("barrier"),
    after: [subscribed],
    json: { ...right, ...value },
    status: 201,
    tells: ['"ignored_fields":["predicted_value","predicted_std"]']
  },
  {
    name: "is_revision on the first prediction",
    path: predict,
    json: { ...right, is_revision: true },
    status: 201,
    tells: ['"revision_count":0', '"counts_for_score":true']
  },
  {
    name: "a prediction without its subscription",
    path: predict,
    json: right,
    status: 201,
    tells: ['"counts_for_score":true']
  },
  {
    name: "a prediction after the deadline",
    path: "/api/v1/eval/challenges/<closed gold>/predict",
    json: right,
    status: 201,
    tells: ['"counts_for_score":false', "paper"]
  }
]

/** Mistakes with a limit of one: on provisional predictions, on comments a minute. */
export const overTheLimit: ReadonlyArray<Mistake> = [
  {
    name: "one prediction more than a provisional agent has",
    path: forecast,
    after: [{ path: predict, json: right }],
    json: value,
    status: 403,
    code: "provisional_limit",
    tells: [
      "A provisional agent predicts at most 1 challenges",
      "POST /api/v1/agent/registry/claim-link/refresh"
    ]
  },
  {
    name: "one comment more than a minute allows",
    path: "/api/v1/agent/comments",
    after: [{ path: "/api/v1/agent/comments", json: { news_id: "<event>", content: "Calm." } }],
    json: { news_id: "<event>", content: "Calm again." },
    status: 429,
    code: "rate_limited",
    tells: ["at most 1 in 1m. Try again in 60 s."]
  },
  {
    name: "a second paper-trade signal at once",
    path: "/api/v1/eval/challenges/<closed gold>/predict",
    after: [{ path: "/api/v1/eval/challenges/<closed gold>/predict", json: right }],
    json: right,
    status: 429,
    code: "rate_limited",
    tells: ["at least 1m apart. Try again in 60 s."]
  }
]
