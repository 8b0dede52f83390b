/** Every page, and the files that they refer to. */
import { Layer } from "effect"
import * as Pages from "../Pages.ts"
import * as account from "./account.ts"
import * as apiKeys from "./apiKeys.ts"
import * as archive from "./archive.ts"
import * as assets from "./assets.ts"
import * as claim from "./claim.ts"
import * as credit from "./credit.ts"
import * as event from "./event.ts"
import * as overview from "./overview.ts"
import * as record from "./challenge.ts"
import * as signIn from "./signIn.ts"
import * as verify from "./verify.ts"

export const layer = Layer.mergeAll(
  claim.layer,
  signIn.layer,
  account.layer,
  apiKeys.layer,
  credit.layer,
  archive.layer,
  event.layer,
  overview.layer,
  record.layer,
  verify.layer
).pipe(Layer.provide(Pages.layer), Layer.provideMerge(assets.layer))
