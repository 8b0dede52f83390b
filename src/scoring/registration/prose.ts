/**
 * Checks that the texts of an answer are prose about this market that adds something to the prompt and addresses only its reader.
 * Each rule has one subject and leaves a doubtful text alone: a fluent falsehood in the words of the trade passes here.
 */
import { namesOfAsset } from "./assets.ts"
import {
  causal,
  functionWords,
  judgingInChinese,
  ordinaryHan,
  ordinaryWords,
  termsOfKind,
  wordsOfJudging
} from "./lexicon.ts"
import { assetKeys } from "./model.ts"
import type { RegistrationEvent } from "./model.ts"
import { likeness, mentions, read, shareOf, term } from "./text.ts"
import type { Passage, Term } from "./text.ts"

/** The common part of a word's forms: rough, but the same for all of them. */
const stemOf = (word: string): string =>
  word
    .replace(/(?<=...)(?:ing|ed|es|s|er|ly)$/, "")
    .replace(/(?<=..)[ey]$/, "")
    .slice(0, 5)

const stemsOf = (words: ReadonlyArray<string>): ReadonlySet<string> => new Set(words.map(stemOf))
const split = (words: string): ReadonlyArray<string> => words.trim().split(/\s+/)

/** The words that carry a meaning, in letters of the English alphabet. */
const contentOf = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.filter((word) => /^[a-z]{3,}$/.test(word) && !functionWords.has(word)).map(stemOf)

const kindTerms = Object.values(termsOfKind).flat()
const assetNames = assetKeys.flatMap(namesOfAsset)
const wordsOf = (terms: ReadonlyArray<Term>) => terms.flatMap(({ needle }) => split(needle))
const tradeWords = [...wordsOf(kindTerms), ...assetNames.flatMap(split)]
const tradeStems = stemsOf(tradeWords)
const ordinaryStems = stemsOf(split(ordinaryWords))
const knownStems = stemsOf([...tradeWords, ...wordsOf(causal), ...split(ordinaryWords)])
const knownHan: ReadonlySet<string> = new Set([...tradeWords, ...wordsOf(causal), ordinaryHan].join(""))

/** An answer of a few sentences has fewer; the rest of a longer one is not read. */
const maxSentences = 100

const sentencesIn = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts
    .flatMap((text) => text.split(/[!?;。！？；\n]|[.:：](?!\d)/))
    .filter((sentence) => sentence.trim() !== "")
    .slice(0, maxSentences)

const countOf = (among: ReadonlySet<string>, items: Iterable<string>): number =>
  [...new Set(items)].filter((item) => among.has(item)).length

const judging = {
  plain: new Set(split(wordsOfJudging.plain)),
  weak: new Set(split(wordsOfJudging.weak))
}
/** Markup, code, ciphers and letters spelled out do not belong into prose. */
const markup =
  /[{}]|```|<[/!|]?[a-z]|\|>|\[\/?[A-Z]{3,}|#{3}|={3}|[a-z]{3}>?=\w|(?<!\w)--[a-z]|\/\/ |[A-Za-z\d+/=]{28,}|(?:\b[a-z]\b[ .\-_*]{1,3}){6}/
/** Letters that are neither Latin nor Chinese; Greek ones are symbols of quantities. */
const foreign = /[\p{L}--\p{Script=Latin}--\p{Script=Han}--\p{Script=Greek}]/gv
const maxForeign = 3

/** True if a sentence is more about judging than about the event or any market. */
const isAside = (sentence: string, promptStems: ReadonlySet<string>): boolean => {
  const passage = read(sentence)
  const { words } = passage
  const plain = countOf(judging.plain, words) + new Set(sentence.match(judgingInChinese.plain)).size
  const weak = countOf(judging.weak, words) + new Set(sentence.match(judgingInChinese.weak)).size
  if (plain + weak === 0) return false
  const others = words.filter((word) => !judging.plain.has(word) && !judging.weak.has(word))
  const ofMatter = contentOf(others).filter(
    (stem) => tradeStems.has(stem) || (promptStems.has(stem) && !ordinaryStems.has(stem))
  )
  const inChinese = kindTerms.filter((each) => each.within === "joined" && mentions(passage, each))
  const matter = new Set(ofMatter).size + inChinese.length
  return plain === 0 ? weak > matter + 1 : plain + weak > matter
}

/** A few names and idioms are no fault. */
const strangeness = { few: 5, share: 0.42 }
const maxStrangeHan = 0.2
/** A sentence with hardly any of the little words of English is in another language. */
const strangeSentence = { few: 4, share: 0.6 }
const minLittle = 0.15

const isStrange = (
  content: ReadonlyArray<string>,
  promptStems: ReadonlySet<string>,
  { few, share } = strangeness
): boolean => {
  const own = [...new Set(content)].filter((stem) => !promptStems.has(stem))
  const strange = own.filter((stem) => !knownStems.has(stem)).length
  return strange >= few && strange > own.length * share
}

const isForeign = (sentence: Passage, promptStems: ReadonlySet<string>): boolean =>
  shareOf(sentence, functionWords) < minLittle &&
  isStrange(contentOf(sentence.words), promptStems, strangeSentence)

const isStrangeChinese = ({ words }: Passage, terms: ReadonlyArray<string>): boolean => {
  const own = new Set(terms.join(""))
  const han = [...new Set(words)].filter((word) => /\p{Script=Han}/u.test(word))
  const strange = han.filter((character) => !knownHan.has(character) && !own.has(character)).length
  return strange >= strangeness.few && strange > han.length * maxStrangeHan
}

/** Neighbours that occur in no sentence. */
const impossible =
  /\b(?:(?:the|an?|its|their) (?:of|to|in|for|and|or|but|with|by|from|at|is|are|was|were|be|will|would|can|has|had|the|an?|its|their|because|therefore)|(?:of|to|in|for|with|by|at|from|on|against|into) (?:of|with|by|for|and|or|but|is|are|was|were|will|would|because|therefore)|(?:will|would|can|could|should|must) (?:of|the|an?|is|are|was|were|has|had|will|would|can|could|to)|(is|are|was|were|and|or|but) (?!\1\b)(?:is|are|was|were|and|or|but))\b/g
const strayChinese = /的[了和与而]|[和与或把被将从对][了的，。；]|了[的和了]|从而的|导致的|因为[了的，。]/g
/** The minimum share of different words among those that carry a meaning; circular texts have fewer. */
const minVariety = 0.6
const minCircle = 15

const isDisordered = (texts: ReadonlyArray<string>, content: ReadonlyArray<string>): boolean => {
  const text = texts.join(" . ").toLowerCase()
  const faults = text.match(impossible)?.length ?? 0
  const words = text.match(/[a-z]+/g)?.length ?? 0
  const strays = text.match(strayChinese)?.length ?? 0
  const isCircle = content.length >= minCircle && new Set(content).size < content.length * minVariety
  return isCircle || strays >= 2 || (faults >= 2 && faults > words * 0.012)
}

const byNeedle = (terms: ReadonlyArray<Term>): ReadonlyMap<string, Term> =>
  new Map(terms.map((each) => [each.needle, each]))

/** An analyst looks beyond the event, but not to everything else at once. */
const scatter = { few: 4, share: 0.33 }
/** One addition is needed for this many words of the reasoning, up to the maximum. */
const wordsPerAddition = 8
const maxNeeded = 3
const maxRelated = 2
/** An answer repeats the question if it has this share of its runs of words. */
const verbatim = 0.7

/** The reasons that the texts are no analysis in prose. */
export type Lacks = ReturnType<typeof lacksOf>

/** `entries` are the lists of an answer, which are no prose but may also address the judge. */
export const lacksOf = (
  event: RegistrationEvent,
  texts: ReadonlyArray<string>,
  reasoning: Passage,
  entries: ReadonlyArray<string>
) => {
  const [facts = "", task = ""] = event.prompt.split("\n\n")
  const prompt = read(facts)
  const promptStems = new Set(prompt.words.map(stemOf))
  const whole = read(texts.join("\n\n"))
  const content = contentOf(whole.words)
  const sentences = sentencesIn(texts)

  const own = event.terms.map(term)
  const termsOf = (...kinds: RegistrationEvent["kinds"]) =>
    byNeedle([...own, ...kinds.flatMap((kind) => termsOfKind[kind])])
  const used = [...byNeedle([...own, ...kindTerms]).values()].filter((each) => mentions(whole, each))
  const added = used.filter((each) => !mentions(prompt, each) && !assetNames.includes(each.needle.trim()))
  const near = termsOf(...event.kinds, ...event.related)
  const far = added.filter(({ needle }) => !near.has(needle)).length
  const matter = termsOf(...event.kinds)
  const additions = added.filter(({ needle }) => matter.has(needle)).length

  // The figure must be in a sentence with words of the task, but not in exactly those words.
  const [, question = ""] = /State in digits (.*)\.$/.exec(task) ?? []
  const questionWords = new Set(
    likeness(read(question), whole) > verbatim ? [] : contentOf(read(question).words)
  )
  const related = Math.max(
    question === "" ? maxRelated : 0,
    ...sentences
      .filter((each) => /\d/.test(each))
      .map((each) => countOf(questionWords, contentOf(read(each).words)))
  )
  const needed = Math.min(maxNeeded, Math.max(1, Math.floor(reasoning.size / wordsPerAddition)))
  const all = [...texts, ...entries]
  return {
    addressesJudge:
      all.some((text) => markup.test(text) || (text.match(foreign)?.length ?? 0) > maxForeign) ||
      sentencesIn(all).some((sentence) => isAside(sentence, promptStems)),
    isStrange:
      isStrange(content, promptStems) ||
      sentencesIn(all)
        .map(read)
        .some((each) => isForeign(each, promptStems)) ||
      isStrangeChinese(whole, event.terms),
    isDisordered: isDisordered(texts, content),
    isScattered: far > scatter.few && far > used.length * scatter.share,
    addsNothing: additions + Math.min(maxRelated, related) < needed
  }
}
