import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { plainDecimal } from "../../../scoring/wording.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import { isTargetKey } from "../../../services/domain/ids.ts"
import { Settings } from "../../../services/Settings.ts"
import { Category, Target, Targets, expectedTarget, meantTarget } from "../../../services/Targets.ts"
import type { TargetCatalog } from "../../../services/Targets.ts"
import { execute, findAll, findOption, rowsOf, timestamp } from "../sql.ts"

const Key = Schema.Struct({ key: Schema.String })

/** The columns of `Target`. */
export const targetColumns = (sql: SqlClient.SqlClient) =>
  sql.literal(
    "key, name, category, kind, kind = 'asset' as subscribable, paused, dead_zone_pct::float8 as dead_zone_pct"
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { moreAssets } = yield* Settings
  const targets = findAll(Target)
  const target = findOption(Target)
  const keys = findAll(Key)

  // A configured asset counts as volatile as ether until an administrator changes its dead zone.
  if (moreAssets.length > 0) {
    yield* execute(sql`
      insert into targets (position, key, name, category, kind, dead_zone_pct)
      select (select max(position) from targets) + m.position, m.key, m.name, 'crypto', 'asset', 1.2
        from ${rowsOf(sql, "m", moreAssets, { key: ["text", ({ key }) => key], name: ["text", ({ name }) => name] })}
       where not exists (select from targets t where t.key = m.key)
      on conflict do nothing`)
  }

  const columns = targetColumns(sql)

  const unknownTarget = (key: string) =>
    new NotFound({ detail: `There is no target "${key.slice(0, 20)}": see /api/v1/public/target-catalog.` })

  const get = Effect.fn("Targets.get")(function* (key: string) {
    if (!isTargetKey(key)) return yield* unknownTarget(key)
    const found = yield* target(sql`select ${columns} from targets where key = ${key}`)
    return yield* Effect.fromOption(found).pipe(Effect.mapError(() => unknownTarget(key)))
  })

  const catalog = Effect.gen(function* () {
    const all = yield* targets(sql`select ${columns} from targets order by position`)
    const catalog: TargetCatalog = {
      categories: Category.literals.map((category) => ({
        category,
        targets: all.filter((each) => each.category === category)
      }))
    }
    return catalog
  }).pipe(Effect.withSpan("Targets.catalog"))

  const checkFilter: Targets["Service"]["checkFilter"] = Effect.fn("Targets.checkFilter")(
    function* (asset, kind) {
      if (asset === undefined) return
      const all = yield* targets(sql`select ${columns} from targets order by position`)
      const taken = all.filter((each) => kind === undefined || each.kind === kind)
      if (taken.some(({ key }) => key === asset)) return
      return yield* InvalidRequest.of("asset", expectedTarget(asset, taken))
    }
  )

  const scopes = keys(sql`select key from targets where kind = 'asset' order by position`).pipe(
    Effect.map((rows) => rows.map((row) => row.key)),
    Effect.withSpan("Targets.scopes")
  )

  const change: Targets["Service"]["change"] = Effect.fn("Targets.change")(function* (key, change) {
    const before = yield* get(key)
    if (before.kind === "macro" && change.dead_zone_pct !== undefined) {
      return yield* InvalidRequest.of("dead_zone_pct", `${key} is a macro series and has no dead zone`)
    }
    yield* execute(sql`
      update targets
         set paused = coalesce(${change.paused ?? null}::boolean, paused),
             dead_zone_pct = coalesce(${change.dead_zone_pct === undefined ? null : plainDecimal(change.dead_zone_pct)}::numeric, dead_zone_pct)
       where key = ${key}`)
    return yield* get(key)
  })

  const subscriptions: Targets["Service"]["subscriptions"] = Effect.fn("Targets.subscriptions")(
    function* (agentId) {
      const rows = yield* keys(sql`
      select t.key from prediction_scopes s join targets t on t.key = s.target
       where s.agent_id = ${agentId}::uuid order by t.position`)
      return rows.map((row) => row.key)
    }
  )

  /** Fails if a key is no asset, with the words of the caller. */
  const mustBeAsset = Effect.fnUntraced(function* (
    key: string,
    words: { readonly wrong: string; readonly ofSeries: string; readonly all: string }
  ) {
    const found = yield* Effect.option(get(key))
    if (Option.isSome(found) && found.value.subscribable) return
    const detail = `"${key.slice(0, 20)}" ${words.wrong}`
    if (Option.isSome(found)) {
      return yield* new NotFound({ detail, hint: `${found.value.key} is a macro series: ${words.ofSeries}` })
    }
    const all = yield* targets(sql`select ${columns} from targets where kind = 'asset' order by position`)
    const meant = meantTarget(key, all)
    const question = meant === undefined ? "" : `Did you mean ${meant}? `
    const hint = `${question}${words.all} are ${all.map((each) => each.key).join(", ")}.`
    return yield* new NotFound({ detail, hint })
  })

  const checkAsset: Targets["Service"]["checkAsset"] = Effect.fn("Targets.checkAsset")((key) =>
    mustBeAsset(key, {
      wrong: "is not an asset: see /api/v1/public/target-catalog.",
      ofSeries: "its values are at /api/v1/public/releases.",
      all: "The assets"
    })
  )

  const subscribable = (key: string) =>
    mustBeAsset(key, {
      wrong: "is not a prediction scope: see /api/v1/public/prediction-scopes.",
      ofSeries: "its challenges need no subscription.",
      all: "The scopes"
    })

  const subscribe: Targets["Service"]["subscribe"] = Effect.fn("Targets.subscribe")(function* (agentId, key) {
    yield* subscribable(key)
    const now = yield* DateTime.now
    yield* execute(sql`
      insert into prediction_scopes (agent_id, target, created_at)
      values (${agentId}::uuid, ${key}, ${timestamp(now)}) on conflict do nothing`)
  })

  const unsubscribe: Targets["Service"]["unsubscribe"] = Effect.fn("Targets.unsubscribe")(
    function* (agentId, key) {
      yield* subscribable(key)
      yield* execute(sql`delete from prediction_scopes where agent_id = ${agentId}::uuid and target = ${key}`)
    }
  )

  return Targets.of({
    catalog,
    scopes,
    get,
    checkAsset,
    checkFilter,
    change,
    subscriptions,
    subscribe,
    unsubscribe
  })
})

export const layer = Layer.effect(Targets, make)
