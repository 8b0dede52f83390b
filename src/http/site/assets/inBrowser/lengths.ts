/** How long something takes, in words; also in the browser, where it counts down. */
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000]
] as const

/** A duration in its two largest units, rounded down: "2 days 3 hours". */
export const lengthOf = (millis: number): string => {
  const parts: Array<string> = []
  let rest = Math.max(0, millis)
  for (const [one, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${one}${count === 1 ? "" : "s"}`)
    else if (parts.length > 0) break
  }
  return parts.length === 0 ? "less than a minute" : parts.slice(0, 2).join(" ")
}
