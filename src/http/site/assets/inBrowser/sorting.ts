/** Runs in the browser on pages with sortable tables. Without it, tables keep the order of the server. */
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

/** The number of a cell, or the milliseconds of its time. */
const valueOf = ({ cells }: HTMLTableRowElement, column: number): number => {
  const cell = cells[column]
  const time = cell?.querySelector("time")?.dateTime
  return time === undefined
    ? Number.parseFloat(cell?.textContent.replaceAll(",", "").replace("−", "-") ?? "")
    : Date.parse(time)
}

/** Heads of numbers and times sort the rows of the page: the largest first, then reversed. */
for (const table of document.querySelectorAll("table")) {
  const [body] = table.tBodies
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])]
  for (const [column, head] of heads.entries()) {
    if (!("sortable" in head.dataset)) continue
    const button = document.createElement("button")
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") === "descending"
      for (const each of heads) each.removeAttribute("aria-sort")
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending")
      const rows = [...(body?.rows ?? [])]
      rows.sort((a, b) => (isUp ? 1 : -1) * (valueOf(a, column) - valueOf(b, column)))
      body?.append(...rows)
    })
  }
}
