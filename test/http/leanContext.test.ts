import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpClient, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { beginsLean } from "../../src/http/leanContext.ts"

class Ours extends Context.Service<Ours, string>()("auspex/services/Ours") {}
class OurLayer extends Context.Service<OurLayer, string>()("auspex/layers/OurLayer") {}
class OfHttp extends Context.Service<OfHttp, string>()("auspex/http/OfHttp") {}
class Theirs extends Context.Service<Theirs, string>()("elsewhere/Theirs") {}

const carried = HttpRouter.add(
  "GET",
  "/carried",
  Effect.map(Effect.context<never>(), ({ mapUnsafe }) => HttpServerResponse.jsonUnsafe([...mapUnsafe.keys()]))
)

const site = HttpRouter.serve(carried, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.updateService(HttpServer.HttpServer, beginsLean),
  Layer.provideMerge(NodeHttpServer.layerTest),
  Layer.provide([
    Layer.succeed(Ours, "a service"),
    Layer.succeed(OurLayer, "a layer"),
    Layer.succeed(OfHttp, "of HTTP"),
    Layer.succeed(Theirs, "of a library")
  ])
)

describe("a request", () => {
  it.effect("carries none of our services, and all else", () =>
    Effect.gen(function* () {
      const keys = yield* Effect.flatMap(HttpClient.get("/carried"), (response) => response.json)
      assert.isArray(keys)
      const known = [Ours, OurLayer, OfHttp, Theirs].map(({ key }) => key)
      assert.deepStrictEqual(
        known.filter((key) => Array.isArray(keys) && keys.includes(key)),
        [OfHttp.key, Theirs.key]
      )
    }).pipe(Effect.provide(site))
  )
})
