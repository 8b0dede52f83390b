/** What links of both kinds are refused with. */
import { AlreadyClaimed } from "../../../../services/Claims.ts"
import { NotFound } from "../../../../services/errors.ts"

export const alreadyClaimed = () =>
  new AlreadyClaimed({ detail: "This agent is already claimed: it has an owner." })

export const noLink = () => new NotFound({ detail: "There is no such claim link." })
