/** All pages, and the files that they refer to. */
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { staticDocument, untilNextStart } from "../../httpCaching.ts"
import * as Pages from "../siteLayer.ts"
import { assets, wellKnown } from "../assets/assets.ts"
import * as about from "./about.ts"
import * as account from "./account.ts"
import * as apiKeys from "./apiKeys.ts"
import * as notices from "./notices.ts"
import * as assetPages from "./assets.ts"
import * as archive from "./archive.ts"
import * as compare from "./compare.ts"
import * as methods from "./methods.ts"
import * as challenge from "./challenge.ts"
import * as challenges from "./challenges.ts"
import * as claim from "./claim.ts"
import * as credit from "./credit.ts"
import * as events from "./events.ts"
import * as feeds from "./feeds.ts"
import * as home from "./home.ts"
import * as leaderboard from "./leaderboard.ts"
import * as sharing from "./embeds.ts"
import * as search from "./search.ts"
import * as signIn from "./signIn.ts"
import * as status from "./status.ts"
import * as verify from "./verify.ts"
import * as agent from "./agent.ts"
import * as predictions from "./predictions.ts"

const headers = { "cache-control": "public, max-age=31536000, immutable" }

/** Immutable: the name holds a hash of the content. */
const assetFiles = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    for (const { bytes, contentType, path } of assets) {
      yield* router.add("GET", path, yield* staticDocument(Effect.succeed({ bytes, contentType, headers })))
    }
    for (const { bytes, contentType, path } of wellKnown) {
      const kept = { "cache-control": untilNextStart }
      yield* router.add(
        "GET",
        path,
        yield* staticDocument(Effect.succeed({ bytes, contentType, headers: kept }))
      )
    }
  })
)

export const layer = Layer.mergeAll(
  claim.layer,
  signIn.layer,
  account.layer,
  apiKeys.layer,
  notices.layer,
  credit.layer,
  archive.layer,
  home.layer,
  leaderboard.layer,
  compare.layer,
  methods.layer,
  agent.layer,
  predictions.layer,
  challenges.layer,
  challenge.layer,
  assetPages.layer,
  search.layer,
  sharing.layer,
  events.layer,
  feeds.layer,
  verify.layer,
  about.layer,
  status.layer
).pipe(Layer.provide(Pages.layer), Layer.provideMerge(assetFiles))
