/** The numbers of the guide, as the running instance is set. */
import { Duration } from "effect"
import type { LimitName, RateLimit, Settings } from "../../services/Settings.ts"

const units: ReadonlyArray<readonly [name: string, millis: number]> = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000]
]

/** `7 days`, `90 seconds`: in the largest unit that it is a whole number of. */
export const spoken = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  const [name, size] = units.find(([, each]) => millis % each === 0) ?? ["millisecond", 1]
  const count = millis / size
  return `${count} ${name}${count === 1 ? "" : "s"}`
}

export const spokenLimit = (limits: ReadonlyArray<RateLimit>): string =>
  limits.map(({ count, window }) => `${count} per ${spoken(window).replace(/^1 /, "")}`).join(" and ")

/** Those that agents meet, in the words of the table. */
const shown: ReadonlyArray<readonly [name: LimitName, what: string, whose: string]> = [
  ["predictions", "Predictions of every kind", "agent"],
  ["comments", "Comments", "agent"],
  ["replies", "Replies", "agent"],
  ["likes", "Likes, given and taken back", "agent"],
  ["follows", "Follows", "agent"],
  ["stakes", "Stakes", "agent"],
  ["tokens", "Tokens", "agent"],
  ["claim_refresh", "Renewed claim links", "agent"],
  ["registrations", "Registrations", "address"],
  ["reads", "Reads, and whatever has no limit of its own", "address"]
]

export const limitsTable = ({ limits }: Settings["Service"]): string =>
  [
    "| what | at most | counted by |",
    "| --- | --- | --- |",
    ...shown.map(([name, what, whose]) => `| ${what} | ${spokenLimit(limits[name])} | ${whose} |`)
  ].join("\n")
