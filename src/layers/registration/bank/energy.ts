/** Crude oil, natural gas, and the ways by sea that carry them. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const energy: ReadonlyArray<EventTemplate> = [
  {
    slug: "opec-surprise-cut",
    prompt:
      "At an unscheduled meeting OPEC and its partners agreed to cut output by {cut} million barrels a day from next month, on top of the {before} million already in force. None of 24 analysts polled that morning had expected more than an extension. Two thirds of the new cut falls to members that have kept to their quotas. Spare capacity elsewhere is put at 0.3 million barrels a day, and inventories in the industrial countries are 4 % below their five-year average.",
    numbers: { cut: [1.4, 0.8, 1.9, 0.05], before: [1, 0.6, 1.35, 0.05] },
    figure: {
      by: "sum",
      of: ["cut", "before"],
      ask: "by how many million barrels a day all cuts together lower output",
      unit: "million"
    },
    assets: { core: ["CL"], plausible: ["CPI", "PPI", "PCE", "ES", "NG", "ZN", "DXY", "GC"] },
    directions: { bullish: 1, mixed: 0.3 },
    magnitudes: { high: 1, medium: 0.6 },
    kinds: ["oil"],
    terms: words(
      "opec,output,production,quota,barrel,spare capacity,cartel,members,supply cut,deficit,unscheduled,complian",
      "欧佩克,减产,配额,产能,供应,成员,供给,缺口,产量"
    ),
    related: ["oil", "geopolitics", "inflation", "growth", "central_bank", "shipping"]
  },
  {
    slug: "opec-output-war",
    prompt:
      "The largest exporter in OPEC left the group's quota agreement and told buyers that it will raise output by {first} million barrels a day over three months. It lowered its official prices for Asian refiners by 6 dollars a barrel, the largest cut in a generation. Two other members announced increases of {others} million barrels a day within hours. Refinery demand in Asia has been flat for two quarters.",
    numbers: { first: [1.8, 1.2, 2.2, 0.05], others: [0.4, 0.25, 0.75, 0.05] },
    figure: {
      by: "sum",
      of: ["first", "others"],
      ask: "by how many million barrels a day output rises in all",
      unit: "million"
    },
    assets: { core: ["CL"], plausible: ["CPI", "PPI", "PCE", "ES", "ZN", "NG", "DXY"] },
    directions: { bearish: 1, mixed: 0.2 },
    magnitudes: { high: 1, medium: 0.4 },
    kinds: ["oil"],
    terms: words(
      "opec,price war,market share,quota,output,production,flood,glut,oversuppl,surplus,exporter,official price,official selling,discount,cartel,barrel",
      "欧佩克,价格战,份额,配额,增产,过剩,供应,官价,产量,折扣,出口国"
    ),
    related: ["oil", "geopolitics", "growth", "inflation", "shipping", "central_bank"]
  },
  {
    slug: "crude-inventory-build",
    prompt:
      "US commercial crude inventories rose by {build} million barrels in the week, while a fall of {expected} million had been expected. Refineries ran at 83 % of capacity, seven points below the season's norm, because two large plants on the Gulf coast are shut for unplanned repairs. Gasoline stocks fell by 3.9 million barrels. The plants are expected back in two to three weeks.",
    numbers: { build: [9.8, 6.2, 11.8, 0.1], expected: [1.5, 0.8, 2.9, 0.1] },
    figure: {
      by: "sum",
      of: ["build", "expected"],
      ask: "by how many million barrels the change differs from what had been expected",
      unit: "million"
    },
    assets: { core: ["CL"], plausible: ["CPI", "PPI", "NG", "ES"] },
    directions: { bearish: 1, mixed: 0.7 },
    magnitudes: { medium: 1, low: 0.8, high: 0.3 },
    kinds: ["oil"],
    terms: words(
      "inventor,stocks,stockpile,build,refiner,utili,outage,repair,maintenance,gulf,gasoline,barrel,crack,plants,offline,runs",
      "库存,累库,炼厂,炼油,检修,停工,开工率,汽油,墨西哥湾,裂解,桶"
    ),
    related: ["oil", "weather", "growth", "inflation", "shipping", "geopolitics"]
  },
  {
    slug: "strait-tanker-attacks",
    prompt:
      "Two tankers were hit by drones in a strait through which 17 million barrels of crude oil and a fifth of the world's liquefied natural gas pass every day. Three insurers withdrew war cover for the passage, and 40 ships have dropped anchor outside. A naval escort has been announced but will take nine days to assemble. The cost of shipping a barrel to Asia rose from {before} to {after} dollars.",
    numbers: { before: [2.05, 1.8, 2.6, 0.05], after: [6.2, 5.2, 8.4, 0.1] },
    figure: {
      by: "quotient",
      of: ["after", "before"],
      ask: "how many times as much as before the shipping of a barrel costs"
    },
    assets: { core: ["CL"], plausible: ["NG", "GC", "ES", "CPI", "PPI", "DXY", "ZN", "BTC"] },
    directions: { bullish: 1, mixed: 0.3 },
    magnitudes: { high: 1, medium: 0.6 },
    kinds: ["geopolitics", "shipping", "oil"],
    terms: words(
      "strait,tanker,drone,attack,escort,naval,navy,insur,war risk,chokepoint,lng,freight,disrupt,blockade,shipping,passage,anchor,vessel",
      "海峡,油轮,无人机,袭击,护航,海军,保险,咽喉,运费,中断,封锁,航运,通道"
    ),
    related: ["geopolitics", "shipping", "oil", "gas", "inflation", "central_bank", "gold"]
  },
  {
    slug: "ceasefire-oil-region",
    prompt:
      "After five months of fighting, the two sides of a war in an oil-producing region signed a ceasefire and agreed to reopen a pipeline that carried 0.9 million barrels a day. Monitors are to be in place within a week. Of a price of crude oil of {price} dollars a barrel traders had put down {premium} dollars to the risk. Two earlier ceasefires broke down within twenty days. Gold, which had risen by 11 % since the fighting began, fell by 1.8 % on the news.",
    numbers: { price: [84, 71, 97, 1], premium: [9, 6, 11.5, 0.5] },
    figure: {
      by: "percent",
      of: ["premium", "price"],
      ask: "how many percent of the price the risk premium was"
    },
    assets: { core: ["CL", "GC"], plausible: ["ES", "NG", "CPI", "PPI", "DXY", "ZN"] },
    directions: { bearish: 1, mixed: 0.6 },
    magnitudes: { medium: 1, high: 0.8, low: 0.2 },
    kinds: ["geopolitics", "oil", "gold"],
    terms: words(
      "ceasefire,truce,peace,pipeline,war premium,risk premium,premium,fighting,hostilit,conflict,war$,monitor,collapse,de escalat,haven",
      "停火,和平,管道,溢价,战争,冲突,战事,监督,破裂,缓和,避险"
    ),
    related: ["geopolitics", "oil", "gold", "shipping", "inflation", "growth"]
  },
  {
    slug: "arctic-blast-gas",
    prompt:
      "Forecasts for the next two weeks turned sharply colder: heating demand in the eastern half of the United States is now expected to be {now} % above the norm, where yesterday's models had {before} %. Wells in two producing basins are freezing, and output has fallen by 9 billion cubic feet a day, about 8 %. Gas in storage is 12 % below its five-year average. The grid operator of the largest state has asked power plants to secure fuel.",
    numbers: { now: [31, 22, 46, 1], before: [4, 2, 9, 1] },
    figure: {
      by: "difference",
      of: ["now", "before"],
      ask: "by how many percentage points the forecast of heating demand rose",
      unit: "points"
    },
    assets: { core: ["NG"], plausible: ["CL", "CPI", "PPI", "ZS"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { high: 1, medium: 0.6 },
    kinds: ["gas", "weather"],
    terms: words(
      "cold,freez,frozen,freeze,winter,heating,weather,storage,wells,grid,power plant,degree day,production loss,output,basin,polar,arctic",
      "寒潮,寒冷,严寒,冻,供暖,取暖,天气,气温,库存,电网,产量,气井,极地"
    ),
    related: ["gas", "weather", "oil", "inflation", "geopolitics"]
  },
  {
    slug: "gas-storage-glut",
    prompt:
      "US natural gas in storage rose by {build} billion cubic feet in the week, against {expected} billion expected, and stands 19 % above its five-year average with eight weeks left before the heating season. Output is at a record 107 billion cubic feet a day. Forecasters see a mild autumn, and storage operators in two regions say that they may be full within five weeks. The contract for the next month trades 1.10 dollars below that for January.",
    numbers: { build: [112, 98, 126, 1], expected: [88, 70, 90, 1] },
    figure: {
      by: "difference",
      of: ["build", "expected"],
      ask: "by how many billion cubic feet the rise exceeded what was expected",
      unit: "billion"
    },
    assets: { core: ["NG"], plausible: ["CPI", "PPI", "CL"] },
    directions: { bearish: 1, mixed: 0.3 },
    magnitudes: { medium: 1, high: 0.8, low: 0.3 },
    kinds: ["gas", "weather"],
    terms: words(
      "storage,injection,surplus,glut,oversuppl,mild,full,record output,record production,contango,autumn,heating season,warm,five year average,capacity",
      "储气,库存,注入,过剩,暖,满库,创纪录,产量,采暖季,取暖季"
    ),
    related: ["gas", "weather", "oil", "growth", "inflation"]
  },
  {
    slug: "lng-plant-outage",
    prompt:
      "A fire closed the largest liquefied natural gas export plant on the US Gulf coast, which takes {intake} billion cubic feet of gas a day, some 2 % of US output. The operator expects it to be shut for at least {days} days. Gas that cannot be exported stays in the domestic market, where storage is already 6 % above the norm. European gas prices rose by 14 % within the hour.",
    numbers: { intake: [2.3, 1.6, 2.6, 0.1], days: [90, 45, 110, 1] },
    figure: {
      by: "product",
      of: ["intake", "days"],
      ask: "how many billion cubic feet the plant will not take over that time",
      unit: "billion"
    },
    assets: { core: ["NG"], plausible: ["CL", "CPI", "PPI", "DXY"] },
    directions: { bearish: 1, mixed: 0.6, bullish: 0.1 },
    magnitudes: { high: 1, medium: 1, low: 0.1 },
    kinds: ["gas"],
    terms: words(
      "export,lng,plant,terminal,fire,outage,shut,strand,trapped,domestic,cargo,europe,feedgas,liquef,facility,restart,offline",
      "出口,液化,终端,工厂,火灾,停产,关闭,国内,欧洲,滞留,过剩,重启"
    ),
    related: ["gas", "shipping", "weather", "oil", "geopolitics", "trade", "regulation"]
  }
]
