/** The parts that pages are made of. */
import { DateTime } from "effect"
import { creditsOf } from "../../../services/Credits.ts"
import { agentPage } from "../paths.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import { formTokenField } from "./layout.ts"
import type { Frame } from "./layout.ts"

/** How something is meant; the colour says it again, never alone. */
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

/** Something to know before anything else on the page. */
export const notice = (tone: Tone, title: string, more?: Html) =>
  html`<div class=${`notice ${tone}`}>
    ${sign(tone)}
    <div>
      <p><strong>${title}</strong></p>
      ${more === undefined ? null : html`<p>${more}</p>`}
    </div>
  </div>`

/** Terms and what they are here; facts that are null are left out. */
export const facts = (entries: ReadonlyArray<readonly [term: string, fact: Html]>) =>
  html`<dl class="facts">
    ${entries
      .filter(([, fact]) => fact !== null)
      .map(
        ([term, fact]) =>
          html`<dt>${term}</dt>
            <dd>${fact}</dd>`
      )}
  </dl>`

/** An instant in words, for people, and exactly, for machines. */
export const instant = (at: DateTime.Utc) => {
  const words = DateTime.formatUtc(at, { locale: "en-GB", dateStyle: "long", timeStyle: "short" })
  return html`<time datetime=${DateTime.formatIso(at)}>${words} UTC</time>`
}

export const day = (at: DateTime.Utc) => {
  const words = DateTime.formatUtc(at, { locale: "en-GB", dateStyle: "long" })
  return html`<time datetime=${DateTime.formatIsoDateUtc(at)}>${words}</time>`
}

/** An amount of credit, in words. */
export const credits = (micro: bigint): string =>
  micro === 1_000_000n ? "1 credit" : `${creditsOf(micro)} credits`
const units = [
  ["day", "days", 86_400_000],
  ["hour", "hours", 3_600_000],
  ["minute", "minutes", 60_000]
] as const

/** A length of time in its two largest units, rounded down: "2 days 3 hours". */
export const lengthOf = (millis: number): string => {
  const parts: Array<string> = []
  let rest = Math.max(0, millis)
  for (const [one, many, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${count === 1 ? one : many}`)
    else if (parts.length > 0) break
  }
  return parts.length === 0 ? "less than a minute" : parts.slice(0, 2).join(" ")
}

/** How long until a moment to come, with the moment itself for machines, and for who points at it. */
export const timeLeft = (until: DateTime.Utc, now: DateTime.Utc) => {
  const moment = DateTime.formatUtc(until, { locale: "en-GB", dateStyle: "long", timeStyle: "short" })
  return html`<time class="countdown" datetime=${DateTime.formatIso(until)} title=${`${moment} UTC`}
    >${lengthOf(DateTime.toEpochMillis(until) - DateTime.toEpochMillis(now))}</time
  >`
}

/** A name or a title that somebody else chose: whichever way it is written, what stands beside it keeps its place. */
export const named = (text: string) => html`<bdi>${text}</bdi>`

/** An agent among others: names are not unique, ids are; the beginning of one is the time when it was made. */
export const agentLink = (frame: Frame, agentId: string, name: Html) =>
  html`<a href=${frame.at(agentPage(agentId))}>${name}</a>
    <code class="quiet small">${agentId.slice(-8)}</code>`

/** Ways to look at a list, of which one is chosen. */
export const choices = (
  label: string,
  all: ReadonlyArray<{ readonly name: string; readonly href: string; readonly isChosen: boolean }>
) =>
  html`<nav aria-label=${label}>
    <ul class="choices">
      ${all.map(
        ({ href, isChosen, name }) =>
          html`<li><a href=${href} aria-current=${isChosen ? "page" : undefined}>${name}</a></li>`
      )}
    </ul>
  </nav>`

/** Nothing is there, and why that is so. */
export const empty = (why: Html) => html`<p class="empty">${why}</p>`

/** Cut where a word ends, if one does within a reasonable distance. */
const cut = (text: string, atOnce: number): readonly [start: string, rest: string] => {
  if (text.length <= atOnce * 1.2) return [text, ""]
  const head = text.slice(0, atOnce)
  const end = head.search(/\s\S*$/)
  // Never between the two halves of a character.
  const place = end < atOnce / 2 ? [...head].slice(0, -1).join("").length : end
  return [text.slice(0, place), text.slice(place)]
}

/**
 * A text of any length that is somebody else's, with its lines as they were written: so much of it is read at once, and
 * the rest is a click away, so that what follows is not far.
 */
export const longText = (text: string, atOnce: number, rest: string) => {
  const [start, more] = cut(text, atOnce)
  return html`<div class="long-text" dir="auto">${start}</div>
    ${
      more === ""
        ? null
        : html`<details>
            <summary class="small">${rest}</summary>
            <div class="long-text" dir="auto">${more}</div>
          </details>`
    }`
}

/** Words that are somebody else's, line by line as they were written. */
export const quoted = (text: string) => html`<blockquote class="quoted" dir="auto">${text}</blockquote>`

export const badge = (tone: Tone, text: string) => html`<span class=${`badge ${tone}`}>${text}</span>`

/** A form that posts, with the proof that it is ours. */
export const form = (frame: Frame, action: string, content: Html) =>
  html`<form method="post" action=${frame.at(action)}>
    <input type="hidden" name=${formTokenField} value=${frame.formToken} />
    ${content}
  </form>`

/** One field with its label, its hint and, when it was refused, why. */
export const field = (options: {
  readonly name: string
  readonly label: string
  readonly hint: Html
  readonly complaint: string | undefined
  /** Further attributes of the input. */
  readonly input: Readonly<Record<string, string | boolean>>
}) => {
  const { complaint, hint, input, label, name } = options
  const refused = complaint !== undefined
  return html`<div>
    <label for=${name}>${label}</label>
    <p class="hint" id=${`${name}-hint`}>${hint}</p>
    ${refused ? html`<p class="complaint" id=${`${name}-complaint`}>${complaint}</p>` : null}
    <input
      id=${name}
      name=${name}
      required
      autofocus=${refused}
      aria-invalid=${refused ? "true" : undefined}
      aria-describedby=${refused ? `${name}-complaint ${name}-hint` : `${name}-hint`}
      ...${input}
    />
  </div>`
}
