/** The plans as a page of the documentation. */
import type { Grown } from "../scenarios/growth.ts"
import { titleOf } from "./table.ts"

/** The indentation of our source says nothing here. */
const outdented = (text: string): string => {
  const lines = text.split("\n").filter((line) => line.trim() !== "")
  const margin = Math.min(...lines.slice(1).map((line) => line.length - line.trimStart().length))
  return lines.map((line, index) => (index === 0 ? line.trimStart() : line.slice(margin))).join("\n")
}

export const plansPage = ({ costs, predictions }: Grown): string => {
  const shown = new Set<string>()
  const sections = costs.map(({ millis, pages, plans, read }) => {
    const parts = plans.map(({ plan, statement }) => {
      const text = outdented(statement.text)
      const first = !shown.has(text)
      shown.add(text)
      return [...(first ? ["```sql", text, "```", ""] : []), "```", plan, "```"].join("\n")
    })
    return [
      `## ${titleOf(read)}`,
      `${plans.length} statements, ${millis.toFixed(2)} ms, ${pages} pages.`,
      ...parts
    ].join("\n\n")
  })
  return [
    `# Plans at ${predictions} predictions`,
    "Written by `npm run bench -- --only growth --plans docs/plans.md`, not by hand: the statements that the service sends for each read, and the plan that PostgreSQL makes of them once and for all values (`plan_cache_mode = force_generic_plan`). A statement stands where it is first sent. What they cost from size to size: [growth.md](growth.md).",
    ...sections,
    ""
  ].join("\n\n")
}
