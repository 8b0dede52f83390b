/** Predictions stay where they are recorded; what the log has of them is which follow each other. */
import { tileWidth } from "./frontier.ts"

/** Predictions that follow each other in the log within a tile, by their places in a part of a batch: a row of `log_runs`. */
export interface Run {
  readonly first: number
  readonly last: number
}

/** The runs of so many entries that follow `size` others, all of which are predictions but those at `apart`. */
export const runsOf = (size: number, entries: number, apart: ReadonlyArray<number>): ReadonlyArray<Run> => {
  const breaks = new Set(apart)
  const runs: Array<Run> = []
  let first: number | undefined
  const end = (past: number) => {
    if (first !== undefined) runs.push({ first, last: past - 1 })
    first = undefined
  }
  for (let place = 0; place < entries; place++) {
    if (breaks.has(place) || (size + place) % tileWidth === 0) end(place)
    if (!breaks.has(place)) first ??= place
  }
  end(entries)
  return runs
}
