/** Entries that wait with their bytes, and those whose bytes are composed when they get their index. */
import { Schema } from "effect"
import { EntryType } from "./entries.ts"

/** An entry whose bytes are still to be composed. */
export const Unwritten = Schema.Struct({
  /** How many stand before it in the batch. */
  place: Schema.Int,
  type: EntryType,
  challenge_id: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.Int),
  closed_at: Schema.NullOr(Schema.DateTimeUtcFromString),
  imported: Schema.Boolean
})
export type Unwritten = typeof Unwritten.Type

/** Neighbours of a batch that all have their bytes, or are all unwritten. */
export interface Part {
  /** How many stand before it in the batch. */
  readonly first: number
  readonly entries: number
  /** All of them, or none. */
  readonly unwritten: ReadonlyArray<Unwritten>
}

/** The parts of a batch, in its order. */
export const partsOf = (batch: {
  readonly entries: number
  readonly unwritten: ReadonlyArray<Unwritten>
}): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let first = 0
  let neighbours: Array<Unwritten> = []
  const written = (until: number) => {
    if (until > first) parts.push({ first, entries: until - first, unwritten: [] })
    first = until
  }
  const unwritten = () => {
    if (neighbours.length === 0) return
    parts.push({ first, entries: neighbours.length, unwritten: neighbours })
    first += neighbours.length
    neighbours = []
  }
  for (const each of batch.unwritten) {
    if (each.place > first + neighbours.length) {
      unwritten()
      written(each.place)
    }
    neighbours.push(each)
  }
  unwritten()
  written(batch.entries)
  return parts
}
