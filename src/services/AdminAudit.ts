/** The append-only record of administrators' calls. */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidRequest } from "./domain/errors.ts"
import { pageSchema } from "./domain/paging.ts"
import type { Page, PageOf } from "./domain/paging.ts"
import { Timestamp } from "./domain/text.ts"

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  at: Timestamp,
  action: Schema.String.annotate({ description: "the operation, for example challenges.cancel" }),
  path: Schema.String,
  request_id: Schema.String,
  body: Schema.Unknown.annotate({ description: "what was sent, cut to 16 000 characters" }),
  status: Schema.NullOr(Schema.Int).annotate({
    description:
      "what it was answered with; null while it is under way, and for ever if nobody could record how it ended"
  })
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type

export const AuditEntries = pageSchema(AuditEntry)

export class AdminAudit extends Context.Service<
  AdminAudit,
  {
    /** Answers once the entry is stored: only then may the call begin. */
    readonly begin: (call: {
      readonly action: string
      readonly path: string
      readonly requestId: string
      readonly body: string
    }) => Effect.Effect<string>
    /** Records the outcome of a call. */
    readonly complete: (id: string, status: number) => Effect.Effect<void>
    /** Records in the public log the length of the record and its hash, if it has grown since the last time. */
    readonly logHead: Effect.Effect<void>
    /** The list is newest first. */
    readonly list: (page: Page) => Effect.Effect<PageOf<AuditEntry>, InvalidRequest>
  }
>()("auspex/services/AdminAudit") {}
