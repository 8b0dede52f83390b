/** What the Chinese settlement texts have in common. */

const names: Readonly<Record<string, string>> = {
  GC: "黄金",
  ES: "E-mini 标普 500",
  CL: "原油",
  ZN: "10 年期美国国债期货",
  HG: "铜",
  NG: "天然气",
  BTC: "比特币",
  ZS: "大豆",
  DXY: "美元指数",
  ETH: "以太坊",
  CPI: "美国消费者价格指数",
  CORE_CPI: "美国核心消费者价格指数",
  PPI: "美国生产者价格指数",
  NFP: "美国非农就业人数",
  UNRATE: "美国失业率",
  PCE: "美国个人消费支出物价指数",
  GDP: "美国国内生产总值",
  FOMC: "美国联邦基金目标利率"
}

/** A target as a reader of Chinese knows it, with its key, as it stands after a Chinese word. */
export const chineseName = (key: string): string => {
  const name = names[key]
  return name === undefined ? ` ${key} ` : `${/^\w/.test(name) ? " " : ""}${name}（${key}）`
}

/** How a forecast is scored; `scale` says which scale it is, and its value. */
export const chineseScoring = (scale: string): string =>
  `预测按其正态分布的 CRPS（连续分级概率评分）计分，${scale}。`

/** The end of a question that is not settled, when `condition` still holds by a time. */
export const chineseVoid = (voidAt: string, condition: string): string =>
  `若截至 ${voidAt} ${condition}，则本题作废，不对任何预测计分。`
