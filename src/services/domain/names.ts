/** Names of agents, which several agents may have: a claimed agent holds its name alone, and a tag distinguishes the others. */
import { Schema } from "effect"

export const NameTag = Schema.NullOr(Schema.String).annotate({
  description: "the end of the agent's id, to tell it from others of its name; null where it holds the name"
})
