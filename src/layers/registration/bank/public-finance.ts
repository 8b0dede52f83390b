/** Government debt, budgets, ratings and growth. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const publicFinance: ReadonlyArray<EventTemplate> = [
  {
    slug: "treasury-auction-tail",
    prompt:
      "The US Treasury sold {size} billion dollars of ten-year notes at a yield of 4.83 %, 3.9 basis points above the yield at which they traded just before: the largest tail in six years. Bids were {cover} times the amount on offer, against an average of 2.51. Foreign and other indirect bidders took 54 %, against 68 % on average, and dealers were left with 27 %. Next week the Treasury sells another 80 billion dollars of long debt.",
    numbers: { size: [44, 39, 48, 1], cover: [2.14, 2.03, 2.29, 0.01] },
    figure: {
      by: "product",
      of: ["size", "cover"],
      ask: "for how many billion dollars of notes there were bids",
      unit: "billion"
    },
    assets: { core: ["ZN"], plausible: ["DXY", "GC", "ES", "FOMC", "BTC"] },
    directions: { bearish: 1, mixed: 0.4 },
    magnitudes: { medium: 1, high: 0.7, low: 0.4 },
    kinds: ["bonds", "fiscal"],
    terms: words(
      "auction,tail,bid$,bids,bidder,dealer,indirect,coverage,ten year sale,foreign,undersubscribed,weak demand,term premium,issuance,next week,concession",
      "拍卖,投标,交易商,认购,尾差,海外,供应,期限溢价,发行,间接"
    ),
    related: ["bonds", "fiscal", "central_bank", "inflation", "rating", "currency"]
  },
  {
    slug: "treasury-issuance-cut",
    prompt:
      "In its quarterly refunding statement the US Treasury cut the planned sales of notes and bonds by {cut} billion dollars and will borrow more by bills of under one year instead. Dealers had expected an increase of {expected} billion dollars. Tax receipts, the statement says, came in 11 % above plan. The ten-year yield fell by 12 basis points and the gap between long and short yields narrowed by 9.",
    numbers: { cut: [92, 70, 120, 1], expected: [20, 12, 34, 1] },
    figure: {
      by: "sum",
      of: ["cut", "expected"],
      ask: "by how many billion dollars the plan differs from what dealers had expected",
      unit: "billion"
    },
    assets: { core: ["ZN"], plausible: ["ES", "DXY", "GC", "BTC", "FOMC"] },
    directions: { bullish: 1, mixed: 0.5 },
    magnitudes: { medium: 1, high: 0.5, low: 0.5 },
    kinds: ["bonds", "fiscal"],
    terms: words(
      "refund,issuance,bills,less supply,lower supply,fewer,receipt,scarc,duration,flatten,borrow,tax,short dated,sales of notes,coupon",
      "再融资,发行,短债,国库券,供应,税收,久期,趋平,曲线,发债,借款"
    ),
    related: ["bonds", "fiscal", "central_bank", "growth", "inflation", "rating"]
  },
  {
    slug: "fiscal-package-unfunded",
    retired: true,
    prompt:
      "The US Senate passed a package of tax cuts and infrastructure spending worth 1.3 trillion dollars over five years, of which 0.2 trillion is paid for by other measures. The budget office expects it to add 0.9 percentage points to growth next year and to lift the deficit from 6.2 % to 7.4 % of output. Prediction markets had put the chance of passage at 40 %. The ten-year yield rose by 16 basis points, and shares of builders and steel makers rose by 4 %.",
    assets: { core: ["ZN", "ES"], plausible: ["HG", "DXY", "GC", "GDP", "CPI", "CL", "FOMC"] },
    directions: { mixed: 1, bearish: 0.9, bullish: 0.8 },
    magnitudes: { high: 1, medium: 0.9 },
    kinds: ["fiscal", "bonds", "growth"],
    terms: words(
      "package,stimulus,tax cut,infrastructure,deficit,unfunded,senate,congress,spending,borrow,fiscal,budget,issuance,builder,construction",
      "财政,刺激,减税,基建,赤字,法案,参议院,国会,支出,发债,借贷"
    ),
    related: ["fiscal", "bonds", "growth", "inflation", "central_bank", "rating", "metals", "equities"]
  },
  {
    slug: "sovereign-downgrade",
    prompt:
      'After the close of trading a large rating agency lowered its rating of US government debt from AA+ to AA. It names "a steady deterioration of governance" and a debt that it expects to grow from {now} % to {later} % of output within four years. The outlook had been stable, and only one of 30 strategists polled had expected the step this year. In early Asian trading the ten-year yield is 9 basis points higher and equity futures are 1.1 % lower.',
    numbers: { now: [117, 103, 118, 1], later: [128, 125, 138, 1] },
    figure: {
      by: "difference",
      of: ["later", "now"],
      ask: "by how many percentage points of output the debt is expected to grow",
      unit: "points"
    },
    assets: { core: ["ZN", "ES"], plausible: ["GC", "DXY", "BTC", "CL"] },
    directions: { bearish: 1, mixed: 0.8, bullish: 0.2 },
    magnitudes: { medium: 1, high: 0.8, low: 0.4 },
    kinds: ["rating", "fiscal", "bonds"],
    terms: words(
      "downgrade,rating,notch,agency,agencies,aa$,governance,creditworth,credit quality,debt burden,sovereign,risk premium,fiscal",
      "评级,下调,主权,债务,治理,信用,风险溢价,财政,机构"
    ),
    related: ["rating", "fiscal", "bonds", "central_bank", "currency", "gold", "banking", "growth"]
  },
  {
    slug: "debt-ceiling-deadline",
    prompt:
      "Talks on the US debt limit broke down, and the Treasury has {cash} billion dollars of cash left, of which it spends {pace} billion a day. Bills that mature just after it will have run out yield 6.3 %, 110 basis points more than those that mature a month later. The cost of insuring US debt for one year rose to 165 basis points, a record. Both sides will meet again the day after tomorrow, and in each of the last nine disputes a deal came before the deadline.",
    numbers: { cash: [396, 260, 480, 4], pace: [36, 23, 41, 1] },
    figure: { by: "quotient", of: ["cash", "pace"], ask: "for how many more days the cash will last" },
    assets: { core: ["ES"], plausible: ["ZN", "GC", "DXY", "BTC", "CL", "ETH"] },
    directions: { mixed: 1, bearish: 0.9, bullish: 0.2 },
    magnitudes: { medium: 1, high: 0.9, low: 0.4 },
    kinds: ["fiscal", "bonds", "rating"],
    terms: words(
      "debt limit,debt ceiling,default,deadline,talks,negotiat,brinkmanship,standoff,cash will,run out,bills,last minute,congress,deal,insur,cds$,x date,political",
      "债务上限,违约,谈判,期限,国会,国库券,现金,最后一刻,协议,僵局,政治"
    ),
    related: ["fiscal", "bonds", "rating", "banking", "central_bank", "equities", "gold", "regulation"]
  },
  {
    slug: "gdp-contraction",
    retired: true,
    prompt:
      "US output shrank at an annual rate of 1.4 % in the quarter, while growth of 0.8 % had been expected. Business investment fell by 5.1 %, and inventories took off 0.9 percentage points. Final sales to private domestic buyers, a steadier measure, still rose by 0.4 %. The price index in the report rose by 2.1 %, less than the 2.7 % expected. Copper and crude oil lost 2 % each within the hour.",
    assets: {
      core: ["ZN", "ES"],
      plausible: ["HG", "CL", "GDP", "GC", "DXY", "FOMC", "UNRATE"]
    },
    directions: { mixed: 1, bearish: 0.9, bullish: 0.8 },
    magnitudes: { medium: 1, high: 0.8, low: 0.2 },
    kinds: ["growth", "central_bank", "bonds"],
    terms: words(
      "private,fell in the quarter,weak investment,gdp,shrank,shrink,contract,output fell,negative growth,recession,inventor,business investment,capital spending,capex,final sales,private demand,domestic demand,annual rate,slowdown",
      "gdp,萎缩,收缩,负增长,衰退,库存,企业投资,资本支出,最终销售,内需,放缓"
    ),
    related: ["growth", "labour", "central_bank", "inflation", "fiscal", "equities", "bonds"]
  }
]
