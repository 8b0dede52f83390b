/** The credit pool of a macro challenge: its bins, what stands on them, and how it ended. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import type { MacroChallenge } from "../../../services/domain/Challenge.ts"
import type { Catalogue } from "../catalogue/catalogue.ts"
import { badge, credits, facts, instant } from "./components.ts"
import { html } from "./html.ts"
import { creditNumber, number } from "./words.ts"

type Bin = MacroChallenge["bins"][number]

/** What a bin holds, in words. */
export const binRange = ({ high, low, name }: Bin, { question: { pool } }: Catalogue): string => {
  if (name !== undefined) return name
  if (low === null) return high === null ? pool.anyValue : pool.below(number(high))
  return high === null ? pool.andAbove(number(low)) : pool.toBelow(number(low), number(high))
}

/** The bin of an index in words; null where it is none. */
export const rangeAt = (
  bins: ReadonlyArray<Bin> | null,
  index: number | null,
  say: Catalogue
): string | null => {
  const bin = bins?.find((each) => each.index === index)
  return bin === undefined ? null : binRange(bin, say)
}

type Words = Catalogue["question"]["pool"]

const outcome = ({ outcome: how, winning_bin }: NonNullable<Results["pool"]>, words: Words): string => {
  if (how === "paid") return words.toWinners
  return winning_bin === null ? words.voidWithoutValue : words.voidWithoutStake
}

const marks = (index: number, { bin, pool }: Results, words: Words) =>
  html`${index === bin ? badge("info", words.came) : null}
  ${pool?.outcome === "paid" && index === pool.winning_bin ? badge("success", words.won) : null}`

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

const binTable = (terms: MacroChallenge, odds: PoolOdds, results: Results, say: Catalogue) => {
  const words = say.question.pool
  return html`<details open=${odds.bins.length <= maxAtOnce}>
    <summary>${words.bins(terms.unit)}</summary>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">${words.bin}</th>
          <th role="columnheader" scope="col" class="number">${words.share}</th>
          <th role="columnheader" scope="col" class="scale">
            <span class="unseen">${words.shareDrawn}</span>
          </th>
          <th role="columnheader" scope="col" class="number">${words.credits}</th>
          <th role="columnheader" scope="col" class="number">${words.agents}</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${odds.bins.map(
          (bin) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">
                ${binRange(bin, say)} ${marks(bin.index, results, words)}
              </th>
              <td role="cell" class="number">${(bin.share * 100).toFixed(1)} %</td>
              <td role="cell" class="scale">${shareBar(bin.share, bin.index === results.bin)}</td>
              <td role="cell" class="number more" data-label=${words.credits}>${creditNumber(bin.staked)}</td>
              <td role="cell" class="number more" data-label=${words.agents}>${bin.stakers}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </details>`
}

/** The credit pool of a macro challenge: stakes by bin and, once settled, the payout. */
export const poolSection = (terms: MacroChallenge, odds: PoolOdds, results: Results, say: Catalogue) => {
  const { pool } = results
  const { pool: words, rewardPool } = say.question
  const counted = odds.counts_as_of === terms.deadline ? null : odds.counts_as_of
  return html`<section aria-labelledby="pool">
    <h2 id="pool">${words.title}</h2>
    <p>${words.rules}${counted === null ? null : html` ${words.inSteps}`}</p>
    ${facts([
      [rewardPool, say.credits(String(terms.reward_pool), false)],
      [words.staked, words.stakedBy(credits(odds.total, say), String(odds.stakers), odds.stakers === 1)],
      [words.counted, counted === null ? null : instant(DateTime.makeUnsafe(counted), say)],
      [words.outcome, pool === null ? null : outcome(pool, words)],
      [words.winningBin, pool?.outcome === "paid" ? rangeAt(terms.bins, pool.winning_bin, say) : null],
      [words.paid, pool === null ? null : words.paidOut(credits(pool.paid, say))]
    ])}
    ${binTable(terms, odds, results, say)}
    <p class="quiet small">${words.note}</p>
  </section>`
}
