/** The language-model gateway, as clients of either style call it; not of the HttpApi, whose errors have one shape. */
export const gatewayPaths = {
  chat: "/api/v1/llm/v1/chat/completions",
  messages: "/api/v1/llm/v1/messages",
  countTokens: "/api/v1/llm/v1/messages/count_tokens",
  models: "/api/v1/llm/v1/models",
  model: "/api/v1/llm/v1/models/*"
} as const
