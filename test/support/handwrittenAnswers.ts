/** Answers written by hand to events of the registration bank, in several voices: they must pass. */
import type { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"

export const handwritten: ReadonlyArray<readonly [slug: string, voice: string, answer: RegistrationAnswer]> =
  [
    [
      "fed-surprise-hike",
      "an analyst's note",
      {
        event_summary:
          "The Fed doubled the expected step and hiked by half a point, and it dropped its softer language, so markets moved the expected peak for rates well above 5 %.",
        market_impact: {
          affected_assets: ["ZN", "DXY", "GC", "ES"],
          direction: "bearish",
          magnitude: "high",
          reasoning:
            "Because nobody had priced a 50 bp move, front-end yields have to reset higher and ten-year note futures fall with them. Wider rate differentials pull capital into the dollar, which in turn weighs on gold and on equity valuations."
        },
        trading_implications: {
          short_term:
            "Treasury futures and stocks stay under pressure for a few sessions while positioning adjusts to the new path.",
          medium_term:
            "If activity cracks under tighter policy, the curve inverts further and long-dated notes could recover before the Fed itself turns."
        },
        confidence: 0.78,
        related_events: ["CPI release", "Nonfarm payrolls", "Fed minutes"]
      }
    ],
    [
      "cpi-hot-services",
      "a terse trader",
      {
        event_summary:
          "CPI printed double the forecast with sticky core services, and the market gave up on its rate cuts.",
        market_impact: {
          affected_assets: ["10-year Treasury", "US dollar", "gold"],
          direction: "bearish",
          magnitude: "high",
          reasoning:
            "Hot services inflation means the Fed stays on hold for longer. Yields jump, so note prices drop and the dollar firms."
        },
        trading_implications: {
          short_term: "Sell rallies in tens over the next days.",
          medium_term:
            "Wage data will decide; a softer print in two months would bring buyers back to duration."
        },
        confidence: 0.7,
        related_events: ["jobs report", "FOMC meeting"]
      }
    ],
    [
      "core-cpi-soft",
      "一位中文分析师",
      {
        event_summary: "美国核心通胀意外放缓，房租涨幅明显回落，市场大幅上调下次会议降息的概率。",
        market_impact: {
          affected_assets: ["美债", "黄金", "ES"],
          direction: "bullish",
          magnitude: "medium",
          reasoning:
            "房租是此前支撑核心通胀的主要因素，它的降温使通胀回落更具持续性。因此美联储有更多空间降息，收益率下行推动十年期美债价格上涨，同时美元走弱利好黄金。"
        },
        trading_implications: {
          short_term: "未来几天美债期货有望延续涨势，股市情绪也会改善。",
          medium_term: "如果后续两个月的数据确认这一趋势，降息周期将提前开始；若就业依然强劲，涨幅可能回吐。"
        },
        confidence: 0.72,
        related_events: ["美联储议息会议", "非农就业报告"]
      }
    ],
    [
      "payrolls-contraction",
      "a language model at length",
      {
        event_summary:
          "The labour market has turned: payrolls shrank instead of growing, unemployment climbed for a third consecutive month to 4.7 %, and traders now lean towards a jumbo rate cut.",
        market_impact: {
          affected_assets: ["ZN", "ES", "GC", "DXY"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "A shrinking workforce lowers household income and spending, which raises recession risk and forces the Federal Reserve towards faster easing. Lower expected policy rates push Treasury yields down and lift ZN, while weaker earnings prospects weigh on cyclical equities. Falling real yields and a softer dollar also support gold."
        },
        trading_implications: {
          short_term:
            "Expect a bid for duration and gold into the next FOMC meeting, with small caps underperforming as credit worries grow.",
          medium_term:
            "Over the following quarters the outcome depends on whether cuts arrive in time: a stabilising labour market would cap the bond rally and let equities recover."
        },
        confidence: 0.74,
        related_events: ["FOMC rate decision", "Initial jobless claims", "ISM services survey", "GDP release"]
      }
    ],
    [
      "treasury-auction-tail",
      "a rates desk",
      {
        event_summary:
          "A ten-year sale went badly: the yield had to be almost 4 bp cheaper than the market, coverage was thin and dealers got stuck with more than a quarter of it.",
        market_impact: {
          affected_assets: ["zn", "dxy"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "Weak foreign demand leaves primary dealers long of paper that they must hedge or sell, so prices fall until a higher yield attracts real money. With 80 billion more to come next week, investors will ask for a larger term premium, which keeps pressure on the long end."
        },
        trading_implications: {
          short_term:
            "Dealers probably set up for next week's supply by shorting futures, so tens should cheapen further.",
          medium_term:
            "Higher yields eventually bring back pension funds and insurers unless deficits force sale sizes up again."
        },
        confidence: 0.68,
        related_events: ["next refunding announcement", "budget deficit figures", "inflation data"]
      }
    ],
    [
      "sovereign-downgrade",
      "a cautious person",
      {
        event_summary:
          "One of the big agencies unexpectedly took the US down a notch to AA because of governance problems and a debt burden that keeps rising.",
        market_impact: {
          affected_assets: ["S&P 500", "treasuries", "gold"],
          direction: "mixed",
          magnitude: "medium",
          reasoning:
            "A lower rating should raise the premium that investors want for US debt, so bonds and stocks open weaker. But in past episodes the scare led to a flight into safe assets, and Treasuries are still the main one, so the effect on yields is not clear."
        },
        trading_implications: {
          short_term: "A nervous day or two with lower stocks and some buying of gold.",
          medium_term:
            "The mechanical effects are small, and what matters is whether Congress does something about the deficit."
        },
        confidence: 0.55,
        related_events: ["Debt ceiling negotiations", "Treasury auctions", "Bank rating downgrades"]
      }
    ],
    [
      "opec-surprise-cut",
      "一个大语言模型",
      {
        event_summary: "欧佩克及其盟友在临时会议上意外宣布从下月起再减产每日140万桶，远超市场预期。",
        market_impact: {
          affected_assets: ["CL", "CPI"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "由于新增减产主要由执行率较高的成员承担，实际供应收缩会接近名义数字。在全球剩余产能有限、库存低于五年均值的情况下，供应缺口将推高原油价格，并进一步抬升通胀预期。"
        },
        trading_implications: {
          short_term: "短期内油价可能快速跳涨，近月合约相对远月走强。",
          medium_term: "中期需关注高油价对需求的抑制，以及成员国是否会逐步放松配额执行。"
        },
        confidence: 0.8,
        related_events: ["OPEC+ 例行会议", "美国原油库存", "地缘政治冲突", "美国CPI数据"]
      }
    ],
    [
      "arctic-blast-gas",
      "a weather-minded trader",
      {
        event_summary:
          "A severe cold spell is coming to the eastern US while frozen wells take about 8 % off production and storage is already thin.",
        market_impact: {
          affected_assets: ["NG"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "Heating demand jumps just as freeze-offs remove supply, so storage has to cover the gap and will be drawn down quickly. That forces utilities to bid for prompt gas, and Henry Hub spikes."
        },
        trading_implications: {
          short_term: "Front-month futures should gap higher and stay volatile until the models warm up.",
          medium_term:
            "Wells thaw within weeks, so the spike fades, but depleted inventories keep next summer's contracts supported."
        },
        confidence: 0.85,
        related_events: ["EIA gas storage report", "weather forecast updates", "LNG export flows"]
      }
    ],
    [
      "lng-plant-outage",
      "someone who reads twice",
      {
        event_summary:
          "The biggest US export terminal for LNG is shut by a fire for three months or longer, which strands roughly 2 % of national gas production at home.",
        market_impact: {
          affected_assets: ["Henry Hub natural gas"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "2.3 bcf a day that used to leave as cargoes must now be stored or burned inside the US. As stocks are above normal, the surplus pushes domestic prices down even though Europe, which loses the cargoes, pays more."
        },
        trading_implications: {
          short_term: "US futures drop and the spread to European hubs widens at once.",
          medium_term:
            "Injections run heavy until the terminal restarts; any delay past ninety days would prolong the discount."
        },
        confidence: 0.77,
        related_events: ["weekly gas storage data", "European gas supply", "hurricane season"]
      }
    ],
    [
      "copper-mine-strike",
      "a metals analyst",
      {
        event_summary:
          "A strike has halted a mine that supplies a twentieth of global copper at a time when visible stocks are tiny.",
        market_impact: {
          affected_assets: ["HG=F"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "The stoppage cuts concentrate supply when smelters are already short of it, as the collapse in treatment charges shows. Because inventories cover only four days, even a brief loss forces consumers to bid up prompt metal."
        },
        trading_implications: {
          short_term: "Spot copper and near spreads tighten as long as there is no talk of a deal.",
          medium_term:
            "A settlement after about six weeks would give back part of the gain, though the lost tonnes keep the year in deficit."
        },
        confidence: 0.8,
        related_events: ["Chinese PMI", "other mine wage negotiations", "LME warehouse stocks"]
      }
    ],
    [
      "central-banks-buy-gold",
      "a person in a hurry",
      {
        event_summary:
          "Official buyers took a record amount of gold last quarter, far more than analysts thought, and plan more.",
        market_impact: {
          affected_assets: ["Gold", "Treasuries"],
          direction: "bullish",
          magnitude: "medium",
          reasoning:
            "Reserve managers buy regardless of price, so their demand puts a floor under the market. Mine supply barely grows, which means other holders must be paid more to sell."
        },
        trading_implications: {
          short_term: "Dips in gold should be shallow in the coming weeks.",
          medium_term:
            "Diversification out of the dollar is a matter of years and should carry prices higher even with high real yields."
        },
        confidence: 0.75,
        related_events: ["Fed policy", "sanctions on reserves"]
      }
    ],
    [
      "usda-record-soy-crop",
      "a farmer",
      {
        event_summary:
          "USDA surprised everybody with a record soybean yield, so ending stocks come out 40 % bigger than they said last month.",
        market_impact: {
          affected_assets: ["soybeans"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "There will be many more beans than the trade had planned for, and exports are already slow, so the extra has to pile up in storage. Prices must fall until crushers and foreign buyers take it."
        },
        trading_implications: {
          short_term: "Harvest selling on top of this report probably sends November beans to new lows.",
          medium_term:
            "Cheap beans should win back export business by winter, and South American weather becomes the next thing to watch."
        },
        confidence: 0.8,
        related_events: ["South American weather", "export sales to China", "next WASDE report"]
      }
    ],
    [
      "earnings-season-beat",
      "an equity strategist",
      {
        event_summary:
          "Most large US companies are beating profit forecasts by more than usual, and big tech is spending considerably more on capacity.",
        market_impact: {
          affected_assets: ["ES", "HG"],
          direction: "bullish",
          magnitude: "medium",
          reasoning:
            "Broad beats lift next year's earnings estimates, so the index can rise without a higher multiple. Larger capex by the cloud giants also feeds the revenue of chip makers, which reinforces the momentum, though a price of almost 20 times earnings limits the upside."
        },
        trading_implications: {
          short_term: "Index futures should grind up as the remaining reports come in.",
          medium_term:
            "With valuations above average, returns will depend on whether the investment turns into sales next year."
        },
        confidence: 0.66,
        related_events: ["Big tech guidance", "Fed decision", "GDP growth"]
      }
    ],
    [
      "dollar-funding-squeeze",
      "a macro model",
      {
        event_summary:
          "Offshore demand for dollars has spiked after runs on three funds, swap spreads have blown out, and central banks are tapping Fed swap lines.",
        market_impact: {
          affected_assets: ["DXY", "GC", "ES"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "Borrowers who lost their dollar lenders must buy the currency at any price, which drives the greenback up against everything else. The scramble triggers forced selling of liquid assets such as gold and stocks to raise cash."
        },
        trading_implications: {
          short_term: "The dollar index keeps climbing until the swap lines ease the shortage.",
          medium_term:
            "Once liquidity is restored, the premium should unwind and emerging currencies can recover some of their losses."
        },
        confidence: 0.73,
        related_events: [
          "Fed emergency liquidity operations",
          "bank failures",
          "quarter-end funding pressure"
        ]
      }
    ],
    [
      "exchange-hack",
      "一位加密货币研究员",
      {
        event_summary: "全球第三大加密交易所被盗约19亿美元，平台暂停提现，储备不足以完全弥补损失。",
        market_impact: {
          affected_assets: ["以太坊", "比特币"],
          direction: "bearish",
          magnitude: "high",
          reasoning:
            "黑客正在链上兑换赃款，直接增加以太坊的抛压。与此同时，暂停提现打击了投资者信心，导致杠杆多头被强制平仓，进一步压低价格。"
        },
        trading_implications: {
          short_term: "几天之内波动会非常剧烈，以太坊的跌幅大概率超过比特币。",
          medium_term: "监管可能因此收紧；如果交易所补足缺口，市场信心会在几周后逐渐恢复。"
        },
        confidence: 0.76,
        related_events: ["监管调查", "稳定币挤兑", "其他交易所的安全漏洞"]
      }
    ],
    [
      "ethereum-staking-approved",
      "a crypto enthusiast",
      {
        event_summary:
          "The SEC has let ether ETFs stake their coins earlier than expected, so holders will earn around 3 %.",
        market_impact: {
          affected_assets: ["ETH-USD"],
          direction: "bullish",
          magnitude: "medium",
          reasoning:
            "Staking income makes the funds more attractive to institutions, so inflows should increase. Coins that are staked are locked up, which shrinks the liquid supply at the same time."
        },
        trading_implications: {
          short_term: "ETH likely outperforms bitcoin for the next week or two on the surprise.",
          medium_term:
            "The longer queue and steady fund demand support the price, but the yield will fall as more is staked."
        },
        confidence: 0.74,
        related_events: ["new ETF approvals", "crypto regulation bill", "network upgrade"]
      }
    ],
    [
      "canal-drought-freight",
      "a dissenting voice",
      {
        event_summary:
          "Low water has forced a major canal to take far fewer ships, so American grain has to go the long way and costs more to deliver.",
        market_impact: {
          affected_assets: ["ZS", "NG"],
          direction: "mixed",
          magnitude: "low",
          reasoning:
            "Extra freight of 19 dollars a tonne makes US soybeans less competitive in Asia, which hurts prices at the Gulf. Buyers there pay more all the same, because rerouted vessels are scarce, so the effect differs from place to place."
        },
        trading_implications: {
          short_term: "Gulf basis weakens while futures in Chicago hardly move.",
          medium_term: "If the rains fail, importers will turn to Brazilian supply for the whole season."
        },
        confidence: 0.5,
        related_events: ["freight rates", "drought forecasts", "Brazilian soybean harvest"]
      }
    ],
    [
      "tariff-truce",
      "a small model, plain",
      {
        event_summary:
          "The two countries made a deal to reduce tariffs for 90 days and to trade more soybeans.",
        market_impact: {
          affected_assets: ["ES", "ZS", "HG", "CL"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "Lower tariffs reduce costs for companies and increase trade between the two countries. This leads to higher stock prices, and the promise to buy soybeans increases demand for ZS."
        },
        trading_implications: {
          short_term: "Stocks and soybeans are likely to rise in the next few days.",
          medium_term: "The truce only lasts for 90 days, so the risk of new tariffs remains."
        },
        confidence: 0.8,
        related_events: ["Trade negotiations", "Federal Reserve policy", "Crop reports"]
      }
    ],
    [
      "producer-prices-margins",
      "a sell-side economist",
      {
        event_summary:
          "PPI jumped four times as much as forecast, mostly on fuel and transport, and shops say they will eat the increase.",
        market_impact: {
          affected_assets: ["ES", "ZN", "PPI"],
          direction: "mixed",
          magnitude: "low",
          reasoning:
            "Since the core measure matched forecasts, the Fed has little reason to react and bonds lose only a bit. Retailers that do not raise prices see profits squeezed, which is a drag on parts of the stock market."
        },
        trading_implications: {
          short_term: "Consumer stocks lag this week, and yields drift slightly higher.",
          medium_term: "When the new season starts, shops may pass costs on and push CPI up."
        },
        confidence: 0.6,
        related_events: ["CPI", "oil price", "retail earnings"]
      }
    ],
    [
      "gdp-contraction",
      "a student",
      {
        event_summary:
          "The economy got smaller last quarter when people thought it would grow, mainly because firms invested less.",
        market_impact: {
          affected_assets: ["S&P 500 futures", "Treasury notes", "Copper"],
          direction: "mixed",
          magnitude: "medium",
          reasoning:
            "Bad growth means lower profits, so stocks should fall. At the same time the Fed is more likely to cut rates because prices also rose less, and that makes bonds go up."
        },
        trading_implications: {
          short_term: "Investors buy bonds and sell cyclical stocks and copper.",
          medium_term:
            "If private demand keeps growing as final sales suggest, the recession fear will go away."
        },
        confidence: 0.6,
        related_events: ["Fed meeting", "unemployment data", "PMI surveys"]
      }
    ],
    [
      "debt-ceiling-deadline",
      "a political analyst",
      {
        event_summary:
          "Washington is eleven days from running out of money after negotiations collapsed, and short bills and default swaps show real stress.",
        market_impact: {
          affected_assets: ["ES", "ZN", "GC"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "The closer the date comes, the more investors cut risk, and this weighs on shares. Longer Treasuries may even gain, as money leaves the affected bills for safer maturities."
        },
        trading_implications: {
          short_term: "Choppy trading on every headline, with stocks lower until there is an agreement.",
          medium_term:
            "History says that a deal arrives at the last minute, after which the bill yields normalise and equities rebound."
        },
        confidence: 0.62,
        related_events: ["rating agency action", "Treasury bill auctions", "government shutdown"]
      }
    ],
    [
      "property-slump-copper",
      "a commodities intern",
      {
        event_summary:
          "China's housing downturn is getting worse, a big builder did not pay its bonds, and unused copper is piling up.",
        market_impact: {
          affected_assets: ["HG", "CL"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "Fewer new homes need less wiring and plumbing, so copper consumption drops. The rising bonded stocks and falling premiums confirm that buyers have stepped back, which pushes the price lower."
        },
        trading_implications: {
          short_term: "Copper tests its recent lows unless Beijing says something concrete.",
          medium_term: "A credible stimulus package could turn the market quickly because shorts would cover."
        },
        confidence: 0.7,
        related_events: ["Chinese PMI", "PBoC rate cut", "stimulus announcement"]
      }
    ],
    [
      "real-yields-jump-gold",
      "a fund manager",
      {
        event_summary:
          "TIPS yields have climbed to a sixteen-year high while ETF holders are dumping gold and futures traders remain very long.",
        market_impact: {
          affected_assets: ["GC"],
          direction: "bearish",
          magnitude: "medium",
          reasoning:
            "Gold pays nothing, so a higher real return on safe bonds makes it more costly to hold. With speculators crowded on the long side, further selling by funds could trigger stops and a faster fall."
        },
        trading_implications: {
          short_term: "Gold is vulnerable to a long squeeze in the next two weeks.",
          medium_term: "Once real yields peak, probably when growth slows, the metal should find a base."
        },
        confidence: 0.72,
        related_events: ["FOMC decision", "CPI", "central bank gold purchases"]
      }
    ],
    [
      "strait-tanker-attacks",
      "一位航运研究员",
      {
        event_summary:
          "一条承担全球大量原油和液化天然气运输的海峡遭到无人机袭击，保险公司撤保，大批船只停航等待。",
        market_impact: {
          affected_assets: ["原油", "NG", "黄金"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "由于保险缺失，船东不敢通过海峡，实际运输量骤降，导致现货原油紧张。护航舰队还要九天才能到位，因此这段时间内风险溢价会持续推高油价。"
        },
        trading_implications: {
          short_term: "原油近月合约大幅升水，油轮运费继续上涨。",
          medium_term: "护航到位后若通行恢复，溢价将逐步回落；若冲突升级，则可能形成长期的供应冲击。"
        },
        confidence: 0.78,
        related_events: ["中东局势升级", "OPEC 增产决定", "战略储备释放"]
      }
    ],
    [
      "soy-import-ban",
      "a grain broker",
      {
        event_summary:
          "The top customer for American beans has shut out nearly all US shippers, officially over pests but really as payback for duties.",
        market_impact: {
          affected_assets: ["ZS"],
          direction: "bearish",
          magnitude: "high",
          reasoning:
            "Half of US exports lose their home overnight, so beans back up at the elevators and Chicago has to fall until other destinations step in. Brazil gets the business and its premium goes up instead."
        },
        trading_implications: {
          short_term: "Futures gap down and cargoes get resold at a loss.",
          medium_term:
            "Talks next month are the swing factor: a deal would bring a sharp short-covering rally."
        },
        confidence: 0.8,
        related_events: ["tariff negotiations", "Brazil harvest", "USDA export sales"]
      }
    ],
    [
      "bitcoin-etf-inflows",
      "a terse crypto trader",
      {
        event_summary:
          "Spot ETFs pulled in almost 3 bn in a week, pensions are in, and a big brokerage opens the door on Monday.",
        market_impact: {
          affected_assets: ["btc", "eth"],
          direction: "bullish",
          magnitude: "high",
          reasoning:
            "ETF buying was over ten times what miners made, so the float keeps shrinking. New broker access means even more demand, which should push BTC up."
        },
        trading_implications: {
          short_term: "Momentum continues into the Monday launch.",
          medium_term:
            "Flows are fickle and could reverse if the Fed turns hawkish, but pension money tends to stay."
        },
        confidence: 0.8,
        related_events: ["SEC decisions", "Fed meeting", "halving"]
      }
    ],
    [
      "stablecoin-loses-peg",
      "a risk officer",
      {
        event_summary:
          "A 34 bn stablecoin trades at 93 cents because part of its backing is stuck in a failing bank and redemptions exceed its cash.",
        market_impact: {
          affected_assets: ["BTC", "ETH"],
          direction: "bearish",
          magnitude: "high",
          reasoning:
            "Holders who cannot redeem sell the coin or swap it for anything else, and leveraged borrowers who posted it as collateral are liquidated. That forces sales of bitcoin and ether and drains liquidity from the exchanges that quote against it."
        },
        trading_implications: {
          short_term: "Expect violent swings over the weekend, with prices on the affected pairs distorted.",
          medium_term:
            "If depositors of the bank are made whole the peg returns, otherwise regulators will come down hard on issuers."
        },
        confidence: 0.7,
        related_events: ["bank failures", "stablecoin legislation", "exchange insolvency"]
      }
    ]
  ]
