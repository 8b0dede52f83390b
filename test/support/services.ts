/** Every service on a fresh database: `layer(testServices())("Arenas", (it) => ...)`. */
import { Layer, Option } from "effect"
import type { Redacted } from "effect"
import * as GatewayConfig from "../../src/layers/gateway/GatewayConfig.ts"
import * as Gateway from "../../src/layers/gateway/Gateway.ts"
import * as IdentityProvider from "../../src/layers/openid/IdentityProvider.ts"
import { servicesWith } from "../../src/layers/postgres/layer.ts"
import * as Payments from "../../src/layers/postgres/credit/Payments.ts"
import * as RubricJudge from "../../src/layers/registration/RubricJudge.ts"
import * as PaymentProvider from "../../src/layers/stripe/PaymentProvider.ts"
import { RegistrationJudge } from "../../src/services/RegistrationJudge.ts"
import { database, poolOn } from "./database.ts"
import { logSigner } from "./logSigner.ts"
import { mailbox } from "./mailbox.ts"
import { templates } from "./registrationEvents.ts"
import { settings } from "./settings.ts"

/** All services; rules judge answers to the public bank of registration events, which is read once for all layers. */
export const services = servicesWith(
  Layer.succeed(RegistrationJudge, RegistrationJudge.of(RubricJudge.make(templates)))
)

/** The gateway over composed services: it serves the models of this file, or nothing. */
export const gatewayOf = (file: Option.Option<string> = Option.none()) =>
  Gateway.layer.pipe(Layer.provideMerge(Layer.orDie(GatewayConfig.layer(file))))

export const testServices = (environment: Readonly<Record<string, string>> = {}) =>
  gatewayOf().pipe(
    Layer.provideMerge(services),
    Layer.provideMerge(Layer.mergeAll(database, settings(environment), mailbox, logSigner()))
  )

/** Test services of this process beside real ones on the same database. */
export const servicesOn = (url: Redacted.Redacted) =>
  services.pipe(Layer.provideMerge(Layer.mergeAll(poolOn(url), settings(), mailbox, logSigner())))

/** No identity provider is configured; a test swaps in its own. */
export const noIdentityProvider = IdentityProvider.layer(Option.none())

/** Nothing is sold; a test that sells swaps in a provider of its own. */
export const nothingSold = Payments.layer.pipe(Layer.provide(PaymentProvider.layer(Option.none())))
