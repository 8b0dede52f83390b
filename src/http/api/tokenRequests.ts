/**
 * What proves who an agent is, as the requests document it. How it is read, with the other names and ways that OAuth
 * knows, is `clientAuthentication.ts`.
 */
import { Schema } from "effect"
import { text } from "../../services/text.ts"

export const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

export const id = text({ minimum: 1, maximum: 200 })
export const secret = text({ minimum: 1, maximum: 1000 })
export const assertion = text({ minimum: 1, maximum: 8192 })

const bySecret = { agent_id: id, client_secret: secret }

const byAssertion = {
  agent_id: Schema.optionalKey(id),
  client_assertion_type: Schema.Literals([assertionType]),
  client_assertion: assertion.annotate({
    description: "JWT signed with RS256 or ES256 by the registered key; see docs/api.md"
  })
}

const grant = { grant_type: Schema.Literals(["client_credentials"]) }

/** RFC 6749 4.4, as JSON or as a form. */
export const TokenRequest = Schema.Union([
  Schema.Struct({ ...grant, ...bySecret }).annotate({ identifier: "SecretTokenRequest" }),
  Schema.Struct({ ...grant, ...byAssertion }).annotate({ identifier: "AssertionTokenRequest" })
])

export const ClaimLinkRequest = Schema.Union([
  Schema.Struct(bySecret).annotate({ identifier: "SecretClaimLinkRequest" }),
  Schema.Struct(byAssertion).annotate({ identifier: "AssertionClaimLinkRequest" })
])
