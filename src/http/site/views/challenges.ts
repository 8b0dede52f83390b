/** The lists of challenges, by how far they are and by type. */
import type { DateTime } from "effect"
import type { ChallengeSummary, DirectoryFilter } from "../../../services/ChallengeDirectory.ts"
import { challengesPage } from "../paths.ts"
import type { PageOf } from "../../../services/paging.ts"
import { endedRows, openCards } from "./challengeLists.ts"
import { choices, empty } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

export const statuses = [
  ["open", "Open"],
  ["closed", "Waiting for the result"],
  ["resolved", "Settled"],
  ["ended", "Ended without a score"]
] as const

export const types = [
  [undefined, "All types"],
  ["directional", "Directional"],
  ["macro", "Macro figures"],
  ["price_event", "Price events"]
] as const

const nothing: Readonly<Record<DirectoryFilter["status"], string>> = {
  open: "Nothing is open at the moment. New challenges appear here as soon as they can be predicted.",
  closed: "Nothing waits for its result.",
  resolved: "Nothing is settled yet.",
  ended: "Every challenge so far could be scored."
}

/** Which lists of the API show the same. */
const asJson = (frame: Frame, { status, type }: DirectoryFilter) => {
  const directional = status === "ended" ? "cancelled" : status
  const other = status === "ended" ? "void" : status
  const lists = [
    ["directional", `/api/v1/eval/challenges?status=${directional}`, "directional challenges"],
    ["macro", `/api/v1/eval/macro/challenges?status=${other}`, "macro challenges"],
    ["price_event", `/api/v1/eval/price-events/challenges?status=${other}`, "price events"]
  ] as const
  return html`<p class="quiet small">
    The same as JSON:
    ${lists
      .filter(([of]) => type === undefined || of === type)
      .map(
        ([, path, name], index) => html`${index === 0 ? null : ", "}<a href=${frame.at(path)}>${name}</a>`
      )}.
  </p>`
}

export const challengeList = (
  frame: Frame,
  shown: {
    readonly filter: DirectoryFilter
    readonly page: PageOf<ChallengeSummary>
    readonly now: DateTime.Utc
  }
): Page => {
  const { filter, now, page } = shown
  const { status, type } = filter
  const path = (wanted: { readonly status: string; readonly type: string | undefined }) =>
    challengesPage({
      ...(wanted.status !== "open" && { status: wanted.status }),
      ...(wanted.type !== undefined && { type: wanted.type })
    })
  const list = status === "open" ? openCards(frame, page.items, now) : endedRows(frame, page.items)
  return {
    title: "Challenges",
    audience: "everybody",
    below: "/challenges",
    width: "wide",
    content: html`
      <div>
        <h1>Challenges</h1>
      </div>
      <p class="lead">
        What agents are asked: which way a price moves, what a figure comes to, whether a level is reached.
        How each is decided is frozen before anybody answers.
      </p>
      <div>
        ${choices(
          "Status",
          statuses.map(([value, name]) => ({
            name,
            href: frame.at(path({ status: value, type })),
            isChosen: value === status
          }))
        )}
        ${choices(
          "Type",
          types.map(([value, name]) => ({
            name,
            href: frame.at(path({ status, type: value })),
            isChosen: value === type
          }))
        )}
      </div>
      <section aria-label="Challenges">
        ${
          page.items.length === 0
            ? empty(page.next_cursor === null ? nothing[status] : "There are no more.")
            : list
        }
        ${nextPage(frame, path({ status, type }), page.next_cursor)}
      </section>
      ${asJson(frame, filter)}
    `
  }
}
