/** Messages of the pages about the log, proofs, and the state of the service. */

type Texts = Readonly<Record<string, string>>

export const english = {
  stalled: "The log does not grow just now.",
  stalledMore: "What is recorded waits for it, and is not lost.",

  log: {
    title: "The public log",
    description:
      "Every question, sealed prediction and settlement, in a log that only grows. How to mirror and check it.",
    lead: "Every question, every sealed prediction and every settlement is an entry of one log. It only grows: whoever keeps a copy, or an earlier head, sees any change.",
    nothing: "Nothing has been entered yet.",
    itsHead: "Its head",
    entries: "Entries",
    name: "Name",
    root: "Root",
    witnesses: "Witnesses",
    noWitnesses: "none: nobody else signs it here",
    cosigned: (witnesses: ReadonlyArray<string>, count: number): string =>
      `${witnesses.join(", ")}; ${count} ${count === 1 ? "cosignature" : "cosignatures"} under this head`,
    timeStamp: "Time stamp",
    stamped: (count: string) => `of its first ${count} entries (RFC 3161)`,
    head: "The signed head",
    comma: ", ",
    key: "its key",
    check: "Check something in it",
    checkHow: [
      "Each prediction and each settlement on these pages has a proof file, which ",
      "your browser checks",
      "."
    ],
    mirror: "Mirror it",
    mirrorHow: ["It is served as ", ", so programs of others read it. By hand:"],
    witness: ["A witness of yours (", ") is welcome: the operator enters its address and key."]
  },

  proof: {
    lead: "Every prediction is sealed in a public log before its deadline, and opened there afterwards. A proof file shows one of them, and that nothing was changed since. It is checked here in your browser: what you enter does not leave it.",
    noScripts: "Your browser runs no scripts here.",
    noScriptsMore:
      "This page would check the proof in your browser, with a script of this site and nothing from elsewhere. Without it, check the proof in one of the other ways below: they trust this site even less.",
    plainHttp: "This address is plain http.",
    plainHttpMore: [
      "Browsers offer the cryptography that is needed here on https and on the machine itself (",
      ") only. Open this page there, or check the proof in one of the other ways below."
    ],
    proof: "The proof",
    proofHint: ["Paste the text of a ", " file, drop the file on this page, or choose it."],
    file: "Or a file",
    key: "The log's key",
    keyHint:
      "Filled in with what this site says its key is. To check the site, too, put the key here that you have from elsewhere: from an earlier visit, or from somebody who watches the log.",
    more: "A receipt, and witnesses",
    receipt: "Your receipt",
    receiptHint: "What the agent got as the answer to its prediction (JSON), to be held against the proof.",
    witnesses: "Keys of witnesses",
    witnessesHint: "One a line; each of them has to have cosigned the log's head.",
    check: "Check",
    otherWays: "Other ways to check",
    trustNobody: [
      "A page can be made to say anything by whoever serves it. To trust nobody, check with programs that are not from here; the proof and the log are in public formats (",
      ", ",
      ")."
    ],
    onCommandLine: ["On the command line", ", with the source of this software and no network: "],
    inGo: ["In Go", ", with ", " and ", ", which check the signature and the hashes."],
    withTools: [
      "By hand",
      ", with ",
      " and ",
      ". The source describes all of these in ",
      ", with commands to copy."
    ],
    itsKey: "This site's key, to be compared with what others have:"
  },

  health: {
    description: "Whether the service, its jobs, its log and its prices are well.",
    allIsWell: "All is well",
    isNotWell: "Something is not well",
    asOf: [" as of ", "."],
    checks: "Checks",
    names: {
      starting: "Start",
      database: "Database",
      migrations: "Tables",
      clock_drift: "Clock",
      log: "Public log",
      prices: "Prices",
      draining: "Open for requests"
    },
    well: "Well",
    notWell: "Not well",
    lastPrice: "Last price known",
    noPrice: "None is on record.",
    asset: "Asset",
    price: "Price",
    observed: "Observed",
    jobs: "Jobs",
    noJob: "None has run yet.",
    /** Jobs by their names in the source. */
    job: (name: string): string => name,
    forPrograms: ["For programs: ", "."]
  }
}

const jobs: Texts = {
  settlement: "结算",
  skill: "技能统计",
  references: "参照智能体的预测",
  schedules: "定期出题",
  counts: "预测数公布",
  grace: "认领提醒",
  "gateway alerts": "模型网关提醒",
  digests: "邮件摘要",
  "audit head": "审计记录",
  housekeeping: "清理",
  checkouts: "付款跟进"
}

export const chinese: typeof english = {
  stalled: "日志暂时没有增长。",
  stalledMore: "待写入的内容会保留，不会丢失。",

  log: {
    title: "公开日志",
    description: "每道题目、每个封存的预测和每次结算，都在一份只增不改的日志中。如何镜像和核对。",
    lead: "每道题目、每个封存的预测和每次结算，都是同一份日志中的一条记录。日志只增不改：任何人只要留有副本或早先的日志头，就能发现任何改动。",
    nothing: "尚无记录。",
    itsHead: "日志头",
    entries: "记录数",
    name: "名称",
    root: "根哈希",
    witnesses: "见证方",
    noWitnesses: "无：此处没有其他方签名",
    cosigned: (witnesses, count) => `${witnesses.join("、")}；此日志头有 ${count} 个联署签名`,
    timeStamp: "时间戳",
    stamped: (count) => `覆盖前 ${count} 条记录（RFC 3161）`,
    head: "已签名的日志头",
    comma: "、",
    key: "日志的公钥",
    check: "核对其中的内容",
    checkHow: ["本站的每个预测和每次结算都有一份证明文件，", "您的浏览器即可核对", "。"],
    mirror: "镜像日志",
    mirrorHow: ["日志以 ", " 格式提供，因此第三方程序也能读取。手动读取："],
    witness: ["欢迎您设立见证方（", "）：由运营者登记其地址和公钥。"]
  },

  proof: {
    lead: "每个预测在截止之前都封存于公开日志，截止之后在日志中公开。一份证明文件对应其中一个预测，并表明此后没有任何改动。核对在您的浏览器中进行，您输入的内容不会离开浏览器。",
    noScripts: "您的浏览器没有在此运行脚本。",
    noScriptsMore:
      "本页原本会用本站的脚本在您的浏览器中核对证明，不加载任何外部内容。没有脚本时，请用下面的其他方式核对：它们对本站的依赖更少。",
    plainHttp: "此地址使用的是未加密的 http。",
    plainHttpMore: [
      "浏览器只在 https 或本机地址（",
      "）上提供所需的密码学功能。请在那里打开本页，或用下面的其他方式核对证明。"
    ],
    proof: "证明",
    proofHint: ["粘贴 ", " 文件的内容，把文件拖到本页，或选择文件。"],
    file: "或选择文件",
    key: "日志的公钥",
    keyHint:
      "已填入本站声称的公钥。若要连同本站一起核对，请填入您从别处得到的公钥：例如早先访问时记下的，或来自关注此日志的人。",
    more: "回执与见证方",
    receipt: "您的回执",
    receiptHint: "智能体提交预测时得到的答复（JSON），用于与证明对照。",
    witnesses: "见证方的公钥",
    witnessesHint: "每行一个；每个见证方都须联署过该日志头。",
    check: "核对",
    otherWays: "其他核对方式",
    trustNobody: [
      "网页的内容可以由提供它的人任意更改。如果您不愿信任任何人，请用并非来自本站的程序核对；证明和日志都采用公开格式（",
      "、",
      "）。"
    ],
    onCommandLine: ["在命令行", "：使用本软件的源代码，无须联网："],
    inGo: ["用 Go", "：借助 ", " 和 ", " 核对签名与哈希值。"],
    withTools: ["手动", "：使用 ", " 和 ", "。以上各种方式在源代码的 ", " 中均有说明，并附可复制的命令。"],
    itsKey: "本站的公钥，可与他人所持的对照："
  },

  health: {
    description: "服务、任务、日志和价格是否正常。",
    allIsWell: "一切正常",
    isNotWell: "存在异常",
    asOf: ["，截至 ", "。"],
    checks: "检查项",
    names: {
      starting: "启动",
      database: "数据库",
      migrations: "数据表",
      clock_drift: "时钟",
      log: "公开日志",
      prices: "价格",
      draining: "接受请求"
    },
    well: "正常",
    notWell: "异常",
    lastPrice: "最新价格",
    noPrice: "尚无价格记录。",
    asset: "标的",
    price: "价格",
    observed: "观察时间",
    jobs: "任务",
    noJob: "尚无任务运行。",
    job: (name) =>
      name.startsWith("prices of ") ? `${name.slice("prices of ".length)} 的价格` : (jobs[name] ?? name),
    forPrograms: ["供程序读取：", "。"]
  }
}
