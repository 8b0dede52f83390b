import type { Site } from "../../services/Settings.ts"
import { english } from "./texts.ts"
import type { MailTexts } from "./texts.ts"
import { chinese } from "./textsChinese.ts"

/** The texts of a site's mails, in its language. */
export const textsOf = (site: Site): MailTexts => (site === "cn" ? chinese : english)
