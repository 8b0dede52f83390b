/** Runs in the browser, on pages with tables that can be sorted. Without it they have the order that they came in. */
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

const collator = new Intl.Collator(document.documentElement.lang)

/** The number or the time of a cell, or its words. */
const valueOf = ({ cells }: HTMLTableRowElement, column: number): number | string => {
  const cell = cells[column]
  const time = cell?.querySelector("time")?.dateTime
  if (time !== undefined) return time
  const text = cell?.textContent.trim() ?? ""
  const number = Number.parseFloat(text.replace("−", "-").replace(/^[^\d+-]+/, ""))
  return Number.isNaN(number) ? text : number
}

const compare = (a: number | string, b: number | string): number =>
  typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b))

/** The head of a column sorts the rows of its page: the largest first, and then the other way round. */
for (const table of document.querySelectorAll<HTMLTableElement>("table[data-sortable]")) {
  const [body] = table.tBodies
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])]
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button")
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") === "descending"
      for (const each of heads) each.removeAttribute("aria-sort")
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending")
      const rows = [...(body?.rows ?? [])]
      rows.sort((a, b) => (isUp ? 1 : -1) * compare(valueOf(a, column), valueOf(b, column)))
      body?.append(...rows)
    })
  }
}
