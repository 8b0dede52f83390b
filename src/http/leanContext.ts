/**
 * What a request carries with it. Effect copies a fiber's context several times for each request: it merges in that of the
 * API's group and lays a few services over it. That of the whole service has ninety members, and its copies were a third of
 * all that a request allocated. But ours hold what they need since they were built, so a request carries none of them.
 */
import { Context, Effect } from "effect"
import { HttpServer } from "effect/http"

const isOurs = (key: string) => key.startsWith("auspex/services/") || key.startsWith("auspex/layers/")

/**
 * A context without our services; what HTTP brings along, and Effect's own, stays. The compiler finds whoever asks for one of
 * ours in a request (`server.ts`), but not a `Reference`, which would have its default there: what requests read is named otherwise.
 */
export const lean = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => !isOurs(key))))

/** A server whose requests begin lean. */
export const beginsLean = (server: HttpServer.HttpServer["Service"]): HttpServer.HttpServer["Service"] =>
  HttpServer.make({
    address: server.address,
    serve: (httpEffect, middleware) =>
      Effect.updateContext(
        middleware === undefined ? server.serve(httpEffect) : server.serve(httpEffect, middleware),
        lean
      )
  })
