/** The public log of the track record: where a prediction stands in it, and proofs that can be checked offline. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { LogEntry } from "../../services/TransparencyLog.ts"
import { NotFound } from "../../services/domain/errors.ts"
import { AddressLimit, HttpCaching, RequestBody } from "./middleware.ts"
import { NotSequencedResponse } from "../errors.ts"

const commit = {
  commit: Schema.String.annotate({
    description: "the commit of a prediction's receipt: 64 hexadecimal digits"
  })
}

const proof = Schema.String.annotate({
  description: "a proof in the format of c2sp.org/tlog-proof; `npm run verify` checks it offline"
}).pipe(HttpApiSchema.asText())

export class LogApi extends HttpApiGroup.make("log")
  .add(
    HttpApiEndpoint.get("entry", "/log/entries/:commit", {
      params: commit,
      success: LogEntry,
      error: [NotFound, NotSequencedResponse]
    }).annotate(OpenApi.Summary, "Where a prediction stands in the public log"),
    HttpApiEndpoint.get("proof", "/log/proof/:commit", {
      params: commit,
      success: proof,
      error: [NotFound, NotSequencedResponse]
    }).annotate(
      OpenApi.Summary,
      "That a prediction is in the public log; from its deadline on, what it says"
    ),
    HttpApiEndpoint.get("entryProof", "/log/proof/entry/:leaf_index", {
      params: { leaf_index: Schema.String },
      success: proof,
      error: [NotFound, NotSequencedResponse]
    }).annotate(OpenApi.Summary, "That an entry is in the public log, by its index"),
    HttpApiEndpoint.get("settlementProof", "/log/settlement/:challenge_id", {
      params: { challenge_id: Schema.String },
      success: proof,
      error: [NotFound, NotSequencedResponse]
    }).annotate(
      OpenApi.Summary,
      "That the end of a challenge is in the public log: its settlement, or that it is void"
    )
  )
  .middleware(RequestBody)
  .middleware(HttpCaching)
  .middleware(AddressLimit)
  .prefix("/api/v1")
  .annotate(OpenApi.Title, "Public log")
  .annotate(
    OpenApi.Description,
    "The log itself is served below /log as c2sp.org/tlog-tiles says: /log/checkpoint, /log/key, /log/tile/<L>/<N>[.p/<W>] and /log/tile/entries/<N>[.p/<W>]. Checkpoints with an RFC 3161 time stamp are listed by size at /log/timestamps, newest first; /log/timestamp/<size> is the authority's answer, and /log/timestamp/<size>/text what it stamped."
  ) {}
