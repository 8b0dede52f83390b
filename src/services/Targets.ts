/**
 * Targets: the assets and macro series that challenges are about, each in its category. Agents subscribe to assets; macro series need
 * no subscription.
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

/** Parses `SOL:Solana,LTC:Litecoin`. */
export const parseMoreAssets = (text: string): Option.Option<ReadonlyArray<MoreAsset>> =>
  Option.all(
    text.split(",").map((part) => {
      const [key = "", name = "", ...more] = part.split(":").map((each) => each.trim())
      return isTargetKey(key) && name !== "" && name.length <= 40 && more.length === 0
        ? Option.some({ key, name })
        : Option.none()
    })
  )

/** The move, in percent, within which a price counts as flat; it stays below 100 with the digits that are frozen. */
export const DeadZone = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0),
  Schema.makeFilter(
    (percent: number) => (Number(plainDecimal(percent)) < 100 ? undefined : "Expected a value less than 100"),
    { toJsonSchema: () => ({ exclusiveMaximum: 100 }) }
  )
)

/** An administrator's change of a target. Existing challenges keep their frozen values. */
export const TargetChange = Schema.Struct({
  paused: Schema.optionalKey(Schema.Boolean),
  dead_zone_pct: Schema.optionalKey(DeadZone)
})
export type TargetChange = typeof TargetChange.Type

export class Targets extends Context.Service<
  Targets,
  {
    readonly catalog: Effect.Effect<TargetCatalog>
    readonly scopes: Effect.Effect<ReadonlyArray<string>>
    readonly get: (key: string) => Effect.Effect<Target, NotFound>
    /** Fails if a key is no asset; the error names the assets, or the place of a macro series' values. */
    readonly checkAsset: (key: string) => Effect.Effect<void, NotFound>
    /** Fails if a list is filtered by an unknown target, or one of another kind; the error names the valid ones. */
    readonly checkFilter: (
      asset: string | undefined,
      kind?: Target["kind"]
    ) => Effect.Effect<void, InvalidRequest>
    readonly change: (key: string, change: TargetChange) => Effect.Effect<Target, NotFound | InvalidRequest>
    readonly subscriptions: (agentId: AgentId) => Effect.Effect<ReadonlyArray<string>>
    /** Subscribes; a repeated call changes nothing. */
    readonly subscribe: (agentId: AgentId, key: string) => Effect.Effect<void, NotFound>
    /** Unsubscribes; without a subscription nothing changes. */
    readonly unsubscribe: (agentId: AgentId, key: string) => Effect.Effect<void, NotFound>
  }
>()("auspex/services/Targets") {}

type Named = Pick<Target, "key" | "name">

/** The key that an unknown one probably meant: that of a name, or of a pair such as BTC-USD. */
export const meantTarget = (asset: string, targets: ReadonlyArray<Named>): string | undefined => {
  const named = new Map(targets.flatMap(({ key, name }) => [key, name].map((word) => [word, key])))
  return [asset, ...asset.split(/[^A-Za-z]+/)]
    .map((word) => named.get(nearest(word, named.keys()) ?? ""))
    .find((key) => key !== undefined)
}

/** The targets that may be named instead. */
export const expectedTarget = (asset: string, targets: ReadonlyArray<Named>): string => {
  const meant = meantTarget(asset, targets)
  const question = meant === undefined ? "" : ` (did you mean ${meant}?)`
  const keys = targets.map(({ key }) => key).join(", ")
  return `Expected one of ${keys}${question}`
}

/** An error about an unknown asset, with the valid ones. */
export const noTarget = (path: string, asset: string, targets: ReadonlyArray<Named>): InvalidRequest => {
  const expected = expectedTarget(asset, targets).replace(/^E/, "e")
  return InvalidRequest.of(path, `${JSON.stringify(asset.slice(0, 40))} is not a target: ${expected}`)
}

/** Fails with the valid assets instead of an unknown one. */
export const unknownAsset = (targets: Targets["Service"], asset: string) =>
  Effect.flatMap(targets.catalog, ({ categories }) =>
    noTarget(
      "asset",
      asset,
      categories.flatMap((each) => each.targets)
    )
  )
