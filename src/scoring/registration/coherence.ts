/**
 * Detects a reasoning that contradicts its own direction, by its statements about the prices of the assets that the event moves. It
 * prefers to miss a contradiction: only a plain statement about an asset counts ("crude falls", "weighs on gold", "推高铜价"), none that
 * is negated, conditional or about something else, such as yields or demand.
 */
import { namesOfAsset } from "./assets.ts"
import { assetKeys } from "./model.ts"
import type { AssetKey, RegistrationAnswer, RegistrationEvent } from "./model.ts"

type Sign = 1 | -1

/** A few sentences are shorter than this; the rest of a longer text is not read. */
const maxRead = 4000
/** The maximum distance of a verb from its subject, in words, and in Chinese characters. */
const reach = { english: 5, chinese: 12 }

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const rising = set(
  "rise rises rising rose gain gains gaining climb climbs climbing rally rallies rallying jump jumps jumping surge surges surging soar soars soaring higher firmer stronger firm firms strengthen strengthens appreciate appreciates rebound rebounds advance advances"
)
const falling = set(
  "fall falls falling fell drop drops dropping decline declines declining slide slides sliding slip slips slipping sink sinks sinking tumble tumbles plunge plunges slump slumps lower weaker softer weaken weakens depreciate depreciates retreat retreats lose loses suffer suffers"
)
/** Verbs whose subject follows them. */
const lifting = set(
  "lift lifts lifting support supports supporting boost boosts boosting raise raises raising help helps helping favour favours favor favors"
)
const pressing = set(
  "weigh weighs weighing hurt hurts hurting pressure pressures pressuring depress depresses depressing drag drags undermine undermines"
)
const movers = set(
  "push pushes pushing pushed bid bids bidding drive drives driving send sends pull pulls bring brings"
)
const goers = set("go goes going move moves moving is are trade trades")
const links = set("in of for on")
/** Things other than the price of an asset that rise or fall. */
const otherThings = set(
  "yield yields rate rates premium premiums spread spreads curve demand supply supplies output production inventory inventories stockpile stockpiles storage cost costs price-index inflation deflation unemployment jobs wages payrolls spending growth exports imports margin margins volatility odds probability expectations risk risks fees freight earnings profits sales deficit volume volumes activity confidence sentiment hashrate temperature temperatures"
)
/** Words that take a statement back, or move it to another time. */
const hedges = set(
  "not no never nor without unlikely limit limits limiting limited cap caps capping curb curbs contain contains slow slows halt stop stops if unless until before once had despite instead rather reverse reverses offset offsets cannot hardly less"
)

/** These name the yield as often as the note. */
const ambiguous = set("10y us10y")

interface Head {
  readonly key: AssetKey | undefined
}

interface Claim {
  readonly key: AssetKey
  readonly sign: Sign
}

/** Names are ordered by length, so that a name within a longer one does not count. */
const englishNames: ReadonlyArray<readonly [words: ReadonlyArray<string>, key: AssetKey]> = assetKeys
  .flatMap((key) => namesOfAsset(key).map((name) => [name.split(" "), key] as const))
  .filter(([words]) => words.every((word) => /^[a-z0-9]+$/.test(word) && !ambiguous.has(word)))
  .filter(([words]) => words[1] !== "year")
  .sort(([one], [other]) => other.length - one.length)

const namesByFirst = Map.groupBy(englishNames, ([[first = ""]]) => first)

const headAt = (words: ReadonlyArray<string>, at: number): Head | undefined => {
  const word = words[at] ?? ""
  if (otherThings.has(word)) return { key: undefined }
  const found = namesByFirst
    .get(word)
    ?.find(([name]) => name.every((part, offset) => words[at + offset] === part))
  if (found === undefined) return undefined
  // "Treasury yields" are not Treasuries.
  return { key: otherThings.has(words[at + found[0].length] ?? "") ? undefined : found[1] }
}

const firstOf = <A>(from: number, to: number, find: (at: number) => A | undefined): A | undefined => {
  const step = from <= to ? 1 : -1
  for (let at = from; at !== to + step; at += step) {
    const found = find(at)
    if (found !== undefined) return found
  }
  return undefined
}

const before = (heads: ReadonlyArray<Head | undefined>, at: number) =>
  at === 0 ? undefined : firstOf(at - 1, Math.max(0, at - reach.english), (place) => heads[place])

const after = (heads: ReadonlyArray<Head | undefined>, at: number, within = reach.english) =>
  firstOf(at + 1, at + within, (place) => heads[place])

/** The subject that rises or falls by the word at this place. */
const subjectAt = (
  words: ReadonlyArray<string>,
  heads: ReadonlyArray<Head | undefined>,
  at: number
): readonly [Sign, Head] | undefined => {
  const word = words[at] ?? ""
  const move = (sign: Sign, head: Head | undefined) =>
    head === undefined ? undefined : ([sign, head] as const)
  if (lifting.has(word)) return move(1, after(heads, at))
  if (pressing.has(word)) return move(-1, after(heads, at))
  if (word === "up" || word === "down") {
    const sign = word === "up" ? 1 : -1
    const previous = words[at - 1] ?? ""
    if (movers.has(previous)) return move(sign, after(heads, at) ?? before(heads, at))
    return goers.has(previous) ? move(sign, before(heads, at)) : undefined
  }
  if (!rising.has(word) && !falling.has(word)) return undefined
  const sign = rising.has(word) ? 1 : -1
  // Examples are "a drop in crude", and "lower yields", which has no subject before it.
  if (links.has(words[at + 1] ?? "")) return move(sign, after(heads, at) ?? before(heads, at))
  return move(sign, after(heads, at, 2) ?? before(heads, at))
}

const englishClaims = (text: string): ReadonlyArray<Claim> =>
  text
    .toLowerCase()
    .split(/[.;:!?,\n()]|\b(?:while|whereas|but|although|though)\b/)
    .flatMap((clause) => {
      const words = clause.match(/[a-z0-9]+/g) ?? []
      const heads = words.map((_, at) => headAt(words, at))
      return words.flatMap((_, at): ReadonlyArray<Claim> => {
        const found = subjectAt(words, heads, at)
        if (found?.[1].key === undefined) return []
        if (words.slice(Math.max(0, at - 4), at).some((word) => hedges.has(word))) return []
        return [{ key: found[1].key, sign: found[0] }]
      })
    })

const chineseVerbs =
  /(推高|推升|提振|支撑|利好|抬升|抬高)|(压低|拖累|打压|利空|压制)|(上涨|走高|上行|攀升|反弹|大涨|走强|上升|飙升)|(下跌|走低|下行|回落|走弱|下降|承压|下挫|大跌|暴跌)/g
const chineseOthers =
  "收益率,利率,需求,供应,供给,库存,产量,成本,预期,概率,风险,溢价,出口,进口,失业率,就业,工资,运费,算力,情绪,增长,消费,支出,利差,波动".split(
    ","
  )
const chineseNames: ReadonlyArray<readonly [name: string, key: AssetKey | undefined]> = [
  ...assetKeys.flatMap((key) =>
    namesOfAsset(key)
      .filter((name) => /\p{Script=Han}/u.test(name))
      .map((name) => [name, key] as const)
  ),
  ...chineseOthers.map((name) => [name, undefined] as const)
]

/** The last and the first of the things named in a text. */
const namedIn = (text: string): { readonly first: Head | undefined; readonly last: Head | undefined } => {
  const found = chineseNames
    .map(([name, key]) => ({ key, first: text.indexOf(name), end: text.lastIndexOf(name) + name.length }))
    .filter(({ first }) => first >= 0)
  return {
    first: found.toSorted((one, other) => one.first - other.first)[0],
    last: found.toSorted((one, other) => other.end - one.end)[0]
  }
}

const chineseClaims = (text: string): ReadonlyArray<Claim> =>
  text
    .split(/[，。；：！？、,.;!?\n]/)
    .filter((clause) => !/[若未不]|如果|除非|一旦|难以|限制|此前|抵消/.test(clause))
    .flatMap((clause) =>
      [...clause.matchAll(chineseVerbs)].flatMap((match): ReadonlyArray<Claim> => {
        const [verb, lifts, presses, rises] = match
        const sign = lifts !== undefined || rises !== undefined ? 1 : -1
        const end = match.index + verb.length
        const behind = namedIn(clause.slice(end, end + reach.chinese)).first
        const ahead = namedIn(clause.slice(Math.max(0, match.index - reach.chinese), match.index)).last
        const head = lifts !== undefined || presses !== undefined ? (behind ?? ahead) : ahead
        return head?.key === undefined ? [] : [{ key: head.key, sign }]
      })
    )

/** True if all statements of the reasoning about the moved assets, each of them, contradict the direction. */
export const contradictsDirection = (event: RegistrationEvent, answer: RegistrationAnswer): boolean => {
  const { direction, reasoning } = answer.market_impact
  if (direction === "mixed") return false
  const sign = direction === "bullish" ? 1 : -1
  const text = reasoning.slice(0, maxRead)
  const claims = [...englishClaims(text), ...chineseClaims(text)]
  return event.assets.core.every((core) => {
    const ofAsset = claims.filter(({ key }) => key === core)
    return ofAsset.length > 0 && ofAsset.every((claim) => claim.sign !== sign)
  })
}
