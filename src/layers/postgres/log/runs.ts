/** How a batch is taken apart: by what has its bytes and what is composed when it gets its index, and by where it is kept. */
import { Schema } from "effect"
import { EntryType } from "./entries.ts"
import { tileWidth } from "./frontier.ts"

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
export interface Run {
  /** How many stand before it in the batch. */
  readonly first: number
  readonly entries: number
  /** All of them, or none. */
  readonly unwritten: ReadonlyArray<Unwritten>
}

/** The runs of a batch, in its order. */
export const runsOf = (batch: {
  readonly entries: number
  readonly unwritten: ReadonlyArray<Unwritten>
}): ReadonlyArray<Run> => {
  const runs: Array<Run> = []
  let first = 0
  let neighbours: Array<Unwritten> = []
  const written = (until: number) => {
    if (until > first) runs.push({ first, entries: until - first, unwritten: [] })
    first = until
  }
  const unwritten = () => {
    if (neighbours.length === 0) return
    runs.push({ first, entries: neighbours.length, unwritten: neighbours })
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
  return runs
}

/** Predictions that follow each other in the log within a tile, by their places in a run. */
export interface Stretch {
  readonly first: number
  readonly last: number
}

/** The stretches of a run of so many entries that follow `size` others, all of which are predictions but those at `apart`. */
export const stretchesOf = (
  size: number,
  entries: number,
  apart: ReadonlyArray<number>
): ReadonlyArray<Stretch> => {
  const breaks = new Set(apart)
  const stretches: Array<Stretch> = []
  let first: number | undefined
  const end = (past: number) => {
    if (first !== undefined) stretches.push({ first, last: past - 1 })
    first = undefined
  }
  for (let place = 0; place < entries; place++) {
    if (breaks.has(place) || (size + place) % tileWidth === 0) end(place)
    if (!breaks.has(place)) first ??= place
  }
  end(entries)
  return stretches
}
