/** News feeds that events are made from; part of the table in `src/config.ts`. */
import { duration, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const feedSettings = {
  eventFeeds: words(
    "AUSPEX_EVENT_FEEDS",
    null,
    "a YAML file",
    "News feeds (RSS, Atom) that events are made from, with the source, spaces and assets of each; without it events are those that admins import."
  ),
  feedInterval: duration("AUSPEX_FEED_INTERVAL", "5 minutes", "How often each feed is asked for news.")
} satisfies Record<string, Setting<unknown>>
