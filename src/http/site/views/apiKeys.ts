/** An owner's keys of the language-model gateway: making, looking after and ending them, and what they were used for. */
import { DateTime, Duration } from "effect"
import { creditsOf } from "../../../services/Credits.ts"
import type { UsageDay } from "../../../services/Gateway.ts"
import type { CreatedGatewayKey, GatewayKey } from "../../../services/GatewayKeys.ts"
import type { Account } from "../../../services/Operators.ts"
import { isPaid } from "../../../services/Owners.ts"
import { accountPage } from "../../../services/Operators.ts"
import { apiKeysPage } from "../paths.ts"
import type { PageOf } from "../../../services/paging.ts"
import { accountMenu } from "./accountMenu.ts"
import { usageChart } from "../charts/usage.ts"
import { badge, credits, day, facts, field, form, instant, lengthOf, named, notice } from "./components.ts"
import type { Tone } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

export const revokeKeyPath = (keyId: string) => `/account/api-keys/${keyId}/revoke`

/** How long keys live that nothing is said of, and at most. */
export interface KeyTerms {
  readonly gatewayKeyTtl: Duration.Duration
  readonly gatewayKeyMaxTtl: Duration.Duration
}

/** For how long a key may be made, in days; none: as long as keys usually live. */
export const lifetimes = ({
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

/** What was typed, and why no key was made. */
export interface RefusedKey {
  readonly field: "name" | "credit_limit" | null
  readonly complaint: string
  readonly values: Readonly<Record<string, string>>
}

export interface Usage {
  /** The days that are shown, the oldest first. */
  readonly days: ReadonlyArray<Date>
  readonly rows: ReadonlyArray<UsageDay>
  readonly key: string | undefined
  readonly model: string | undefined
}

const statuses: Readonly<Record<GatewayKey["status"], readonly [tone: Tone, word: string]>> = {
  active: ["success", "Active"],
  expired: ["warning", "Expired"],
  revoked: ["problem", "Revoked"]
}

const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

const agentName = (own: Account, agentId: string): Html => {
  const agent = own.agents.find((each) => each.agentId === agentId)
  return agent === undefined ? html`<code>${agentId}</code>` : named(agent.name)
}

const oneKey = (frame: Frame, own: Account, key: GatewayKey, cursor: string | undefined) => {
  const [tone, word] = statuses[key.status]
  return html`<article class="panel">
    <header>
      <h3>${named(key.name)}</h3>
      ${badge(tone, word)}
    </header>
    ${facts([
      ["Key", html`<code>${key.prefix}…</code>`],
      ["Spends credit of", agentName(own, key.agent_id)],
      [
        "Spent",
        key.credit_limit === null
          ? credits(key.spent)
          : `${creditsOf(key.spent)} of ${credits(key.credit_limit)}`
      ],
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
            <p>No call is let in with it from then on, within a second. A revoked key never comes back.</p>
            ${form(frame, revokeKeyPath(key.key_id), html`<button class="danger">Revoke ${key.name}</button>`)}
          </details>`
        : null
    }
  </article>`
}

const newKey = (frame: Frame, own: Account, terms: KeyTerms, refused: RefusedKey | undefined) => {
  const value = (name: string) => refused?.values[name] ?? ""
  const complaintOf = (name: string) => (refused?.field === name ? refused.complaint : undefined)
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
        hint: "So that you know it again, for example by what uses it.",
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
      <button>Make a key</button>`
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

/** What each key is called, with how it begins where others are called so, too. */
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
  /** What is asked for may be no key of theirs at all. */
  const keyName = (id: string) => names.get(id) ?? id.slice(0, 36)
  const shown = usage.rows.filter(
    ({ key_id, model }) =>
      (usage.key === undefined || key_id === usage.key) &&
      (usage.model === undefined || model === usage.model)
  )
  const byDay = new Map(sumBy(shown, ({ day: ofRow }) => ofRow))
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
    <h2 id="use">What they were used for</h2>
    ${narrowed ? html`<p>Of ${named(of.join(", "))} only. <a href=${frame.at(apiKeysPage())}>Show all</a></p>` : null}
    ${
      shown.length === 0
        ? html`<p class="quiet">No calls in the last ${days.length} days.</p>`
        : html`${usageChart("Credits spent on language models, by day", days)}
          ${sumTable(
            "Model",
            sumBy(shown, ({ model }) => model),
            (model) => ({ href: frame.at(apiKeysPage({ model })), text: named(model) })
          )}
          ${sumTable(
            "Key",
            sumBy(shown, ({ key_id }) => key_id),
            (key) => ({ href: frame.at(apiKeysPage({ key })), text: named(keyName(key)) })
          )}`
    }
  </section>`
}

export const apiKeys = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly terms: KeyTerms
    readonly keys: PageOf<GatewayKey>
    /** Where that page of the list begins; undefined: with the newest key. */
    readonly cursor: string | undefined
    readonly usage: Usage
    readonly base: string
    readonly refused?: RefusedKey
  }
): Page => ({
  title: of.refused === undefined ? "API keys" : "Error: API keys",
  content: html`
    ${accountMenu(frame, "API keys")}
    ${of.refused?.field === null ? notice("problem", "No key was made.", of.refused.complaint) : null}
    <h1>API keys</h1>
    <p class="lead">
      With a key, a program calls language models and pays with the credit of one of your agents.
    </p>
    <section class="panel" aria-labelledby="new-key">
      <h2 id="new-key">A new key</h2>
      ${newKey(frame, of.own, of.terms, of.refused)}
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

export const madeKey = (frame: Frame, own: Account, key: CreatedGatewayKey): Page => ({
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
