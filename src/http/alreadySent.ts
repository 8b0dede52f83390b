import { HttpServerResponse } from "effect/http"

const byStatus = new Map<number, HttpServerResponse.HttpServerResponse>()

/** What a handler answers that has written to the connection itself, headers included: all that is left is to count it. */
export const alreadySent = (status: number): HttpServerResponse.HttpServerResponse => {
  const response = byStatus.get(status) ?? HttpServerResponse.empty({ status })
  byStatus.set(status, response)
  return response
}

export const isAlreadySent = (response: HttpServerResponse.HttpServerResponse): boolean =>
  byStatus.get(response.status) === response
