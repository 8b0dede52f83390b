/** Durations as text; browsers use it, too, to count down. */
const units = [
  ["day", "天", 86_400_000],
  ["hour", "小时", 3_600_000],
  ["minute", "分钟", 60_000]
] as const

/** A duration in its two largest units, rounded down: "2 days 3 hours". `language` is the page's, such as "zh-CN". */
export const lengthOf = (millis: number, language = "en"): string => {
  const isChinese = language.startsWith("zh")
  const parts: Array<string> = []
  let rest = Math.max(0, millis)
  for (const [one, chinese, size] of units) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(isChinese ? `${count} ${chinese}` : `${count} ${one}${count === 1 ? "" : "s"}`)
    else if (parts.length > 0) break
  }
  if (parts.length === 0) return isChinese ? "不到一分钟" : "less than a minute"
  return parts.slice(0, 2).join(" ")
}
