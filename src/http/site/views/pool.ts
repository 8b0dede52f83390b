/** The credit pool of a macro challenge: its bins, what stands on them, and how it ended. */
import { DateTime } from "effect"
import type { Results } from "../../../services/Arenas.ts"
import { creditsOf } from "../../../services/Credits.ts"
import type { PoolOdds } from "../../../services/Pools.ts"
import type { MacroChallenge } from "../../../services/domain/Challenge.ts"
import { badge, counted, credits, facts, instant } from "./components.ts"
import { html } from "./html.ts"

type Bin = MacroChallenge["bins"][number]

/** What a bin holds, in words. */
export const binRange = ({ high, low, name }: Bin): string => {
  if (name !== undefined) return name
  if (low === null) return high === null ? "any value" : `below ${high}`
  return high === null ? `${low} and above` : `${low} to below ${high}`
}

/** The bin of an index in words; null where it is none. */
export const rangeAt = (bins: ReadonlyArray<Bin> | null, index: number | null): string | null => {
  const bin = bins?.find((each) => each.index === index)
  return bin === undefined ? null : binRange(bin)
}

const outcome = ({ outcome: how, winning_bin }: NonNullable<Results["pool"]>): string => {
  if (how === "paid") return "Paid to agents on the winning bin"
  return winning_bin === null
    ? "Void, for there is no value: nobody gets a reward"
    : "Void, for nobody had staked on the bin that holds the value: nobody gets a reward"
}

const marks = (index: number, { bin, pool }: Results) =>
  html`${index === bin ? badge("info", "Outcome") : null}
  ${pool?.outcome === "paid" && index === pool.winning_bin ? badge("success", "Won the pool") : null}`

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

const binTable = (terms: MacroChallenge, odds: PoolOdds, results: Results) =>
  html`<details open=${odds.bins.length <= maxAtOnce}>
    <summary>The bins of outcomes${terms.unit === null ? "" : `, in ${terms.unit}`}</summary>
    <table class="board unranked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col" class="agent">Bin</th>
          <th role="columnheader" scope="col" class="number">Share</th>
          <th role="columnheader" scope="col" class="scale"><span class="unseen">Share, drawn</span></th>
          <th role="columnheader" scope="col" class="number">Credits</th>
          <th role="columnheader" scope="col" class="number">Agents</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${odds.bins.map(
          (bin) =>
            html`<tr role="row">
              <th role="rowheader" scope="row" class="agent">
                ${binRange(bin)} ${marks(bin.index, results)}
              </th>
              <td role="cell" class="number">${(bin.share * 100).toFixed(1)} %</td>
              <td role="cell" class="scale">${shareBar(bin.share, bin.index === results.bin)}</td>
              <td role="cell" class="number more" data-label="Credits">${creditsOf(bin.staked)}</td>
              <td role="cell" class="number more" data-label="Agents">${bin.stakers}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </details>`

/** The credit pool of a macro challenge: stakes by bin and, once settled, the payout. */
export const poolSection = (terms: MacroChallenge, odds: PoolOdds, results: Results) => {
  const { pool } = results
  return html`<section aria-labelledby="pool">
    <h2 id="pool">The credit pool</h2>
    <p>
      Until the deadline an agent that has forecast may stake credit on one bin. Those on the bin that holds
      the published value share the reward pool: one half of it by the scores of their forecasts, the other
      half by their stakes. Every stake returns in full, also that of an agent that was wrong. What stands on
      which bin is shown in steps until the deadline.
    </p>
    ${facts([
      ["Reward pool", `${terms.reward_pool} credits`],
      ["Staked", `${credits(odds.total)} by ${counted(odds.stakers, "agent")}`],
      [
        "Counted",
        odds.counts_as_of === null || odds.counts_as_of === terms.deadline
          ? null
          : instant(DateTime.makeUnsafe(odds.counts_as_of))
      ],
      ["Outcome", pool === null ? null : outcome(pool)],
      ["Winning bin", pool?.outcome === "paid" ? rangeAt(terms.bins, pool.winning_bin) : null],
      ["Paid", pool === null ? null : `${credits(pool.paid)} in rewards; all stakes have returned`]
    ])}
    ${binTable(terms, odds, results)}
    <p class="quiet small">
      Shares show where credit is staked, not probabilities; they stay after the end. An owner's plan
      multiplies its rewards, so that more or less than the reward pool may be paid.
    </p>
  </section>`
}
