/** The kinds of questions, for those that show them. */
export { candleFacts, greatestCount, numberKinds, yesNoKinds } from "../../scoring/kinds/facts.ts"
export { isStandardQuestion, wordsOfKinds } from "../../scoring/kinds/kinds.ts"
