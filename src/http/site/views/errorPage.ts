/** The page of every request that cannot be answered. Needs nothing that could fail in turn: no session, no database. */
import { html } from "./html.ts"
import type { Page } from "./layout.ts"

const titles: Readonly<Record<number, string>> = {
  400: "That did not work",
  403: "That was refused",
  404: "There is nothing here",
  405: "That did not work",
  410: "This has ended",
  413: "That was too much",
  415: "That did not work",
  429: "Too many requests",
  503: "Back in a moment"
}

export const titleOf = (status: number): string => titles[status] ?? "Something went wrong"

/** `detail` says what is wrong and what would be right. */
export const refusal = (options: {
  readonly status: number
  readonly detail: string
  readonly requestId: string
}): Page => ({
  title: titleOf(options.status),
  content: html`
    <h1>${titleOf(options.status)}</h1>
    <p class="lead">${options.detail}</p>
    <p class="quiet small">
      If you tell somebody about this, give them the request id: <code>${options.requestId}</code>
    </p>
  `
})
