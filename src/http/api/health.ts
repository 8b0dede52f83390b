/** Health checks for load balancers and operators. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Readiness } from "../../services/Health.ts"

export class HealthApi extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("live", "/health/live", {
      success: Schema.Struct({ status: Schema.Literal("live") })
    }).annotate(OpenApi.Summary, "The process answers"),
    HttpApiEndpoint.get("ready", "/health/ready", {
      success: [Readiness, Readiness.pipe(HttpApiSchema.status(503))]
    }).annotate(
      OpenApi.Summary,
      "Database, migrations and clock are as they must be; 503 with reasons when not"
    )
  )
  .annotate(OpenApi.Title, "Health")
  .annotate(OpenApi.Description, "For load balancers.") {}
