import { Effect, Layer } from "effect"
import { Claims } from "../../../services/Claims.ts"
import { makeClaimLinks } from "./claims/claimLinks.ts"
import { makeGrace } from "./claims/grace.ts"
import { makeMailClaims } from "./claims/mailClaims.ts"
import { makeOwnership } from "./claims/ownership.ts"

const make = Effect.gen(function* () {
  const ownership = yield* makeOwnership
  const links = yield* makeClaimLinks(ownership)
  const mails = yield* makeMailClaims(ownership)
  const { remindDue } = yield* makeGrace(mails)
  return Claims.of({
    ...links,
    inviteOperator: mails.inviteOperator,
    viewMailClaim: mails.viewMailClaim,
    claimByMail: mails.claimByMail,
    notMine: mails.notMine,
    remindDue,
    confirmRanks: ownership.confirmRanks
  })
})

export const layer = Layer.effect(Claims, make)
