/** The kinds of questions, for code that shows them. */
export {
  candleFacts,
  eachLevel,
  inWords,
  levelNames,
  maxCount,
  numberKinds,
  yesNoKinds
} from "../../scoring/kinds/facts.ts"
export type { LevelName, Levels } from "../../scoring/kinds/facts.ts"
export { isStandardQuestion, wordsOfKinds } from "../../scoring/kinds/kinds.ts"
