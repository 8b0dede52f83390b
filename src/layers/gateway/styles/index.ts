/** The two styles of calling a language model, as routing and billing use them. All of it is pure, but for counting. */
export { admit, admitCount } from "./admission.ts"
export { errorBody, providerRefusal, streamError } from "./errors.ts"
export { tokensAMessage } from "./promptTokenUpperBound.ts"
export { requestBody } from "./request.ts"
export { streamReader } from "./streamReader.ts"
export { countPrompt, countText, roughCount, roughPrompt } from "./tokens.ts"
export { readAnswer } from "./response.ts"
