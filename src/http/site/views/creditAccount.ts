/** An owner's account: what it has, what moved it, and where to buy more if anything is sold. */
import type { OwnerMovement } from "../../../services/Credits.ts"
import { creditsOf } from "../../../services/Credits.ts"
import { moneyText, creditPage, packageName } from "../../../services/Payments.ts"
import type { Account } from "../../../services/Operators.ts"
import { accountPage } from "../../../services/Operators.ts"
import type { PageOf } from "../../../services/paging.ts"
import type { CreditPackage, Purchase } from "../../../services/Payments.ts"
import { accountMenu } from "./accountMenu.ts"
import { credits, day, form, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { nextPage } from "./proofLinks.ts"

/** What can be bought, and the key of the form that begins it. */
export interface Offer {
  readonly package: CreditPackage
  readonly key: string
}

const grouped = (amount: number): string => new Intl.NumberFormat("en").format(amount)

/** How the purchase stands that somebody comes back from, or looks at again. */
const standing = ({ credits: bought, state }: Purchase): Html => {
  switch (state) {
    case "paid":
      return notice("success", `Thank you: ${credits(bought)} bought.`, "They are in your account.")
    case "open":
      return notice(
        "info",
        "We are waiting for the payment.",
        "If you have paid, the credit is here within moments: reload this page."
      )
    case "processing":
      return notice(
        "info",
        "Your payment is under way.",
        "Some ways of paying take days. The credit is here as soon as the money has come."
      )
    case "failed":
      return notice("problem", "The payment failed.", "Nothing was bought.")
    case "expired":
      return notice("warning", "The payment took too long.", "Nothing was bought: begin again.")
  }
}

const offer = (frame: Frame, { key, package: offered }: Offer) =>
  html`<li>
    <div class="check">
      <p>
        <strong>${grouped(offered.credits)} credits</strong>
        <span class="quiet">for ${moneyText(offered.price)}</span>
      </p>
      ${form(
        frame,
        creditPage(),
        html`<input type="hidden" name="package" value=${packageName(offered)} />
          <input type="hidden" name="idempotency_key" value=${key} />
          <button aria-label=${`Buy ${grouped(offered.credits)} credits for ${moneyText(offered.price)}`}>
            Buy
          </button>`
      )}
    </div>
  </li>`

const shop = (frame: Frame, offers: ReadonlyArray<Offer>) =>
  offers.length === 0
    ? null
    : html`<section aria-labelledby="buy">
        <h2 id="buy">Buy credit</h2>
        <ul class="points">
          ${offers.map((each) => offer(frame, each))}
        </ul>
        <p class="quiet small">
          You pay on a page of Stripe's, which sees your payment details; we do not. Credit that was refunded
          is taken back from what is left of it in your account.
        </p>
      </section>`

const signed = (change: bigint): string => (change < 0n ? `−${creditsOf(-change)}` : `+${creditsOf(change)}`)

const movement = ({ agentName, at, change, reason }: OwnerMovement) =>
  html`<li>
    <p class="row">
      <span>${agentName === null ? reason : html`Moved to ${agentName}`}</span>
      <span class="figure">${signed(change)}</span>
      <span class="quiet small">${day(at)}</span>
    </p>
  </li>`

const history = (frame: Frame, { items, next_cursor }: PageOf<OwnerMovement>) =>
  html`<section aria-labelledby="history">
    <h2 id="history">What moved it</h2>
    ${
      items.length === 0
        ? html`<p class="quiet">Nothing${next_cursor === null ? " yet" : " here"}.</p>`
        : html`<ul class="rows">
              ${items.map(movement)}
            </ul>
            ${nextPage(frame, creditPage(), next_cursor)}`
    }
  </section>`

export const creditAccount = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly offers: ReadonlyArray<Offer>
    readonly movements: PageOf<OwnerMovement>
    readonly purchase?: Purchase
    readonly complaint?: string
  }
): Page => ({
  title: of.complaint === undefined ? "Your credit" : "Error: your credit",
  content: html`
    ${accountMenu(frame, "Credit")}
    ${of.complaint === undefined ? null : notice("problem", "Nothing was bought.", of.complaint)}
    ${of.purchase === undefined ? null : standing(of.purchase)}
    <h1>Your credit</h1>
    <div class="panel">
      <p class="amount">${credits(of.own.credit.available)}</p>
      <p class="quiet small">
        It is yours, not your agents': they spend only what you move to them, from
        <a href=${frame.at(accountPage)}>your agents</a>.
      </p>
    </div>
    ${shop(frame, of.offers)} ${history(frame, of.movements)}
  `
})
