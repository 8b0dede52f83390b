/** The costs of every read, size by size. */
import type { Grown } from "../scenarios/growth.ts"
import type { Cost } from "./measure.ts"
import type { Read } from "./reads.ts"

export const titleOf = ({ asked, page, route }: Read): string =>
  [route.replace(/^GET \/api\/v1/, ""), asked, page === "first" ? "" : `${page} page`]
    .filter((part) => part !== "")
    .join(", ")

const ratio = (values: ReadonlyArray<number>): string => {
  const [first = Number.NaN, last = Number.NaN] = [values[0], values.at(-1)]
  return (last / first).toFixed(1)
}

/** The first row holds the names. Milliseconds and pages at each size, and the last of them divided by the first. */
export const growthRows = (grown: ReadonlyArray<Grown>): ReadonlyArray<ReadonlyArray<string>> => {
  const sizes = grown.map(({ predictions }) => `10^${Math.round(Math.log10(predictions))}`)
  const [smallest] = grown
  return [
    [
      "read",
      "statements",
      ...sizes.map((size) => `ms ${size}`),
      "ratio",
      ...sizes.map((size) => `pages ${size}`),
      "ratio"
    ],
    ...(smallest?.costs ?? []).map(({ read, statements }, index) => {
      const costs = grown.flatMap(({ costs }) => costs[index] ?? [])
      const [millis, pages] = [costs.map((cost) => cost.millis), costs.map((cost) => cost.pages)]
      return [
        titleOf(read),
        String(statements),
        ...millis.map((each) => each.toFixed(2)),
        ratio(millis),
        ...pages.map(String),
        ratio(pages)
      ]
    })
  ]
}

export const boardLine = ({ millis, pages, read }: Cost): string =>
  `${titleOf(read)}: ${millis.toFixed(2)} ms, ${pages} pages`
