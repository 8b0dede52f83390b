/** How OAuth clients find the token endpoint (RFC 8414). */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AddressLimit, RequestBody } from "../middleware/definitions.ts"

export const AuthorizationServer = Schema.Struct({
  issuer: Schema.String,
  token_endpoint: Schema.String.annotate({ description: "also the audience of a client_assertion" }),
  token_endpoint_auth_methods_supported: Schema.Array(Schema.String),
  token_endpoint_auth_signing_alg_values_supported: Schema.Array(Schema.String),
  grant_types_supported: Schema.Array(Schema.String),
  response_types_supported: Schema.Array(Schema.String),
  scopes_supported: Schema.Array(Schema.String),
  service_documentation: Schema.String
}).annotate({ identifier: "AuthorizationServer" })

export class DiscoveryApi extends HttpApiGroup.make("discovery")
  .add(
    HttpApiEndpoint.get("authorizationServer", "/.well-known/oauth-authorization-server", {
      success: AuthorizationServer
    }).annotate(OpenApi.Summary, "OAuth 2.0 authorization server metadata (RFC 8414)")
  )
  .middleware(RequestBody)
  .middleware(AddressLimit)
  .annotate(OpenApi.Title, "Discovery") {}
