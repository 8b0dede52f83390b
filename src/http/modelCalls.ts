/** What a call of a model is read from and written to, whoever takes it: the router's handler, or the lane in front of it. */
import type { ServerResponse } from "node:http"
import { ByteSize } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Answer, Recipient, Style } from "../services/Gateway.ts"
import { securityHeaders } from "./everyRequest.ts"

export const largestBody = ByteSize.mebibytes(10)

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const noVersions = {}

export const versionHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const version = headers["anthropic-version"]
  const beta = headers["anthropic-beta"]
  if (version === undefined && beta === undefined) return noVersions
  return {
    ...(typeof version === "string" && { "anthropic-version": version }),
    ...(typeof beta === "string" && { "anthropic-beta": beta })
  }
}

const sameForAll = [...Object.entries(securityHeaders).flat(), "cache-control", "no-store"]

/** Names and values in turn: what Node writes as it stands. */
const headersOf = (style: Style, requestId: string, contentType: string): Array<string> => {
  const headers = [...sameForAll, "x-request-id", requestId, "content-type", contentType]
  if (style === "anthropic") headers.push("request-id", requestId)
  return headers
}

/** An error, for those who answer with what the router knows. */
export const responseOf = ({ body, headers, status }: Answer) =>
  HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })

/** Writes to the socket itself: a stream in between would cost more than everything else that is done to a frame. */
export const recipientOf = (response: ServerResponse, style: Style, requestId: string): Recipient => ({
  whole: (contentType, bytes) => {
    if (response.destroyed) return
    const headers = headersOf(style, requestId, contentType)
    headers.push("content-length", String(bytes.length))
    response.writeHead(200, headers)
    response.end(bytes)
  },
  begin: (contentType) => {
    if (!response.destroyed) response.writeHead(200, headersOf(style, requestId, contentType))
  },
  write: (bytes) => response.destroyed || response.write(bytes),
  whenDrained: (proceed) => void response.once("drain", proceed),
  abort: () => void response.destroy()
})
