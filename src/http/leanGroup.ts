import { Effect, Layer } from "effect"
import type { Context, Scope } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { lean } from "./leanContext.ts"

/**
 * The handlers of a group of an API, as `HttpApiBuilder.group`. They take their services when they are built, and requests
 * carry none of them: Effect would merge the context that they were built in into that of every request.
 */
export const leanGroup = <
  ApiId extends string,
  Groups extends HttpApiGroup.Constraint,
  const Name extends HttpApiGroup.Identifier<Groups>,
  Return
>(
  api: HttpApi.HttpApi<ApiId, Groups>,
  name: Name,
  build: (
    handlers: HttpApiBuilder.Handlers.FromGroup<HttpApiGroup.WithIdentifier<Groups, Name>>
  ) => HttpApiBuilder.Handlers.ValidateReturn<Return>
): Layer.Layer<
  HttpApiGroup.Service<ApiId, Name>,
  HttpApiBuilder.Handlers.Error<Return>,
  Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
> =>
  Layer.effectContext(
    Effect.gen(function* () {
      type Needed = Exclude<HttpApiBuilder.Handlers.Context<Return>, Scope.Scope>
      const services = yield* Effect.context<Needed>()
      const withServices: typeof build = (handlers) => {
        const built: unknown = build(handlers)
        const provided = Effect.isEffect(built) ? Effect.provideContext(built, services) : built
        // It comes to the same handlers.
        return provided as ReturnType<typeof build>
      }
      return yield* Layer.build(HttpApiBuilder.group(api, name, withServices)).pipe(
        Effect.updateContext((context: Context.Context<Needed | Scope.Scope>) => lean(context))
      )
    })
  )
