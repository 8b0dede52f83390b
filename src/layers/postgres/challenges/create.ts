/** Creates a challenge of any type: its kind and its type give the terms, and the rest is the same for all. */
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { noTerms } from "../../../scoring/kinds/kind.ts"
import { microCredits } from "../../../services/Credits.ts"
import type { ChallengeType, NewChallengeOf } from "../../../services/domain/Challenge.ts"
import { wholeSecond } from "../../../services/domain/text.ts"
import { Pools } from "../../../services/Pools.ts"
import { Targets, unknownAsset } from "../../../services/Targets.ts"
import { boundNow, transaction } from "../sql.ts"
import { makeDirectionalTerms } from "./directionalTerms.ts"
import { createChallenge } from "./lifecycle.ts"
import { makeMacroTerms } from "./macroTerms.ts"
import { makePriceEventTerms } from "./priceEventTerms.ts"
import { makeReferences } from "./reference.ts"
import { rowOf, textsOf } from "./rows.ts"
import type { DraftOf } from "./rows.ts"

export const makeCreate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const targets = yield* Targets
  const pools = yield* Pools
  const random = yield* SecureRandom.SecureRandom
  const references = yield* makeReferences
  const drafts: { readonly [Type in ChallengeType]: DraftOf<Type> } = {
    directional: yield* makeDirectionalTerms,
    macro: yield* makeMacroTerms,
    price_event: yield* makePriceEventTerms
  }

  /** Returns the id of the new challenge. */
  return <Type extends ChallengeType>(type: Type, requested: NewChallengeOf<Type>) =>
    Effect.gen(function* () {
      const wanted = { ...requested, deadline: wholeSecond(requested.deadline) }
      const target = yield* targets
        .get(wanted.asset)
        .pipe(Effect.catch(() => unknownAsset(targets, wanted.asset)))
      const now = yield* boundNow(sql)
      const { scale, ...terms } = yield* drafts[type](wanted, target, now)
      const id = yield* random.uuidV7()
      const unworded = {
        ...noTerms,
        event_id: null,
        ...terms,
        challenge_id: id,
        challenge_type: type,
        asset: target.key,
        created_at: now,
        deadline: wanted.deadline
      }
      const { question, ...criteria } = textsOf(unworded, target.name, scale)
      const created = { ...unworded, ...criteria, question: wanted.question ?? question }
      const recorded = createChallenge(sql, created, yield* references.freeze(rowOf(unworded, scale)))
      const { reward_pool: pool } = created
      // The statement that creates a challenge with a pool opens the pool's account.
      yield* pool === null
        ? recorded
        : transaction(sql)(Effect.andThen(recorded, pools.fund(id, microCredits(Number(pool)))))
      return id
    })
})
