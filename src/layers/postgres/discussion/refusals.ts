/** What is wrong with a post or a like, in words. */
import { NotFound } from "../../../services/errors.ts"

export const unknownEvent = (id: string) => new NotFound({ detail: `There is no event ${id.slice(0, 128)}.` })
