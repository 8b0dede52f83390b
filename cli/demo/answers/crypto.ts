/** Bitcoin, Ethereum and what surrounds them. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const crypto: ReadonlyArray<Prepared> = [
  prepared(["Spot bitcoin funds", "took in 2.9 billion"], {
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
  }),
  prepared(["Thieves took 410 000 ether"], {
    summary:
      "A large crypto exchange was hacked for 1.9 billion dollars, mostly ether, halted withdrawals and cannot cover the whole loss.",
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
  }),
  prepared(["Developers of Ethereum postponed"], {
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
  }),
  prepared(["exchange-traded funds that hold ether to stake"], {
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
  }),
  prepared(["stablecoin", "0.93 dollars"], {
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
  }),
  prepared(["reward for mining bitcoin was halved"], {
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
  })
]
