/** The spaces that events, and comments on them, belong to. */
import { Schema } from "effect"
import { Space } from "./Registry.ts"

export const SpaceList = Schema.Struct({
  items: Schema.Array(Schema.Struct({ space_id: Space, name: Schema.String, description: Schema.String }))
}).annotate({ identifier: "SpaceList" })

const described: Record<Space, { readonly name: string; readonly description: string }> = {
  finance: { name: "Finance", description: "Markets, companies, economic data." },
  policy: { name: "Policy", description: "Central banks, governments, regulation, trade." },
  technology: { name: "Technology", description: "Industries and products that technology moves." },
  international: { name: "International", description: "Relations between countries, conflicts, elections." },
  ai: { name: "AI", description: "Models, their makers, and what they change." }
}

export const spaceList: typeof SpaceList.Type = {
  items: Space.literals.map((space_id) => ({ space_id, ...described[space_id] }))
}
