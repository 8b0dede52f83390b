/** Every service on a fresh database: `layer(testServices())("Arenas", (it) => ...)`. */
import { Layer, Option } from "effect"
import * as IdentityProvider from "../../src/layers/openid/IdentityProvider.ts"
import { services } from "../../src/layers/postgres/layer.ts"
import * as Payments from "../../src/layers/postgres/Payments.ts"
import * as PaymentProvider from "../../src/layers/stripe/PaymentProvider.ts"
import { database } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { settings } from "./settings.ts"

export const testServices = (environment: Readonly<Record<string, string>> = {}) =>
  services.pipe(Layer.provideMerge(Layer.mergeAll(database, settings(environment), mailbox, logSigner())))

/** As when none is configured; a test swaps in its own. */
export const noIdentityProvider = IdentityProvider.layer(Option.none())

/** Nothing is sold; a test that sells swaps in a provider of its own. */
export const nothingSold = Payments.layer.pipe(Layer.provide(PaymentProvider.layer(Option.none())))
