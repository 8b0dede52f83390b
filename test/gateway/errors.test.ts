/** Errors in the form that clients of each style read. */
import { assert, describe, it } from "@effect/vitest"
import { errorBody, streamError } from "../../src/layers/gateway/errors.ts"
import type { ShownError } from "../../src/layers/gateway/types.ts"

const error = (status: number, param: string | null = null): ShownError => ({
  status,
  message: "It went wrong.",
  code: "it_went_wrong",
  param,
  requestId: "req-1"
})

describe("An error", () => {
  it("An error of OpenAI's style is { error: { message, type, code, param } } with detail and code beside", () => {
    assert.deepStrictEqual(JSON.parse(errorBody("openai", error(400, "max_tokens"))), {
      error: {
        message: "It went wrong.",
        type: "invalid_request_error",
        code: "it_went_wrong",
        param: "max_tokens"
      },
      detail: "It went wrong.",
      code: "it_went_wrong"
    })
  })

  it("An error of Anthropic's style is { type, error: { type, message } } with detail and code beside", () => {
    assert.deepStrictEqual(JSON.parse(errorBody("anthropic", error(400))), {
      type: "error",
      error: { type: "invalid_request_error", message: "It went wrong." },
      request_id: "req-1",
      detail: "It went wrong.",
      code: "it_went_wrong"
    })
  })

  it("An error has the type that the style gives to its status", () => {
    const typesOf = (style: "openai" | "anthropic") =>
      [400, 401, 402, 403, 404, 413, 429, 502].map(
        (status) => JSON.parse(errorBody(style, error(status))).error.type
      )
    assert.deepStrictEqual(typesOf("openai"), [
      "invalid_request_error",
      "authentication_error",
      "insufficient_quota",
      "permission_error",
      "invalid_request_error",
      "invalid_request_error",
      "rate_limit_error",
      "server_error"
    ])
    assert.deepStrictEqual(typesOf("anthropic"), [
      "invalid_request_error",
      "authentication_error",
      "billing_error",
      "permission_error",
      "not_found_error",
      "request_too_large",
      "rate_limit_error",
      "api_error"
    ])
  })

  it("An error in a stream is its last event, and no [DONE] follows", () => {
    const text = (style: "openai" | "anthropic") => Buffer.from(streamError(style, error(502))).toString()
    assert.match(text("openai"), /^data: \{"error":\{.*\}\n\n$/)
    assert.match(text("anthropic"), /^event: error\ndata: \{"type":"error".*\}\n\n$/)
  })
})
