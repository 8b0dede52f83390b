/** An owner's gateway keys and their usage. */
import { DateTime, Duration, Effect, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { TypedAmount } from "../../../services/Credits.ts"
import { GatewayKeys, NewGatewayKey } from "../../../services/GatewayKeys.ts"
import type { CreatedGatewayKey, GatewayKey, KeyLimit } from "../../../services/GatewayKeys.ts"
import { GatewayUsage } from "../../../services/GatewayUsage.ts"
import type { UsageDay } from "../../../services/GatewayUsage.ts"
import { Operators, accountPage, isPaid } from "../../../services/Operators.ts"
import type { Account, Operator } from "../../../services/Operators.ts"
import { Settings } from "../../../services/Settings.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { usageChart } from "../charts/usage.ts"
import { apiKeysPage, pagePaths } from "../paths.ts"
import { chosen, goTo, listPage, query, show } from "../responses.ts"
import { lengthOf } from "../assets/inBrowser/lengths.ts"
import {
  accountTabs,
  badge,
  choices,
  credits,
  day,
  facts,
  field,
  form,
  inEnglish,
  instant,
  named,
  nextPage,
  notice
} from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { creditNumber } from "../views/format.ts"

/** The period of the usage in days, today included. */
const UsagePeriod = Schema.Literals(["7", "30", "90"])
const usualPeriod = "30"

const decodeLimit = Schema.decodeUnknownResult(TypedAmount)
const decodeName = Schema.decodeUnknownResult(Schema.Struct({ name: NewGatewayKey.fields.name }))

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const settings = yield* Settings
    const keys = yield* GatewayKeys
    const usage = yield* GatewayUsage
    const operators = yield* Operators

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      rejected?: { readonly rejection: RejectedKey; readonly status: number }
    ) {
      const holder = { kind: "owner", id: operator.operatorId } as const
      const today = DateTime.startOf(yield* DateTime.now, "day")
      const listed = yield* listPage
      const parameters = yield* query
      const wanted: UsageQuery = {
        days: (yield* chosen("days", UsagePeriod)) ?? usualPeriod,
        key: parameters.get("key") ?? undefined,
        model: parameters.get("model") ?? undefined,
        cursor: listed.cursor
      }
      const count = Number(wanted.days)
      const days = Array.from({ length: count }, (_, index) =>
        DateTime.toDateUtc(DateTime.subtract(today, { days: count - 1 - index }))
      )
      const since = DateTime.subtract(today, { days: count - 1 })
      const view = apiKeysView(frame, {
        own: yield* operators.account(operator.operatorId),
        terms: settings,
        keys: yield* keys.list(holder, listed),
        usage: { wanted, days, rows: yield* usage.days(holder, { since, until: undefined }) },
        base: `${settings.baseUrl}/api/v1/llm`,
        ...(rejected !== undefined && { rejected: rejected.rejection })
      })
      return show(site, frame, view, { status: rejected?.status ?? 200 })
    })

    const expiryOf = Effect.fnUntraced(function* (lifetime: string) {
      if (lifetime !== "" && !otherLifetimes(settings).some((days) => String(days) === lifetime)) {
        return yield* InvalidRequest.of("lifetime", "Expected one of those that the page offers.")
      }
      return lifetime === "" ? null : DateTime.add(yield* DateTime.now, { days: Number(lifetime) })
    })

    const create = Effect.fnUntraced(function* (frame: Frame, operator: Operator, fields: URLSearchParams) {
      const values = {
        agent_id: fields.get("agent_id") ?? "",
        name: (fields.get("name") ?? "").trim(),
        credit_limit: (fields.get("credit_limit") ?? "").trim(),
        lifetime: fields.get("lifetime") ?? ""
      }
      const messages = frame.t.owners.keys
      const reject = (field: RejectedKey["field"], complaint: Html, status: number) =>
        page(frame, operator, { rejection: { field, complaint, values }, status })
      const name = decodeName({ name: values.name })
      if (Result.isFailure(name)) {
        return yield* reject("name", messages.nameNeeded, 400)
      }
      const limit = values.credit_limit === "" ? undefined : decodeLimit(values.credit_limit)
      if (limit !== undefined && Result.isFailure(limit)) {
        return yield* reject("credit_limit", messages.limitNeeded, 400)
      }
      const key = {
        ...name.success,
        expires_at: yield* expiryOf(values.lifetime),
        credit_limit: limit === undefined ? null : limit.success
      }
      return yield* keys.create({ kind: "owner", id: operator.operatorId }, values.agent_id, key).pipe(
        Effect.flatMap((made) =>
          Effect.map(operators.account(operator.operatorId), (own) =>
            show(site, frame, newKeyView(frame, own, made))
          )
        ),
        Effect.catchTags({
          GatewayDisabled: (error) => reject(null, inEnglish(error.detail), errorStatus(error)),
          GatewayKeyLimitReached: (error) => reject(null, inEnglish(error.detail), errorStatus(error))
        })
      )
    })

    yield* router.add(
      "GET",
      pagePaths.apiKeys,
      ownerPage((frame, operator) => page(frame, operator))
    )

    yield* router.add("POST", pagePaths.apiKeys, ownerForm(create))

    yield* router.add(
      "POST",
      pagePaths.revokeKey,
      ownerForm(
        Effect.fnUntraced(function* (_, operator) {
          const { key_id: keyId = "" } = yield* HttpRouter.params
          yield* keys.revoke({ kind: "owner", id: operator.operatorId }, keyId)
          return goTo(site, site.at(apiKeysPage()))
        })
      )
    )
  })
)

const revokeKeyPath = (keyId: string) => `/account/api-keys/${keyId}/revoke`

/** Default and maximum lifetime of keys. */
interface KeyTerms {
  readonly gatewayKeyTtl: Duration.Duration
  readonly gatewayKeyMaxTtl: Duration.Duration
}

/** The lifetimes that are offered beside the default, in days. */
const otherLifetimes = ({ gatewayKeyMaxTtl, gatewayKeyTtl }: KeyTerms): ReadonlyArray<number> =>
  [7, 30, 90, 365].filter(
    (days) => days !== Duration.toDays(gatewayKeyTtl) && days <= Duration.toDays(gatewayKeyMaxTtl)
  )

/** The choices of the form with their labels; the empty value is the default. */
const lifetimes = (
  terms: KeyTerms,
  { owners, tag }: Messages
): ReadonlyArray<readonly [value: string, label: string]> => [
  ["", owners.keys.usual(lengthOf(Duration.toMillis(terms.gatewayKeyTtl), tag))],
  ...otherLifetimes(terms).map((days) => [String(days), owners.keys.days(days)] as const)
]

interface RejectedKey {
  readonly field: "name" | "credit_limit" | null
  readonly complaint: Html
  readonly values: Readonly<Record<string, string>>
}

/** The query parameters of the page. */
interface UsageQuery {
  readonly days: typeof UsagePeriod.Type
  readonly key: string | undefined
  readonly model: string | undefined
  /** The cursor of the list of keys. */
  readonly cursor: string | undefined
}

interface Usage {
  readonly wanted: UsageQuery
  /** The days of the period, oldest first. */
  readonly days: ReadonlyArray<Date>
  readonly rows: ReadonlyArray<UsageDay>
}

const usagePath = ({ days, ...wanted }: UsageQuery) =>
  apiKeysPage({ ...wanted, days: days === usualPeriod ? undefined : days })

const tones: Readonly<Record<GatewayKey["status"], Tone>> = {
  active: "success",
  expired: "warning",
  revoked: "problem"
}

const at = (timestamp: string, t: Messages) => instant(DateTime.makeUnsafe(timestamp), t)

const agentName = (own: Account, agentId: string): Html => {
  const agent = own.agents.find((each) => each.agentId === agentId)
  return agent === undefined ? html`<code>${agentId}</code>` : named(agent.name)
}

const limitOf = (
  { left, limit, period, resets_at: resets }: KeyLimit,
  t: Messages
): ReadonlyArray<readonly [string, Html]> => {
  const messages = t.owners.keys
  return period === "total"
    ? []
    : [
        [
          messages.periods[period],
          html`${messages.left(creditNumber(left), credits(limit, t))}${resets === null ? null : html`${messages.until}${at(resets, t)}`}`
        ]
      ]
}

const oneKey = (
  frame: Frame,
  of: { readonly own: Account; readonly key: GatewayKey; readonly usage: Usage }
) => {
  const { key, own, usage } = of
  const { t } = frame
  const messages = t.owners.keys
  const ofPeriod = usage.rows.reduce(
    (sum, { cost, key_id }) => (key_id === key.key_id ? sum + cost : sum),
    0n
  )
  return html`<article class="panel">
    <header>
      <h3>${named(key.name)}</h3>
      ${badge(tones[key.status], messages.statuses[key.status])}
    </header>
    ${facts([
      [messages.key, html`<code>${key.prefix}…</code>`],
      [messages.spends, agentName(own, key.agent_id)],
      [messages.spentIn(usage.days.length), credits(ofPeriod, t)],
      [
        messages.spentInAll,
        key.credit_limit === null
          ? credits(key.spent, t)
          : messages.spentOf(creditNumber(key.spent), credits(key.credit_limit, t))
      ],
      ...key.limits.flatMap((limit) => limitOf(limit, t)),
      [messages.mayCall, key.allowed_models === null ? null : key.allowed_models.join(", ")],
      [messages.lastUsed, key.last_used_at === null ? t.owners.never : at(key.last_used_at, t)],
      [messages.made, day(DateTime.makeUnsafe(key.created_at), t)],
      [messages.expires, key.expires_at === null ? messages.noEnd : at(key.expires_at, t)],
      [messages.revoked, key.revoked_at === null ? null : at(key.revoked_at, t)]
    ])}
    <p>
      <a href=${frame.at(usagePath({ ...usage.wanted, key: key.key_id, model: undefined }))}
        >${messages.usedFor}</a
      >
    </p>
    ${
      key.status === "active"
        ? html`<details>
            <summary>${messages.revoke}</summary>
            <p>${messages.revokeMeans}</p>
            ${form(
              frame,
              revokeKeyPath(key.key_id),
              html`<button class="danger">${messages.revokeNamed(key.name)}</button>`
            )}
          </details>`
        : null
    }
  </article>`
}

const newKeyForm = (frame: Frame, own: Account, terms: KeyTerms, rejected: RejectedKey | undefined) => {
  const messages = frame.t.owners.keys
  const value = (name: string) => rejected?.values[name] ?? ""
  const complaintOf = (name: string) => (rejected?.field === name ? rejected.complaint : undefined)
  const enabled = own.agents.filter(({ creditArenaEnabled }) => creditArenaEnabled)
  if (!isPaid(own.operator.plan)) {
    return html`<p>${messages.paidOnly}</p>`
  }
  if (enabled.length === 0) {
    const [before, link, after] = messages.noneMaySpend
    return html`<p>${before}<a href=${frame.at(accountPage)}>${link}</a>${after}</p>`
  }
  return form(
    frame,
    apiKeysPage(),
    html`<div>
        <label for="agent_id">${messages.agent}</label>
        <select id="agent_id" name="agent_id">
          ${enabled.map(
            ({ agentId, name }) =>
              html`<option value=${agentId} selected=${agentId === value("agent_id")}>${name}</option>`
          )}
        </select>
      </div>
      ${field({
        name: "name",
        label: messages.name,
        hint: messages.nameHint,
        complaint: complaintOf("name"),
        input: { type: "text", maxlength: "100", autocomplete: "off", value: value("name") }
      })}
      ${field({
        name: "credit_limit",
        label: messages.limit,
        hint: messages.limitHint,
        complaint: complaintOf("credit_limit"),
        input: {
          type: "text",
          inputmode: "decimal",
          autocomplete: "off",
          maxlength: "15",
          required: false,
          value: value("credit_limit")
        }
      })}
      <div>
        <label for="lifetime">${messages.valid}</label>
        <select id="lifetime" name="lifetime">
          ${lifetimes(terms, frame.t).map(
            ([days, length]) =>
              html`<option value=${days} selected=${days === value("lifetime")}>${length}</option>`
          )}
        </select>
      </div>
      <button>${messages.create}</button>`
  )
}

const sumBy = (rows: ReadonlyArray<UsageDay>, of: (row: UsageDay) => string) => {
  const sums = new Map<string, { readonly calls: number; readonly cost: bigint }>()
  for (const row of rows) {
    const sum = sums.get(of(row)) ?? { calls: 0, cost: 0n }
    sums.set(of(row), { calls: sum.calls + row.calls, cost: sum.cost + row.cost })
  }
  return [...sums].sort(([, a], [, b]) => Number(b.cost - a.cost))
}

const sumTable = (
  { t }: Frame,
  title: string,
  sums: ReturnType<typeof sumBy>,
  link: (name: string) => { readonly href: string; readonly text: Html }
) => {
  const messages = t.owners.keys
  return html`<div class="wide" role="region" aria-label=${messages.useBy(title)} tabindex="0">
    <table class="bins">
      <thead>
        <tr>
          <th scope="col">${title}</th>
          <th scope="col">${messages.calls}</th>
          <th scope="col">${messages.credits}</th>
        </tr>
      </thead>
      <tbody>
        ${sums.map(([name, { calls, cost }]) => {
          const { href, text } = link(name)
          return html`<tr>
            <th scope="row"><a href=${href}>${text}</a></th>
            <td class="number">${calls}</td>
            <td class="number">${creditNumber(cost)}</td>
          </tr>`
        })}
      </tbody>
    </table>
  </div>`
}

/** Names of keys, with the prefix where several share a name. */
const namesOf = (keys: ReadonlyArray<Pick<GatewayKey, "key_id" | "name" | "prefix">>) => {
  const byId = new Map(keys.map((key) => [key.key_id, key]))
  const sharing = Map.groupBy(byId.values(), ({ name }) => name)
  return new Map<string, string>(
    Array.from(byId, ([id, { name, prefix }]) => [
      id,
      sharing.get(name)?.length === 1 ? name : `${name} (${prefix}…)`
    ])
  )
}

const usageSection = (frame: Frame, keys: ReadonlyArray<GatewayKey>, usage: Usage) => {
  const names = namesOf([
    ...keys,
    ...usage.rows.map(({ key_id, key_name, key_prefix }) => ({ key_id, name: key_name, prefix: key_prefix }))
  ])
  /** The requested key may belong to another owner. */
  const keyName = (id: string) => names.get(id) ?? id.slice(0, 36)
  const { wanted } = usage
  const rows = usage.rows.filter(
    ({ key_id, model }) =>
      (wanted.key === undefined || key_id === wanted.key) &&
      (wanted.model === undefined || model === wanted.model)
  )
  const byDay = new Map(sumBy(rows, ({ day: ofRow }) => ofRow))
  const days = usage.days.map((each) => ({
    day: each,
    ...(byDay.get(each.toISOString().slice(0, 10)) ?? { calls: 0, cost: 0n })
  }))
  const of = [
    ...(wanted.key === undefined ? [] : [keyName(wanted.key)]),
    ...(wanted.model === undefined ? [] : [wanted.model])
  ]
  const { t } = frame
  const messages = t.owners.keys
  const [before, after, showAll] = messages.of
  const calls = rows.reduce((sum, row) => sum + row.calls, 0)
  const cost = rows.reduce((sum, row) => sum + row.cost, 0n)
  return html`<section aria-labelledby="use">
    <h2 id="use">${messages.usage(days.length)}</h2>
    ${choices(
      messages.period,
      UsagePeriod.literals.map((each) => ({
        name: messages.days(Number(each)),
        href: frame.at(usagePath({ ...wanted, days: each })),
        isChosen: each === wanted.days
      }))
    )}
    ${
      of.length > 0
        ? html`<p>
            ${before}${named(of.join(", "))}${after}<a
              href=${frame.at(usagePath({ ...wanted, key: undefined, model: undefined }))}
              >${showAll}</a
            >
          </p>`
        : null
    }
    ${
      rows.length === 0
        ? html`<p class="quiet">${messages.noCalls(days.length)}</p>`
        : html`<p>${messages.total(credits(cost, t), calls, days.length)}</p>
            ${usageChart(days, t)}
            ${sumTable(
              frame,
              messages.model,
              sumBy(rows, ({ model }) => model),
              (model) => ({
                href: frame.at(usagePath({ ...wanted, key: undefined, model })),
                text: named(model)
              })
            )}
            ${sumTable(
              frame,
              messages.key,
              sumBy(rows, ({ key_id }) => key_id),
              (key) => ({
                href: frame.at(usagePath({ ...wanted, key, model: undefined })),
                text: named(keyName(key))
              })
            )}`
    }
  </section>`
}

const apiKeysView = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly terms: KeyTerms
    readonly keys: PageOf<GatewayKey>
    readonly usage: Usage
    readonly base: string
    readonly rejected?: RejectedKey
  }
): Page => {
  const { owners } = frame.t
  const t = owners.keys
  const title = owners.tabs.keys
  return {
    title: of.rejected === undefined ? title : owners.error(title),
    content: html`
      ${accountTabs(frame, "keys")}
      ${of.rejected?.field === null ? notice("problem", t.noKeyMade, of.rejected.complaint) : null}
      <h1>${title}</h1>
      <p class="lead">${t.lead}</p>
      <section class="panel" aria-labelledby="new-key">
        <h2 id="new-key">${t.newOne}</h2>
        ${newKeyForm(frame, of.own, of.terms, of.rejected)}
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">${t.yours}</h2>
        ${
          of.keys.items.length === 0
            ? html`<p class="quiet">${owners.none}</p>`
            : of.keys.items.map((key) => oneKey(frame, { own: of.own, key, usage: of.usage }))
        }
        ${nextPage(frame, usagePath({ ...of.usage.wanted, cursor: undefined }), of.keys.next_cursor)}
      </section>
      ${usageSection(frame, of.keys.items, of.usage)}
      <p class="quiet small">
        ${t.bases[0]}<code>${of.base}/v1</code>${t.bases[1]}<code>${of.base}</code>${t.bases[2]}
      </p>
    `
  }
}

const newKeyView = (frame: Frame, own: Account, key: CreatedGatewayKey): Page => {
  const { t } = frame
  const { agents, copied, keys } = t.owners
  return {
    title: keys.theNewKey,
    content: html`
      ${notice("warning", keys.copyNow, agents.shownOnce)}
      <h1>${keys.theNewKey}</h1>
      <code class="secret">${key.api_key}</code>
      ${facts([
        [keys.name, named(key.name)],
        [keys.spends, agentName(own, key.agent_id)],
        [keys.creditLimit, key.credit_limit === null ? null : credits(key.credit_limit, t)],
        [keys.expires, at(key.expires_at, t)]
      ])}
      <p><a class="button secondary" href=${frame.at(apiKeysPage())}>${copied.keys}</a></p>
    `
  }
}
