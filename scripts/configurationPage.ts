import { allSettings } from "../src/config.ts"

const cell = (text: string) => text.replaceAll("|", "\\|")

/** The types that many settings share are explained once, above the table. */
const briefly = (takes: string) =>
  takes
    .replace(/^(a duration|a limit) such as "[^"]*"(?:, "[^"]*")?(?: or "[^"]*")?$/, "$1")
    .replace(/^a duration such as "[^"]*", or "off"/, "a duration, or off")
    .replace(/^a whole number from (\d+) to (\d+)$/, "$1 to $2")

const codeOf = (text: string | null) => (text === null || text === "" ? "" : `\`${cell(text)}\``)

/** The page that lists every setting, as src/config.ts defines it. */
export const configurationPage = (): string => {
  const [limits = [], others = []] = [true, false].map((isLimit) =>
    allSettings.filter(({ takes }) => (briefly(takes) === "a limit") === isLimit)
  )
  return [
    "# Configuration",
    "",
    "Settings are environment variables. A wrong value stops the start with one line that names the setting and what it",
    'takes; an empty one counts as absent. A duration is such as "15 seconds", "60 minutes" or "7 days"; "2 to 100" is a whole',
    "number. Made from `src/config.ts` by `npm run docs:configuration`.",
    "",
    "| setting | default | takes | meaning |",
    "| --- | --- | --- | --- |",
    ...others.map(
      ({ defaultText, meaning, name, takes }) =>
        `| \`${name}\` | ${codeOf(defaultText)} | ${cell(briefly(takes))} | ${cell(meaning)} |`
    ),
    "",
    "## Limits",
    "",
    'Each is such as "60/minute" or "5/minute,50/day".',
    "",
    "| setting | default | counts |",
    "| --- | --- | --- |",
    ...limits.map(
      ({ defaultText, meaning, name }) => `| \`${name}\` | ${codeOf(defaultText)} | ${cell(meaning)} |`
    ),
    ""
  ].join("\n")
}
