import { Schema } from "effect"

/** The message says what is wrong, where, and what would be right; it is all an operator gets to see. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()(
  "EmbeddedPostgresError",
  { message: Schema.String, cause: Schema.optionalKey(Schema.Defect()) }
) {}
