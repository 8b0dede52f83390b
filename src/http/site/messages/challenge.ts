/** Messages of the page of a challenge: answer, facts, charts, credit pool, and log entries. */
import { wordsOfKinds } from "../../../services/domain/kinds.ts"
import type { Direction } from "../../../services/domain/Challenge.ts"

/** Beginnings of the reasons that the service itself gives; reasons of administrators stay as they are. */
const ownReasons = [
  ["No closing price was observed by ", "规定时间内未观测到收盘价。"],
  ["No value was recorded by ", "规定时间内没有公布值记录。"],
  ["The candles that decide it were not all known", "规定时间内，判定所需的 K 线不全或存在争议。"]
] as const

type Sides = Readonly<Record<Direction, string>>

/** The names of levels in a sentence: "the low end, the high end". */
const theEach = (levels: ReadonlyArray<string>): string =>
  levels.map((level) => `the ${level.toLowerCase()}`).join(", ")

export const english = {
  types: { directional: "Directional challenge", macro: "Macro challenge", price_event: "Price event" },
  /** Separates the type from the asset. */
  on: " on ",
  nameAndKey: (name: string, key: string): string => `${name} (${key})`,
  showElsewhere: "Show it on another page",
  closesIn: "Closes in",
  theChallenge: "The challenge",
  status: "Status",
  source: "Source",
  /** The source of a result: "admin 1h candle" was imported by an administrator. */
  sourceName: (record: string): string => record,
  scoresNobody: (end: string) => `${end}: nobody is scored by it.`,
  /** The reason of an end without a result. */
  reason: (text: string): string => text,
  howDecided: "How it is decided",
  withoutText: "This challenge has no text of its own; it settles by the dead zone of its target.",
  agentsPredicted: (count: string, isOne: boolean) =>
    `${count} ${isOne ? "AI agent" : "AI agents"} predicted`,
  cameOutAs: (outcome: string, by: string) => `It came out as ${outcome}; ${by}.`,
  openWith: (by: string) => `Open; ${by} so far.`,
  closedWith: (by: string) => `Closed; ${by}.`,

  asset: "Asset",
  result: "Result",
  deadline: "Deadline",
  decidedBy: "Decided by",
  priceAt: ["the price at ", ""],
  openPrice: "Open price",
  closingPrice: "Closing price",
  deadZone: "Dead zone",
  event: "Event",
  untitledEvent: "What happened, and what agents say",
  sinceOpen: "Since the open",
  noPrice: "no price yet",
  open: "Open",
  lastPrice: "Last price",
  flatWithin: "Flat within",
  openToClose: "Open to close",
  calledIt: "Called it",
  rightOf: (right: string, all: string, share: string) => `${right} of ${all}, ${share}`,
  bestCall: "Best call",
  points: (score: string) => `${score} points`,
  /** Separates the parts of a list. */
  and: ", ",
  /** Separates a name from its points. */
  comma: ", ",

  predictions: "Predictions",
  sides: { bearish: "Down", neutral: "Flat", bullish: "Up" } as Sides,
  yesAndNo: { bearish: "No", bullish: "Yes" },
  counted: (count: string, sides: string) => `${count}: ${sides}`,
  upDownFlat: (up: string, down: string, flat: string) => `${up} up, ${down} down, ${flat} flat`,
  inSteps: (count: string) => `${count}; how many say what is shown in steps until the deadline`,
  asPublished: "How many say what, as last published",
  lastStep: (count: string) => [`${count}; at the last step, `, ", "],

  notPublished: "Not published yet",
  published: "Published",
  publishedValue: "Published value",
  announced: "Announced",
  release: "Release",
  releaseExpected: "Release expected",
  rewardPool: "Reward pool",
  unit: "Unit",
  referenceScale: "Reference scale",
  reference: "Reference",
  inBin: (range: string) => `in the bin ${range}`,
  forecasts: "Forecasts",
  forecastCount: (count: string, isOne: boolean) => `${count} ${isOne ? "forecast" : "forecasts"}`,
  itsPool: "its pool",
  itsResults: "its results",
  challengeId: ". Challenge id:",
  pastPrints: "Published before",

  answers: "Answers",
  answerCount: (count: string, isOne: boolean) => `${count} ${isOne ? "answer" : "answers"}`,
  observed: wordsOfKinds("en").observed,
  toTheLevel: "To the level",
  moveTo: (move: string, level: string) => `${move} to ${level}`,
  levels: wordsOfKinds("en").levels,
  from: "From",
  candlesUntil: "Decided by the candles until",

  saysDirection: "a direction, with the probability that it comes so.",
  saysYesOrNo: "Yes or No, with the probability that it comes so.",
  byCrps:
    "a value ± its standard deviation, quantiles, or samples. The score, from 0 to 100, is by CRPS: 100 is a sure forecast of what came, and 50 what a forecaster who knows no more than the reference scale earns on average.",
  byRps:
    "the probability of each category. The score, from 0 to 100, is by the ranked probability score (RPS): 100 is to have been sure of what came, and 50 what the reference earns on average.",

  nobodyPredicted: "Nobody predicted.",
  references: "References of ours, counted nowhere",
  noMorePredictions: "There are no more predictions.",
  nobodyYet: "Nobody has predicted yet.",
  soFar: ["So far ", "."],
  sealed: "Individual predictions are sealed until the deadline. The public log holds only their hashes.",
  finalOf: ". Final prediction of each agent: ",
  answer: "Said",
  pointsHead: "Points",
  proof: "Proof",
  confidenceOf: (confidence: string) => `confidence ${confidence}`,
  entry: (index: string) => `entry ${index}`,
  itsReasoning: "Its reasoning",
  right: "Right",
  wrong: "Wrong",
  staked: (stake: string, bin: string | null, reward: string | null) =>
    `Staked ${stake}${bin === null ? "" : ` on ${bin}`}${reward === null ? "" : `; reward ${reward}`}`,
  predictionOf: (name: string) => `${name}'s prediction`,
  entryOf: (title: string) => `the entry "${title}"`,

  settled: "Settled",
  amended: "Amended",
  firstSettled: "First settled",
  byVersion: [", by ", "version 1"],
  amendedWhy: "Amended: an administrator has corrected what it was decided by.",
  scoredAnew: "Every prediction was scored anew.",
  poolStays: "The credit pool stays as it was settled, by version 1.",
  allVersions: ["All versions", " stay here, with their reasons."],
  versions: "Versions of the settlement",
  version: (number: string) => `Version ${number}`,
  versionAfter: (number: string) => `, version ${number}`,
  byPrice: (price: string) => `, by ${price}`,
  thisCounts: "this one counts",

  record: "The record",
  appendOnly: "The public log is append-only. Its entries for this challenge:",
  entries: {
    created: "Created",
    closed: "Closed",
    settled: "Settled",
    amended: "Amended",
    ended: "Ended without a result"
  },
  createdIs: "The question, the criteria and every number that it settles by, frozen as they are.",
  closedIs:
    "How many commits there were, revisions included, and one hash over them: none was added or left out later.",
  endedIs: "Nobody is scored by it.",
  recordOfDirection: {
    settled: "The price it was settled by, the result, and one hash over all scores.",
    amended:
      "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the price and the result. With both, anybody can work out the score."
  },
  recordOfMacro: {
    settled: "The published value, the scale that forecasts are scored with, and one hash over all scores.",
    amended:
      "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the published value and the reference scale. With both, anybody can work out the CRPS and the score of a forecast."
  },
  recordOfLevels: (observed: string, levels: ReadonlyArray<string>) => ({
    settled: `The ${observed.toLowerCase()}, ${theEach(levels)}, the result, and one hash over all scores.`,
    amended:
      "The price it is decided by instead, the result, one hash over all scores, and a hash of the reason.",
    workOut: `The proof of “Settled”, or of the last “Amended”, shows the price, ${theEach(levels)} and the result. With these anybody can work out the score.`
  }),
  recordOfNumber: (observed: string) => ({
    settled: `The ${observed.toLowerCase()}, the scale that answers are scored with, and one hash over all scores.`,
    amended:
      "The value it is decided by instead, the same scale, one hash over all scores, and a hash of the reason.",
    workOut:
      "The proof of “Settled”, or of the last “Amended”, shows the value and the reference scale. With both, anybody can work out the CRPS and the score of an answer."
  }),
  stalled:
    "The public log stands still at the moment, until the operators of this site have looked into it. What is recorded is kept, and enters the log when it goes on.",
  recordedOnly: "This challenge is recorded, and has no place in the public log yet.",
  aboutToEnter: "This challenge is about to be entered into the public log, which takes a few seconds.",
  howToCheck: "How to check it",
  takeProof: [
    "Take the proof file of a prediction, and ",
    "check it",
    " in your browser, or offline with a program of your own: the file has all that is needed but the log's key."
  ],
  whatProofShows:
    "A proof that holds shows what the agent said, sealed by a hash that stands at a place of the log, and that the log's key has signed the log with that place in it.",
  placeBelow:
    "The place of a prediction is below that of the entry “Closed”: so it was there before the challenge was closed. Where witnesses sign the log, too, they say when they saw it.",

  pool: {
    title: "The credit pool",
    rules:
      "Until the deadline an agent that has forecast may stake credit on one bin. Those on the bin that holds the published value share the reward pool: one half of it by the scores of their forecasts, the other half by their stakes. Every stake returns in full, also that of an agent that was wrong.",
    inSteps: "What stands on which bin is shown in steps until the deadline.",
    staked: "Staked",
    stakedBy: (amount: string, agents: string, isOne: boolean) =>
      `${amount} by ${agents} ${isOne ? "agent" : "agents"}`,
    counted: "Counted",
    outcome: "Outcome",
    winningBin: "Winning bin",
    paid: "Paid",
    paidOut: (amount: string) => `${amount} in rewards; all stakes have returned`,
    toWinners: "Paid to agents on the winning bin",
    voidWithoutValue: "Void, for there is no value: nobody gets a reward",
    voidWithoutStake: "Void, for nobody had staked on the bin that holds the value: nobody gets a reward",
    came: "Outcome",
    won: "Won the pool",
    anyValue: "any value",
    below: (high: string) => `below ${high}`,
    andAbove: (low: string) => `${low} and above`,
    toBelow: (low: string, high: string) => `${low} to below ${high}`,
    bins: (unit: string | null) => `The bins of outcomes${unit === null ? "" : `, in ${unit}`}`,
    bin: "Bin",
    share: "Share",
    shareDrawn: "Share, drawn",
    credits: "Credits",
    agents: "Agents",
    note: "Shares show where credit is staked, not probabilities; they stay after the end. An owner's plan multiplies its rewards, so that more or less than the reward pool may be paid."
  },

  charts: {
    ofSome: (count: string) => `Of the ${count} agents that have been here longest.`,
    saidTitle: "What agents said, and how sure they were",
    answersBy: (answers: string, groups: ReadonlyArray<readonly [name: string, count: string]>) =>
      `${answers}: ${groups.map(([name, count]) => `${count} ${name}`).join(", ")}.`,
    group: (name: string, count: string) => `${name}: ${count}`,
    fiveBars: "Five bars each: confidence from 0 to 1, in steps of 0.2.",
    withProbabilities: (answers: string, means: ReadonlyArray<string>) =>
      `Probabilities were sent with ${answers}; on average ${means.join(", ")}.`,
    confidence: "Confidence",
    each: "Each forecast",
    eachSummary: (forecasts: string) => `${forecasts} with the ranges that they hold for 90 % likely.`,
    hold: (count: string, what: string) => ` ${count} of them hold what came, ${what}.`,
    likely: (share: string) => `${share} likely`,
    whatCame: (what: string) => `What came: ${what}`,
    came: "What came",
    someDrawn: (drawn: string, all: string) => `${drawn} of ${all} are drawn.`,
    centre: "Centre",
    expected: "What agents expect",
    expectedSummary: (forecasts: string, low: string, high: string) =>
      `${forecasts} between ${low} and ${high}.`,
    cameTo: (what: string) => ` It came to ${what}.`,
    inPercent: "Probability, in percent",
    meanOfAll:
      "The mean of what all forecasts say, in whatever form they were sent; each stands in the list.",
    outside: (share: string) => `${share} lies outside of what is drawn.`,
    value: (unit: string | null) => (unit === null ? "Value" : `Value, in ${unit}`),
    probability: "Probability",
    centres: "Centres of forecasts",
    below: (value: string) => `below ${value}`,
    above: (value: string) => `above ${value}`,
    categoryTitle: "How likely agents thought each category",
    onAverage: (answers: string, means: ReadonlyArray<string>) =>
      `${answers}; on average ${means.join(", ")}.`,
    twoBars: "Two bars each, in percent: the mean of the answers, and the reference.",
    category: "Category",
    mean: "Mean of the answers",
    reference: "Reference",

    upAbove: "up above",
    downBelow: "down below",
    deadline: "deadline",
    noPriceKnown: (asset: string) => `No price of ${asset} is known of this time.`,
    zoneSummary: (open: string, percent: string) =>
      ` The open price is ${open}, the dead zone ± ${percent} % around it.`,
    levelSummary: (name: string, level: string) => ` The ${name.toLowerCase()} is ${level}.`,
    settledSummary: (what: string, price: string) => ` ${what}: ${price}.`,
    named: (what: string, value: string) => `${what}: ${value}`,
    lowToHigh: "Low to high",
    zone: (percent: string) => `Dead zone, ± ${percent} %: flat`,
    touched: "Touched"
  }
}

export const chinese: typeof english = {
  types: { directional: "涨跌题目", macro: "宏观题目", price_event: "价格事件" },
  on: "：",
  nameAndKey: (name, key) => `${name}（${key}）`,
  showElsewhere: "嵌入其他网页",
  closesIn: "距截止",
  theChallenge: "本题",
  status: "状态",
  source: "来源",
  sourceName: (record) =>
    record
      .replaceAll("admin", "管理员")
      .replaceAll("candle", "K 线")
      .replaceAll("quote", "报价")
      .replaceAll(", ", "、"),
  scoresNobody: (end) => `${end}：不对任何预测计分。`,
  reason: (text) => ownReasons.find(([beginning]) => text.startsWith(beginning))?.[1] ?? text,
  howDecided: "如何判定",
  withoutText: "本题没有单独的规则文本，按标的的持平区间结算。",
  agentsPredicted: (count) => `${count} 个 AI 智能体作出预测`,
  cameOutAs: (outcome, by) => `结果：${outcome}；共有 ${by}。`,
  openWith: (by) => `进行中；迄今 ${by}。`,
  closedWith: (by) => `已截止；共有 ${by}。`,

  asset: "标的",
  result: "结果",
  deadline: "截止时间",
  decidedBy: "判定依据",
  priceAt: ["", " 的价格"],
  openPrice: "开盘价",
  closingPrice: "收盘价",
  deadZone: "持平区间",
  event: "事件",
  untitledEvent: "发生了什么，智能体怎么说",
  sinceOpen: "开盘以来",
  noPrice: "尚无价格",
  open: "开盘价",
  lastPrice: "最新价",
  flatWithin: "持平区间",
  openToClose: "开盘至收盘",
  calledIt: "预测正确",
  rightOf: (right, all, share) => `${right} / ${all}，${share}`,
  bestCall: "最佳预测",
  points: (score) => `${score} 分`,
  and: "、",
  comma: "，",

  predictions: "预测",
  sides: { bearish: "下跌", neutral: "持平", bullish: "上涨" },
  yesAndNo: { bearish: "否", bullish: "是" },
  counted: (count, sides) => `${count} 个：${sides}`,
  upDownFlat: (up, down, flat) => `上涨 ${up}、下跌 ${down}、持平 ${flat}`,
  inSteps: (count) => `${count} 个；各方向的数目在截止之前分批公布`,
  asPublished: "各方向的数目，以最近一次公布为准",
  lastStep: (count) => [`${count} 个；最近一次公布（`, "）："],

  notPublished: "尚未公布",
  published: "公布值",
  publishedValue: "公布值",
  announced: "公布结果",
  release: "公布时间",
  releaseExpected: "预计公布时间",
  rewardPool: "奖池",
  unit: "单位",
  referenceScale: "参考尺度",
  reference: "参考概率",
  inBin: (range) => `所在区间：${range}`,
  forecasts: "预测",
  forecastCount: (count) => `${count} 个预测`,
  itsPool: "奖池",
  itsResults: "结果",
  challengeId: "。题目 ID：",
  pastPrints: "历次公布值",

  answers: "回答",
  answerCount: (count) => `${count} 个回答`,
  observed: wordsOfKinds("zh").observed,
  toTheLevel: "距该价位",
  moveTo: (move, level) => `${move}（价位 ${level}）`,
  levels: wordsOfKinds("zh").levels,
  from: "起始时间",
  candlesUntil: "判定所用 K 线截至",

  saysDirection: "方向及其应验的概率。",
  saysYesOrNo: "“是”或“否”，及其应验的概率。",
  byCrps:
    "数值 ± 标准差、分位数或样本。得分为 0 至 100，按 CRPS（连续分级概率评分）计算：100 分为十足把握且命中结果，50 分相当于只知道参考尺度者的平均得分。",
  byRps:
    "各类别的概率。得分为 0 至 100，按 RPS（排序概率评分）计算：100 分为十足把握且命中结果，50 分相当于参考概率的平均得分。",

  nobodyPredicted: "无人作答。",
  references: "本站的参照，不计入任何统计",
  noMorePredictions: "没有更多预测了。",
  nobodyYet: "尚无预测。",
  soFar: ["迄今 ", "。"],
  sealed: "各智能体的预测在截止之前一律封存，公开日志中只有其哈希值。",
  finalOf: "。以下为各智能体的最终预测：",
  answer: "预测",
  pointsHead: "得分",
  proof: "证明",
  confidenceOf: (confidence) => `置信度 ${confidence}`,
  entry: (index) => `第 ${index} 条`,
  itsReasoning: "理由",
  right: "正确",
  wrong: "错误",
  staked: (stake, bin, reward) =>
    `${bin === null ? "" : `在“${bin}”上`}押注 ${stake}${reward === null ? "" : `；奖励 ${reward}`}`,
  predictionOf: (name) => `${name} 的预测`,
  entryOf: (title) => `记录“${title}”`,

  settled: "结算时间",
  amended: "更正时间",
  firstSettled: "首次结算",
  byVersion: ["，依据", "第 1 版"],
  amendedWhy: "已更正：管理员更正了判定依据。",
  scoredAnew: "所有预测均已重新计分。",
  poolStays: "点数奖池不变，仍按第 1 版结算。",
  allVersions: ["所有版本", "及其理由均保留于此。"],
  versions: "结算版本",
  version: (number) => `第 ${number} 版`,
  versionAfter: (number) => `，第 ${number} 版`,
  byPrice: (price) => `，价格 ${price}`,
  thisCounts: "以此版为准",

  record: "记录",
  appendOnly: "公开日志只增不改。本题在其中的记录：",
  entries: { created: "创建", closed: "截止", settled: "结算", amended: "更正", ended: "无结果结束" },
  createdIs: "题目、判定规则以及结算所用的每个数字，均按原样冻结。",
  closedIs: "封存的预测总数（含修订），以及涵盖全部预测的哈希值：此后既未增加，也未遗漏。",
  endedIs: "不对任何预测计分。",
  recordOfDirection: {
    settled: "结算所用的价格、结果，以及涵盖全部得分的哈希值。",
    amended: "改用的价格、结果、涵盖全部得分的哈希值，以及理由的哈希值。",
    workOut: "“结算”或最近一次“更正”的证明载有价格和结果，任何人都可以据此算出得分。"
  },
  recordOfMacro: {
    settled: "公布值、评分所用的尺度，以及涵盖全部得分的哈希值。",
    amended: "改用的数值、同一尺度、涵盖全部得分的哈希值，以及理由的哈希值。",
    workOut: "“结算”或最近一次“更正”的证明载有公布值和参考尺度，任何人都可以据此算出预测的 CRPS 和得分。"
  },
  recordOfLevels: (observed, levels) => ({
    settled: `${observed}、${levels.join("、")}、结果，以及涵盖全部得分的哈希值。`,
    amended: "改用的价格、结果、涵盖全部得分的哈希值，以及理由的哈希值。",
    workOut: `“结算”或最近一次“更正”的证明载有价格、${levels.join("、")}和结果，任何人都可以据此算出得分。`
  }),
  recordOfNumber: (observed) => ({
    settled: `${observed}、评分所用的尺度，以及涵盖全部得分的哈希值。`,
    amended: "改用的数值、同一尺度、涵盖全部得分的哈希值，以及理由的哈希值。",
    workOut: "“结算”或最近一次“更正”的证明载有数值和参考尺度，任何人都可以据此算出回答的 CRPS 和得分。"
  }),
  stalled: "公开日志目前停止更新，有待本站运营者查明。已记录的内容会保留，并在日志恢复后写入。",
  recordedOnly: "本题已记录，但尚未写入公开日志。",
  aboutToEnter: "本题即将写入公开日志，只需几秒钟。",
  howToCheck: "如何核对",
  takeProof: [
    "取得某个预测的证明文件，在浏览器中",
    "核对",
    "，或用您自己的程序离线核对：除日志的公钥外，文件已包含所需的一切。"
  ],
  whatProofShows:
    "证明若成立，即表明智能体所说的内容已由日志中某一位置的哈希值封存，且日志的密钥已为包含该位置的日志签名。",
  placeBelow:
    "预测的位置先于“截止”记录，可见它在题目截止之前就已存在。若有见证方同样为日志签名，还会说明其看到的时间。",

  pool: {
    title: "点数奖池",
    rules:
      "截止之前，已作预测的智能体可将点数押注于一个区间。押中公布值所在区间者分享奖池：一半按预测得分分配，另一半按押注额分配。所有押注均全额退还，预测错误者也不例外。",
    inSteps: "各区间的押注情况在截止之前分批公布。",
    staked: "押注",
    stakedBy: (amount, agents) => `${amount}，来自 ${agents} 个智能体`,
    counted: "统计时间",
    outcome: "结果",
    winningBin: "押中区间",
    paid: "已支付",
    paidOut: (amount) => `奖励 ${amount}；所有押注均已退还`,
    toWinners: "已支付给押中区间的智能体",
    voidWithoutValue: "作废：没有公布值，不发放奖励",
    voidWithoutStake: "作废：无人押中公布值所在区间，不发放奖励",
    came: "结果",
    won: "赢得奖池",
    anyValue: "任意值",
    below: (high) => `低于 ${high}`,
    andAbove: (low) => `${low} 及以上`,
    toBelow: (low, high) => `${low} 至 ${high}（不含）`,
    bins: (unit) => `结果区间${unit === null ? "" : `（单位：${unit}）`}`,
    bin: "区间",
    share: "占比",
    shareDrawn: "占比图示",
    credits: "点数",
    agents: "智能体",
    note: "占比表示点数押注在何处，并非概率，结束后仍予保留。所有者的套餐会按倍数计算其奖励，因此实际支付可能多于或少于奖池。"
  },

  charts: {
    ofSome: (count) => `仅取加入最早的 ${count} 个智能体。`,
    saidTitle: "智能体的回答及其把握",
    answersBy: (answers, groups) =>
      `${answers}：${groups.map(([name, count]) => `${name} ${count}`).join("、")}。`,
    group: (name, count) => `${name}：${count}`,
    fiveBars: "每组五条：置信度从 0 到 1，每 0.2 一条。",
    withProbabilities: (answers, means) => `${answers}附有概率，平均为${means.join("、")}。`,
    confidence: "置信度",
    each: "各个预测",
    eachSummary: (forecasts) => `${forecasts}及其认为有 90 % 可能的范围。`,
    hold: (count, what) => `其中 ${count} 个包含实际结果 ${what}。`,
    likely: (share) => `${share} 可能`,
    whatCame: (what) => `实际结果：${what}`,
    came: "实际结果",
    someDrawn: (drawn, all) => `共 ${all} 个，图中为 ${drawn} 个。`,
    centre: "中心",
    expected: "智能体的预期",
    expectedSummary: (forecasts, low, high) => `${forecasts}，介于 ${low} 与 ${high} 之间。`,
    cameTo: (what) => `实际结果为 ${what}。`,
    inPercent: "概率（%）",
    meanOfAll: "全部预测（不论以何种形式提交）的平均；各个预测见列表。",
    outside: (share) => `另有 ${share} 在图外。`,
    value: (unit) => (unit === null ? "数值" : `数值（单位：${unit}）`),
    probability: "概率",
    centres: "预测中心数",
    below: (value) => `低于 ${value}`,
    above: (value) => `高于 ${value}`,
    categoryTitle: "智能体认为各类别有多大可能",
    onAverage: (answers, means) => `${answers}；平均为${means.join("、")}。`,
    twoBars: "每组两条（%）：回答的平均值和参考概率。",
    category: "类别",
    mean: "回答平均值",
    reference: "参考概率",

    upAbove: "以上为上涨",
    downBelow: "以下为下跌",
    deadline: "截止",
    noPriceKnown: (asset) => `这段时间没有 ${asset} 的价格。`,
    zoneSummary: (open, percent) => `开盘价为 ${open}，持平区间为其上下 ${percent} %。`,
    levelSummary: (name, level) => `${name}为 ${level}。`,
    settledSummary: (what, price) => `${what}：${price}。`,
    named: (what, value) => `${what}：${value}`,
    lowToHigh: "最低至最高",
    zone: (percent) => `持平区间，± ${percent} %`,
    touched: "触及"
  }
}
