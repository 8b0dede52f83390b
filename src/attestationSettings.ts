/** The settings of who attests the log's checkpoints; part of the table in `src/config.ts`. */
import { Option } from "effect"
import { parseWitnessKey } from "./layers/witness/cosignature.ts"
import type { WitnessSetting } from "./services/Settings.ts"
import { plain, webBase } from "./settingKinds.ts"
import type { Setting } from "./settingKinds.ts"

/** What fetch refuses to send is refused here: user and password. */
const place = (text: string): Option.Option<string> =>
  Option.filter(webBase(text), (url) => {
    const { password, username } = new URL(url)
    return username === "" && password === ""
  })

const parseWitness = (text: string): Option.Option<WitnessSetting> => {
  const [prefix = "", verifierKey = "", ...rest] = text.trim().split(/\s+/)
  return rest.length === 0 && Option.isSome(parseWitnessKey(verifierKey))
    ? Option.map(place(prefix), (url) => ({ url, verifierKey }))
    : Option.none()
}

const nameOf = ({ verifierKey }: WitnessSetting) => verifierKey.split("+")[0]

const parseWitnesses = (text: string): Option.Option<ReadonlyArray<WitnessSetting>> =>
  Option.all(
    text
      .split(",")
      .filter((part) => part.trim() !== "")
      .map(parseWitness)
  ).pipe(Option.filter((witnesses) => new Set(witnesses.map(nameOf)).size === witnesses.length))

/** Authorities have paths, and some queries, that are taken as they are. */
const authorityUrl = (text: string): Option.Option<string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const usable = url?.protocol === "http:" || url?.protocol === "https:"
  return usable && url.username === "" && url.password === "" && url.hash === ""
    ? Option.some(url.href)
    : Option.none()
}

export const attestationSettings = {
  logWitnesses: plain({
    name: "AUSPEX_LOG_WITNESSES",
    defaultText: "",
    takes: "pairs of submission prefix and verifier key (cosignature/v1, type 04), with commas between them",
    meaning:
      "Witnesses that are asked to cosign each checkpoint of the log, for example `https://witness.example w1+...+...`.",
    parse: parseWitnesses
  }),
  logTimeStampUrl: plain({
    name: "AUSPEX_TSA_URL",
    defaultText: null,
    takes: "an http or https URL",
    meaning: "An RFC 3161 time stamp authority that stamps the newest checkpoint of the log once an hour.",
    parse: authorityUrl
  })
} satisfies Record<string, Setting<unknown>>
