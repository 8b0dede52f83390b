/** Bitcoin, Ethereum and what surrounds them. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const crypto: ReadonlyArray<EventTemplate> = [
  {
    slug: "bitcoin-etf-inflows",
    prompt:
      "Spot bitcoin funds listed in the United States took in 2.9 billion dollars in five trading days, three times the weekly average of the year. Two pension funds disclosed positions for the first time, and a large broker will let its 16 million customers buy the funds from Monday. The funds bought about {bought} coins in the week, while miners produced {mined}. Coins held at exchanges are at their lowest in six years.",
    numbers: { bought: [43000, 33000, 52000, 500], mined: [3150, 3000, 3300, 10] },
    figure: {
      by: "quotient",
      of: ["bought", "mined"],
      ask: "how many times the miners' output the funds bought"
    },
    assets: { core: ["BTC"], plausible: ["ETH", "GC", "ES"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { medium: 1, high: 0.9, low: 0.1 },
    kinds: ["crypto"],
    terms: words(
      "etf,fund,inflow,pension,broker,institution,miner,exchanges,coins,allocat,absorb,access",
      "基金,流入,养老,券商,机构,矿工,交易所"
    ),
    related: ["crypto", "regulation", "central_bank", "equities", "inflation", "currency"]
  },
  {
    slug: "exchange-hack",
    prompt:
      "Thieves took 410 000 ether and 9 200 bitcoin, together worth {loss} billion dollars, from the wallets of the world's third-largest crypto exchange. The exchange halted withdrawals and says that its reserves cover {cover} % of the loss. On-chain trackers show that 120 000 ether have been swapped already. Borrowing rates for leveraged positions turned negative, and positions of 1.1 billion dollars were closed by force within four hours.",
    numbers: { loss: [1.9, 1.4, 2.8, 0.05], cover: [70, 54, 84, 1] },
    figure: {
      by: "share",
      of: ["loss", "cover"],
      ask: "how many billion dollars of the loss the reserves cover",
      unit: "billion"
    },
    assets: { core: ["ETH", "BTC"], plausible: ["ES", "GC", "DXY"] },
    directions: { bearish: 1, mixed: 0.2 },
    magnitudes: { high: 1, medium: 0.7 },
    kinds: ["crypto", "technology"],
    terms: words(
      "hack,thief,thieves,theft,stole,breach,exchange,withdraw,wallet,liquidat,leverage,forced,custod,security,launder,swapped",
      "黑客,被盗,盗,交易所,提现,提币,钱包,杠杆,平仓,清算,安全,抛压,赃款"
    ),
    related: ["crypto", "regulation", "technology", "banking", "geopolitics"]
  },
  {
    slug: "ethereum-upgrade-delayed",
    prompt:
      "Developers of Ethereum postponed the network's next upgrade by four to five months, after a test network split for nine hours. The upgrade was to cut the fees of secondary networks, {fee} cents on average, by about {cut} % and to raise the share of fees that is burned. Traders had bought calls worth 2.2 billion dollars that expire within six weeks. Two rival networks gained 7 % against ether within the day.",
    numbers: { fee: [8, 5, 12, 0.2], cut: [60, 47, 72, 1] },
    figure: {
      by: "share",
      of: ["fee", "cut"],
      ask: "by how many cents the upgrade would have lowered the average fee"
    },
    assets: { core: ["ETH"], plausible: ["BTC"] },
    directions: { bearish: 1, mixed: 0.4 },
    magnitudes: { medium: 1, low: 0.7, high: 0.4 },
    kinds: ["crypto", "technology"],
    terms: words(
      "upgrade,delay,postpon,later,developer,test network,testnet,fees,layer 2,layer two,secondary network,rollup,burn,rival,competitor,calls,options,roadmap",
      "升级,推迟,延迟,延期,开发者,测试网,手续费,费用,二层,销毁,竞争,期权,看涨"
    ),
    related: ["crypto", "technology", "regulation"]
  },
  {
    slug: "ethereum-staking-approved",
    prompt:
      "The US securities regulator allowed exchange-traded funds that hold ether to stake it, and so to pay their investors about {yield} % a year. The nine funds hold {coins} million coins, 4.5 % of all. Most lawyers had expected a decision in the second half of the year at the earliest. Staked coins cannot be sold for days to weeks, and the queue to stake has grown from 2 to 21 days.",
    numbers: { yield: [3, 2.4, 3.8, 0.1], coins: [5.4, 4.1, 6.9, 0.1] },
    figure: {
      by: "share",
      of: ["coins", "yield"],
      ask: "how many million coins a year the funds would earn if they staked all they hold",
      unit: "million"
    },
    assets: { core: ["ETH"], plausible: ["BTC"] },
    directions: { bullish: 1, mixed: 0.2 },
    magnitudes: { medium: 1, high: 0.9, low: 0.2 },
    kinds: ["crypto", "regulation"],
    terms: words(
      "stak,etf,fund,sec$,regulator,approv,allow,yield,lock,queue,liquid supply,institution,income,reward",
      "质押,基金,证监会,监管,批准,允许,收益,锁定,排队,流通,机构"
    ),
    related: ["crypto", "regulation", "technology", "central_bank", "equities"]
  },
  {
    slug: "stablecoin-loses-peg",
    prompt:
      "A stablecoin with {coins} billion dollars outstanding fell to 0.93 dollars after its issuer disclosed that {stuck} billion of its reserves lie with a bank that is being wound up. Holders asked for 6.5 billion back within a day, more than the issuer had in cash. On two exchanges most pairs of bitcoin and ether trade against this coin. Lending protocols closed positions of 800 million dollars by force.",
    numbers: { coins: [34, 27, 41, 1], stuck: [4.1, 3.1, 5.7, 0.1] },
    figure: {
      by: "percent",
      of: ["stuck", "coins"],
      ask: "how many percent of what is outstanding lie with that bank"
    },
    assets: { core: ["BTC", "ETH"], plausible: ["ES", "ZN", "GC", "DXY"] },
    directions: { bearish: 1, mixed: 0.7, bullish: 0.2 },
    magnitudes: { high: 1, medium: 0.9 },
    kinds: ["crypto", "banking"],
    terms: words(
      "stablecoin,peg$,depeg,issuer,reserves,redeem,redemption,run on,collateral,lending protocol,liquidat,pairs,wound up,defi,forced",
      "稳定币,脱锚,锚定,发行方,发行商,储备,赎回,挤兑,抵押,借贷,清算,交易对"
    ),
    related: ["crypto", "banking", "regulation", "central_bank", "technology"]
  },
  {
    slug: "miners-sell-after-halving",
    prompt:
      "Three months after the reward for mining bitcoin was halved, the revenue of miners per unit of computing power is at its lowest ever. Listed miners sold {sold} coins in the month and produced {made}, and two of them asked for protection from creditors. The network's computing power fell by 12 %. Inflows into spot funds, at 40 million dollars a day, do not take up what is sold.",
    numbers: { sold: [11800, 10400, 14800, 100], made: [4900, 4300, 5450, 50] },
    figure: {
      by: "quotient",
      of: ["sold", "made"],
      ask: "how many times what they produced the miners sold"
    },
    assets: { core: ["BTC"], plausible: ["ETH"] },
    directions: { bearish: 1, mixed: 0.7 },
    magnitudes: { medium: 1, low: 0.7, high: 0.3 },
    kinds: ["crypto"],
    terms: words(
      "miner,halving,halved,reward,hash,computing power,sell$,selling,sold,revenue,creditor,bankrupt,capitulat,inflow",
      "矿工,减半,奖励,算力,抛售,卖出,破产,投降,流入,矿企"
    ),
    related: ["crypto", "regulation", "central_bank", "gas", "technology", "equities"]
  }
]
