/** Equities, the dollar, trade and stress. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const markets: ReadonlyArray<EventTemplate> = [
  {
    slug: "earnings-season-beat",
    prompt:
      "With 60 % of the companies of the S&P 500 having reported, 81 % earned more than expected, by 8.4 % on average; the ten-year averages are 74 % and 4.8 %. The four largest makers of chips and cloud services raised their investment plans by 22 % together. Analysts have raised their estimate of earnings for the coming year from 244 to {earnings} dollars a share. The index trades at {multiple} times that, against 18.1 on average.",
    numbers: { earnings: [253, 249, 268, 1], multiple: [19.8, 18.9, 21.6, 0.1] },
    figure: {
      by: "product",
      of: ["earnings", "multiple"],
      ask: "the level of the index that follows from these numbers"
    },
    assets: { core: ["ES"], plausible: ["HG", "GDP", "BTC", "ZN", "DXY", "NG"] },
    directions: { bullish: 1, mixed: 0.5 },
    magnitudes: { medium: 1, high: 0.7, low: 0.4 },
    kinds: ["equities", "technology"],
    terms: words(
      "beat,earnings,profit,estimate,reported,reporting season,capex,investment plan,cloud,chip,tech,multiple,valuation,guidance",
      "财报,盈利,业绩,上调,资本开支,云,芯片,科技,估值"
    ),
    related: ["equities", "technology", "growth", "central_bank", "inflation", "regulation", "labour"]
  },
  {
    slug: "profit-warnings-consumer",
    prompt:
      "Within one day three of the largest US retailers, a parcel carrier and a maker of household goods lowered their guidance. Together they now expect sales to fall by {fall} % in the coming half-year, where they had expected growth of {growth} %. All five name customers with low incomes who buy less or cheaper, and two will close stores. Equity futures are down by 1.6 %, and volatility has risen from 15 to 21 points.",
    numbers: { fall: [2, 1.2, 3.6, 0.1], growth: [3, 1.8, 4.1, 0.1] },
    figure: {
      by: "sum",
      of: ["fall", "growth"],
      ask: "by how many percentage points the companies lowered what they expect of sales",
      unit: "points"
    },
    assets: {
      core: ["ES"],
      plausible: ["ZN", "CL", "GDP", "PCE", "UNRATE", "GC", "HG", "BTC"]
    },
    directions: { bearish: 1, mixed: 0.4 },
    magnitudes: { medium: 1, high: 0.8, low: 0.1 },
    kinds: ["equities", "growth"],
    terms: words(
      "guidance,warning,warned,retailer,consumer,customer,household,low income,lower income,sales,store$,stores,parcel,spending,profit",
      "指引,预警,零售,消费,顾客,低收入,销售,门店,关店,包裹,支出,盈利"
    ),
    related: ["equities", "growth", "labour", "inflation", "central_bank", "fiscal"]
  },
  {
    slug: "dollar-funding-squeeze",
    prompt:
      "Banks in Asia and Europe are paying {now} basis points above the risk-free rate to borrow dollars through currency swaps, up from {before} a week ago. The cause is a run on three large offshore funds that had lent in dollars. Six central banks drew 74 billion dollars from swap lines with the Federal Reserve, the most in years. Emerging-market currencies have lost 3.5 % on average in four days.",
    numbers: { now: [95, 78, 124, 1], before: [12, 7, 19, 1] },
    figure: {
      by: "difference",
      of: ["now", "before"],
      ask: "by how many basis points the cost of borrowing dollars rose",
      unit: "basis points"
    },
    assets: { core: ["DXY"], plausible: ["GC", "ES", "ZN", "BTC", "ETH", "CL", "HG", "FOMC"] },
    directions: { bullish: 1, mixed: 0.5, bearish: 0.3 },
    magnitudes: { high: 1, medium: 0.5 },
    kinds: ["currency", "banking", "central_bank"],
    terms: words(
      "swap,offshore,funding,shortage,scarc,squeeze,borrow dollars,lenders,liquidity,emerging,run on,runs on,basis,scramble",
      "互换,离岸,美元荒,短缺,流动性,融资,新兴市场,挤兑,基差,掉期"
    ),
    related: ["currency", "banking", "central_bank", "bonds", "growth", "equities"]
  },
  {
    slug: "joint-dollar-intervention",
    prompt:
      'The finance ministries of Japan, Korea and the euro area sold dollars together for the first time in over a decade, some {sold} billion within two hours. The US Treasury said that it "shares the concern about disorderly moves". The dollar had risen by 14 % against a basket of currencies in seven months. Speculators hold long dollar positions of {longs} billion, the most in five years. The gap between US and Japanese ten-year yields is unchanged at 3.4 points.',
    numbers: { sold: [58, 46, 79, 1], longs: [31, 21, 36, 1] },
    figure: {
      by: "quotient",
      of: ["sold", "longs"],
      ask: "how many times the speculators' positions were sold"
    },
    assets: { core: ["DXY"], plausible: ["GC", "ZN", "ES", "CL", "HG", "BTC", "FOMC"] },
    directions: { bearish: 1, mixed: 0.6 },
    magnitudes: { medium: 1, high: 0.9, low: 0.1 },
    kinds: ["currency", "central_bank"],
    terms: words(
      "interven,finance ministr,ministries,joint,coordinat,sold dollars,selling dollars,sell dollars,disorderly,positions,long dollar,speculat,japan,korea,yen$,euro$,basket,yield gap,differential",
      "干预,财政部,联合,协调,抛售美元,卖出美元,无序,多头,投机,日本,韩国,日元,欧元,利差"
    ),
    related: ["currency", "central_bank", "trade", "bonds", "inflation", "gold", "geopolitics"]
  },
  {
    slug: "broad-tariffs",
    prompt:
      "The US administration announced a tariff of {rate} % on all imports, worth {imports} billion dollars a year, from the first of next month, and of 30 % on goods from three countries that supply 41 % of them. Markets had expected exemptions for cars and electronics; there are none. The three countries announced answers within hours, among them duties on American farm goods. Economists reckon with 0.9 points more inflation and 0.7 points less growth over a year. Equity futures fell by 3.2 %.",
    numbers: { rate: [15, 12, 19, 1], imports: [3260, 2900, 3500, 20] },
    figure: {
      by: "share",
      of: ["imports", "rate"],
      ask: "how many billion dollars a year the general tariff would bring if imports stayed as they are",
      unit: "billion"
    },
    assets: {
      core: ["ES"],
      plausible: ["ZS", "HG", "GC", "ZN", "DXY", "CL", "CPI", "GDP"]
    },
    directions: { bearish: 1, mixed: 0.6 },
    magnitudes: { high: 1, medium: 0.5 },
    kinds: ["trade", "inflation", "growth"],
    terms: words(
      "tariff,duties,duty,imports,exempt,retaliat,trade war,cars,electronics,costs,margins,stagflation,supply chain,countermeasure,levies,levy",
      "关税,进口,豁免,报复,贸易战,汽车,电子,成本,利润率,滞胀,供应链,反制,农产品"
    ),
    related: ["trade", "inflation", "growth", "central_bank", "geopolitics", "crops", "currency", "equities"]
  },
  {
    slug: "tariff-truce",
    prompt:
      "The United States and its second-largest trading partner agreed to lower the duties that they had imposed on each other, from {before} % to {after} % on average, for ninety days. The partner will buy 12 million tonnes of soybeans and end its limits on exports of rare metals. Investors had put the chance of any agreement this month at one in four. Container bookings across the Pacific, which had fallen by 37 %, doubled overnight.",
    numbers: { before: [34, 27, 45, 1], after: [10, 6, 14, 1] },
    figure: {
      by: "difference",
      of: ["before", "after"],
      ask: "by how many percentage points the duties fall",
      unit: "points"
    },
    assets: { core: ["ES", "ZS"], plausible: ["HG", "CL", "DXY", "ZN", "GC", "GDP", "BTC"] },
    directions: { bullish: 1, mixed: 0.5 },
    magnitudes: { high: 1, medium: 0.9 },
    kinds: ["trade", "shipping", "growth"],
    terms: words(
      "truce,deal$,agree,tariff,duties,ninety,90 day,soybean purchase,buy soybeans,rare,container,bookings,trade war,trading partner,de escalat,trade between",
      "休战,协议,关税,九十天,90天,采购,稀土,集装箱,订舱,贸易战,缓和,贸易伙伴"
    ),
    related: [
      "trade",
      "geopolitics",
      "growth",
      "shipping",
      "crops",
      "inflation",
      "equities",
      "central_bank",
      "currency"
    ]
  },
  {
    slug: "regional-bank-failure",
    retired: true,
    prompt:
      "Regulators closed a US bank with 190 billion dollars of assets after depositors withdrew 38 billion in two days. It had losses of 16 billion on bonds that it had bought when yields were low. Shares of other regional banks fell by 13 % on average, and borrowing at the central bank's discount window rose to a record 150 billion. The two-year yield fell by 48 basis points, as traders took two expected rate rises out of the market.",
    assets: { core: ["ES", "ZN"], plausible: ["GC", "BTC", "DXY", "CL", "FOMC", "ETH", "GDP"] },
    directions: { mixed: 1, bearish: 1, bullish: 0.6 },
    magnitudes: { high: 1, medium: 0.5 },
    kinds: ["banking", "bonds", "central_bank"],
    terms: words(
      "bank fail,bank stress,regional,deposit,withdr,discount window,contagion,collapse,losses on bonds,unrealised,unrealized,lender,credit,run on,bank run,banking",
      "倒闭,银行,储户,存款,挤兑,贴现窗口,传染,区域,亏损,信贷,监管"
    ),
    related: [
      "banking",
      "central_bank",
      "bonds",
      "regulation",
      "growth",
      "equities",
      "gold",
      "inflation",
      "rating"
    ]
  },
  {
    slug: "canal-drought-freight",
    retired: true,
    prompt:
      "The authority of a canal that carries 5 % of world trade will let through 20 ships a day instead of 36, because the lakes that feed its locks are at their lowest in seventy years. Bulk carriers with US soybeans for Asia now sail round the cape, which takes 14 days more and adds 19 dollars a tonne. Waiting liquefied-gas carriers have been sent to Europe instead of Asia. Relief is not expected before the rains in five months.",
    assets: { core: ["ZS"], plausible: ["NG", "CL", "CPI", "PPI", "ES", "HG", "CORE_CPI"] },
    directions: { mixed: 1, bearish: 0.9, bullish: 0.5 },
    magnitudes: { low: 1, medium: 1, high: 0.2 },
    kinds: ["shipping", "trade", "weather"],
    terms: words(
      "canal,drought,locks,lake,low water,water,reroute,rerouting,cape,freight,long way,transit,ships,vessel,carrier,delay,voyage",
      "运河,干旱,水位,船闸,绕行,好望角,运费,航程,船,延误,通行,湖"
    ),
    related: ["shipping", "weather", "trade", "crops", "inflation", "gas", "oil", "geopolitics"]
  }
]
