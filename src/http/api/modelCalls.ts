/** Calls of models in the published document. Their bodies follow two styles that others specify. */
import { gatewayPaths } from "../gateway/clients.ts"

/** Either header carries the key. */
const byKey = [{ gatewayKey: [] }, { gatewayKeyHeader: [] }]

const open = (description: string, more: Readonly<Record<string, unknown>> = {}) => ({
  content: { "application/json": { schema: { type: "object", description, ...more } } }
})

const messages = {
  type: "array",
  minItems: 1,
  items: { type: "object" },
  description: "the conversation so far"
}
const tokens = { type: "integer", minimum: 1, description: "at most the model's max_output_tokens" }
const model = { type: "string", description: "a model of GET /llm/v1/models, or provider/model" }
const stream = { type: "boolean", description: "whether events are sent as they come" }

/** The members that the gateway reads; it forwards all others. */
const chatRequest = {
  properties: {
    model,
    messages,
    stream,
    stream_options: { type: "object", description: "include_usage: whether the last event tells the usage" },
    n: { type: "integer", minimum: 1, description: "answers that are asked for" },
    max_tokens: tokens,
    max_completion_tokens: tokens
  },
  required: ["model", "messages"],
  example: {
    model: "swift-1",
    max_tokens: 200,
    messages: [{ role: "user", content: "Will gold rise today?" }]
  }
}

const messagesRequest = {
  properties: {
    model,
    messages,
    stream,
    max_tokens: tokens,
    system: { description: "instructions: a text or blocks" }
  },
  required: ["model", "max_tokens", "messages"],
  example: chatRequest.example
}

const responsesRequest = {
  properties: {
    model,
    input: { description: "a text, or the items of the whole conversation: nothing is stored" },
    instructions: { type: "string" },
    stream,
    max_output_tokens: tokens
  },
  required: ["model", "input"],
  example: { model: "swift-1", max_output_tokens: 200, input: "Will gold rise today?" }
}

const embeddingsRequest = {
  properties: {
    model: { type: "string", description: "a model that has embeddings" },
    input: { description: "a text, tokens, or a list of at most 2048 of these" }
  },
  required: ["model", "input"],
  example: { model: "vectors-1", input: "Gold rose today." }
}

const countRequest = {
  properties: { model, messages, system: messagesRequest.properties.system },
  required: ["model", "messages"]
}

/** The schema of every error, by its name in the document. */
export const modelCallError = {
  ModelCallError: {
    type: "object",
    properties: {
      error: {
        type: "object",
        description: "as the style has it: message, type, and for chat completions code and param"
      },
      detail: { type: "string" },
      code: { type: "string" }
    },
    required: ["error", "detail", "code"]
  }
}

const errorBody = {
  content: { "application/json": { schema: { $ref: "#/components/schemas/ModelCallError" } } }
}

const failure = (description: string) => ({ description, ...errorBody })

const limited = {
  ...failure("The key's limit, or all providers are busy"),
  headers: { "retry-after": { required: true, schema: { type: "integer" } } }
}

const callErrors = {
  "400": failure("A body that cannot be sent on, or an unknown model"),
  "401": failure("No key, a wrong or revoked one, or two different ones in the two headers"),
  "402": failure(
    "The agent's credit, or what the key may still spend, does not cover the call, or only once calls under way have ended"
  ),
  "403": failure("The gateway is not enabled for the agent"),
  "413": failure("A body of more than 10 MiB"),
  "415": failure("A body that is not JSON"),
  "422": failure("Refused by the provider"),
  "429": limited,
  "502": failure("No provider of the model answered")
}

const keyNeeded = "Needs a gateway key of a claimed agent that may use the gateway."
const priced = "Costs credit by the token, at the model's price; what fails costs nothing."

const called = (
  summary: string,
  operationId: string,
  body: ReturnType<typeof open>,
  answer: string,
  streams: boolean
) => ({
  post: {
    tags: ["Language models"],
    operationId,
    summary,
    parameters: [],
    description: `${keyNeeded} ${priced}`,
    security: byKey,
    requestBody: { required: true, ...body },
    responses: {
      "200": {
        description: answer,
        content: {
          ...open(answer).content,
          ...(streams && { "text/event-stream": { schema: { type: "string" } } })
        }
      },
      ...callErrors
    }
  }
})

const read = (summary: string, operationId: string, parameters: ReadonlyArray<object>, answer: string) => ({
  get: {
    tags: ["Language models"],
    operationId,
    summary,
    parameters,
    description: `${keyNeeded} An access token will do.`,
    security: [...byKey, { oauth2: [] }],
    responses: {
      "200": { description: answer, ...open(answer) },
      "401": callErrors["401"],
      "403": callErrors["403"],
      "429": limited,
      ...(parameters.length > 0 && { "404": failure("No such model") })
    }
  }
})

/** The paths and operations of model calls, which are not part of the HttpApi. */
export const modelCalls = {
  [gatewayPaths.chat]: called(
    "A chat completion, of any configured model",
    "gateway.chat",
    open("a chat-completions request: what is not listed here travels on", chatRequest),
    "a chat completion, or its events where stream is true",
    true
  ),
  [gatewayPaths.responses]: called(
    "A response, of any configured model",
    "gateway.responses",
    open("a request for a response; what needs something to be stored is refused", responsesRequest),
    "a response, or its events where stream is true",
    true
  ),
  [gatewayPaths.embeddings]: called(
    "Embeddings of texts, by a model that has them",
    "gateway.embeddings",
    open("an embeddings request: what is not listed here travels on", embeddingsRequest),
    "a list of embeddings",
    false
  ),
  [gatewayPaths.messages]: called(
    "A message, of any configured model",
    "gateway.messages",
    open("a messages request: what is not listed here travels on", messagesRequest),
    "a message, or its events where stream is true",
    true
  ),
  [gatewayPaths.countTokens]: called(
    "Tokens of a prompt, counted here",
    "gateway.countTokens",
    open("a messages request without max_tokens", countRequest),
    "{ input_tokens }",
    false
  ),
  [gatewayPaths.models]: read(
    "Models and their prices",
    "gateway.models",
    [],
    "a list that clients of both styles read"
  ),
  [gatewayPaths.model.replace("*", "{model}")]: read(
    "A model and its price",
    "gateway.model",
    [
      {
        name: "model",
        in: "path",
        required: true,
        schema: { type: "string" },
        description: "slashes may be encoded"
      }
    ],
    "a model"
  )
}
