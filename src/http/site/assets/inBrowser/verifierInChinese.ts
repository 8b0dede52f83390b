/** Chinese translations of the verifier's sentences, for Chinese pages: the verifier stands alone and is English. Other texts stay. */
// @effect-diagnostics globalDate:off -- a time that was said in words is said in others

/** `{}` matches anything, {1} the first match again. Patterns that begin with `{}` come last, so that no text of a stranger passes for them. */
const sentences: ReadonlyArray<readonly [english: string, chinese: string]> = [
  ["The file is a proof", "文件是一份证明"],
  ["The log's head is signed", "日志头已签名"],
  ["Witnesses saw this log", "见证方见过此日志"],
  ["The entry is in the log", "记录在日志中"],
  ["The prediction is the one that was sealed", "预测就是当初封存的那一个"],
  ["It is what the receipt says", "与回执一致"],

  [
    "It is a proof in the public format c2sp.org/tlog-proof@v1.",
    "这是公开格式 c2sp.org/tlog-proof@v1 的证明。"
  ],
  ["The file cannot be read.", "无法读取文件。"],
  ["It cannot be read.", "无法读取。"],
  [
    "This program cannot check Ed25519 signatures: use a newer one.",
    "此程序无法核对 Ed25519 签名，请使用更新的版本。"
  ],
  [
    "You gave no key of the log. The file names {} as its signers, which anybody can write.",
    "您没有提供日志的公钥。文件声称由 {1} 签名，但这一点任何人都能写上去。"
  ],
  ["The signature of {} does not fit: something was changed.", "{1} 的签名不符：内容被改动过。"],
  ["The head is of another log than the key {}.", "日志头与公钥 {1} 不属于同一日志。"],
  ["It is not signed by {}; it names {} instead.", "没有 {1} 的签名，文件所列的签名者是 {2}。"],
  [
    "It names another key of the same log, {}, and not yours, {}. A log that has changed its key says so in an entry key.rotate, which its old key signed, too: if you can trust the new key, check with that. Otherwise do not.",
    "文件所列的是同一日志的另一把公钥 {1}，而不是您的 {2}。日志更换公钥时会写入一条 key.rotate 记录，旧公钥也会签名：如果您能信任新公钥，请用它核对，否则不要。"
  ],
  [
    "The file has no cosignature, and you gave no key of a witness.",
    "文件没有联署签名，您也没有提供见证方的公钥。"
  ],
  [
    "You gave no key of a witness; besides the log's own, the file names {}.",
    "您没有提供见证方的公钥；除日志自身外，文件还列有 {1}。"
  ],
  ["The cosignature of {} does not fit.", "{1} 的联署签名不符。"],
  ["Cosigned by {}.", "联署方：{1}。"],
  [
    "The hashes do not lead from the entry to the root of the signed head.",
    "从记录出发的哈希值到不了已签名日志头的根。"
  ],
  ["The file opens a commit, but its entry is none.", "文件要公开一个封存值，但其中的记录并非封存记录。"],
  ["The entry is no prediction but of the type {}.", "此记录不是预测，其类型为 {1}。"],
  [
    "The prediction is still sealed: salt and body are published after the deadline.",
    "预测仍在封存中：盐值和正文在截止之后公布。"
  ],
  ["The receipt does not open it: see below.", "回执无法打开它，原因见下。"],
  ["The entry's commit is not the hash of this salt and body.", "记录中的封存值不是此盐值与正文的哈希值。"],
  ["The body is of another challenge than the entry.", "正文与记录不属于同一道题目。"],
  [
    "SHA-256 of the salt and the body is the commit in the entry.",
    "盐值与正文的 SHA-256 就是记录中的封存值。"
  ],
  ["You gave no receipt.", "您没有提供回执。"],
  [
    "A receipt is of a prediction, and this is the proof of a {}.",
    "回执针对预测，而这是一份类型为 {1} 的记录的证明。"
  ],
  [
    "The receipt contradicts itself: its commit is not the hash of its salt and body. It was changed, or not copied whole.",
    "回执自相矛盾：其封存值不是其盐值与正文的哈希值。它被改动过，或没有复制完整。"
  ],
  [
    "The receipt is of another prediction, or of another revision of this one: its commit is not the one in the entry.",
    "回执属于另一个预测，或此预测的另一次修订：其封存值不是记录中的那一个。"
  ],
  ["The file's salt and body are not the receipt's.", "文件中的盐值和正文与回执不同。"],
  [
    "The receipt names entry {} as its place in the log, the proof entry {}.",
    "回执所称的位置是日志第 {1} 条记录，证明所称的是第 {2} 条。"
  ],
  ["The receipt's commit, salt and body are those of the entry.", "回执的封存值、盐值和正文与记录一致。"],
  [
    "The file does not say what was recorded: give the receipt with it.",
    "文件没有写明记录的内容：请一并提供回执。"
  ],
  ["The entry is not known to be in the log.", "尚不能确定记录在日志中。"],

  ["It is larger than any proof of this log.", "它比此日志的任何证明都大。"],
  ["It is not UTF-8 text.", "它不是 UTF-8 文本。"],
  ["Its lines end in CR LF; a proof has LF alone.", "其换行符为 CR LF，而证明只用 LF。"],
  ["It has control characters.", "其中含有控制字符。"],
  ['It does not begin with the line "{}".', "开头不是“{1}”这一行。"],
  ["It ends before the checkpoint.", "它在检查点之前就结束了。"],
  ["It does not say the entry's index where it should.", "应写明记录序号之处没有写明。"],
  ["It is nested too deeply.", "嵌套层次过深。"],
  ["There is no entry {} in a tree of {} entries.", "共 {2} 条记录的树中没有第 {1} 条。"],
  ["The path to the root has too many hashes.", "通往根的路径上哈希值过多。"],
  ["The path to the root has too few hashes.", "通往根的路径上哈希值过少。"],
  ["A hash of the path does not have 32 bytes.", "路径上有一个哈希值不是 32 字节。"],
  ["The extra data has a member that it should not have.", "附加数据含有不应有的成员。"],
  ["The checkpoint has no signatures.", "检查点没有签名。"],
  ["The checkpoint has too many signatures.", "检查点的签名过多。"],
  ["The checkpoint is not as it has to be written.", "检查点的写法不合规定。"],
  ["The checkpoint's root hash does not have 32 bytes.", "检查点的根哈希不是 32 字节。"],
  ["A signature line of the checkpoint is not as it has to be written.", "检查点有一行签名的写法不合规定。"],
  ["A signature of the checkpoint is too short.", "检查点有一个签名过短。"],

  ["The entry", "记录"],
  ["The entry's index", "记录序号"],
  ["The extra data", "附加数据"],
  ["The prediction's body", "预测正文"],
  ["The receipt", "回执"],
  ["The checkpoint's root hash", "检查点的根哈希"],
  ["The checkpoint's tree size", "检查点的树大小"],
  ["A hash of the path", "路径上的哈希值"],
  ["A signature of the checkpoint", "检查点的签名"],
  ['"{}" of {} is not {} bytes in lower-case hex.', "{2}的“{1}”不是 {3} 字节的小写十六进制。"],
  ['"leaf_index" of {} is no number.', "{1}的“leaf_index”不是数字。"],

  ["A prediction", "预测"],
  ["A sealed prediction", "封存中的预测"],
  ["A settlement", "结算"],
  ["An amendment of a settlement", "结算的更正"],
  ["A challenge, as it was made", "题目（提出时）"],
  ["The close of a challenge", "题目的截止"],
  ["What was sealed, as it was revealed", "封存内容（公开时）"],
  ["A cancelled challenge", "已取消的题目"],
  ["An agent, as it registered", "智能体（注册时）"],
  ["The claim of an agent by its owner", "所有者对智能体的认领"],
  ["A change of what an agent authenticates with", "智能体认证凭据的更换"],
  ["What the operators said when the log went on", "日志恢复时运营者的说明"],
  ["An entry of the log", "日志记录"],

  ["Agent", "智能体"],
  ["Challenge", "题目"],
  ["Commit", "封存值"],
  ["Direction", "方向"],
  ["Confidence", "置信度"],
  ["Predicted value", "预测值"],
  ["Standard deviation", "标准差"],
  ["Probabilities", "概率"],
  ["Quantiles", "分位数"],
  ["Samples", "样本"],
  ["Received at", "收到时间"],
  ["Revision", "修订"],
  ["SHA-256 of the reasoning", "推理的 SHA-256"],
  ["Place in the log", "日志中的位置"],
  ["Result", "结果"],
  ["Open price", "开盘价"],
  ["Closing price", "收盘价"],
  ["Dead zone in percent", "持平区间（%）"],
  ["Level", "价位"],
  ["Low end", "下限"],
  ["High end", "上限"],
  [
    "Closing price, or of a barrier the price nearest to the level",
    "收盘价；触及类题目则为最接近该价位的价格"
  ],
  ["Observed at", "观察时间"],
  ["Observed at, of the first version", "观察时间（首个版本）"],
  ["Recorded at", "记录时间"],
  ["Recorded at, of the first version", "记录时间（首个版本）"],
  ["Amended at", "更正时间"],
  ["Published value", "公布值"],
  ["Reference scale", "参考尺度"],
  ["Source", "来源"],
  ["Scores", "得分数"],
  ["Merkle root of the scores", "得分的 Merkle 根"],
  ["Settled at", "结算时间"],
  ["Version", "版本"],
  ["In place of version", "取代的版本"],
  ["SHA-256 of the reason", "理由的 SHA-256"],
  ["Type", "类型"],
  ["Credit pool", "奖池"],
  ["Bin that holds the value", "结果所在区间"],
  ["Reward pool in credits", "奖池点数"],
  ["Credits staked", "押注点数"],
  ["Stakes", "押注数"],
  ["Credits paid as rewards", "已发放的奖励点数"],
  ["Merkle root of the stakes and rewards", "押注与奖励的 Merkle 根"],

  ["none", "无"],
  ["the first one", "首次提交"],
  ["entry {} of a log of {}", "共 {2} 条记录的日志中的第 {1} 条"],
  ["What was predicted, and by whom, is not in this file.", "预测的内容和预测者不在此文件中。"],
  [
    "An administrator may have amended it since: each amendment is an entry of its own, named on the page of the challenge, and the newest one counts.",
    "此后管理员可能作过更正：每次更正都是单独的一条记录，在题目页面上列出，以最新的一条为准。"
  ],
  [
    "The time of receipt is the server's word. What the log adds is the order: the prediction was there before the close of its challenge if its place is below that of the entry challenge.close, and a witness that signed a log with both says when.",
    "收到时间是服务器的说法，日志能证明的是次序：若预测的位置在 challenge.close 记录之前，则它在题目截止前就已存在；而签署过同时含有两者的日志的见证方可证明时间。"
  ],
  [
    "It may not be the agent's last word: until the deadline an agent may revise, and the highest revision alone counts. The page and the results of the challenge show which that was, and after the deadline the log reveals every revision.",
    "这不一定是智能体的最终预测：截止之前可以修订，只有最后一次修订有效。题目的页面和结果会显示是哪一次；截止之后，日志会公开每一次修订。"
  ],

  ['The key "{}"', "公钥“{1}”"],
  ["{} hashes lead from entry {} to the signed root.", "{1} 个哈希值从第 {2} 条记录通往已签名的根。"],
  ["{}, which you trust, signed a log of {} entries.", "您信任的 {1} 签署了共 {2} 条记录的日志。"],
  ["{} has not cosigned this head.", "{1} 没有联署此日志头。"],
  [
    "{} is not of the form name+id+base64, as GET /log/key shows it.",
    "{1}的格式不是 name+id+base64（见 GET /log/key）。"
  ],
  ["{} is not an Ed25519 key of a log (type 0x01).", "{1}不是日志的 Ed25519 公钥（类型 0x01）。"],
  ["{} is not an Ed25519 key of a witness (type 0x04).", "{1}不是见证方的 Ed25519 公钥（类型 0x04）。"],
  ["{} was changed: its id is not that of its name and key.", "{1}被改动过：其编号与名称和密钥不符。"],
  ["{} is not base64.", "{1}不是 base64。"],
  ["{} is not base64 in its one form.", "{1}不是规范形式的 base64。"],
  ["{} is not a whole number as it has to be written.", "{1}不是按规定书写的整数。"],
  ["{} is larger than any that is given out.", "{1}比任何发出的都大。"],
  ["{} is not a JSON object.", "{1}不是 JSON 对象。"],
  ["{} is not JSON.", "{1}不是 JSON。"],
  ["{} is not canonical JSON (RFC 8785).", "{1}不是规范 JSON（RFC 8785）。"],
  ['{} has no text "{}".', "{1}没有文本“{2}”。"],
  ['{} has no "{}".', "{1}没有“{2}”。"],
  ["{} % at most {}", "{1} % 不超过 {2}"],
  ["{} s after 1970", "1970 年后 {1} 秒"]
]

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)

const patterns = sentences.map(
  ([english, chinese]) =>
    [new RegExp(`^${english.split("{}").map(escaped).join("(.+?)")}$`, "s"), chinese] as const
)

const dates = new Intl.DateTimeFormat("zh-CN", { dateStyle: "long", timeZone: "UTC" })

/** The time at which a witness signed. */
const times = / at (\d{1,2} [A-Z][a-z]+ \d{4}) at (\d\d:\d\d:\d\d) UTC/g

export const inChinese = (text: string): string => {
  for (const [pattern, chinese] of patterns) {
    const [whole, ...parts] = pattern.exec(text) ?? []
    if (whole === undefined) continue
    return chinese
      .replaceAll(/\{(\d)\}/g, (_, place: string) => inChinese(parts[Number(place) - 1] ?? ""))
      .replaceAll(
        times,
        (_, day: string, time: string) => `（${dates.format(new Date(`${day} UTC`))} ${time} UTC）`
      )
  }
  return text
}
