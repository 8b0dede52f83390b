/**
 * The minimum cost of a gateway on this platform. The body is buffered and parsed, since a gateway must know the model, and all bytes
 * pass unchanged through undici's `dispatch`.
 */
import { createServer } from "node:http"
import { Pool } from "undici"

const provider = `http://127.0.0.1:${process.argv[2]}`
const pool = new Pool(provider, { connections: 256, pipelining: 1 })
const headers = { "content-type": "application/json", authorization: "Bearer provider-key" }

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const body = Buffer.concat(chunks)
    const { model } = JSON.parse(body.toString())
    if (typeof model !== "string") return void response.writeHead(400).end()
    pool.dispatch(
      { path: request.url ?? "/", method: "POST", headers, body },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, status, received) => {
          const { "content-length": length, "content-type": type } = received
          response.writeHead(status, {
            ...(typeof type === "string" && { "content-type": type }),
            ...(typeof length === "string" && { "content-length": length })
          })
        },
        onResponseData: (controller, chunk) => {
          if (response.write(chunk)) return
          controller.pause()
          response.once("drain", () => controller.resume())
        },
        onResponseEnd: () => void response.end(),
        onResponseError: () => void response.destroy()
      }
    )
  })
})
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.send?.({ port: typeof address === "object" && address !== null ? address.port : 0 })
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
