/** The way around an owner's pages. */
import { accountPage } from "../../../services/Operators.ts"
import { apiKeysPage } from "../paths.ts"
import { creditPage } from "../../../services/Payments.ts"
import { choices } from "./components.ts"
import type { Frame } from "./layout.ts"

const pages = [
  ["Your agents", accountPage],
  ["Credit", creditPage()],
  ["API keys", apiKeysPage()]
] as const

export const accountMenu = (frame: Frame, here: (typeof pages)[number][0]) =>
  choices(
    "Your account",
    pages.map(([name, path]) => ({ name, href: frame.at(path), isChosen: name === here }))
  )
