/** The word that was probably meant. */

/** The number of insertions, deletions and substitutions that make one word the other (Levenshtein). */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (const [column, above] of row.slice(1).entries()) {
      const diagonal = (row[column] ?? 0) + (letter === other[column] ? 0 : 1)
      next.push(Math.min(diagonal, above + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

/** Longer words are not compared: the cost is the product of the lengths, and these words are written by hand. */
const maxLength = 64

/** The candidate closest to a word, in any case; undefined if none is within a third of its own length. */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word.length > maxLength) return undefined
  const [best] = [...candidates]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= candidate.length / 3)
    .map((candidate) => ({ candidate, away: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ away, candidate }) => away <= candidate.length / 3)
    .sort((one, other) => one.away - other.away)
  return best?.candidate
}
