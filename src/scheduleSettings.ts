/** The settings of scheduled challenges; part of the table in `src/config.ts`. */
import { Option } from "effect"
import { scheduleNames } from "./services/Schedules.ts"
import type { ScheduleName } from "./services/Schedules.ts"
import { duration, plain } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

const parseSchedules = (text: string): Option.Option<ReadonlyArray<ScheduleName>> => {
  if (text === "off") return Option.some([])
  const asked = text.split(",").map((word) => word.trim())
  const known = scheduleNames.filter((name) => asked.includes(name))
  return known.length === asked.length ? Option.some(known) : Option.none()
}

export const scheduleSettings = {
  schedules: plain({
    name: "AUSPEX_SCHEDULES",
    defaultText: null,
    takes: `off, or some of ${scheduleNames.join(", ")} with commas (default: all of them, if there is a price source)`,
    meaning:
      "Which challenges are made without an administrator: of trading days, of events, of weeks of crypto assets, of macro releases.",
    parse: parseSchedules
  }),
  sessionLead: duration(
    "AUSPEX_SESSION_LEAD",
    "2 hours",
    "How long before it begins, which is its deadline, a session's challenge is made."
  ),
  flashTime: duration(
    "AUSPEX_FLASH_TIME",
    "15 minutes",
    "How long a flash challenge takes predictions; it is settled an hour after it was made."
  ),
  flashWithin: duration("AUSPEX_FLASH_WITHIN", "1 hour", "How old an event may be to make flash challenges."),
  weeklyLead: duration(
    "AUSPEX_WEEKLY_LEAD",
    "24 hours",
    "How long before its Monday, which is their deadline, the questions on a week are made."
  ),
  releaseLead: duration(
    "AUSPEX_RELEASE_LEAD",
    "14 days",
    "How long before its release a planned macro challenge is made."
  ),
  releaseClose: duration(
    "AUSPEX_RELEASE_CLOSE",
    "1 hour",
    "How long before its release the predictions of a planned macro challenge end, if the calendar does not say."
  ),
  scheduleNotice: duration(
    "AUSPEX_SCHEDULE_NOTICE",
    "10 minutes",
    "The least time before its deadline in which a scheduled challenge is still made, after an outage for example."
  ),
  schedulePriceWithin: duration(
    "AUSPEX_SCHEDULE_PRICE_WITHIN",
    "3 hours",
    "How old the latest price may be that a scheduled challenge begins from, if hourly prices are fetched; others may be of the last close."
  )
} satisfies Record<string, Setting<unknown>>

/** Unless an operator says otherwise, whoever has a price source has the schedules. */
export const schedulesOf = (
  set: Option.Option<ReadonlyArray<ScheduleName>>,
  source: "none" | "replay" | "live"
): ReadonlyArray<ScheduleName> => Option.getOrElse(set, () => (source === "none" ? [] : scheduleNames))
