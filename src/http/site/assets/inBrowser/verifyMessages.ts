/** The messages of the script of /verify, in the languages of its page. */

const english = {
  outcomes: { passed: "Passed", failed: "Failed", not_made: "Not made" },
  holds: "The proof holds.",
  holdsMore: "Every check that was made passed, here in your browser, with the key in the field below.",
  nothingYet: "This proves nothing yet.",
  nothingYetMore: "A check without which the others mean nothing was not made.",
  holdsNot: "The proof does not hold.",
  failed: (check: string, why: string): string => `${check}: this check failed. ${why}`,
  found: "What was found",
  checks: "The checks",
  nothingToCheck: "There is nothing to check yet",
  noProof: "No proof is there.",
  noProofMore: "Paste the text of a proof file, drop the file, or choose it.",
  notAProof: "This is no proof.",
  tooLarge: "The file is larger than any proof of a log.",
  notLoaded: "The proof could not be loaded.",
  notOfThisSite: "This link names no proof of this site.",
  notOfThisSiteMore: "Download the proof, and choose the file here.",
  noAnswer: "This site did not answer. Load the page again, or download the proof and choose the file here.",
  /** A sentence of the verifier, which is English. */
  told: (text: string): string => text
}

const chinese: Omit<typeof english, "told"> = {
  outcomes: { passed: "通过", failed: "未通过", not_made: "未进行" },
  holds: "证明成立。",
  holdsMore: "所进行的各项核对均已通过，在您的浏览器中以下方栏内的公钥完成。",
  nothingYet: "目前还不能证明什么。",
  nothingYetMore: "有一项必不可少的核对没有进行，缺了它，其余各项没有意义。",
  holdsNot: "证明不成立。",
  failed: (check, why) => `“${check}”一项未通过：${why}`,
  found: "核对结果",
  checks: "各项核对",
  nothingToCheck: "尚无可核对的内容",
  noProof: "这里没有证明。",
  noProofMore: "请粘贴证明文件的内容，拖入文件，或选择文件。",
  notAProof: "这不是证明。",
  tooLarge: "该文件比日志的任何证明都大。",
  notLoaded: "无法载入证明。",
  notOfThisSite: "此链接所指的不是本站的证明。",
  notOfThisSiteMore: "请下载证明，然后在此选择文件。",
  noAnswer: "本站没有响应。请重新载入本页，或下载证明后在此选择文件。"
}

/** `language` is the document's, such as "zh-CN". Only Chinese pages load the translation of the verifier's sentences. */
export const messagesIn = async (language: string): Promise<typeof english> => {
  if (!language.startsWith("zh")) return english
  const { inChinese } = await import("./verifierInChinese.ts")
  return { ...chinese, told: inChinese }
}
