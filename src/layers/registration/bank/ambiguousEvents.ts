/** Reports that may come out on either side of what was expected: only the numbers tell which way prices go. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

const anySize = { medium: 1, high: 0.8, low: 0.8 }

export const ambiguousEvents: ReadonlyArray<EventTemplate> = [
  {
    slug: "cpi-report",
    prompt:
      "US consumer prices changed by {actual} % in the month; the median of 68 forecasts had been {expected} %. Rents and car insurance account for most of the difference between the two, food and energy for none. The next meeting of the Federal Reserve is in three weeks, and its members had called this report the last large one before they decide. Futures had priced the chance of a rate cut then at 50 %.",
    numbers: { actual: [0.45, 0.08, 0.58, 0.01], expected: [0.31, 0.24, 0.36, 0.01] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many percentage points the report differs from the median forecast",
      unit: "points",
      least: 0.08
    },
    assets: { core: ["ZN"], plausible: ["DXY", "GC", "ES", "CPI", "CORE_CPI", "FOMC", "BTC"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["inflation", "central_bank", "bonds"],
    terms: words(
      "cpi,consumer price,inflation,rent$,rents,insurance,median,consensus,rate cut,hot$,hotter,cool,soft,sticky",
      "通胀,消费者价格,物价,房租,租金,保险,中值,降息"
    ),
    related: ["inflation", "central_bank", "labour", "bonds", "currency", "growth", "gold"]
  },
  {
    slug: "payrolls-report",
    prompt:
      "US employers added {actual} 000 jobs in the month; economists had expected {expected} 000. The unemployment rate stayed at 4.2 %, and hourly earnings rose by 0.3 % as forecast. The difference comes from health care, restaurants and local government, not from the weather or a strike. Before the report, futures had a rate cut at the next meeting as likely as none.",
    numbers: { actual: [248, 22, 291, 3], expected: [155, 130, 185, 5] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many thousand jobs the report differs from what was expected",
      unit: "thousand",
      least: 55
    },
    assets: { core: ["ZN"], plausible: ["DXY", "GC", "ES", "NFP", "UNRATE", "FOMC", "GDP"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["labour", "central_bank", "bonds"],
    terms: words(
      "jobs,payroll,employ,hiring,labor,labour,unemployment,hourly earnings,wage,health care,restaurant,government,economists,rate cut",
      "就业,非农,岗位,招聘,失业率,工资,时薪,医疗,餐饮,政府,降息,劳动力"
    ),
    related: ["labour", "central_bank", "inflation", "growth", "bonds", "currency", "equities"]
  },
  {
    slug: "crude-stocks-report",
    prompt:
      "US commercial crude inventories stood at {actual} million barrels at the end of the week, where analysts had expected {expected} million. Imports and exports were near their averages, and refineries ran at 91 % of capacity, as is usual for the season. Stocks of gasoline and diesel hardly changed. At the hub where futures are delivered the tanks moved in the same direction as in the rest of the country.",
    numbers: { actual: [438.6, 419, 448, 0.2], expected: [432.5, 430, 437, 0.5] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many million barrels inventories differ from what was expected",
      unit: "million",
      least: 3
    },
    assets: { core: ["CL"], plausible: ["CPI", "PPI", "NG", "ES"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["oil"],
    terms: words(
      "inventor,stockpile,barrel,refiner,crude stock,oil stock,gasoline,diesel,hub,tanks,cushing,build$,draw$,draws$,drawdown,crude",
      "库存,原油,桶,炼厂,汽油,柴油,交割,累库,去库,油罐,储罐"
    ),
    related: ["oil", "weather", "growth", "inflation", "shipping", "geopolitics"]
  },
  {
    slug: "gas-storage-report",
    prompt:
      "US natural gas in storage rose by {actual} billion cubic feet in the week; the average forecast was {expected} billion. Output and exports were what traders had assumed, so the difference is one of demand from power plants. Eleven weeks are left until heating begins, and storage stands within 1 % of its five-year average. Weather models for the next two weeks did not change.",
    numbers: { actual: [81, 21, 99, 1], expected: [58, 52, 66, 1] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many billion cubic feet the rise differs from the average forecast",
      unit: "billion",
      least: 10
    },
    assets: { core: ["NG"], plausible: ["CL", "CPI", "PPI"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["gas"],
    terms: words(
      "storage,inject,cubic,bcf,power plant,power demand,power burn,power sector,generator,burned,heating,storage report,gas",
      "储气,库存,注入,立方英尺,电厂,发电,电力,采暖,供暖,取暖,天然气"
    ),
    related: ["gas", "weather", "oil", "growth", "inflation"]
  },
  {
    slug: "soy-yield-report",
    prompt:
      "The US Department of Agriculture put the soybean yield at {actual} bushels an acre in its monthly report; the average of 24 private estimates had been {expected}. Harvested area and exports were left as they were, so the difference goes straight into stocks at the end of the season. Crops in Argentina and Brazil are developing normally. Farmers have sold a third of their harvest so far.",
    numbers: { actual: [53.8, 47.5, 55.5, 0.1], expected: [51.6, 51, 52.2, 0.1] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many bushels an acre the report differs from the average estimate",
      least: 1.1
    },
    assets: { core: ["ZS"], plausible: ["CPI", "PPI", "DXY"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["crops"],
    terms: words(
      "bushel,acre,usda,department of agriculture,soybean yield,crop,harvest,carryout,ending stocks,end of the season,farmer,brazil,argentin,beans,soybean",
      "单产,蒲式耳,英亩,农业部,作物,收成,收割,期末库存,结转,农民,巴西,阿根廷,大豆"
    ),
    related: ["crops", "weather", "trade", "currency", "shipping", "inflation"]
  },
  {
    slug: "copper-warehouse-report",
    prompt:
      "Copper in the warehouses of the three large exchanges amounted to {actual} 000 tonnes at the end of the month, against {before} 000 tonnes a month earlier. None of it was moved for tariffs or taxes: brokers put the change down to orders of wire makers and builders of appliances. Mines and smelters produced what they had planned. Most traders had expected stocks to stay as they were.",
    numbers: { actual: [286, 148, 318, 2], before: [231, 218, 246, 1] },
    figure: {
      by: "change",
      of: ["actual", "before"],
      ask: "by how many percent stocks changed in the month",
      least: 10
    },
    assets: { core: ["HG"], plausible: ["GDP", "ES", "PPI", "DXY"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["metals", "growth"],
    terms: words(
      "warehouse,exchange stocks,inventor,exchanges,tonne,orders,wire,appliance,brokers,copper,smelter,mines$",
      "仓库,库存,交易所,吨,订单,电缆,家电,铜,冶炼,矿山"
    ),
    related: ["metals", "growth", "trade", "labour", "currency", "central_bank", "fiscal"]
  },
  {
    slug: "ten-year-auction-report",
    prompt:
      "The US Treasury sold 42 billion dollars of ten-year notes at a yield of {actual} %; just before the bids closed the notes had traded at {before} %. The share that dealers had to take, and that of foreign bidders, moved as one would think from that. No data and no speeches came out in the same hour. The next sale of long bonds is two days away.",
    numbers: { actual: [4.38, 4.2, 4.44, 0.002], before: [4.32, 4.28, 4.36, 0.002] },
    figure: {
      by: "difference",
      of: ["actual", "before"],
      ask: "by how many percentage points the yield of the sale differs from that of the market before it",
      unit: "points",
      least: 0.018
    },
    assets: { core: ["ZN"], plausible: ["DXY", "ES", "GC", "FOMC"] },
    directions: { bearish: 1, mixed: 0.4 },
    below: { directions: { bullish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["bonds", "fiscal"],
    terms: words(
      "auction,tail$,tailed,stop through,stopped,stopping,bids,bidder,bidding,dealer,foreign,ten year note,10 year note,notes,concession,when issued",
      "拍卖,投标,标售,中标,交易商,海外,外国,国债,尾差,认购"
    ),
    related: ["bonds", "fiscal", "central_bank", "inflation", "rating", "currency"]
  },
  {
    slug: "gold-purchases-report",
    prompt:
      "Central banks bought {actual} tonnes of gold on balance in the quarter, as their council reports; the average forecast had been {expected} tonnes. Mines and recycling supplied about what they did a year ago, and jewellers bought no less. Real yields and the dollar have hardly moved for 2 months. Funds that hold gold for investors had neither inflows nor outflows.",
    numbers: { actual: [318, 109, 343, 1], expected: [228, 215, 240, 1] },
    figure: {
      by: "difference",
      of: ["actual", "expected"],
      ask: "by how many tonnes the purchases differ from the average forecast",
      least: 35
    },
    assets: { core: ["GC"], plausible: ["DXY", "ZN", "BTC"] },
    directions: { bullish: 1, mixed: 0.4 },
    below: { directions: { bearish: 1, mixed: 0.4 } },
    magnitudes: anySize,
    kinds: ["gold", "central_bank"],
    terms: words(
      "central bank,official,tonne,purchas,bought,buying,buyer,council,reserve,jewel,recycl,gold",
      "央行,黄金,金价,官方,吨,购金,买入,购买,储备,首饰,矿山,回收"
    ),
    related: ["gold", "central_bank", "currency", "geopolitics", "inflation", "bonds"]
  }
]
