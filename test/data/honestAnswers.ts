/**
 * Answers of people and models that read the prompt and thought about it, written to the prompts before the judge was measured by
 * them. `{figure}` and the names of numbers stand for what was drawn; everything else is prose. Every third one is held out: the
 * judge was adjusted by the others, but for its rules of length and numbers of words. Those were relaxed once after all had been
 * looked at.
 */
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

type Impact = RegistrationAnswer["market_impact"]

export interface HonestAnswer {
  readonly slug: string
  readonly voice: "natural" | "terse" | "verbose"
  readonly language: "en" | "zh"
  /** Of a report that may come out on either side: the one that this answer is to. */
  readonly side?: "above" | "below"
  readonly answer: RegistrationAnswer
}

export const answer = (
  slug: string,
  style:
    | `${HonestAnswer["voice"]} ${HonestAnswer["language"]}`
    | `${HonestAnswer["voice"]} ${HonestAnswer["language"]} ${"above" | "below"}`,
  choices: readonly [
    assets: string,
    direction: Impact["direction"],
    magnitude: Impact["magnitude"],
    confidence: number
  ],
  texts: readonly [summary: string, reasoning: string, short: string, medium: string],
  related: string
): HonestAnswer => {
  const [voice, language, side] = style.split(" ")
  const [assets, direction, magnitude, confidence] = choices
  const [event_summary, reasoning, short_term, medium_term] = texts
  return {
    slug,
    voice: voice === "terse" || voice === "verbose" ? voice : "natural",
    language: language === "zh" ? "zh" : "en",
    ...(side === "above" || side === "below" ? { side } : {}),
    answer: {
      event_summary,
      market_impact: { affected_assets: assets.split(" "), direction, magnitude, reasoning },
      trading_implications: { short_term, medium_term },
      confidence,
      related_events: related.split(", ")
    }
  }
}

export const honestAnswers: ReadonlyArray<HonestAnswer> = [
  answer(
    "fed-surprise-hike",
    "natural en",
    ["ZN ES GC", "bearish", "high", 0.8],
    [
      "The Fed delivered a half-point hike when almost everyone expected a quarter, and the expected peak in rates moved up by {figure} percentage points.",
      "A larger step and talk of acting further tell traders that rates will go higher and stay there. Yields reprice across the curve, so note futures lose value, and equities and gold suffer from the higher discount rate.",
      "Expect more selling in the front end over the coming sessions.",
      "If tighter money slows the economy, the long end could find buyers again later in the year."
    ],
    "CPI release, jobs report, next FOMC meeting"
  ),
  answer(
    "cpi-report",
    "terse en above",
    ["ZN DXY", "bearish", "medium", 0.7],
    [
      "CPI beat the median by {figure} points, on rents and car insurance.",
      "Hotter inflation makes a cut less likely. Yields up, notes down.",
      "Notes sell off into the meeting.",
      "Next CPI decides whether it lasts."
    ],
    "FOMC meeting, PCE"
  ),
  answer(
    "opec-surprise-cut",
    "natural en",
    ["CL ES CPI", "bullish", "high", 0.82],
    [
      "OPEC and its allies unexpectedly agreed another output cut, which brings the total to {figure} million barrels a day.",
      "Nobody had priced more than a rollover, so the supply balance for next month tightens overnight. With inventories already low and little spare capacity outside the group, crude has to rise until demand gives way.",
      "Oil should open sharply higher and the front of the curve should tighten.",
      "Higher prices will slow demand and tempt some members to cheat on their quotas."
    ],
    "US inventory data, SPR release, OPEC meeting"
  ),
  answer(
    "exchange-hack",
    "verbose en",
    ["ETH BTC", "bearish", "high", 0.75],
    [
      "One of the world's biggest crypto exchanges was robbed of ether and bitcoin and has stopped withdrawals. By its own account the reserves would cover only about {figure} billion dollars of what was stolen, so customers face a real shortfall.",
      "When an exchange of this size freezes withdrawals, clients elsewhere begin to worry about their own custodian and move coins or sell them, which puts pressure on prices. At the same time the thief is already swapping ether on chain, and leveraged longs are being liquidated, which feeds on itself. Because most of the stolen value is in ether, it should drop by more than bitcoin does.",
      "Over the next several days I would expect elevated volatility, further forced selling and a discount on tokens held at the affected exchange.",
      "Over a quarter or so the market usually absorbs such thefts, although stricter regulation and lower leverage may keep valuations below where they were."
    ],
    "regulatory response, other exchange failures, stablecoin outflows"
  ),
  answer(
    "gas-storage-report",
    "natural en below",
    ["NG", "bullish", "medium", 0.65],
    [
      "Storage grew by {figure} billion cubic feet less than forecast because generators burned more gas.",
      "The miss reflects stronger power demand rather than a supply hiccup, which means the surplus going into winter will be smaller than traders assumed. Natural gas should trade higher as a result.",
      "The front month likely bounces today and holds its gains while the heat persists.",
      "If injections stay light for the next eleven weeks, winter contracts carry more risk premium; a mild autumn would reverse it."
    ],
    "weather outlook, LNG feedgas, next EIA storage report"
  ),
  answer(
    "soy-drought",
    "terse en",
    ["ZS", "bullish", "high", 0.75],
    [
      "Brazil drought at pod fill; crop estimate cut by {figure} %.",
      "Less rain means fewer beans from the top exporter. Stocks tighten, so soybeans rally.",
      "Weather premium builds until rain comes.",
      "US acreage responds next spring and caps the rally."
    ],
    "Conab estimate, WASDE, rainfall forecasts"
  ),
  answer(
    "core-cpi-soft",
    "natural zh",
    ["ZN GC", "bullish", "medium", 0.7],
    [
      "美国核心通胀明显低于预期，房租终于降温，期货隐含的降息概率上升了{figure}个百分点。",
      "房租涨幅回落说明最顽固的通胀部分在松动，美联储下次会议降息的理由更充分。收益率随之下行，十年期美债价格上涨。",
      "短期内债市还会消化降息预期，美债期货易涨难跌。",
      "若后续就业数据仍强，降息节奏可能放慢，涨势会有所收敛。"
    ],
    "议息会议, 非农就业, PCE物价"
  ),
  answer(
    "copper-mine-strike",
    "terse zh",
    ["HG", "bullish", "medium", 0.72],
    [
      "全球第二大铜矿罢工，上次每天损失约{figure}千吨产量。",
      "矿山停产，精矿更紧缺，库存又只有几天用量，所以铜价上涨。",
      "谈判没有进展前铜价偏强。",
      "复工之后涨幅会回吐一部分。"
    ],
    "劳资谈判, 中国需求, 冶炼厂检修"
  ),
  answer(
    "treasury-auction-tail",
    "natural en",
    ["ZN", "bearish", "medium", 0.7],
    [
      "A ten-year auction drew bids for only {figure} billion dollars and cleared well above the market, with dealers stuck with an unusually large share.",
      "Foreign buyers stayed away, so the market has to offer more yield to place the supply. Dealers will now hedge what they were left with, and that pushes note prices lower ahead of next week's sales.",
      "Tens should cheapen further into the coming supply.",
      "A run of poor auctions would raise the term premium; one strong sale would calm things down."
    ],
    "next week's auctions, deficit projections, Fed speeches"
  ),
  answer(
    "bitcoin-etf-inflows",
    "natural en",
    ["BTC ETH", "bullish", "medium", 0.72],
    [
      "Spot bitcoin ETFs had a huge week and bought {figure} times what miners produced, with pension money showing up for the first time.",
      "Demand from the funds is far larger than new issuance, and there are few coins left on exchanges to meet it. More distribution through the broker adds buyers, so the price has to adjust upwards.",
      "Momentum should carry bitcoin higher into Monday's launch.",
      "The story depends on flows: if they turn, so does the price."
    ],
    "ETF flow data, FOMC, halving"
  ),
  answer(
    "lng-plant-outage",
    "natural en",
    ["NG", "bearish", "high", 0.78],
    [
      "The biggest LNG export facility on the Gulf coast is out after a fire, leaving some {figure} billion cubic feet of gas in the domestic market over the shutdown.",
      "Feedgas that would have been liquefied now has nowhere to go but storage, which is already comfortable. US prices must fall until producers curtail or power generators burn more, while Europe scrambles for replacement cargoes.",
      "Henry Hub likely gaps down and the spread to Europe blows out.",
      "The restart date is what matters; delays are common after this sort of accident."
    ],
    "storage reports, European gas prices, regulatory inspection"
  ),
  answer(
    "broad-tariffs",
    "verbose en",
    ["ES ZS CPI GDP", "bearish", "high", 0.75],
    [
      "Washington announced sweeping import duties with none of the carve-outs that investors had counted on; on unchanged imports the general rate alone would collect about {figure} billion dollars a year. Trading partners answered at once.",
      "Tariffs are a tax on companies and households: importers either swallow the cost, which squeezes margins, or pass it on, which hurts real incomes and lifts inflation. Retaliation hits farm exports such as soybeans. With the Fed unable to respond easily to a stagflationary shock, equities should fall.",
      "In the coming days I expect further declines in stock futures, led by carmakers, electronics and retailers with Asian supply chains.",
      "Over several months the outcome hinges on negotiations; exemptions would trigger a relief rally, while escalation would bring earnings estimates down."
    ],
    "retaliatory tariffs, CPI, trade negotiations, Fed policy"
  ),
  answer(
    "crude-stocks-report",
    "terse en above",
    ["CL", "bearish", "medium", 0.66],
    [
      "US crude stocks {figure} million barrels over consensus.",
      "Refining and trade were normal, so the build is real oversupply. Crude slips.",
      "WTI weakens today.",
      "Watch whether next week's data confirm it."
    ],
    "EIA report, OPEC"
  ),
  answer(
    "central-banks-buy-gold",
    "natural zh",
    ["GC", "bullish", "medium", 0.72],
    [
      "各国央行单季购金量创新高，比市场预期多出{figure}吨，而且出现了多年未买的新买家。",
      "官方买家对价格不敏感，一边卖出美债一边增持黄金，说明储备多元化是长期趋势。矿产供应几乎不增长，因此金价需要上涨才能平衡供求。",
      "短期金价有望继续走强。",
      "中期看央行买盘能否持续，如果放缓，支撑会减弱。"
    ],
    "美联储政策, 地缘政治, 美元走势"
  ),
  answer(
    "dollar-funding-squeeze",
    "natural en",
    ["DXY ES", "bullish", "high", 0.75],
    [
      "Offshore dollar funding has seized up: the premium in currency swaps jumped by {figure} basis points in a week after a run on three funds.",
      "Banks abroad need dollars and can no longer borrow them cheaply, so they buy them outright and sell other assets to raise cash. That scramble drives the dollar higher and hits emerging currencies hardest.",
      "The dollar stays bid until the swap lines ease the shortage.",
      "Once central banks flood the market with liquidity, the squeeze usually unwinds within weeks."
    ],
    "Fed swap lines, bank stress, emerging market outflows"
  ),
  answer(
    "payrolls-report",
    "natural en below",
    ["ZN GC", "bullish", "medium", 0.7],
    [
      "Hiring came in {figure} thousand below what economists had pencilled in, with the weakness in health care, restaurants and local government.",
      "A softer labour market gives the Fed cover to ease at its next meeting. Rate expectations come down, so Treasuries gain and gold gets a lift as well.",
      "Treasuries should extend the rally into the close.",
      "One weak number can be revised; claims and the next report will show if it is a trend."
    ],
    "jobless claims, FOMC, CPI"
  ),
  answer(
    "strait-tanker-attacks",
    "natural zh",
    ["CL NG", "bullish", "high", 0.78],
    [
      "两艘油轮在关键海峡遭无人机袭击，保险公司撤保，每桶运费涨到原来的{figure}倍。",
      "大量油轮停在海峡外，原油和液化天然气运不出去，供应实际上已经中断。买家只能抢购现货，油价因此大幅上涨。",
      "护航舰队到位之前油价会保持高位。",
      "如果航道恢复通行，风险溢价会很快消退。"
    ],
    "欧佩克会议, 战略储备释放, 中东局势"
  ),
  answer(
    "earnings-season-beat",
    "natural en",
    ["ES", "bullish", "medium", 0.66],
    [
      "Corporate results are running well ahead of estimates and the big technology firms are lifting their capital spending; on the new estimates the index stands near {figure}.",
      "Better profits raise the base on which stocks are valued, and heavier investment in chips and cloud means revenue for other listed companies. The multiple is rich, which leaves less room, but rising estimates still support share prices.",
      "Stocks can grind higher as the remaining companies report.",
      "At this valuation the market needs those estimates to come true; a slip in guidance would hurt."
    ],
    "remaining earnings reports, Fed decision, AI capex guidance"
  ),
  answer(
    "stablecoin-loses-peg",
    "terse en",
    ["BTC ETH", "bearish", "high", 0.7],
    [
      "Stablecoin breaks its peg; {figure} % of reserves sit in a failed bank.",
      "Holders redeem, issuer lacks cash, and collateral gets liquidated. Bitcoin and ether drop with it.",
      "Forced selling continues for days.",
      "Recovers if the bank's deposits are guaranteed."
    ],
    "bank resolution, crypto regulation"
  ),
  answer(
    "soy-yield-report",
    "natural en above",
    ["ZS", "bearish", "medium", 0.7],
    [
      "USDA's yield figure topped the trade's average guess by {figure} bushels an acre.",
      "With area and exports unchanged, every extra bushel ends up in carryout. A bigger cushion and farmers who still have two thirds of the crop to sell point to lower soybean prices.",
      "Expect a sharp drop on the report and hedge selling afterwards.",
      "Prices stabilise when harvest is over and attention turns to South America."
    ],
    "export sales, South American planting, next WASDE"
  ),
  answer(
    "fed-emergency-cut",
    "natural en",
    ["ZN GC ES", "bullish", "high", 0.72],
    [
      "In an unscheduled move the Fed slashed rates and will buy some {figure} billion dollars of Treasuries after money funds froze.",
      "The central bank is stepping in as buyer of bonds just as it lowers the policy rate, so yields come down and Treasuries rise. Gold gains from lower rates and from the fear that the emergency itself reveals.",
      "Treasuries rally hard, but funding headlines will whip markets around.",
      "If the plumbing heals, part of the bid for safety fades; if not, more easing follows."
    ],
    "money market stress, FOMC meeting, bank funding"
  ),
  answer(
    "miners-sell-after-halving",
    "natural en",
    ["BTC", "bearish", "medium", 0.62],
    [
      "Miners are under such strain after the halving that they sold {figure} times their own production last month.",
      "Squeezed margins force miners to dump treasury coins and some are filing for protection. ETF demand is too thin to absorb that, so bitcoin drifts lower.",
      "Selling pressure persists while the hash price is this low.",
      "Once weak miners are gone and difficulty adjusts, the overhang clears."
    ],
    "hash rate data, ETF flows, energy prices"
  ),
  answer(
    "arctic-blast-gas",
    "verbose zh",
    ["NG", "bullish", "high", 0.8],
    [
      "天气预报突然转冷，美国东部的取暖需求预测比昨天上调了{figure}个百分点，同时两个产区的气井被冻住，产量减少约百分之八。",
      "需求激增和供应收缩同时发生，而储气量本来就低于五年均值，市场缺少缓冲。公用事业公司和电厂必须抢购现货，因此天然气价格会急剧上涨，近月合约涨幅最大。",
      "未来两周只要寒潮预报不变，近月天然气就会维持强势，波动也会很大。",
      "寒潮结束、气井恢复后，供应会回到正常水平，涨幅多半会回吐，但库存偏低会留下一些支撑。"
    ],
    "天气预报, 储气周报, 电网紧急措施"
  ),
  answer(
    "tariff-truce",
    "natural en",
    ["ES ZS", "bullish", "high", 0.75],
    [
      "The two trading powers agreed to cut duties on each other by {figure} percentage points for ninety days, together with purchases of soybeans and freer rare metals.",
      "Investors gave a deal little chance, so the relief is large: companies regain supply chains and sales, and stocks re-rate. Soybeans gain directly from the promised purchases.",
      "Equities and beans should jump, with shippers leading.",
      "Ninety days is short; without an extension the tariffs come back."
    ],
    "trade talks, soybean export sales, container rates"
  ),
  answer(
    "real-yields-jump-gold",
    "natural en",
    ["GC", "bearish", "medium", 0.7],
    [
      "Real yields hit a sixteen-year high and gold funds are bleeding; outflows already equal {figure} % of the futures longs.",
      "Gold pays nothing, so a higher real return elsewhere raises the cost of holding it. Investors are leaving the ETFs and the speculative long is still crowded, which leaves room for more selling.",
      "Further liquidation is likely if yields do not back off.",
      "A turn in Fed policy would quickly bring buyers back."
    ],
    "TIPS auctions, FOMC, CPI"
  ),
  answer(
    "ten-year-auction-report",
    "terse en above",
    ["ZN", "bearish", "low", 0.62],
    [
      "Ten-year sale tailed by {figure} points.",
      "Weak bidding means investors want more yield. Notes fall as dealers unload.",
      "Heavy into the bond sale.",
      "Fades unless other auctions are weak too."
    ],
    "30-year auction, Fed speakers"
  ),
  answer(
    "grid-stimulus-copper",
    "natural zh",
    ["HG", "bullish", "medium", 0.72],
    [
      "中国国家电网大幅上调投资计划，平均每年约{figure}十亿美元，同日央行降准。",
      "电网建设耗铜量大，新增需求会让原本平衡的市场出现缺口。上海库存已经在下降，加上流动性宽松，铜价有上涨动力。",
      "短期资金会追捧铜和相关股票。",
      "订单落地的速度决定行情能走多远。"
    ],
    "中国PMI, 房地产数据, 铜矿供应"
  ),
  answer(
    "sovereign-downgrade",
    "natural en",
    ["ZN ES", "bearish", "medium", 0.62],
    [
      "A major agency took US debt down a notch, citing governance and a debt ratio set to climb by {figure} percentage points of output.",
      "The downgrade reminds investors of the fiscal path and makes some of them ask for more compensation. Yields rise, bond prices fall, and stocks lose as well in the first reaction.",
      "Early weakness in Treasuries and equities is likely to continue for a session or two.",
      "Past downgrades faded, because Treasuries remain the benchmark; the budget matters more."
    ],
    "budget talks, Treasury refunding, other agencies' reviews"
  ),
  answer(
    "property-slump-copper",
    "terse en",
    ["HG", "bearish", "medium", 0.7],
    [
      "Chinese housing starts plunge; copper premiums fell by {figure} %.",
      "Construction uses less copper and a developer defaulted. Copper falls as stocks build.",
      "More downside until stimulus comes.",
      "A support package could turn it."
    ],
    "Chinese stimulus, PMI"
  ),
  answer(
    "joint-dollar-intervention",
    "natural en",
    ["DXY GC", "bearish", "medium", 0.65],
    [
      "Japan, Korea and the euro area sold dollars together, {figure} times the size of the speculative long, with a nod from Washington.",
      "Coordinated intervention with US consent changes the risk for anyone who is long the dollar, and that position is crowded. As longs are closed the dollar falls, although the yield gap has not moved.",
      "The dollar stays on the defensive while traders fear another round.",
      "Without a change in rates the effect of intervention tends to wear off."
    ],
    "BoJ meeting, Fed policy, further intervention"
  ),
  answer(
    "crude-inventory-build",
    "natural en",
    ["CL", "bearish", "medium", 0.68],
    [
      "Crude stocks came in {figure} million barrels above what was expected since two Gulf refineries are down.",
      "Idle refineries do not buy crude, so it backs up in tanks while gasoline gets scarcer. That weighs on crude relative to products, and the outright price falls.",
      "Prompt crude stays soft while the plants are out.",
      "When they restart in two or three weeks the overhang clears."
    ],
    "refinery restarts, weekly EIA data, hurricane season"
  ),
  answer(
    "gold-purchases-report",
    "natural en below",
    ["GC", "bearish", "medium", 0.62],
    [
      "Official gold buying fell {figure} tonnes short of forecasts last quarter, and nothing else changed.",
      "Central banks have been the steady bid under this market. With less of it, and investors on the sidelines, gold needs a lower price to clear.",
      "Gold probably drifts down over the next few sessions.",
      "If reserve managers return next quarter the dip is bought back."
    ],
    "central bank reserves data, real yields, ETF flows"
  ),
  answer(
    "ethereum-staking-approved",
    "natural en",
    ["ETH", "bullish", "medium", 0.72],
    [
      "The SEC let ether ETFs stake, which could earn them about {figure} million coins a year, much sooner than lawyers expected.",
      "Yield makes the product more attractive to institutions, so inflows should grow. Staked coins are locked up and the queue is long, which takes supply off the market and lifts ether.",
      "Ether should outperform bitcoin over the next days.",
      "A lot depends on how much of the holdings the funds really stake."
    ],
    "ETF inflows, SEC decisions, Ethereum upgrades"
  ),
  answer(
    "usda-record-soy-crop",
    "natural zh",
    ["ZS", "bearish", "medium", 0.72],
    [
      "美国农业部大幅上调大豆单产至纪录水平，期末库存预估一个月内增加了{figure}%。",
      "产量超出所有机构的估计，出口销售又落后，多出来的大豆只能变成库存。供应宽松，大豆价格承压下跌。",
      "收割期天气晴好，卖压会继续。",
      "价格跌到一定程度后出口需求会恢复，之后要看南美天气。"
    ],
    "出口销售报告, 巴西种植, 下月供需报告"
  ),
  answer(
    "fed-hold-dovish-shift",
    "natural en",
    ["ZN GC ES", "bullish", "medium", 0.7],
    [
      "No change in rates, but the dots now show three cuts and the chair sounded eager to begin; the real policy rate is about {figure} %.",
      "Policy is that restrictive with inflation already falling, so the committee has room to ease and says so. Markets bring forward the cuts, yields drop and Treasuries rally.",
      "Bonds should hold their gains, and gold benefits too.",
      "Inflation data must cooperate, otherwise the three cuts will be priced out again."
    ],
    "CPI, payrolls, next FOMC"
  ),
  answer(
    "ceasefire-oil-region",
    "natural en",
    ["CL GC", "bearish", "medium", 0.64],
    [
      "A ceasefire in an oil-producing region reopens a pipeline and takes aim at a risk premium that made up {figure} % of the crude price.",
      "Less danger of disruption and extra barrels through the pipeline both push oil down. Gold loses some haven demand, though earlier truces failed, so traders will not give up all of the premium.",
      "Crude slides further in the next days.",
      "If monitors confirm that it holds, the rest of the premium bleeds out."
    ],
    "monitoring reports, OPEC policy, renewed fighting"
  ),
  answer(
    "payrolls-blowout",
    "terse en",
    ["ZN DXY", "bearish", "high", 0.75],
    [
      "Payrolls beat by {figure} thousand, wages hot, revisions up.",
      "Strong jobs and pay push the first Fed cut out. Yields jump, notes drop.",
      "Rates sell off, dollar bid.",
      "CPI next; a soft print would reverse some."
    ],
    "CPI, FOMC"
  ),
  answer(
    "debt-ceiling-deadline",
    "natural en",
    ["ES ZN", "bearish", "medium", 0.6],
    [
      "Talks over the debt limit collapsed and the Treasury has cash for only about {figure} days.",
      "Investors avoid bills that mature around the deadline and pay record prices for insurance. Equities fall as the risk of a missed payment, however small, is priced, although every earlier standoff ended with a deal.",
      "Stocks stay nervous until the parties meet again.",
      "A last-minute agreement is still most likely and would bring relief."
    ],
    "Treasury cash balance, rating agencies, budget negotiations"
  ),
  answer(
    "copper-warehouse-report",
    "natural en below",
    ["HG", "bullish", "medium", 0.66],
    [
      "Exchange copper stocks shrank by {figure} % in a month on real orders from manufacturers.",
      "Because supply ran to plan, the drawdown reflects stronger consumption. A thinner buffer makes consumers pay up for prompt metal, so copper rises.",
      "Nearby spreads tighten and prices firm.",
      "Higher prices bring out scrap and ease the tightness by next year."
    ],
    "Chinese PMI, mine supply news, housing data"
  ),
  answer(
    "opec-output-war",
    "natural zh",
    ["CL", "bearish", "high", 0.78],
    [
      "欧佩克最大出口国退出配额协议并大幅降价，加上其他成员，合计增产{figure}百万桶/日。",
      "在亚洲炼厂需求持平的情况下，供应突然增加，各国为争夺市场份额竞相降价。原油严重过剩，油价将大幅下跌。",
      "短期油价会急跌，远期曲线转为升水。",
      "低油价会迫使高成本产能退出，直到重新谈判配额。"
    ],
    "欧佩克紧急会议, 页岩油产量, 全球经济增长"
  ),
  answer(
    "profit-warnings-consumer",
    "natural en",
    ["ES", "bearish", "medium", 0.7],
    [
      "Five consumer-facing companies cut guidance in one day; their sales outlook is {figure} percentage points lower than before.",
      "When big retailers and a parcel carrier all blame poorer customers, it says something about demand as a whole. Analysts will cut estimates and equities fall.",
      "Retail and transport shares lead stocks lower.",
      "If jobs weaken as well, recession talk returns; otherwise it stays a story about low incomes."
    ],
    "retail sales, consumer confidence, payrolls"
  ),
  answer(
    "cpi-report",
    "natural zh below",
    ["ZN GC", "bullish", "medium", 0.7],
    [
      "美国CPI月率比预测中值低{figure}个百分点，主要是房租和车险放缓。",
      "这两项正是此前最有粘性的部分，它们降温让美联储下次会议更可能降息。美债收益率下行，债券价格上涨，黄金也受益。",
      "会议之前美债会保持强势。",
      "如果下一份报告反弹，市场会重新收回部分降息预期。"
    ],
    "议息会议, 就业报告, PCE"
  ),
  answer(
    "producer-prices-margins",
    "natural en",
    ["ES ZN", "bearish", "medium", 0.6],
    [
      "Wholesale prices rose {figure} times as fast as forecast, mostly on energy and freight, and retailers say they will eat the cost.",
      "If stores cannot pass on higher input costs, their margins shrink and equities lose. Bonds slip too, since the pipeline pressure may reach consumers later, but the core was in line.",
      "Retail shares underperform and yields edge up.",
      "It matters only if energy stays expensive into next season."
    ],
    "CPI, retail earnings, oil prices"
  ),
  answer(
    "soy-import-ban",
    "terse en",
    ["ZS", "bearish", "high", 0.78],
    [
      "Top buyer shuts out US beans; stranded ships carry {figure} thousand tonnes each.",
      "Half of exports lose their market, so US soybeans pile up. Prices fall while Brazil gains.",
      "Gap down, basis collapses.",
      "Talks next month are the way out."
    ],
    "trade talks, Brazilian harvest"
  ),
  answer(
    "ethereum-upgrade-delayed",
    "natural en",
    ["ETH", "bearish", "medium", 0.66],
    [
      "Ethereum's next upgrade slips by months after a testnet split, so the promised {figure} cent cut in fees has to wait.",
      "Traders had positioned for the upgrade with calls that will now expire before it. As those bets are unwound and rivals pick up activity, ether falls.",
      "Ether lags the rest of crypto for some weeks.",
      "The delay is technical; a clean test would restore confidence."
    ],
    "testnet results, competing chains, ETF flows"
  ),
  answer(
    "pce-in-line-spending-weak",
    "natural en",
    ["ZN", "bullish", "low", 0.58],
    [
      "PCE inflation matched forecasts but spending fell, and a regional Fed cut its growth tracking by {figure} percentage points.",
      "Weaker consumption with inflation on target argues for easier policy sooner. Yields slip, so notes gain a little.",
      "A modest bid in Treasuries.",
      "Another soft month of spending would build the case for cuts."
    ],
    "retail sales, payrolls, FOMC"
  ),
  answer(
    "treasury-issuance-cut",
    "natural en",
    ["ZN", "bullish", "medium", 0.7],
    [
      "The Treasury will sell far fewer notes than thought: the plan differs by {figure} billion dollars from dealers' expectations.",
      "Less duration to absorb means higher prices for what there is. With strong tax receipts the shift into bills looks durable, so ten-year notes rally and the curve flattens.",
      "Short covering extends the move.",
      "Deficits will bring coupon supply back sooner or later."
    ],
    "next refunding, budget deficit, auctions"
  ),
  answer(
    "payrolls-report",
    "terse zh above",
    ["ZN DXY", "bearish", "medium", 0.68],
    [
      "新增就业比预期多{figure}千人。",
      "就业强劲，降息可能性下降，收益率上升，美债下跌。",
      "美债短期承压。",
      "要看工资和通胀是否跟上。"
    ],
    "议息会议, CPI"
  ),
  answer(
    "gas-storage-glut",
    "natural en",
    ["NG", "bearish", "medium", 0.72],
    [
      "The weekly injection beat forecasts by {figure} billion cubic feet and storage may be full before winter.",
      "Record output meets mild weather, and gas that cannot be stored has to be sold at any price. The prompt contract suffers most, as the discount to January shows.",
      "Cash and front-month natural gas stay under pressure.",
      "Producers shutting in wells or an early cold spell would end it."
    ],
    "weather, production cuts, LNG exports"
  ),
  answer(
    "cpi-hot-services",
    "natural en",
    ["ZN DXY", "bearish", "high", 0.75],
    [
      "Inflation surprised to the upside, with services running {figure} percentage points hotter than core as a whole.",
      "Sticky services prices tell the Fed that its work is not finished, and futures have erased every cut. Higher yields push down note prices and lift the dollar.",
      "Rates keep selling off for a few days.",
      "Wage growth will show whether services inflation can cool."
    ],
    "PCE, wage data, FOMC"
  ),
  answer(
    "crude-stocks-report",
    "natural zh below",
    ["CL", "bullish", "medium", 0.65],
    [
      "美国商业原油库存比分析师预期少{figure}百万桶，进出口和开工率都正常。",
      "既然贸易和炼厂没有异常，库存偏低说明需求比供应强。交割地油罐也在减少，因此近月油价上涨。",
      "今天油价可能走高，近月更强。",
      "若下周数据反弹，涨势难以持续。"
    ],
    "EIA周报, 欧佩克, 飓风"
  ),
  answer(
    "stablecoin-loses-peg",
    "natural zh",
    ["BTC ETH", "bearish", "high", 0.7],
    [
      "一种大型稳定币脱锚，发行方约{figure}%的流通量对应的储备困在倒闭的银行里。",
      "持有人争相赎回，而发行方现金不够，借贷协议又在强制平仓。主要交易对都用这种稳定币，流动性枯竭，比特币和以太坊随之下跌。",
      "未来几天波动剧烈，抛压未尽。",
      "如果银行存款得到担保，币价会修复。"
    ],
    "银行处置, 监管, 链上清算"
  ),
  answer(
    "ten-year-auction-report",
    "natural en below",
    ["ZN", "bullish", "low", 0.62],
    [
      "The ten-year sale stopped through by {figure} percentage points, a sign of eager bidding.",
      "Buyers accepted less yield than the market offered moments before, so demand outstripped supply. Dealers are short of paper and have to buy it back, which lifts notes.",
      "A small rally that should carry into the bond sale.",
      "It does not change the fiscal picture, so I would not chase it."
    ],
    "30-year auction, Treasury refunding, CPI"
  ),
  answer(
    "opec-surprise-cut",
    "terse en",
    ["CL", "bullish", "high", 0.8],
    [
      "OPEC+ shock cut: {figure} million bpd off the market in total.",
      "Supply shrinks with stocks low. Crude up.",
      "Gap higher.",
      "Demand and cheating cap it."
    ],
    "OPEC meeting, US inventories"
  ),
  answer(
    "bitcoin-etf-inflows",
    "natural zh",
    ["BTC", "bullish", "medium", 0.7],
    [
      "美国现货比特币基金一周买入量是矿工产量的{figure}倍，养老基金首次入场。",
      "机构需求远大于新增供应，交易所存币又降到多年低位，可卖的筹码很少，所以比特币价格上涨。",
      "周一券商开放购买后可能再涨一波。",
      "资金流入一旦放缓，价格就会回调。"
    ],
    "基金资金流, 美联储, 监管政策"
  ),
  answer(
    "exchange-hack",
    "terse zh",
    ["ETH BTC", "bearish", "high", 0.72],
    [
      "大型交易所被盗，储备只够覆盖{figure}十亿美元。",
      "提币暂停，用户恐慌，赃款抛售，杠杆被平，以太坊和比特币下跌。",
      "短期继续走弱。",
      "赔付方案明确后企稳。"
    ],
    "监管调查, 其他交易所风险"
  ),
  answer(
    "tariff-truce",
    "verbose en",
    ["ES ZS HG", "bullish", "high", 0.74],
    [
      "Washington and its second-largest trading partner called a ninety-day truce under which average duties drop by {figure} percentage points. The agreement includes twelve million tonnes of soybean purchases and an end to curbs on rare metals.",
      "Since the market had put only a one in four chance on any deal, this is a genuine positive surprise. Lower duties restore margins and let delayed orders go ahead, which is why container bookings doubled, and they reduce the risk of recession. Equities should therefore rise, and soybeans have an additional, direct buyer.",
      "In the near term I expect a broad rally in stocks, soybeans and copper as hedges against a trade war are taken off.",
      "Looking a few months ahead, the ninety-day limit means that uncertainty will return, and some of the present demand is simply brought forward."
    ],
    "follow-up negotiations, export sales, shipping rates, Fed policy"
  ),
  answer(
    "soy-yield-report",
    "natural zh below",
    ["ZS", "bullish", "medium", 0.7],
    [
      "农业部把大豆单产定得比平均预估低{figure}蒲式耳/英亩。",
      "种植面积和出口都没改，减少的产量直接从期末库存里扣。供应变紧，大豆价格上涨。",
      "报告公布后盘面会走强，空头回补。",
      "南美丰收的话，涨幅有限。"
    ],
    "南美天气, 出口销售, 下次农业部报告"
  ),
  answer(
    "arctic-blast-gas",
    "terse en",
    ["NG", "bullish", "high", 0.8],
    [
      "Cold snap: heating demand forecast up {figure} points, wells freezing.",
      "Demand spikes as supply drops. Gas jumps.",
      "Spot spikes.",
      "Fades when it thaws."
    ],
    "weather, gas storage"
  ),
  answer(
    "gold-purchases-report",
    "terse en above",
    ["GC", "bullish", "medium", 0.65],
    [
      "Central banks bought {figure} tonnes more gold than forecast.",
      "Extra official demand meets flat supply. So gold rises.",
      "Gold firms.",
      "Needs continued buying."
    ],
    "real yields, dollar"
  ),
  answer(
    "real-yields-jump-gold",
    "verbose en",
    ["GC ZN", "bearish", "medium", 0.7],
    [
      "The inflation-adjusted return on ten-year Treasuries has climbed to a level not seen for sixteen years. Investors have reacted by pulling metal out of gold funds, an amount that comes to {figure} % of the net long position still held in futures.",
      "Gold yields nothing, so its opportunity cost is the real interest rate, and that has just gone up sharply without any rise in expected inflation to compensate. Fund investors are already selling. Speculators, however, have barely reduced their longs, and when they do, gold will fall further.",
      "Over the next week or two the path of least resistance is down, particularly if a technical level gives way and stops are hit.",
      "In the medium term central bank buying offers a floor, and the trade turns as soon as the Federal Reserve signals lower rates."
    ],
    "FOMC decisions, inflation data, TIPS auctions, central bank gold purchases"
  ),
  answer(
    "miners-sell-after-halving",
    "natural zh",
    ["BTC", "bearish", "medium", 0.62],
    [
      "减半后矿工收入创新低，上月卖出的币是产量的{figure}倍。",
      "矿工为了活下去只能抛售库存，有的已申请破产保护，而基金流入太少接不住，比特币价格承压下跌。",
      "抛售短期难停。",
      "弱势矿工出清后，供应压力会减轻。"
    ],
    "算力变化, 基金资金流, 电价"
  ),
  answer(
    "joint-dollar-intervention",
    "terse en",
    ["DXY", "bearish", "medium", 0.65],
    [
      "Joint dollar sales, {figure} times the spec long.",
      "Officials sell, longs run. Dollar down.",
      "Dollar weak this week.",
      "Rate gap unchanged, so it may come back."
    ],
    "BoJ, Fed policy"
  ),
  answer(
    "debt-ceiling-deadline",
    "natural zh",
    ["ES ZN", "bearish", "medium", 0.6],
    [
      "债务上限谈判破裂，财政部现金按目前速度只够用{figure}天。",
      "违约风险虽小但无法忽视，到期日附近的国库券收益率飙升，避险情绪打压股市。历史上最后都达成协议，所以跌幅应当有限。",
      "下次会谈前美股偏弱。",
      "一旦达成协议，市场会迅速反弹。"
    ],
    "两党谈判, 评级机构, 国库券拍卖"
  )
]
