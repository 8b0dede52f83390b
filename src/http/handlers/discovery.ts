import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { assertionAlgorithms } from "../../services/KeySets.ts"
import { allScopes } from "../../services/Scopes.ts"
import { Settings } from "../../services/Settings.ts"
import { tokenPath } from "../../services/Tokens.ts"
import { Api } from "../api/Api.ts"
import { documents } from "../routes.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "discovery",
  Effect.fnUntraced(function* (handlers) {
    const { baseUrl } = yield* Settings
    return handlers.handleAll({
      authorizationServer: () =>
        Effect.succeed({
          issuer: baseUrl,
          token_endpoint: baseUrl + tokenPath,
          token_endpoint_auth_methods_supported: [
            "client_secret_post",
            "client_secret_basic",
            "private_key_jwt"
          ],
          token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
          grant_types_supported: ["client_credentials"],
          // Required by RFC 8414, and empty: there is no authorization endpoint.
          response_types_supported: [],
          scopes_supported: allScopes,
          service_documentation: baseUrl + documents.docs
        })
    })
  })
)
