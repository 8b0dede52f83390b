/** The provider that every contender calls: it answers chat completions at once, or in 20 events every 5 ms. */
import { createServer } from "node:http"
import type { ServerResponse } from "node:http"

const model = "swift-1-0613"
const text = "The quick brown fox jumps over the lazy dog near the river bank. ".repeat(9).slice(0, 560)
const usage = { prompt_tokens: 25, completion_tokens: 50, total_tokens: 75 }

const whole = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1_700_000_000,
    model,
    system_fingerprint: "fp_bench",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: text, refusal: null },
        logprobs: null,
        finish_reason: "stop"
      }
    ],
    usage
  })
)

const event = (rest: object): string =>
  `data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model, ...rest })}\n\n`

const delta = (change: object, finish_reason: string | null = null): string =>
  event({ choices: [{ index: 0, delta: change, logprobs: null, finish_reason }] })

const events = 20
const gapMillis = 5
const pieces = Array.from({ length: events }, (_, index) => delta({ content: `token${index} ` }))
const first = delta({ role: "assistant", content: "" }) + (pieces[0] ?? "")
const last = `${delta({}, "stop")}${event({ choices: [], usage })}data: [DONE]\n\n`

const stream = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
  response.write(first)
  let sent = 1
  const timer = setInterval(() => {
    if (sent < events) response.write(pieces[sent])
    else {
      clearInterval(timer)
      response.end(last)
    }
    sent += 1
  }, gapMillis)
  response.on("close", () => clearInterval(timer))
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    // The body is searched rather than parsed, because parsing must not dominate the measurement.
    if (chunks.some((chunk) => chunk.includes('"stream":true'))) return stream(response)
    response.writeHead(200, { "content-type": "application/json", "content-length": whole.length })
    response.end(whole)
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
