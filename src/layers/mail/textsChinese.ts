/** The texts of mails in Simplified Chinese; texts.ts has their English versions. */
import { DateTime } from "effect"
import type { LimitPeriod } from "../../services/GatewayKeys.ts"
import { day, moment, paragraphs, printableName, score } from "./texts.ts"
import type { AboutAgent, MailTexts } from "./texts.ts"

const named = (mail: AboutAgent): string => `“${printableName(mail.agentName)}”`

const howToClaim = (mail: AboutAgent): ReadonlyArray<string> => [
  `如果该智能体属于您，请认领：下面的页面会显示它，按一次按钮即可登录并成为其所有者。链接仅可使用一次，有效期至 ${moment(mail.expiresAt)}：`,
  mail.link,
  "如果它不属于您，请不要按那个按钮。下面的页面可停止智能体向此地址发送的一切邮件：",
  mail.notMine
]

const limitNames: Readonly<Record<LimitPeriod, string>> = {
  total: "总限额",
  day: "每日限额",
  week: "每周限额",
  month: "每月限额"
}

export const chinese: MailTexts = {
  signIn: (mail) => ({
    subject: "登录 Auspex",
    text: paragraphs(
      `您请求登录 Auspex：\n${mail.baseUrl}`,
      `请打开此页面并按其按钮。链接仅可使用一次，有效期至 ${moment(mail.expiresAt)}：`,
      mail.link,
      "如果不是您本人操作，请忽略此邮件：不按该按钮，任何人都无法登录。"
    )
  }),
  claim: (mail) => ({
    subject: `认领您的智能体：${printableName(mail.agentName)}`,
    text: paragraphs(
      `一个自称 ${named(mail)} 的智能体已在 AI 智能体评测平台 Auspex 注册，并将您列为其运营者：\n${mail.baseUrl}`,
      `运营者对智能体负责。认领之前它处于暂定状态：只能预测少数题目，没有正式名次，并且自 ${moment(mail.provisionalUntil)} 起不再获发访问令牌。`,
      ...howToClaim(mail)
    )
  }),
  reminder: (mail) => ({
    subject: `认领您的智能体还剩 ${mail.daysLeft} 天：${printableName(mail.agentName)}`,
    text: paragraphs(
      `Auspex 的智能体 ${named(mail)} 将您列为其运营者，尚未被认领：\n${mail.baseUrl}`,
      `自 ${moment(mail.provisionalUntil)} 起，在被认领之前它不再获发访问令牌。其记录会保留。`,
      ...howToClaim(mail)
    )
  }),
  paused: (mail) => ({
    subject: `已暂停，等待您认领：${printableName(mail.agentName)}`,
    text: paragraphs(
      `Auspex 的智能体 ${named(mail)} 将您列为其运营者，未能按时被认领：\n${mail.baseUrl}`,
      `自 ${moment(mail.provisionalUntil)} 起它不再获发访问令牌。其记录会保留，一经认领即全部计入。`,
      ...howToClaim(mail)
    )
  }),
  creditAlert: (mail) => {
    const key = printableName(mail.keyName)
    const agent = printableName(mail.agentName)
    const limit = `${limitNames[mail.period]}（${mail.amount} 点）`
    const then = mail.period === "total" ? "在提高限额之前" : "在下一周期开始之前"
    return {
      subject: mail.isSpent ? `密钥 ${key} 的限额已用完` : `密钥 ${key} 的限额已用去 80 %`,
      text: paragraphs(
        mail.isSpent
          ? `您的智能体“${agent}”的网关密钥“${key}”已用完其${limit}，或余额不足以支付一次调用。${then}，此类调用将被拒绝。`
          : `您的智能体“${agent}”的网关密钥“${key}”已用去其${limit}的 80 %。用完之后，${then}，调用将被拒绝。`,
        `密钥的用途及剩余限额：\n${mail.baseUrl}/account/api-keys`
      )
    }
  },
  webhookDisabled: (mail) => ({
    subject: `您位于 ${mail.host} 的 webhook 已停用`,
    text: paragraphs(
      `Auspex 向您或您的智能体位于 ${mail.host} 的 webhook 发送通知。它已被停用：${mail.reason}。不会再向它发送任何内容。`,
      `恢复正常后，请在下面的页面重新启用，或让您的智能体启用。未送达的通知七天内可再发送一次：\n${mail.baseUrl}/account/notices`
    )
  }),
  suspended: (mail) => ({
    subject: `已暂停使用：${printableName(mail.agentName)}`,
    text: paragraphs(
      `${mail.baseUrl} 的管理员已暂停您的智能体“${printableName(mail.agentName)}”。它不再获发令牌；其记录会保留。`,
      ...(mail.reason === null ? [] : [`管理员说明的原因：${mail.reason}`]),
      `您的智能体：\n${mail.baseUrl}/account`
    )
  }),
  digest: (mail) => {
    const total = mail.agents.reduce((sum, { scored }) => sum + scored, 0)
    return {
      subject: `您的智能体有 ${total} 个预测已计分`,
      text: paragraphs(
        `${day(mail.from)} 至 ${day(DateTime.subtract(mail.until, { days: 1 }))}（UTC）。分数为 0 至 100。`,
        ...mail.agents.map(
          (agent) =>
            `“${printableName(agent.name)}”：已计分 ${agent.scored} 个，平均 ${score(agent.mean)}；累计 ${agent.all_scored} 个，平均 ${score(agent.all_mean)}。`
        ),
        `您的智能体：\n${mail.baseUrl}/account`
      )
    }
  },
  unsubscribe: (link) => `下面的页面可停止此类邮件：\n${link}`
}
