/** Copper, gold and crops. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const materials: ReadonlyArray<EventTemplate> = [
  {
    slug: "copper-mine-strike",
    prompt:
      "Workers at the world's second-largest copper mine, which yields 5 % of all mined copper, walked out after 87 % of them rejected a pay offer. The last strike there lasted {days} days and took {lost} 000 tonnes off the market. Stocks in exchange warehouses cover four days of world use, the least in fifteen years. Smelters' treatment charges had already fallen to 8 dollars a tonne from 80 a year ago, a sign of how scarce concentrate is.",
    numbers: { days: [44, 31, 58, 1], lost: [120, 84, 150, 2] },
    figure: {
      by: "quotient",
      of: ["lost", "days"],
      ask: "how many thousand tonnes a day the last strike cost",
      unit: "thousand"
    },
    assets: { core: ["HG"], plausible: ["PPI", "ES", "CPI"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { medium: 1, high: 1, low: 0.1 },
    kinds: ["metals"],
    terms: words(
      "strike,walk,union,workers,wage,pay offer,mine$,mines$,smelter,treatment charge,concentrate,warehouse,tonne,stoppage,shortage",
      "罢工,工人,工会,矿,冶炼,加工费,精矿,库存,短缺,停产,减产,吨"
    ),
    related: ["metals", "growth", "labour", "trade", "shipping", "geopolitics", "inflation"]
  },
  {
    slug: "property-slump-copper",
    prompt:
      "In the country that uses half of the world's copper, housing starts fell by 28 % over twelve months, and the largest remaining private developer missed a payment on its bonds. Copper in bonded warehouses rose by 60 000 tonnes in a month. Premiums paid for delivered metal fell from {before} to {after} dollars a tonne. The government has said that it will present support measures, without saying when.",
    numbers: { before: [55, 47, 73, 1], after: [18, 13, 25, 1] },
    figure: { by: "change", of: ["after", "before"], ask: "by how many percent the premiums fell" },
    assets: { core: ["HG"], plausible: ["CL", "ES", "DXY", "ZN", "ZS", "GC", "GDP"] },
    directions: { bearish: 1, mixed: 0.4 },
    magnitudes: { medium: 1, high: 0.9, low: 0.2 },
    kinds: ["metals", "growth"],
    terms: words(
      "property,housing,developer,real estate,construction,building,china,chinese,missed,default,bonded,premium,warehouse,starts,stimulus,support measures",
      "房地产,地产,楼市,开发商,新开工,建筑,违约,保税,升水,中国,刺激,支持措施"
    ),
    related: ["growth", "metals", "fiscal", "central_bank", "banking", "trade", "currency"]
  },
  {
    slug: "grid-stimulus-copper",
    prompt:
      "China's state grid raised its investment plan for the next three years by {rise} %, to the equivalent of {plan} billion dollars, with contracts to be awarded from next month. Analysts reckon that this adds 400 000 tonnes a year to copper demand, in a market that they had expected to be balanced. The central bank lowered banks' reserve requirement by half a point the same day. Copper stocks in Shanghai fell by 23 % over the last month.",
    numbers: { rise: [35, 24, 46, 1], plan: [310, 262, 358, 2] },
    figure: {
      by: "quotient",
      of: ["plan", 3],
      ask: "how many billion dollars a year the plan amounts to",
      unit: "billion"
    },
    assets: { core: ["HG"], plausible: ["ES", "CL", "GDP", "DXY", "GC", "ZN", "PPI"] },
    directions: { bullish: 1, mixed: 0.3 },
    magnitudes: { medium: 1, high: 0.9, low: 0.1 },
    kinds: ["metals", "growth", "fiscal"],
    terms: words(
      "grid,china,chinese,electri,power network,investment plan,reserve requirement,rrr$,shanghai,tonne,contracts,infrastructure,deficit,balanced,stimulus",
      "电网,中国,投资计划,降准,准备金,上海,缺口,铜需求,订单,基建,电力"
    ),
    related: ["growth", "fiscal", "metals", "central_bank", "trade", "currency", "inflation"]
  },
  {
    slug: "central-banks-buy-gold",
    prompt:
      "Central banks bought {bought} tonnes of gold in the quarter, 62 % more than a year ago and the most on record; analysts had expected {expected}. Three of the five largest buyers had not bought for ten years, and two of them sold US Treasuries in the same months. In a survey, 71 % of reserve managers say that they will hold more gold in five years. Mine output rose by 1 %.",
    numbers: { bought: [387, 352, 421, 1], expected: [250, 230, 285, 1] },
    figure: {
      by: "difference",
      of: ["bought", "expected"],
      ask: "by how many tonnes they bought more than was expected"
    },
    assets: { core: ["GC"], plausible: ["DXY", "ZN", "BTC"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { medium: 1, high: 0.7, low: 0.4 },
    kinds: ["gold", "central_bank", "currency"],
    terms: words(
      "central bank,official,reserve,tonne,diversif,record,de dollar,buyers,buying,bought,purchas,survey,accumulat,sanction",
      "央行,购金,增持,储备,多元化,去美元化,吨,创纪录,官方,买家,调查"
    ),
    related: ["gold", "central_bank", "currency", "geopolitics", "inflation", "bonds", "fiscal"]
  },
  {
    slug: "real-yields-jump-gold",
    prompt:
      "The yield of ten-year inflation-protected Treasuries rose to 2.45 %, the highest in sixteen years, up by 38 basis points in two weeks. Over the same time inflation expectations did not change. Funds that hold gold for investors had outflows of {out} tonnes, the largest for any fortnight in three years. Futures traders still hold net long positions equal to {longs} tonnes, close to the top of their range.",
    numbers: { out: [41, 28, 57, 1], longs: [540, 470, 580, 5] },
    figure: {
      by: "percent",
      of: ["out", "longs"],
      ask: "how many percent of the futures traders' positions the outflow amounts to"
    },
    assets: { core: ["GC"], plausible: ["ZN", "DXY", "ES", "BTC", "FOMC", "ETH"] },
    directions: { bearish: 1, mixed: 0.3 },
    magnitudes: { medium: 1, high: 0.8, low: 0.2 },
    kinds: ["gold", "bonds"],
    terms: words(
      "sixteen year,inflation expectations,real yield,real rate,inflation protected,tips$,opportunity cost,carry,outflow,etf,long position,longs,positioning,crowded,speculat,liquidat,fund,non yielding,no yield,no income",
      "实际利率,实际收益率,通胀保值,机会成本,流出,持仓,多头,拥挤,基金,平仓,减持,无息"
    ),
    related: ["bonds", "central_bank", "inflation", "gold", "currency", "labour", "growth"]
  },
  {
    slug: "soy-drought",
    prompt:
      "It has not rained for 26 days in the main soybean area of Brazil, the largest exporter, in the weeks when pods fill. A private forecaster cut its estimate of the crop from {before} to {after} million tonnes. World stocks at the end of the season would be the lowest in nine years on that estimate. Weather models show less than 10 millimetres of rain for the next ten days, and farmers have stopped selling ahead.",
    numbers: { before: [168, 161, 175, 1], after: [151, 137, 153, 1] },
    figure: { by: "change", of: ["after", "before"], ask: "by how many percent the estimate was cut" },
    assets: { core: ["ZS"], plausible: ["CPI", "PPI", "CL", "DXY"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { high: 1, medium: 0.8 },
    kinds: ["crops", "weather"],
    terms: words(
      "brazil,drought,dry,rain,pod$,pods,crop,harvest,yield loss,estimate,weather,exporter,farmers,south america",
      "巴西,干旱,降雨,少雨,结荚,减产,产量,出口国,农民,天气,南美"
    ),
    related: ["weather", "crops", "trade", "inflation", "currency", "shipping"]
  },
  {
    slug: "usda-record-soy-crop",
    prompt:
      "In its monthly report the US Department of Agriculture raised its forecast of the soybean yield from 51.9 to 54.3 bushels an acre, a record and above the highest of 21 private estimates. Stocks at the end of the season are now seen at {now} million bushels, after {before} million a month ago. Export sales so far are 18 % behind last year's. Harvest has begun in dry, sunny weather.",
    numbers: { now: [540, 490, 585, 5], before: [385, 355, 430, 5] },
    figure: { by: "change", of: ["now", "before"], ask: "by how many percent the forecast of stocks rose" },
    assets: { core: ["ZS"], plausible: ["CPI", "PPI", "DXY"] },
    directions: { bearish: 1, mixed: 0.2 },
    magnitudes: { medium: 1, high: 0.8, low: 0.2 },
    kinds: ["crops"],
    terms: words(
      "usda,department of agriculture,yield,bushel,acre,record,bumper,ending stocks,stocks,harvest,surplus,crop,oversuppl,glut,storage",
      "农业部,单产,蒲式耳,创纪录,丰收,库存,收割,收获,过剩,产量"
    ),
    related: ["crops", "weather", "trade", "currency", "shipping", "inflation"]
  },
  {
    slug: "soy-import-ban",
    prompt:
      "The largest buyer of US soybeans, which takes 52 % of exports, suspended the licences of all but three American suppliers, naming pests found in cargoes. Altogether {ships} ships with {cargo} 000 tonnes are waiting off its ports. Prices for Brazilian beans rose by 45 cents a bushel over American ones within a day. Trade officials say that the step answers duties announced last week; talks are set for next month.",
    numbers: { ships: [11, 9, 17, 1], cargo: [704, 560, 980, 4] },
    figure: {
      by: "quotient",
      of: ["cargo", "ships"],
      ask: "how many thousand tonnes a waiting ship carries on average",
      unit: "thousand"
    },
    assets: { core: ["ZS"], plausible: ["CPI", "DXY", "PPI", "ES", "CL"] },
    directions: { bearish: 1, mixed: 0.5 },
    magnitudes: { high: 1, medium: 0.9 },
    kinds: ["trade", "crops"],
    terms: words(
      "licen,suspen,ban$,importer,buyer,brazil,cargo,retaliat,tariff,duties,trade war,trade dispute,pest,ships,premium,china,chinese,talks,farmers",
      "许可,资质,暂停,禁令,进口,买家,巴西,货物,报复,关税,贸易战,害虫,有害生物,谈判"
    ),
    related: ["trade", "crops", "shipping", "geopolitics", "currency", "weather"]
  }
]
