/** Asset keys and the common names of the assets. */
import { assetKeys } from "./model.ts"
import type { AssetKey } from "./model.ts"
import { mentions, read, term } from "./text.ts"
import type { Passage } from "./text.ts"

/** Lower-case names as `read` splits them: "S&P 500" is `s p 500`. */
const namesOf: { readonly [Key in AssetKey]: string } = {
  GC: "gold,bullion,xau,xauusd,precious metals,黄金,金价",
  ES: "equities,equity,stocks,shares,s p 500,s p500,sp500,s p,spx,spy,e mini,emini,stock market,equity index,标普,美股,股市,股票,股指",
  CL: "crude,crude oil,oil,wti,brent,petroleum,usoil,原油,石油,油价",
  ZN: "treasury,treasuries,10 year,ten year,10y,us10y,ust,t note,t notes,tnote,bonds,government bonds,us treasury,us treasuries,notes,美债,国债,债券",
  HG: "copper,xcu,铜,铜价",
  NG: "natural gas,natgas,nat gas,henry hub,gas,lng,天然气,气价",
  BTC: "bitcoin,xbt,btcusd,btcusdt,btc usd,比特币",
  ZS: "soybean,soybeans,soy,soya,大豆,豆价",
  DXY: "dollar,us dollar,usd,greenback,dollar index,usdx,美元",
  ETH: "ethereum,ether,ethusd,ethusdt,eth usd,以太坊,以太币",
  CPI: "consumer prices,consumer price index,inflation,消费者价格,通胀",
  CORE_CPI: "core cpi,core inflation,core consumer prices,核心通胀,核心cpi",
  PPI: "producer prices,producer price index,生产者价格",
  NFP: "nonfarm payrolls,non farm payrolls,payrolls,nonfarm,非农",
  UNRATE: "unemployment,unemployment rate,jobless rate,失业率",
  PCE: "personal consumption,pce deflator,core pce,个人消费支出",
  GDP: "growth,gross domestic product,economic growth,经济增长",
  FOMC: "fed,fed funds,federal reserve,fed funds rate,policy rate,美联储,联邦基金利率"
}

/** Every common name of an asset, its key first. */
export const namesOfAsset = (key: AssetKey): ReadonlyArray<string> => [
  read(key).words.join(" "),
  ...namesOf[key].split(",")
]

const termsOf = new Map(
  assetKeys.map((key) => [key, namesOfAsset(key).map((name) => term(`${name}$`))] as const)
)

/** Words that may follow a name without making it another asset. */
const suffixes: ReadonlySet<string> = new Set(
  "future futures contract contracts price prices index spot yield yields rate f 1".split(" ")
)
const chineseSuffixes = ["期货", "价格", "指数", "现货"]

const spellings = new Map<string, AssetKey>(
  assetKeys.flatMap((key) => namesOfAsset(key).map((name) => [read(name).joined, key] as const))
)

/** A longer entry is prose, not a name. */
const maxEntry = 8

/** True if the passage names the asset, by its key or a common name. */
export const namesAsset = (passage: Passage, key: AssetKey): boolean =>
  (termsOf.get(key) ?? []).some((name) => mentions(passage, name))

const withoutSuffixes = (entry: Passage): string => {
  const end = entry.words.findLastIndex((word) => !suffixes.has(word))
  const joined = entry.words.slice(0, end + 1).join("")
  const suffix = chineseSuffixes.find((ending) => joined.endsWith(ending))
  return suffix === undefined ? joined : joined.slice(0, -suffix.length)
}

/** The asset of an entry of `affected_assets`: a key in any case, or a common name. */
export const resolveAsset = (entry: Passage): AssetKey | undefined => {
  const exact = spellings.get(entry.joined) ?? spellings.get(withoutSuffixes(entry))
  if (exact !== undefined || entry.words.length > maxEntry) return exact
  const named = assetKeys.filter((key) => namesAsset(entry, key))
  return named.length === 1 ? named[0] : undefined
}
