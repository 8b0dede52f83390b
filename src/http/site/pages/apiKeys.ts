/** An owner's keys of the language-model gateway, and what they were used for. */
import { scaleLinear } from "d3-scale"
import { DateTime, Duration, Effect, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { TypedAmount, creditsOf } from "../../../services/Credits.ts"
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
import { Pages } from "../Pages.ts"
import {
  across,
  chart,
  down,
  ground,
  plainNumber,
  plotOf,
  rangeY,
  shortTime,
  valueLines
} from "../charts/chart.ts"
import { apiKeysPage, pagePaths } from "../paths.ts"
import { goTo, listPage, query, show } from "../responses.ts"
import { lengthOf } from "../assets/inBrowser/lengths.ts"
import {
  accountTabs,
  badge,
  counted,
  credits,
  day,
  facts,
  field,
  form,
  instant,
  named,
  nextPage,
  notice
} from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

/** Today included. */
const usageDays = 30

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
      const days = Array.from({ length: usageDays }, (_, index) =>
        DateTime.toDateUtc(DateTime.subtract(today, { days: usageDays - 1 - index }))
      )
      const since = DateTime.subtract(today, { days: usageDays - 1 })
      const asked = yield* query
      const listed = yield* listPage
      const view = apiKeysView(frame, {
        own: yield* operators.account(operator.operatorId),
        terms: settings,
        keys: yield* keys.list(holder, listed),
        cursor: listed.cursor,
        usage: {
          days,
          rows: yield* usage.days(holder, { since, until: undefined }),
          key: asked.get("key") ?? undefined,
          model: asked.get("model") ?? undefined
        },
        base: `${settings.baseUrl}/api/v1/llm`,
        ...(rejected !== undefined && { rejected: rejected.rejection })
      })
      return show(site, frame, view, { status: rejected?.status ?? 200 })
    })

    const expiryOf = Effect.fnUntraced(function* (lifetime: string) {
      if (!lifetimes(settings).some(([days]) => days === lifetime)) {
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
      const reject = (field: RejectedKey["field"], complaint: string, status: number) =>
        page(frame, operator, { rejection: { field, complaint, values }, status })
      const name = decodeName({ name: values.name })
      if (Result.isFailure(name)) {
        return yield* reject("name", "Enter a name of 1 to 100 characters.", 400)
      }
      const limit = values.credit_limit === "" ? undefined : decodeLimit(values.credit_limit)
      if (limit !== undefined && Result.isFailure(limit)) {
        return yield* reject("credit_limit", "Enter an amount such as 25 or 12.5, or nothing.", 400)
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
          GatewayDisabled: (error) => reject(null, error.detail, errorStatus(error)),
          GatewayKeyLimitReached: (error) => reject(null, error.detail, errorStatus(error))
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

/** The lifetimes on offer, in days; the empty one is the default. */
const lifetimes = ({
  gatewayKeyMaxTtl,
  gatewayKeyTtl
}: KeyTerms): ReadonlyArray<readonly [string, string]> => {
  const others = [7, 30, 90, 365].filter(
    (days) => days !== Duration.toDays(gatewayKeyTtl) && days <= Duration.toDays(gatewayKeyMaxTtl)
  )
  return [
    ["", `${lengthOf(Duration.toMillis(gatewayKeyTtl))}, as usual`],
    ...others.map((days) => [String(days), `${days} days`] as const)
  ]
}

interface RejectedKey {
  readonly field: "name" | "credit_limit" | null
  readonly complaint: string
  readonly values: Readonly<Record<string, string>>
}

interface Usage {
  /** Oldest first. */
  readonly days: ReadonlyArray<Date>
  readonly rows: ReadonlyArray<UsageDay>
  readonly key: string | undefined
  readonly model: string | undefined
}

const keyStatuses: Readonly<Record<GatewayKey["status"], readonly [tone: Tone, word: string]>> = {
  active: ["success", "Active"],
  expired: ["warning", "Expired"],
  revoked: ["problem", "Revoked"]
}

const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

const agentName = (own: Account, agentId: string): Html => {
  const agent = own.agents.find((each) => each.agentId === agentId)
  return agent === undefined ? html`<code>${agentId}</code>` : named(agent.name)
}

const periodWords = { day: "Today", week: "This week", month: "This month" } as const

const limitOf = ({
  left,
  limit,
  period,
  resets_at: resets
}: KeyLimit): ReadonlyArray<readonly [string, Html]> =>
  period === "total"
    ? []
    : [
        [
          periodWords[period],
          html`${creditsOf(left)} of ${credits(limit)}
          left${resets === null ? null : html`, until ${at(resets)}`}`
        ]
      ]

const oneKey = (frame: Frame, own: Account, key: GatewayKey, cursor: string | undefined) => {
  const [tone, word] = keyStatuses[key.status]
  return html`<article class="panel">
    <header>
      <h3>${named(key.name)}</h3>
      ${badge(tone, word)}
    </header>
    ${facts([
      ["Key", html`<code>${key.prefix}…</code>`],
      ["Spends credit of", agentName(own, key.agent_id)],
      [
        "Spent in all",
        key.credit_limit === null
          ? credits(key.spent)
          : `${creditsOf(key.spent)} of ${credits(key.credit_limit)}`
      ],
      ...key.limits.flatMap(limitOf),
      ["May call", key.allowed_models === null ? null : key.allowed_models.join(", ")],
      ["Last used", key.last_used_at === null ? "never" : at(key.last_used_at)],
      ["Made", day(DateTime.makeUnsafe(key.created_at))],
      ["Expires", key.expires_at === null ? "never: it was made before keys had to end" : at(key.expires_at)],
      ["Revoked", key.revoked_at === null ? null : at(key.revoked_at)]
    ])}
    <p><a href=${frame.at(apiKeysPage({ key: key.key_id, cursor }))}>What it was used for</a></p>
    ${
      key.status === "active"
        ? html`<details>
            <summary>Revoke it</summary>
            <p>It stops working within a second. A revoked key never comes back.</p>
            ${form(frame, revokeKeyPath(key.key_id), html`<button class="danger">Revoke ${key.name}</button>`)}
          </details>`
        : null
    }
  </article>`
}

const newKeyForm = (frame: Frame, own: Account, terms: KeyTerms, rejected: RejectedKey | undefined) => {
  const value = (name: string) => rejected?.values[name] ?? ""
  const complaintOf = (name: string) => (rejected?.field === name ? rejected.complaint : undefined)
  const enabled = own.agents.filter(({ creditArenaEnabled }) => creditArenaEnabled)
  if (!isPaid(own.operator.plan)) {
    return html`<p>
      Calling language models needs a paid plan, and yours is free. The administrators of this service put you
      on one.
    </p>`
  }
  if (enabled.length === 0) {
    return html`<p>
      None of your agents may spend credit on language models. Let one of them, at
      <a href=${frame.at(accountPage)}>your agents</a>, and make a key for it here.
    </p>`
  }
  return form(
    frame,
    apiKeysPage(),
    html`<div>
        <label for="agent_id">Agent whose credit it spends</label>
        <select id="agent_id" name="agent_id">
          ${enabled.map(
            ({ agentId, name }) =>
              html`<option value=${agentId} selected=${agentId === value("agent_id")}>${name}</option>`
          )}
        </select>
      </div>
      ${field({
        name: "name",
        label: "Name",
        hint: "A name you will recognise, for example by what uses it.",
        complaint: complaintOf("name"),
        input: { type: "text", maxlength: "100", autocomplete: "off", value: value("name") }
      })}
      ${field({
        name: "credit_limit",
        label: "Credit limit (optional)",
        hint: "What it may spend in all. Left empty, it is what the agent has.",
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
        <label for="lifetime">Valid</label>
        <select id="lifetime" name="lifetime">
          ${lifetimes(terms).map(
            ([days, words]) =>
              html`<option value=${days} selected=${days === value("lifetime")}>${words}</option>`
          )}
        </select>
      </div>
      <button>Create a key</button>`
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
  title: string,
  sums: ReturnType<typeof sumBy>,
  link: (name: string) => { readonly href: string; readonly text: Html }
) =>
  html`<div class="wide" role="region" aria-label=${`Use by ${title.toLowerCase()}`} tabindex="0">
    <table class="bins">
      <thead>
        <tr>
          <th scope="col">${title}</th>
          <th scope="col">Calls</th>
          <th scope="col">Credits</th>
        </tr>
      </thead>
      <tbody>
        ${sums.map(([name, { calls, cost }]) => {
          const { href, text } = link(name)
          return html`<tr>
            <th scope="row"><a href=${href}>${text}</a></th>
            <td>${calls}</td>
            <td>${creditsOf(cost)}</td>
          </tr>`
        })}
      </tbody>
    </table>
  </div>`

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
  /** The key asked for may not be the owner's. */
  const keyName = (id: string) => names.get(id) ?? id.slice(0, 36)
  const rows = usage.rows.filter(
    ({ key_id, model }) =>
      (usage.key === undefined || key_id === usage.key) &&
      (usage.model === undefined || model === usage.model)
  )
  const byDay = new Map(sumBy(rows, ({ day: ofRow }) => ofRow))
  const days = usage.days.map((each) => ({
    day: each,
    ...(byDay.get(each.toISOString().slice(0, 10)) ?? { calls: 0, cost: 0n })
  }))
  const of = [
    ...(usage.key === undefined ? [] : [keyName(usage.key)]),
    ...(usage.model === undefined ? [] : [usage.model])
  ]
  const narrowed = of.length > 0
  return html`<section aria-labelledby="use">
    <h2 id="use">Usage, last ${days.length} days</h2>
    ${narrowed ? html`<p>Of ${named(of.join(", "))} only. <a href=${frame.at(apiKeysPage())}>Show all</a></p>` : null}
    ${
      rows.length === 0
        ? html`<p class="quiet">No calls in the last ${days.length} days.</p>`
        : html`${usageChart("Credits spent on language models, by day", days)}
          ${sumTable(
            "Model",
            sumBy(rows, ({ model }) => model),
            (model) => ({ href: frame.at(apiKeysPage({ model })), text: named(model) })
          )}
          ${sumTable(
            "Key",
            sumBy(rows, ({ key_id }) => key_id),
            (key) => ({ href: frame.at(apiKeysPage({ key })), text: named(keyName(key)) })
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
    /** The cursor of the listed page. */
    readonly cursor: string | undefined
    readonly usage: Usage
    readonly base: string
    readonly rejected?: RejectedKey
  }
): Page => ({
  title: of.rejected === undefined ? "API keys" : "Error: API keys",
  content: html`
    ${accountTabs(frame, "API keys")}
    ${of.rejected?.field === null ? notice("problem", "No key was made.", of.rejected.complaint) : null}
    <h1>API keys</h1>
    <p class="lead">
      With a key, a program calls language models and pays with the credit of one of your agents.
    </p>
    <section class="panel" aria-labelledby="new-key">
      <h2 id="new-key">A new key</h2>
      ${newKeyForm(frame, of.own, of.terms, of.rejected)}
    </section>
    <section aria-labelledby="keys">
      <h2 id="keys">Your keys</h2>
      ${
        of.keys.items.length === 0
          ? html`<p class="quiet">There are none yet.</p>`
          : of.keys.items.map((key) => oneKey(frame, of.own, key, of.cursor))
      }
      ${nextPage(frame, apiKeysPage(), of.keys.next_cursor)}
    </section>
    ${usageSection(frame, of.keys.items, of.usage)}
    <p class="quiet small">
      Clients take a key with the base address <code>${of.base}/v1</code> (chat completions) or
      <code>${of.base}</code> (messages).
    </p>
  `
})

const newKeyView = (frame: Frame, own: Account, key: CreatedGatewayKey): Page => ({
  title: "The new key",
  content: html`
    ${notice("warning", "Copy the key now.", "It is shown this once. We keep only a hash, and cannot show it again.")}
    <h1>The new key</h1>
    <code class="secret">${key.api_key}</code>
    ${facts([
      ["Name", named(key.name)],
      ["Spends credit of", agentName(own, key.agent_id)],
      ["Credit limit", key.credit_limit === null ? null : credits(key.credit_limit)],
      ["Expires", at(key.expires_at)]
    ])}
    <p><a class="button secondary" href=${frame.at(apiKeysPage())}>I have copied it: back to my keys</a></p>
  `
})

interface DayOfUse {
  readonly day: Date
  readonly calls: number
  /** In micro-credits. */
  readonly cost: bigint
}

/** `days` are consecutive and include days without a call. */
const usageChart = (title: string, days: ReadonlyArray<DayOfUse>): Html => {
  const plot = plotOf(200)
  const costs = days.map(({ cost }) => Number(cost) / 1e6)
  const max = Math.max(...costs)
  const y = scaleLinear()
    .domain([0, max === 0 ? 1 : max])
    .nice(4)
    .range(rangeY(plot))
  const step = (plot.right - plot.left) / days.length
  const total = days.reduce((sum, { cost }) => sum + cost, 0n)
  const calls = days.reduce((sum, each) => sum + each.calls, 0)
  const used = days.filter((each) => each.calls > 0)
  return chart({
    id: "usage",
    title,
    summary: `${creditsOf(total)} credits for ${counted(calls, "call")} in ${days.length} days, on the busiest ${plainNumber(max)}.`,
    height: plot.height,
    drawing: html`${valueLines(plot, y, y.ticks(4))}
    ${costs.map((cost, index) =>
      cost === 0
        ? null
        : html`<rect
            class="bar"
            x=${across(plot.left + step * (index + 0.1))}
            width=${across(step * 0.8)}
            y=${down(y(cost))}
            height=${down(plot.bottom - y(cost))}
          />`
    )}
    ${ground(plot)}
    ${days.map(({ day }, index) =>
      index % 7 === 0
        ? html`<text
            class="tick"
            x=${across(plot.left + step * (index + 0.5))}
            y=${down(plot.bottom + 19)}
            text-anchor="middle"
          >
            ${shortTime(day)}
          </text>`
        : null
    )}`,
    numbers: {
      columns: [
        { title: "Day (UTC)" },
        { title: "Calls", isNumber: true },
        { title: "Credits", isNumber: true }
      ],
      rows: used.map(({ calls: ofDay, cost, day }) => [shortTime(day), ofDay, creditsOf(cost)]),
      note: "Days without a call are left out."
    }
  })
}
