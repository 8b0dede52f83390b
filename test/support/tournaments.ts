/** A past tournament, as an administrator sends it. */
import { DateTime } from "effect"
import type { Schema } from "effect"
import type { TournamentImport } from "../../src/services/Archive.ts"
import { instant } from "./challenges.ts"

type Sent = Schema.Codec.Encoded<typeof TournamentImport>

/** A match of the group stage, an hour after the one before it, and its predictions. */
export const match = (index: number): Sent["challenges"][number] => {
  const kickOff = DateTime.add(instant("2026-02-01T12:00:00Z"), { hours: index })
  return {
    stage: "Group A",
    question: `Who wins match ${index + 1}?`,
    resolution_criteria: "After 90 minutes.",
    opened_at: "2026-01-20T00:00:00Z",
    deadline: DateTime.formatIso(kickOff),
    resolved_at: DateTime.formatIso(DateTime.add(kickOff, { hours: 2 })),
    result: "draw",
    outcomes: [
      { outcome: "home", prediction_count: 12 },
      { outcome: "draw", prediction_count: 3 },
      { outcome: "away", prediction_count: 0 }
    ]
  }
}

export const tournament = (terms: Partial<Sent> & { readonly matches?: number } = {}): Sent => {
  const { matches = 2, ...changed } = terms
  return {
    slug: "world-cup",
    title: "World Cup",
    summary: "Every match of it.",
    ended_at: "2026-02-28T20:00:00Z",
    challenges: Array.from({ length: matches }, (_, index) => match(index)),
    ...changed
  }
}
