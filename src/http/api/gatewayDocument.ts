/** Calls of models in the published document: what their bodies hold is the business of the two styles. */
import { gatewayPaths } from "../gateway/paths.ts"

/** x-api-key is taken, too. */
const security = [{ bearer: [] }]

const open = (description: string) => ({
  content: { "application/json": { schema: { type: "object", description } } }
})

const errorBody = {
  content: {
    "application/json": {
      schema: {
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
  }
}

const refusal = (description: string) => ({ description, ...errorBody })

const limited = {
  ...refusal("The key's limit, or all providers are busy"),
  headers: { "retry-after": { required: true, schema: { type: "integer" } } }
}

const callErrors = {
  "400": refusal("A body that cannot be sent on, or an unknown model"),
  "401": refusal("No key, a wrong or revoked one, or two different ones in the two headers"),
  "402": refusal("The agent's credit, or what the key may still spend, does not cover the call"),
  "403": refusal("The gateway is not enabled for the agent"),
  "413": refusal("A body of more than 10 MiB"),
  "415": refusal("A body that is not JSON"),
  "422": refusal("Refused by the provider"),
  "429": limited,
  "502": refusal("No provider of the model answered")
}

const called = (summary: string, operationId: string, body: string, answer: string, streams: boolean) => ({
  post: {
    tags: ["Language models"],
    operationId,
    summary,
    parameters: [],
    security,
    requestBody: { required: true, ...open(body) },
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
    security,
    responses: {
      "200": { description: answer, ...open(answer) },
      "401": callErrors["401"],
      "403": callErrors["403"],
      "429": limited,
      ...(parameters.length > 0 && { "404": refusal("No such model") })
    }
  }
})

const paths = {
  [gatewayPaths.chat]: called(
    "A chat completion, of any configured model",
    "gateway.chat",
    "a chat-completions request; model and messages are read, all else travels on",
    "a chat completion, or its events where stream is true",
    true
  ),
  [gatewayPaths.messages]: called(
    "A message, of any configured model",
    "gateway.messages",
    "a messages request; model, max_tokens and messages are read, all else travels on",
    "a message, or its events where stream is true",
    true
  ),
  [gatewayPaths.countTokens]: called(
    "Tokens of a prompt, counted here",
    "gateway.countTokens",
    "a messages request without max_tokens",
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

const within = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {}

/** The document with the paths that are not of the HttpApi. */
export const withGatewayPaths = (document: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  ...document,
  paths: { ...within(document["paths"]), ...paths }
})
