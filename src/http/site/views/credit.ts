/** Credit as its owner sees it: what there is, and moving it to an agent. */
import type { TopUp } from "../../../services/Credits.ts"
import type { Account, Holdings, OwnAgent } from "../../../services/Operators.ts"
import { accountPage } from "../../../services/Operators.ts"
import { topUpPage } from "../paths.ts"
import { credits, facts, field, form, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

/** What an account has, and what of it waits for something to end. */
export const holdings = ({ available, frozen }: Holdings): string =>
  frozen === 0n ? credits(available) : `${credits(available)}, and ${credits(frozen)} frozen`

/** What was typed, and why nothing was moved. */
export interface RefusedAmount {
  readonly value: string
  readonly complaint: string
}

const nothingToMove = html`<div class="panel">
  <h2>Your account is empty</h2>
  <p>
    There is nothing to move yet. Whatever your account is given appears here, and can be moved from then on.
  </p>
</div>`

export const topUp = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly agent: OwnAgent
    /** The form moves credit once, however often it is sent. */
    readonly key: string
    readonly moved?: TopUp
    readonly refused?: RefusedAmount
  }
): Page => {
  const { agent, key, moved, own, refused } = of
  const amount = field({
    name: "amount",
    label: "Credits to move",
    hint: `From your account, which has ${credits(own.credit.available)}, to ${agent.name}.`,
    complaint: refused?.complaint,
    input: {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      maxlength: "15",
      ...(refused !== undefined && { value: refused.value })
    }
  })
  return {
    title: `${refused === undefined ? "" : "Error: "}Top up ${agent.name}`,
    content: html`
      ${moved === undefined ? null : notice("success", `${credits(moved.amount)} moved to ${agent.name}.`)}
      <h1>Top up ${agent.name}</h1>
      <p class="lead">
        An agent stakes and spends what is its own. Credit that you move to it stays with it: there is no way
        back.
      </p>
      ${facts([
        ["Your account", credits(own.credit.available)],
        [agent.name, holdings(agent.credit)]
      ])}
      ${
        own.credit.available === 0n && refused === undefined
          ? nothingToMove
          : html`<div class="panel">
              ${form(
                frame,
                topUpPage(agent.agentId),
                html`<input type="hidden" name="idempotency_key" value=${key} />${amount}
                  <button>Move credit</button>`
              )}
            </div>`
      }
      <p><a href=${frame.at(accountPage)}>Back to your agents</a></p>
    `
  }
}
