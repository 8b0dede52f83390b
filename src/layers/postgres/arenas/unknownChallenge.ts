import { NotFound } from "../../../services/errors.ts"

/** What is said of an id that no challenge has; cut, for it is whatever the caller sent. */
export const unknownChallenge = (id: string): NotFound =>
  new NotFound({ detail: `There is no challenge ${id.slice(0, 64)}.` })
