import { chineseNames, nameWithin, plainDecimal } from "../../scoring/wording.ts"
import { nearest } from "./nearest.ts"
import { isWordByItself } from "./text.ts"

export { nameWithin, plainDecimal }

/** A target's Chinese name, or else its English one. */
export const nameInChinese = (key: string, name: string): string => chineseNames[key] ?? name

/** Other common words for a target, beside its key and its names. */
const aliases: Readonly<Record<string, ReadonlyArray<string>>> = {
  GC: ["XAU", "XAUUSD", "gold price", "gold futures", "金价", "黄金期货"],
  ES: ["S&P", "S&P 500", "S&P500", "SPX", "SPY", "US stocks", "stock market", "标普", "标准普尔", "美股"],
  CL: ["oil", "crude", "WTI", "petroleum", "石油", "油价"],
  ZN: ["Treasury", "Treasuries", "10-year", "bonds", "US bonds", "美债", "国债"],
  HG: ["铜价"],
  NG: ["gas", "natgas", "Henry Hub"],
  BTC: ["XBT", "BTCUSD", "BTC-USD", "比特幣"],
  ZS: ["soybeans", "soy", "黄豆"],
  DXY: ["dollar", "US dollar", "dollar index", "USD", "美元"],
  ETH: ["ether", "ETHUSD", "ETH-USD", "以太币", "以太幣"],
  CPI: ["inflation", "US inflation", "consumer prices", "通胀", "通货膨胀", "通膨", "物价"],
  CORE_CPI: ["core inflation", "core CPI", "核心通胀", "核心CPI"],
  PPI: ["producer prices", "factory prices"],
  NFP: ["payrolls", "nonfarm", "non-farm payrolls", "jobs report", "jobs", "非农", "就业报告"],
  UNRATE: ["unemployment", "jobless rate", "失业"],
  PCE: ["PCE inflation", "consumer spending"],
  GDP: ["growth", "US growth", "economic growth", "经济增长"],
  FOMC: [
    "Fed",
    "Fed decision",
    "Fed rate",
    "Fed funds",
    "Fed meeting",
    "Federal Reserve",
    "interest rate",
    "interest rates",
    "rate decision",
    "rate cut",
    "rate hike",
    "美联储",
    "联储",
    "利率",
    "利率决议",
    "降息",
    "加息"
  ]
}

interface Named {
  readonly key: string
  readonly name: string
}

const termsOf = ({ key, name }: Named): ReadonlyArray<string> => [
  key,
  name,
  nameInChinese(key, name),
  nameWithin(key, name),
  ...(aliases[key] ?? [])
]

/** Letters, marks and digits alone, without case and accents: "S&P 500" is "sp500". */
const plain = (text: string): string =>
  text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036F]/g, "")
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, "")

const plainWords = (text: string): ReadonlyArray<string> =>
  text
    .split(/\s+/u)
    .map(plain)
    .filter((word) => word !== "")

const maxWordsOfName = 4

/** The positions of a plain name among the words: as whole words, or within a word of a script without spaces. */
const placesOf = (term: string, words: ReadonlyArray<string>): ReadonlyArray<number> => {
  for (let from = 0; from < words.length; from++) {
    for (let to = from + 1; to <= Math.min(words.length, from + maxWordsOfName); to++) {
      if (words.slice(from, to).join("") === term)
        return words.slice(from, to).map((_, index) => from + index)
    }
  }
  const within = /[^\p{ASCII}]/u.test(term) ? words.findIndex((word) => word.includes(term)) : -1
  return within < 0 ? [] : [within]
}

/** True if a name, or one of its later words, begins with the text; a name without spaces may contain it anywhere. */
const isBegunBy = (text: string, name: string): boolean => {
  const words = plainWords(name)
  const begins = words.some((_, index) => words.slice(index).join("").startsWith(text))
  return begins || (/[^\p{ASCII}]/u.test(text) && plain(name).includes(text))
}

/** The targets that a text names, best first, and the words that name none. */
export interface NamedTargets<Target> {
  readonly targets: ReadonlyArray<Target>
  readonly rest: ReadonlyArray<string>
}

/** The targets that a text names in either language, by their keys in any case, or by other common words. */
export const targetsNamedIn = <Target extends Named>(
  text: string,
  all: ReadonlyArray<Target>
): NamedTargets<Target> => {
  const words = plainWords(text)
  const whole = words.join("")
  const named = all.flatMap((target) => {
    const found = termsOf(target)
      .map(plain)
      .map((term) => ({ term, places: placesOf(term, words) }))
      .filter(({ places }) => places.length > 0)
    const longest = Math.max(0, ...found.map(({ term }) => term.length))
    const isKey = plain(target.key) === whole ? 1 : 0
    return longest === 0 ? [] : [{ target, found, isKey, longest }]
  })
  if (named.length > 0) {
    const terms = named.flatMap(({ found }) => found)
    const rest = words.flatMap((word, place) => {
      const here = terms.filter(({ places }) => places.includes(place)).map(({ term }) => term)
      if (here.some((term) => !word.includes(term) || term === word)) return []
      const left = here.reduce((remaining, term) => remaining.replace(term, ""), word)
      return left === "" ? [] : [left]
    })
    const best = named.toSorted((a, b) => b.isKey - a.isKey || b.longest - a.longest)
    return { targets: best.map(({ target }) => target), rest }
  }
  const begun =
    whole.length < 2 && !isWordByItself(whole)
      ? []
      : all.filter((target) => termsOf(target).some((term) => isBegunBy(whole, term)))
  return { targets: begun, rest: begun.length > 0 ? [] : words }
}

/** Shorter names are too similar to other words. */
const minNearest = 5

/** The target whose name is close to a text with a mistake in it. */
export const targetNearly = <Target extends Named>(
  text: string,
  all: ReadonlyArray<Target>
): Target | undefined => {
  const names = all.flatMap((target) =>
    termsOf(target).map((term): readonly [string, Target] => [plain(term), target])
  )
  const meant =
    plain(text).length < minNearest
      ? undefined
      : nearest(
          plain(text),
          names.map(([name]) => name)
        )
  return names.find(([name]) => name === meant)?.[1]
}
