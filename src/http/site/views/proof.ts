/** Makes the sentence about an agent's evidence, for boards, pages and embeds alike. */
import type { SkillFields } from "../../../services/Skill.ts"
import type { Messages } from "../messages/messages.ts"

interface Proven {
  readonly evidence: (typeof SkillFields.evidence)["Type"]
  readonly needed: number | null
  /** References have no verdict: other agents are compared with them. */
  readonly isReference: boolean
}

/** One sentence about the agent and the random walk; null without evidence to report. */
export const proofOf = ({ evidence, isReference, needed }: Proven, t: Messages): string | null => {
  if (isReference || evidence === null) return null
  if (evidence.told) return t.told
  if (evidence.sequence[1] < 0) return t.worse
  return needed === null ? t.notAhead : t.ahead(String(needed), needed === 1)
}
