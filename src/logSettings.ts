/** The settings of the public log; part of the table in `src/config.ts`. */
import type { KeyObject } from "node:crypto"
import { Option } from "effect"
import { parseLogKey } from "./layers/node/logKey.ts"
import { isKeyName } from "./layers/note.ts"
import { plain } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

/** What a cosignature can name. */
const longestOrigin = 255

const key = (name: string, meaning: string): Setting<KeyObject> => ({
  name,
  defaultText: null,
  takes: "an Ed25519 private key in PKCS#8, as PEM or its base64 on one line",
  meaning,
  secret: true,
  parse: parseLogKey
})

export const logSettings = {
  logOrigin: plain<string>({
    name: "AUSPEX_LOG_ORIGIN",
    defaultText: null,
    takes:
      "a name without spaces and plus signs (default: the host name of AUSPEX_BASE_URL, /log/ and the site)",
    meaning:
      "The name of the public log. The first start fixes it in the database; later ones do not look at it.",
    parse: (text) =>
      isKeyName(text) && Buffer.byteLength(text) <= longestOrigin ? Option.some(text) : Option.none()
  }),
  logKey: key(
    "AUSPEX_LOG_KEY",
    "Signs the public log; all replicas that run jobs need the same. Without it, it is the file log-key in the data directory, made at the first start."
  ),
  logKeyPrevious: key(
    "AUSPEX_LOG_KEY_PREVIOUS",
    "The log's key before a change: it goes on signing beside the new one while it is set."
  )
} satisfies Record<string, Setting<unknown>>

/** A log is named after where it is reached, without a port, and the site. */
export const defaultOrigin = (baseUrl: string, site: string): string =>
  `${new URL(baseUrl).hostname}/log/${site}`
