/**
 * Measures a text of unknown origin, English or Chinese, in time linear in its length: hence no pattern here has two neighbouring
 * repetitions that match the same character.
 */

/** A text that was read once. */
export interface Passage {
  /** Lower-case words; each Chinese character is a word of its own. */
  readonly words: ReadonlyArray<string>
  /** The number of words that are Chinese characters. */
  readonly han: number
  /** The length in words as a reader counts them. */
  readonly size: number
  /** The sizes of its sentences; texts too short for a sentence are left out. */
  readonly sentences: ReadonlyArray<number>
  /** ` word word word `, to find whole words and beginnings of words by `includes`. */
  readonly spaced: string
  /** The words without anything between, to find Chinese terms. */
  readonly joined: string
  /** Every run of `runLength` words, once. */
  readonly runs: ReadonlySet<string>
  /** The share of new runs of words: 1 if none is repeated. */
  readonly novelty: number
}

const wordPattern = /\p{Script=Han}|[[\p{L}\p{N}\p{M}]--\p{Script=Han}]+/gv
const hanPattern = /\p{Script=Han}/v
const everyHan = /\p{Script=Han}/gv
/** Ideographs and their punctuation begin here, which suffices to find a sentence's end before one. */
const ideographs = "\u2e80"
const runLength = 4
/** A few sentences have fewer; the rest of a longer text is not read. */
const maxRead = 600
const minSentence = 3
/** Chinese words have one to three characters. */
const wordsPerHan = 0.6

const abbreviations: ReadonlySet<string> = new Set([
  "vs",
  "approx",
  "mr",
  "dr",
  "st",
  "inc",
  "co",
  "etc",
  "eg",
  "ie"
])
const closers: ReadonlySet<string> = new Set(['"', "'", ")", "]", "”", "’", "）"])

const letter = /[a-z]/i
const space = /\s/

/** True if the full stop at `at` ends an abbreviation or an initial, as in "U.S." and "approx." */
const isAbbreviation = (text: string, at: number): boolean => {
  let start = at
  while (start > 0 && at - start <= 6 && letter.test(text.charAt(start - 1))) start -= 1
  return at - start === 1 || abbreviations.has(text.slice(start, at).toLowerCase())
}

const endsSentence = (text: string, at: number): boolean => {
  const character = text.charAt(at)
  if (character === "。" || character === "！" || character === "？") return true
  const next = text.charAt(at + 1)
  if (character === "\n") return next === "\n"
  if (character !== "." && character !== "!" && character !== "?") return false
  if (next !== "" && !space.test(next) && !closers.has(next) && next < ideographs) return false
  return character !== "." || !isAbbreviation(text, at)
}

const countHan = (text: string): number => text.match(everyHan)?.length ?? 0

/** The first words of a sentence, up to the number that is read. */
const wordsIn = (sentence: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (const [word] of sentence.matchAll(wordPattern)) {
    words.push(word)
    if (words.length === maxRead) break
  }
  return words
}

const sizeOf = (words: number, han: number): number => words - han + han * wordsPerHan

/** Slices of ` word word word `, one from each word but the last few. */
const runsOf = (words: ReadonlyArray<string>, spaced: string): ReadonlyArray<string> => {
  const runs: Array<string> = []
  let start = 0
  let end = 0
  for (const [index, word] of words.entries()) {
    end += word.length + 1
    if (index < runLength - 1) continue
    runs.push(spaced.slice(start, end + 1))
    start += (words[index - runLength + 1] ?? "").length + 1
  }
  return runs.length === 0 && words.length > 0 ? [spaced] : runs
}

/** Reads a text. */
export const read = (text: string): Passage => {
  const found: Array<string> = []
  const sentences: Array<number> = []
  let start = 0
  for (let at = 0; at < text.length && found.length < maxRead; at += 1) {
    if (at < text.length - 1 && !endsSentence(text, at)) continue
    const sentence = text.slice(start, at + 1).toLowerCase()
    start = at + 1
    const inSentence = wordsIn(sentence)
    for (const word of inSentence) found.push(word)
    const size = sizeOf(inSentence.length, countHan(inSentence.join("")))
    if (size >= minSentence) sentences.push(size)
  }
  const words = found.slice(0, maxRead)
  const spaced = ` ${words.join(" ")} `
  const joined = words.join("")
  const han = countHan(joined)
  const all = runsOf(words, spaced)
  const runs = new Set(all)
  const novelty = all.length === 0 ? 0 : runs.size / all.length
  return { words, han, size: sizeOf(words.length, han), sentences, spaced, joined, runs, novelty }
}

/** A term to look for, prepared once. */
export interface Term {
  readonly needle: string
  readonly within: "spaced" | "joined"
}

/** Prepares a term: a Chinese one is found anywhere, another at the beginning of a word; `$` ends the word. */
export const term = (written: string): Term => {
  if (hanPattern.test(written)) return { needle: written.replace("$", ""), within: "joined" }
  return { needle: ` ${written.replace("$", " ")}`, within: "spaced" }
}

/** True if the passage has this term. */
export const mentions = (passage: Passage, { needle, within }: Term): boolean =>
  passage[within].includes(needle)

/** The number of these terms that the passage has. */
export const countMentions = (passage: Passage, terms: ReadonlyArray<Term>): number =>
  terms.filter((wanted) => mentions(passage, wanted)).length

const shared = (of: ReadonlySet<string>, among: ReadonlySet<string>): number => {
  let count = 0
  for (const item of of) if (among.has(item)) count += 1
  return count
}

/** The share of a passage's runs of words that another text has as well: 1 is a copy. */
export const copied = (passage: Passage, from: Passage): number =>
  passage.runs.size === 0 ? 0 : shared(passage.runs, from.runs) / passage.runs.size

/** The share of a passage's vocabulary that another text has as well: near 1 is a copy in another order. */
export const borrowed = (passage: Passage, from: Passage): number => {
  const vocabulary = new Set(passage.words)
  return vocabulary.size === 0 ? 0 : shared(vocabulary, new Set(from.words)) / vocabulary.size
}

/** The likeness of two passages: the runs they share, against the shorter one. */
export const likeness = (one: Passage, other: Passage): number => {
  const smaller = Math.min(one.runs.size, other.runs.size)
  return smaller === 0 ? 0 : shared(one.runs, other.runs) / smaller
}

/** The share of the words that are among these; only words in letters of an alphabet count. */
export const shareOf = (passage: Passage, among: ReadonlySet<string>): number => {
  const spelled = passage.words.length - passage.han
  return spelled === 0 ? 0 : passage.words.filter((word) => among.has(word)).length / spelled
}

/** True if the passage is mostly Chinese characters. */
export const isChinese = ({ han, words }: Passage): boolean => han * 2 > words.length
