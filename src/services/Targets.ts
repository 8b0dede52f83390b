/**
 * Targets: the scope keys that can be predicted, each in its category. The ten keys of the interface are subscribed
 * to; macro series need no subscription.
 */
import { Context, Effect, Option, Schema } from "effect"
import { plainDecimal } from "../scoring/wording.ts"
import { InvalidRequest } from "./domain/errors.ts"
import type { NotFound } from "./domain/errors.ts"
import { nearest } from "./domain/nearest.ts"
import { isTargetKey } from "./domain/ids.ts"
import type { AgentId } from "./domain/ids.ts"

export const Category = Schema.Literals(["commodities", "equity", "rates", "economics", "crypto"])
export type Category = typeof Category.Type

export const Target = Schema.Struct({
  key: Schema.String,
  name: Schema.String,
  category: Category,
  kind: Schema.Literals(["asset", "macro"]),
  subscribable: Schema.Boolean,
  paused: Schema.Boolean,
  dead_zone_pct: Schema.NullOr(Schema.Finite).annotate({
    description: "percent; what new challenges freeze, and what challenges without a frozen one settle by"
  })
}).annotate({ identifier: "Target" })
export type Target = typeof Target.Type

export const TargetCatalog = Schema.Struct({
  categories: Schema.Array(Schema.Struct({ category: Category, targets: Schema.Array(Target) }))
}).annotate({ identifier: "TargetCatalog" })
export type TargetCatalog = typeof TargetCatalog.Type

/** Further crypto assets that an operator has, beside those of the interface. */
export interface MoreAsset {
  readonly key: string
  readonly name: string
}

/** `SOL:Solana,LTC:Litecoin`. */
export const parseMoreAssets = (text: string): Option.Option<ReadonlyArray<MoreAsset>> =>
  Option.all(
    text.split(",").map((part) => {
      const [key = "", name = "", ...more] = part.split(":").map((each) => each.trim())
      return isTargetKey(key) && name !== "" && name.length <= 40 && more.length === 0
        ? Option.some({ key, name })
        : Option.none()
    })
  )

/** The move, in percent, within which a price counts as flat; below 100 by the digits that it is frozen with, too. */
export const DeadZone = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0),
  Schema.makeFilter(
    (percent: number) => (Number(plainDecimal(percent)) < 100 ? undefined : "Expected a value less than 100"),
    { toJsonSchema: () => ({ exclusiveMaximum: 100 }) }
  )
)

/** What an admin may change of a target. Challenges that exist keep what they froze. */
export const TargetChange = Schema.Struct({
  paused: Schema.optionalKey(Schema.Boolean),
  dead_zone_pct: Schema.optionalKey(DeadZone)
})
export type TargetChange = typeof TargetChange.Type

export class Targets extends Context.Service<
  Targets,
  {
    readonly catalog: Effect.Effect<TargetCatalog>
    /** The keys that can be subscribed to. */
    readonly scopes: Effect.Effect<ReadonlyArray<string>>
    readonly get: (key: string) => Effect.Effect<Target, NotFound>
    /** Fails where a key is no asset: it says which ones there are, or where values of a macro series are. */
    readonly checkAsset: (key: string) => Effect.Effect<void, NotFound>
    /** Fails where a list is filtered by what is no target, or none of this kind: it names those that there are. */
    readonly checkFilter: (
      asset: string | undefined,
      kind?: Target["kind"]
    ) => Effect.Effect<void, InvalidRequest>
    readonly change: (key: string, change: TargetChange) => Effect.Effect<Target, NotFound | InvalidRequest>
    readonly subscriptions: (agentId: AgentId) => Effect.Effect<ReadonlyArray<string>>
    /** Idempotent. */
    readonly subscribe: (agentId: AgentId, key: string) => Effect.Effect<void, NotFound>
    /** No-op when not subscribed. */
    readonly unsubscribe: (agentId: AgentId, key: string) => Effect.Effect<void, NotFound>
  }
>()("auspex/services/Targets") {}

type Named = Pick<Target, "key" | "name">

/** The key that was probably meant by what is none: of a name, or of a pair such as BTC-USD. */
export const meantTarget = (asset: string, targets: ReadonlyArray<Named>): string | undefined => {
  const named = new Map(targets.flatMap(({ key, name }) => [key, name].map((word) => [word, key])))
  return [asset, ...asset.split(/[^A-Za-z]+/)]
    .map((word) => named.get(nearest(word, named.keys()) ?? ""))
    .find((key) => key !== undefined)
}

/** What may be named instead. */
export const expectedTarget = (asset: string, targets: ReadonlyArray<Named>): string => {
  const meant = meantTarget(asset, targets)
  const question = meant === undefined ? "" : ` (did you mean ${meant}?)`
  const keys = targets.map(({ key }) => key).join(", ")
  return `Expected one of ${keys}${question}`
}

/** An asset that is none of these targets, and what may be named instead. */
export const noTarget = (path: string, asset: string, targets: ReadonlyArray<Named>): InvalidRequest => {
  const expected = expectedTarget(asset, targets).replace(/^E/, "e")
  return InvalidRequest.of(path, `${JSON.stringify(asset.slice(0, 40))} is not a target: ${expected}`)
}

/** Fails with what may be named instead of an asset that is no target. */
export const unknownAsset = (targets: Targets["Service"], asset: string) =>
  Effect.flatMap(targets.catalog, ({ categories }) =>
    noTarget(
      "asset",
      asset,
      categories.flatMap((each) => each.targets)
    )
  )
