/** Where an instance listens, and is reached; part of the table in `src/config.ts`. */
import { Option } from "effect"
import { integer, plain, webBase, wholeNumber, words } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

export const listenSettings = {
  host: words("AUSPEX_HOST", "127.0.0.1", "an address to listen on", "The address to listen on."),
  port: integer("AUSPEX_PORT", "8080", "The port to listen on.", [1, 65_535]),
  baseUrl: plain({
    name: "AUSPEX_BASE_URL",
    defaultText: null,
    takes: "an http or https URL (default: http://HOST:PORT)",
    meaning: "Where the service is reached from outside; every link is built from it.",
    parse: webBase
  }),
  opsHost: words(
    "AUSPEX_OPS_HOST",
    "127.0.0.1",
    "an address to listen on",
    "The address that metrics and health are served on, for those who operate this instance."
  ),
  opsPort: plain<Option.Option<number>>({
    name: "AUSPEX_OPS_PORT",
    defaultText: "9464",
    takes: "a whole number from 0 to 65535 (0: any free port), or off",
    meaning: "The port that metrics and health are served on.",
    parse: (text) =>
      text === "off" ? Option.some(Option.none()) : Option.map(wholeNumber(text, [0, 65_535]), Option.some)
  })
} satisfies Record<string, Setting<unknown>>
