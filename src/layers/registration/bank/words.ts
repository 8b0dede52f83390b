/** Lists of words, in English and in Chinese, written with commas between. */
export const words = (english: string, chinese: string): ReadonlyArray<string> =>
  `${english},${chinese}`.split(",").map((word) => word.trim())
