/** What a call of a model is read from and written to, whoever takes it: the router's handler, or the lane in front of it. */
import type { ServerResponse } from "node:http"
import { ByteSize } from "effect"
import type { Recipient, Style } from "../services/Gateway.ts"
import { securityHeaders } from "./everyRequest.ts"

export const largestBody = ByteSize.mebibytes(10)

type Headers = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export const versionHeaders = (headers: Headers): Readonly<Record<string, string>> => {
  const version = headers["anthropic-version"]
  const beta = headers["anthropic-beta"]
  return {
    ...(typeof version === "string" && { "anthropic-version": version }),
    ...(typeof beta === "string" && { "anthropic-beta": beta })
  }
}

export const answerHeaders = (style: Style, requestId: string): Readonly<Record<string, string>> => ({
  ...securityHeaders,
  "x-request-id": requestId,
  ...(style === "anthropic" && { "request-id": requestId }),
  "cache-control": "no-store"
})

/** Writes to the socket itself: a stream in between would cost more than everything else that is done to a frame. */
export const recipientOf = (
  response: ServerResponse,
  headers: Readonly<Record<string, string>>
): Recipient => ({
  whole: (contentType, bytes) => {
    if (response.destroyed) return
    response.writeHead(200, { ...headers, "content-type": contentType, "content-length": bytes.length })
    response.end(bytes)
  },
  begin: (contentType) => {
    if (!response.destroyed) response.writeHead(200, { ...headers, "content-type": contentType })
  },
  write: (bytes) => response.destroyed || response.write(bytes),
  whenDrained: (proceed) => void response.once("drain", proceed),
  abort: () => void response.destroy()
})
