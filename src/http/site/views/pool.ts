/** The credit pool of a macro challenge: its bins, their stakes, and the payout. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import type { MacroChallenge } from "../../../services/domain/Challenge.ts"
import type { Messages } from "../messages/messages.ts"
import { badge, credits, facts, instant } from "./components.ts"
import { html } from "./html.ts"
import { creditNumber, number } from "./format.ts"

type Bin = MacroChallenge["bins"][number]

/** The values of a bin, as text. */
export const binRange = ({ high, low, name }: Bin, { question: { pool } }: Messages): string => {
  if (name !== undefined) return name
  if (low === null) return high === null ? pool.anyValue : pool.below(number(high))
  return high === null ? pool.andAbove(number(low)) : pool.toBelow(number(low), number(high))
}

/** The bin with an index, as text; null without such a bin. */
export const rangeAt = (
  bins: ReadonlyArray<Bin> | null,
  index: number | null,
  t: Messages
): string | null => {
  const bin = bins?.find((each) => each.index === index)
  return bin === undefined ? null : binRange(bin, t)
}

type PoolMessages = Messages["question"]["pool"]

const outcome = (
  { outcome: how, winning_bin }: NonNullable<Results["pool"]>,
  messages: PoolMessages
): string => {
  if (how === "paid") return messages.toWinners
  return winning_bin === null ? messages.voidWithoutValue : messages.voidWithoutStake
}

const marks = (index: number, { bin, pool }: Results, messages: PoolMessages) =>
  html`${index === bin ? badge("info", messages.came) : null}
  ${pool?.outcome === "paid" && index === pool.winning_bin ? badge("success", messages.won) : null}`

/** Further rows are behind a disclosure. */
const maxAtOnce = 15

/** The number stands beside the bar; the winning bin has a border as well. */
const shareBar = (share: number, isWhereItCame: boolean) =>
  html`<svg class="share" width="100%" height="14" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="14" rx="2" />
    <rect
      class=${isWhereItCame ? "bar came" : "bar"}
      width=${`${Math.round(share * 1000) / 10}%`}
      height="14"
      rx="2"
    />
  </svg>`

const binTable = (terms: MacroChallenge, odds: PoolOdds, results: Results, t: Messages) => {
  const messages = t.question.pool
  return html`<details open=${odds.bins.length <= maxAtOnce}>
    <summary>${messages.bins(terms.unit)}</summary>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${messages.bin}</th>
          <th role="columnheader" scope="col" class="number">${messages.share}</th>
          <th role="columnheader" scope="col" class="scale">
            <span class="unseen">${messages.shareDrawn}</span>
          </th>
          <th role="columnheader" scope="col" class="number">${messages.credits}</th>
          <th role="columnheader" scope="col" class="number">${messages.agents}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${odds.bins.map(
          (bin) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">
                ${binRange(bin, t)} ${marks(bin.index, results, messages)}
              </th>
              <td role="cell" class="number">${(bin.share * 100).toFixed(1)} %</td>
              <td role="cell" class="scale">${shareBar(bin.share, bin.index === results.bin)}</td>
              <td role="cell" class="number more" data-label=${messages.credits}>
                ${creditNumber(bin.staked)}
              </td>
              <td role="cell" class="number more" data-label=${messages.agents}>${bin.stakers}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </details>`
}

/** The credit pool of a macro challenge: stakes by bin and, once settled, the payout. */
export const poolSection = (terms: MacroChallenge, odds: PoolOdds, results: Results, t: Messages) => {
  const { pool } = results
  const { pool: messages, rewardPool } = t.question
  const counted = odds.counts_as_of === terms.deadline ? null : odds.counts_as_of
  return html`<section aria-labelledby="pool">
    <h2 id="pool">${messages.title}</h2>
    <p>${messages.rules}${counted === null ? null : html` ${messages.inSteps}`}</p>
    ${facts([
      [rewardPool, t.credits(String(terms.reward_pool), false)],
      [messages.staked, messages.stakedBy(credits(odds.total, t), String(odds.stakers), odds.stakers === 1)],
      [messages.counted, counted === null ? null : instant(DateTime.makeUnsafe(counted), t)],
      [messages.outcome, pool === null ? null : outcome(pool, messages)],
      [messages.winningBin, pool?.outcome === "paid" ? rangeAt(terms.bins, pool.winning_bin, t) : null],
      [messages.paid, pool === null ? null : messages.paidOut(credits(pool.paid, t))]
    ])}
    ${binTable(terms, odds, results, t)}
    <p class="quiet small">${messages.note}</p>
  </section>`
}
