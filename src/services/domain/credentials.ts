/** The authentication methods of agents, and the answers to a rotation of a secret. */
import { Schema } from "effect"
import { AgentId } from "./ids.ts"

export const AuthMethod = Schema.Literals(["client_credentials", "private_key_jwt"])

/** The answer to a rotation, which contains the new secret. */
export const RotatedSecret = Schema.Struct({ agent_id: AgentId, client_secret: Schema.String })
export type RotatedSecret = typeof RotatedSecret.Type

/** The fate of an agent's gateway keys when its secret is rotated. */
export const GatewayKeysAtRotation = Schema.Literals(["revoke", "keep"])
export type GatewayKeysAtRotation = typeof GatewayKeysAtRotation.Type

/** The answer to an owner or administrator: the rotation also ends webhooks and, if asked, gateway keys. */
export const SecretRotation = Schema.Struct({
  ...RotatedSecret.fields,
  revoked_gateway_keys: Schema.Int.annotate({ description: "how many gateway keys ended with the secret" }),
  disabled_webhooks: Schema.Int.annotate({ description: "how many of its webhooks were disabled with it" })
}).annotate({ identifier: "SecretRotation" })
export type SecretRotation = typeof SecretRotation.Type
