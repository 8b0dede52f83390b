/** Components that pages share. */
import { DateTime } from "effect"
import { accountPage } from "../../../services/Operators.ts"
import { creditPage } from "../../../services/Payments.ts"
import { lengthOf } from "../assets/inBrowser/lengths.ts"
import { agentPage, apiKeysPage, assetPage, noticesPage, verifyPage } from "../paths.ts"
import { allMessages } from "../messages/messages.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import { formTokenField } from "./layout.ts"
import type { Frame } from "./layout.ts"
import { assetIcon } from "./assetIcon.ts"
import { creditNumber } from "./format.ts"

/** A badge has a text: colour alone conveys nothing. */
export type Tone = "info" | "success" | "warning" | "problem"

const signs: Readonly<Record<Tone, string>> = {
  info: "M12 11v6M12 7.5v.01",
  success: "M7.5 12.5l3 3 6-6.5",
  warning: "M12 7v6M12 16.5v.01",
  problem: "M9 9l6 6M15 9l-6 6"
}

const sign = (tone: Tone) =>
  html`<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <g fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
      <circle cx="12" cy="12" r="10" />
      <path d=${signs[tone]} />
    </g>
  </svg>`

export const notice = (tone: Tone, title: string, more?: Html) =>
  html`<div class=${`notice ${tone}`}>
    ${sign(tone)}
    <div>
      <p><strong>${title}</strong></p>
      ${more === undefined ? null : html`<p>${more}</p>`}
    </div>
  </div>`

/** A description list. Facts that are null are left out. */
export const facts = (entries: ReadonlyArray<readonly [term: Html, fact: Html]>) =>
  html`<dl class="facts">
    ${entries
      .filter(([, fact]) => fact !== null)
      .map(
        ([term, fact]) =>
          html`<dt>${term}</dt>
            <dd>${fact}</dd>`
      )}
  </dl>`

export type Cell = readonly [name: string, value: Html]

/** The cells that answer the page's question, larger than all other text. Cells that are null are left out. */
export const summaryCells = (cells: ReadonlyArray<Cell>, t = allMessages.en) =>
  html`<dl class="answer" aria-label=${t.summaryCells}>
    ${cells
      .filter(([, value]) => value !== null)
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`
      )}
  </dl>`

/** Recent answers as marks, right or wrong. */
export const recentForm = (form: ReadonlyArray<boolean>, t = allMessages.en) =>
  html`${t.rightOnes(form.filter(Boolean).length)}
    <span class="form" aria-hidden="true"
      >${form.map((isGood) => html`<i class=${isGood ? "good" : "bad"}></i>`)}</span
    >`

export const instant = (at: DateTime.Utc, { dates } = allMessages.en) => {
  const text = DateTime.formatUtc(at, { locale: dates, dateStyle: "long", timeStyle: "short" })
  return html`<time datetime=${DateTime.formatIso(at)}>${text} UTC</time>`
}

export const day = (at: DateTime.Utc, { dates } = allMessages.en) => {
  const text = DateTime.formatUtc(at, { locale: dates, dateStyle: "long" })
  return html`<time datetime=${DateTime.formatIsoDateUtc(at)}>${text}</time>`
}

/** A number with its noun. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** An amount of credit as text. */
export const credits = (micro: bigint, t = allMessages.en): string =>
  t.credits(creditNumber(micro), micro === 1_000_000n)

/** The time left, with the exact moment as title and in `datetime`. */
export const timeLeft = (until: DateTime.Utc, now: DateTime.Utc, { dates, tag } = allMessages.en) => {
  const moment = DateTime.formatUtc(until, { locale: dates, dateStyle: "long", timeStyle: "short" })
  return html`<time class="countdown" datetime=${DateTime.formatIso(until)} title=${`${moment} UTC`}
    >${lengthOf(DateTime.toEpochMillis(until) - DateTime.toEpochMillis(now), tag)}</time
  >`
}

/** Isolates the text direction of names that users chose. */
export const named = (text: string) => html`<bdi>${text}</bdi>`

/** The columns of the left half of an avatar and its middle; the right half mirrors the left. */
const avatarColumns = [0, 1, 2]
const avatarSide = 5

/** The picture of an agent, which its id determines. */
export const avatar = (agentId: string): Html => {
  const digits = agentId.replaceAll("-", "").slice(-18)
  const cells = avatarColumns.flatMap((column) =>
    Array.from({ length: avatarSide }, (_, row) => ({ column, row })).filter(
      ({ row }) => Number.parseInt(digits.charAt(column * avatarSide + row), 16) > 7
    )
  )
  const path = cells
    .flatMap(({ column, row }) =>
      [...new Set([column, avatarSide - 1 - column])].map((x) => `M${x} ${row}h1v1h-1z`)
    )
    .join("")
  const hue = Number.parseInt(digits.slice(-3), 16) % 360
  return html`<svg class="avatar" viewBox="-1 -1 7 7" aria-hidden="true" focusable="false">
    <path fill=${`hsl(${hue} 45% 50%)`} d=${path} />
  </svg>`
}

/** Names are not unique, so the link shows the end of the id; its beginning is a timestamp. */
export const agentLink = (frame: Frame, agentId: string, name: Html) =>
  html`${avatar(agentId)}<a href=${frame.at(agentPage(agentId))}>${name}</a>
    <code class="quiet small">${agentId.slice(-8)}</code>`

/** The key of an asset or a series, as a link to its page. */
export const assetTag = (frame: Frame, key: string) =>
  html`<a class="tag" href=${frame.at(assetPage(key))}>${assetIcon(key)}${key}</a>`

/** A filter of a list. */
export const choices = (
  label: string,
  all: ReadonlyArray<{ readonly name: Html; readonly href: string; readonly isChosen: boolean }>
) =>
  html`<nav aria-label=${label}>
    <ul class="choices">
      ${all.map(
        ({ href, isChosen, name }) =>
          html`<li><a href=${href} aria-current=${isChosen ? "page" : undefined}>${name}</a></li>`
      )}
    </ul>
  </nav>`

/** An empty list, with the reason. */
export const empty = (why: Html) => html`<p class="empty">${why}</p>`

/** Cuts the text, at the end of a word if one is near. */
const cut = (text: string, visibleLength: number): readonly [start: string, rest: string] => {
  if (text.length <= visibleLength * 1.2) return [text, ""]
  const head = text.slice(0, visibleLength)
  const end = head.search(/\s\S*$/)
  // A cut never falls between the halves of a surrogate pair.
  const place = end < visibleLength / 2 ? [...head].slice(0, -1).join("").length : end
  return [text.slice(0, place), text.slice(place)]
}

const plain = (text: string): Html => html`<div class="long-text" dir="auto">${text}</div>`

/** A text of a user, with its line breaks; `as` renders its parts. Text beyond `visibleLength` characters is behind a disclosure. */
export const longText = (text: string, visibleLength: number, rest: string, as = plain) => {
  const [start, more] = cut(text, visibleLength)
  return html`${as(start)}
  ${
    more === ""
      ? null
      : html`<details>
          <summary class="small">${rest}</summary>
          ${as(more)}
        </details>`
  }`
}

/** A text of a user, with its line breaks. */
export const quoted = (text: string) => html`<blockquote class="quoted" dir="auto">${text}</blockquote>`

export const badge = (tone: Tone, text: string) => html`<span class=${`badge ${tone}`}>${text}</span>`

/** A form that is sent by POST with its form token. */
export const form = (frame: Frame, action: string, content: Html) =>
  html`<form method="post" action=${frame.at(action)}>
    <input type="hidden" name=${formTokenField} value=${frame.formToken} />
    ${content}
  </form>`

/** An error message of the API, which is English on pages of every language. */
export const inEnglish = (detail: string) => html`<span lang="en">${detail}</span>`

/** A labelled field with its hint and, when rejected, the complaint. */
export const field = (options: {
  readonly name: string
  readonly label: string
  readonly hint: Html
  readonly complaint: Html | undefined
  readonly input: Readonly<Record<string, string | boolean>>
}) => {
  const { complaint, hint, input, label, name } = options
  const rejected = complaint !== undefined
  return html`<div>
    <label for=${name}>${label}</label>
    <p class="hint" id=${`${name}-hint`}>${hint}</p>
    ${rejected ? html`<p class="complaint" id=${`${name}-complaint`}>${complaint}</p>` : null}
    <input
      id=${name}
      name=${name}
      required
      autofocus=${rejected}
      aria-invalid=${rejected ? "true" : undefined}
      aria-describedby=${rejected ? `${name}-complaint ${name}-hint` : `${name}-hint`}
      ...${input}
    />
  </div>`
}

/** A form that consists of its button. */
export const pressing = (frame: Frame, action: string, label: Html) =>
  form(frame, action, html`<button class="secondary">${label}</button>`)

export const predictionProof = (commit: string) => `/api/v1/log/proof/${commit}`
export const settlementProof = (challengeId: string) => `/api/v1/log/settlement/${challengeId}`
export const entryProof = (leafIndex: number) => `/api/v1/log/proof/entry/${leafIndex}`

/** `of` names the target for screen readers, which list links out of context. */
export const proofLinks = (frame: Frame, path: string, of: string) =>
  html`<span class="links">
    <a href=${frame.at(path)} aria-label=${frame.t.proofFileOf(of)} download>${frame.t.proofFile}</a>
    <a href=${frame.at(verifyPage(frame.at(path)))} aria-label=${frame.t.checkProofOf(of)}
      >${frame.t.checkProof}</a
    >
  </span>`

/** `path` may have a query of its own. */
export const nextPage = (frame: Frame, path: string, cursor: string | null) =>
  cursor === null
    ? null
    : html`<p>
        <a
          class="button secondary"
          href=${frame.at(`${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ cursor }).toString()}`)}
          >${frame.t.nextPage}</a
        >
      </p>`

const pages = [
  ["agents", accountPage],
  ["credit", creditPage()],
  ["keys", apiKeysPage()],
  ["notices", noticesPage]
] as const

export const accountTabs = (frame: Frame, here: (typeof pages)[number][0]) => {
  const { account, tabs } = frame.t.owners
  return choices(
    account,
    pages.map(([name, path]) => ({ name: tabs[name], href: frame.at(path), isChosen: name === here }))
  )
}
