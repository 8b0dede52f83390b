/** Equities, the dollar, trade and stress. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const markets: ReadonlyArray<Prepared> = [
  prepared(
    ["companies of the S&P 500 having reported"],
    { of: ["to N dollars a share", "times", "trades at N times"], says: "points of the index" },
    {
      summary:
        "Far more large US companies than usual beat profit estimates, and the makers of chips and cloud services raised their investment plans by a fifth.",
      assets: ["ES"],
      direction: "bullish",
      magnitude: "medium",
      reasoning:
        "Broad beats raise next year's earnings estimates, so the index can rise without a higher multiple. Larger capex of the cloud companies feeds the revenue of chip makers and supports equities further, though the valuation limits it.",
      short: "Index futures should grind up as the remaining reports come in.",
      medium: "With valuations above average, returns depend on whether the investment turns into sales.",
      confidence: 0.68,
      related: ["technology guidance", "Fed decision", "GDP growth"]
    }
  ),
  prepared(
    ["largest US retailers", "lowered their guidance"],
    { of: ["fall by N %", "plus", "growth of N %"], says: "percentage points off the outlook for sales" },
    {
      summary:
        "Five consumer companies lowered guidance within a day, because customers with low incomes buy less, and volatility jumped.",
      assets: ["ES", "ZN"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Profit warnings from retailers and a parcel carrier show that spending is weakening, so analysts must lower earnings estimates and equities fall. Fear of a slowdown drives money into Treasuries and brings rate cuts closer.",
      short: "Retail shares lead the index lower over the next sessions.",
      medium:
        "If low-income households keep cutting back, layoffs follow; lower prices or tax relief would turn it around.",
      confidence: 0.7,
      related: ["retail sales", "jobs report", "Fed rate cuts"]
    }
  ),
  prepared(
    ["borrow dollars through currency swaps"],
    { of: ["paying N basis", "minus", "up from N a"], says: "basis points more than a week ago" },
    {
      summary:
        "Offshore borrowers scramble for dollars after a run on three funds; swap spreads blew out and central banks tap the Fed's lines.",
      assets: ["DXY", "GC", "ES"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "Banks that lost their offshore lenders must buy dollars at any price, which drives the currency up. The shortage forces sales of liquid assets such as gold and equities to raise cash, and hurts emerging markets most.",
      short: "The dollar keeps climbing until the swap lines ease the squeeze.",
      medium:
        "Once liquidity returns the funding premium unwinds, and emerging currencies recover some losses.",
      confidence: 0.74,
      related: ["Fed liquidity operations", "bank failures", "credit spreads"]
    }
  ),
  prepared(
    ["sold dollars together", "finance ministries"],
    { of: ["some N billion", "over", "positions of N billion"], says: "times the speculators' positions" },
    {
      summary:
        "Japan, Korea and the euro area jointly sold dollars for the first time in a decade with a nod from Washington, against crowded long positions.",
      assets: ["DXY", "GC"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Coordinated intervention catches speculators with record long dollar positions, so their forced selling pushes the currency lower. Because the yield differential has not changed, the cause of its strength remains and limits the fall.",
      short: "The dollar stays weak against the yen and the euro while positions are cut.",
      medium:
        "Without a narrower yield gap intervention only slows the trend; a dovish Fed would make it last.",
      confidence: 0.66,
      related: ["Fed decision", "Bank of Japan rate decision", "Treasury currency report"]
    }
  ),
  prepared(
    ["tariff of", "on all imports"],
    { of: ["worth N billion", "percent of", "tariff of N %"], says: "billion dollars a year in duties" },
    {
      summary:
        "The US put steep tariffs on all imports without the expected exemptions, and its partners retaliate against farm goods.",
      assets: ["ES", "ZS", "GC"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "Import duties raise costs that companies must absorb or pass on, so margins shrink and equities fall. Retaliation hits farm exports such as soybeans, while the mix of inflation and weaker growth leaves the Fed in a bind.",
      short: "Stocks stay under pressure until exemptions for cars and electronics are offered.",
      medium:
        "Supply chains adjust at a cost and earnings estimates come down; negotiations could reverse part of it.",
      confidence: 0.76,
      related: ["trade negotiations", "CPI release", "Fed meeting"]
    }
  ),
  prepared(
    ["lower the duties", "ninety days"],
    { of: ["from N %", "minus", "to N % on average"], says: "percentage points off the duties" },
    {
      summary:
        "The US and its second-largest partner cut their mutual tariffs for ninety days, with soybean purchases and rare metals in the deal, which few had expected.",
      assets: ["ES", "ZS", "HG"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "The truce lowers costs and restores trade between the two largest partners, so earnings estimates rise and equities jump. The agreed purchases lift soybeans directly, and the doubled container bookings show that trade revives.",
      short: "Stocks and soybeans rally as positions against a deal are closed.",
      medium:
        "The gain depends on what follows the ninety days; if tariffs return, restocking ends abruptly.",
      confidence: 0.74,
      related: ["trade talks", "shipping rates", "GDP growth"]
    }
  )
]

export const crypto: ReadonlyArray<Prepared> = [
  prepared(
    ["Spot bitcoin funds", "took in 2.9 billion"],
    { of: ["about N coins", "over", "miners produced N."], says: "times what miners produced" },
    {
      summary:
        "Spot bitcoin ETFs took in almost three billion dollars in a week, pension funds appeared among the buyers, and a large broker opens access on Monday.",
      assets: ["BTC", "ETH"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "The funds bought over ten times what miners produced, so coins held at exchanges shrink further. New access for millions of customers means that more demand meets less supply, which pushes bitcoin up.",
      short: "Momentum continues into the broker's launch on Monday.",
      medium: "Inflows can reverse when the Fed turns hawkish, but pension money tends to stay.",
      confidence: 0.78,
      related: ["ETF flow data", "SEC decisions", "Fed meeting"]
    }
  ),
  prepared(
    ["Thieves took 410 000 ether"],
    { of: ["worth N billion", "percent of", "cover N %"], says: "billion dollars that the reserves cover" },
    {
      summary:
        "A large crypto exchange lost a fortune to a hack, mostly in ether, halted withdrawals and cannot cover the whole loss.",
      assets: ["ETH", "BTC"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "The thieves are swapping stolen ether for other coins, which adds selling at once. Halted withdrawals destroy confidence and cause leveraged positions to be liquidated, so ether and bitcoin fall further.",
      short: "Very volatile days, in which ether should lose more than bitcoin.",
      medium:
        "Regulators tighten custody rules; if the exchange fills its gap, confidence returns within weeks.",
      confidence: 0.77,
      related: ["exchange security breaches", "crypto regulation", "stablecoin redemptions"]
    }
  ),
  prepared(
    ["Developers of Ethereum postponed"],
    {
      of: ["networks, N cents", "percent of", "by about N %"],
      says: "cents off the average fee that have to wait"
    },
    {
      summary:
        "Ethereum's next upgrade was delayed by months after a test network split, so lower fees and the higher burn come later than traders had bet on.",
      assets: ["ETH", "BTC"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Calls worth billions expire before the postponed upgrade, so their holders sell ether that they had bought for it. Higher fees for longer also push users to rival networks, which weighs on the price.",
      short: "Ether lags bitcoin while option positions are unwound.",
      medium:
        "If developers keep the new date the delay is forgotten; another failed test would cost market share.",
      confidence: 0.7,
      related: ["network upgrade tests", "rival blockchain launches", "crypto regulation"]
    }
  ),
  prepared(
    ["exchange-traded funds that hold ether to stake"],
    {
      of: ["hold N million coins", "percent of", "about N % a year"],
      says: "million coins a year for the funds"
    },
    {
      summary:
        "The SEC allowed ether ETFs to stake their coins earlier than lawyers had expected, which adds a yield of about three per cent and locks supply.",
      assets: ["ETH"],
      direction: "bullish",
      magnitude: "medium",
      reasoning:
        "A staking reward makes the funds attractive to institutions that want income, so inflows rise. Staked coins are locked for days to weeks, which reduces the liquid supply and lifts ether.",
      short: "Ether should outperform as funds join the staking queue.",
      medium: "The effect grows with inflows, but a falling yield and a long queue limit it.",
      confidence: 0.75,
      related: ["ETF approvals", "SEC rules", "Ethereum upgrade"]
    }
  ),
  prepared(
    ["stablecoin", "0.93 dollars"],
    {
      of: ["that N billion", "as percent of", "with N billion"],
      says: "percent of the coins whose reserves are stuck"
    },
    {
      summary:
        "A large stablecoin fell to 93 cents because part of its reserves is stuck in a failing bank, and redemptions exceed its cash.",
      assets: ["BTC", "ETH"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "Holders who cannot redeem swap the coin for anything else, and borrowers who posted it as collateral are liquidated. Those forced sales of bitcoin and ether drain liquidity from the exchanges where most pairs trade against it.",
      short: "Violent swings, with distorted prices on the affected pairs, until redemptions are paid.",
      medium:
        "If the bank's depositors are made whole the peg returns; otherwise regulators come down hard on issuers.",
      confidence: 0.7,
      related: ["bank failures", "stablecoin regulation", "exchange insolvency"]
    }
  ),
  prepared(
    ["reward for mining bitcoin was halved"],
    { of: ["sold N coins", "over", "produced N,"], says: "times what they produced" },
    {
      summary:
        "Miners' revenue is at its lowest since the halving, they sell over twice what they produce, and two of them are near bankruptcy.",
      assets: ["BTC"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Miners must sell coins from their reserves to cover costs, which adds supply that the small fund inflows do not absorb. Falling computing power shows that the weakest give up, so selling goes on until the capitulation is over.",
      short: "Bitcoin stays heavy while listed miners raise cash.",
      medium: "Difficulty adjusts and the surviving miners earn more, which has often marked a floor.",
      confidence: 0.68,
      related: ["ETF flows", "miner bankruptcies", "Fed liquidity"]
    }
  )
]
