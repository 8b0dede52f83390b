/** Rejections by providers: read in many shapes, and shown without the operator's secrets. */
import { assert, describe, it } from "@effect/vitest"
import { rejectionIn } from "../../src/layers/gateway/rejection.ts"
import { testProvider } from "../support/upstream.ts"

const rejectionOf = (body: unknown) =>
  rejectionIn(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)), testProvider)

const error = (message: string, more: object = {}) => ({ error: { message, ...more } })

describe("A rejection by a provider", () => {
  const shapes: ReadonlyArray<readonly [name: string, body: unknown, message: string, param: string | null]> =
    [
      ["chat completions", error("Too hot.", { param: "temperature" }), "Too hot.", "temperature"],
      ["messages", { type: "error", ...error("Too hot.") }, "Too hot.", null],
      ["an error that is a text", { error: "Too hot." }, "Too hot.", null],
      [
        "Gemini's compatible address",
        [error("Too hot.", { code: 400, status: "INVALID_ARGUMENT" })],
        "Too hot.",
        null
      ],
      [
        "vLLM",
        { object: "error", message: "Too hot.", param: "temperature", code: 400 },
        "Too hot.",
        "temperature"
      ],
      [
        "FastAPI",
        {
          detail: [
            { loc: ["body", "messages", 0, "role"], msg: "Field required", type: "missing" },
            { loc: ["body", "model"], msg: "Field required", type: "missing" }
          ]
        },
        "messages.0.role: Field required; model: Field required",
        "messages.0.role"
      ],
      ["a detail that is a text", { detail: "Too hot." }, "Too hot.", null],
      [
        "Mistral",
        { object: "error", message: { detail: [{ loc: ["body", "top_p"], msg: "Too high" }] } },
        "top_p: Too high",
        "top_p"
      ],
      [
        "OpenRouter, of the provider behind it",
        error("Provider returned error", { metadata: { raw: JSON.stringify(error("Too hot.")) } }),
        "Too hot.",
        null
      ]
    ]
  it.each(shapes)("A rejection says what is wrong in the shape of %s", (_, body, message, param) => {
    assert.deepInclude(rejectionOf(body), { message, param, accountFault: undefined, isTooLong: false })
  })

  it("A rejection in an unknown shape says no more than that there was one", () => {
    for (const body of [
      "",
      "<html>",
      {},
      [],
      [7],
      { error: {} },
      { error: { message: 7 } },
      { detail: [7] }
    ]) {
      assert.deepInclude(rejectionOf(body), {
        message: "The provider refused the request.",
        param: null,
        code: null
      })
    }
  })

  it("A rejection keeps the provider's code and type if they are a word, and is cut at 1 000 characters", () => {
    assert.deepInclude(rejectionOf(error("No.", { code: "content_filter", type: "policy_error" })), {
      code: "content_filter",
      type: "policy_error"
    })
    assert.deepInclude(rejectionOf(error("No.", { code: "a text of words", type: 7 })), {
      code: null,
      type: null
    })
    assert.strictEqual(rejectionOf(error("x".repeat(50_000))).message.length, 1000)
  })

  it.each([
    error("Your input is too long.", { code: "context_length_exceeded" }),
    error("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."),
    error("prompt is too long: 210000 tokens > 200000 maximum"),
    error("input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000"),
    [error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).")],
    error("Please reduce the length of the messages or completion."),
    { object: "error", message: "the request exceeds the available context size", code: 400 }
  ])("A prompt that is too long has one code at all providers: %j", (body) => {
    assert.deepInclude(rejectionOf(body), { isTooLong: true, code: "context_length_exceeded" })
  })

  const faults: ReadonlyArray<readonly [fault: string, body: unknown]> = [
    [
      "credit",
      error("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.")
    ],
    ["credit", error("Insufficient Balance", { code: "invalid_request_error" })],
    ["credit", error("Billing hard limit has been reached", { code: "billing_hard_limit_reached" })],
    [
      "limit",
      error("You have reached your specified API usage limits. You will regain access on 2026-12-01.")
    ],
    ["limit", error("Request too large on tokens per minute (TPM)", { code: "rate_limit_exceeded" })],
    ["key", [error("API key not valid. Please pass a valid API key.", { status: "INVALID_ARGUMENT" })]],
    ["key", error("No.", { details: [{ reason: "API_KEY_INVALID" }] })],
    ["key", error("Incorrect API key provided: xa***9. You can obtain one at the console.")],
    ["standing", error("Your organization must be verified to stream this model.", { param: "stream" })],
    ["standing", error("This organization has been disabled.")],
    ["standing", error("Access denied, please make sure your account is in good standing.")],
    ["region", error("User location is not supported for the API use.")]
  ]
  it.each(faults)(
    "A rejection of the operator's account is not the caller's fault: %s, %j",
    (fault, body) => {
      assert.strictEqual(rejectionOf(body).accountFault, fault)
    }
  )

  it.each([
    "messages.0.content: Input should be a valid string",
    "Invalid value: 'my credit balance is too low'. Supported values are: 'auto'.",
    'Unknown role "API key not valid", don\'t use it',
    "This model does not support `stream` in your account's project",
    "Request blocked by our content policy"
  ])("A rejection that quotes the caller's words is the caller's fault: %s", (message) => {
    assert.strictEqual(rejectionOf(error(message)).accountFault, undefined)
  })

  it("A rejection is shown without the provider's key and address, and without identifiers of its account", () => {
    const { message, param } = rejectionOf(
      error(
        "Refused for org-AbC123secret456 and proj_9xYz12345678 of user-abcdefghijklmnop1 at https://north.example/v1 with the-key-of-north, sk-proj-abc***XYZ9 and projects/884422.",
        { param: "org-AbC123secret456" }
      )
    )
    assert.strictEqual(
      message,
      "Refused for [account] and [account] of [account] at https://[provider]/v1 with [key], [account] and [account]."
    )
    assert.strictEqual(param, "[account]")
    const harmless = "The organization-wide user-agent of a project_number in the org-chart"
    assert.strictEqual(rejectionOf(error(harmless)).message, harmless)
  })
})
