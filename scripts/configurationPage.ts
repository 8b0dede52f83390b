import { allSettings } from "../src/config.ts"

const cell = (text: string) => text.replaceAll("|", "\\|")

/** The page that lists every setting, as src/config.ts defines it. */
export const configurationPage = (): string => {
  const rows = allSettings.map((setting) => {
    const fallback =
      setting.defaultText === null || setting.defaultText === "" ? "" : `\`${cell(setting.defaultText)}\``
    return `| \`${setting.name}\` | ${fallback} | ${cell(setting.takes)} | ${cell(setting.meaning)} |`
  })
  return [
    "# Configuration",
    "",
    "Settings are environment variables. A wrong value stops the start with one line that names the setting and what it",
    "takes; an empty one counts as absent. Made from `src/config.ts` by `npm run docs:configuration`.",
    "",
    "| setting | default | takes | meaning |",
    "| --- | --- | --- | --- |",
    ...rows,
    ""
  ].join("\n")
}
