import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { TransparencyLog } from "../../services/TransparencyLog.ts"
import { Api } from "../api/Api.ts"

/** A file to keep, as the specification of proofs names it. */
const proofFile = (name: string) => (text: string) =>
  HttpServerResponse.text(text, {
    contentType: "text/plain; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${name.toLowerCase()}.tlog-proof"` }
  })

export const layer = HttpApiBuilder.group(
  Api,
  "log",
  Effect.fnUntraced(function* (handlers) {
    const log = yield* TransparencyLog
    return handlers.handleAll({
      entry: ({ params }) => log.entryOf(params.commit),
      proof: ({ params }) => Effect.map(log.proofOf(params.commit), proofFile(params.commit)),
      entryProof: ({ params: { leaf_index } }) =>
        Effect.map(log.proofAt(leaf_index), proofFile(`entry-${leaf_index}`)),
      settlementProof: ({ params }) =>
        Effect.map(log.settlementProof(params.challenge_id), proofFile(`settlement-${params.challenge_id}`))
    })
  })
)
