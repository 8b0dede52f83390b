/** An owner's credit: what moved it, buying more, and moving it to an agent. */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Credits, IdempotencyKey, NewTopUp, creditsOf } from "../../../services/Credits.ts"
import type { InsufficientCredit, OwnerMovement, TopUp } from "../../../services/Credits.ts"
import { Operators, accountPage } from "../../../services/Operators.ts"
import type { Account, Holdings, Operator, OwnAgent } from "../../../services/Operators.ts"
import { Payments, creditPage, moneyText, packageName } from "../../../services/Payments.ts"
import type { CreditPackage, Purchase } from "../../../services/Payments.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../Pages.ts"
import { pagePaths, topUpPage } from "../paths.ts"
import { goTo, listPage, query, show, withFormsTo } from "../responses.ts"
import { accountTabs, credits, day, facts, field, form, nextPage, notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

const decodeAmount = Schema.decodeUnknownResult(NewTopUp.fields.amount)
const decodeKey = Schema.decodeUnknownOption(IdempotencyKey)

const noAmount =
  "Enter an amount such as 25 or 12.5: more than nothing, at most 10000000, and with at most 6 decimals."

/** Makes sending a form twice count once. */
const keyOf = (fields: URLSearchParams) =>
  Effect.fromOption(decodeKey(fields.get("idempotency_key"))).pipe(
    Effect.mapError(() =>
      InvalidRequest.of("idempotency_key", "Expected the one that the page's form holds.")
    )
  )

const tooLittle = ({ available }: InsufficientCredit) =>
  available === 0n
    ? "Your account is empty, so there is nothing to move."
    : `Enter at most ${creditsOf(available)}: your account has no more.`

const topUps = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const credits = yield* Credits
    const operators = yield* Operators

    const agentInPath = Effect.map(HttpRouter.params, ({ agent_id: agentId = "" }) => agentId.toLowerCase())

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      more: { readonly moved?: TopUp; readonly rejected?: RejectedAmount; readonly status?: number } = {}
    ) {
      const agentId = yield* agentInPath
      const own = yield* operators.account(operator.operatorId)
      const agent = own.agents.find((each) => each.agentId === agentId)
      if (agent === undefined) {
        return yield* new NotFound({ detail: "You own no agent with this identifier." })
      }
      const { status = 200, ...rest } = more
      return show(site, frame, topUpView(frame, { own, agent, key: randomUUID(), ...rest }), { status })
    })

    yield* router.add(
      "GET",
      pagePaths.topUp,
      ownerPage(
        Effect.fnUntraced(function* (frame, operator) {
          const { operatorId } = operator
          const agentId = yield* agentInPath
          const key = decodeKey((yield* query).get("moved"))
          const known = Option.isSome(key) ? yield* credits.topUpOf(operatorId, key.value) : Option.none()
          const moved = Option.filter(known, (topUp) => topUp.agentId === agentId)
          return yield* page(frame, operator, Option.isSome(moved) ? { moved: moved.value } : {})
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.topUp,
      ownerForm(
        Effect.fnUntraced(function* (frame, operator, fields) {
          const typed = (fields.get("amount") ?? "").trim()
          const key = yield* keyOf(fields)
          const reject = (complaint: string, status: number) =>
            page(frame, operator, { rejected: { value: typed.slice(0, 15), complaint }, status })
          const amount = decodeAmount(typed)
          if (Result.isFailure(amount)) return yield* reject(noAmount, 400)
          if (fields.get("sure") !== "yes") {
            return yield* reject("Nothing was moved: tick that you know that it cannot be taken back.", 400)
          }
          const agentId = yield* agentInPath
          const asked = { amount: amount.success, idempotency_key: key }
          return yield* credits.topUp(operator.operatorId, agentId, asked).pipe(
            Effect.as(goTo(site, site.at(topUpPage(agentId, key)))),
            Effect.catchTags({
              InsufficientCredit: (error) => reject(tooLittle(error), errorStatus(error)),
              InvalidRequest: (error) => reject(error.detail.replace("amount: ", ""), errorStatus(error)),
              IdempotencyKeyReused: (error) => reject(error.detail, errorStatus(error))
            })
          )
        })
      )
    )
  })
)

const account = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const credits = yield* Credits
    const operators = yield* Operators
    const payments = yield* Payments

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      more: { readonly complaint?: string; readonly status?: number } = {}
    ) {
      const { operatorId } = operator
      const own = yield* operators.account(operatorId)
      const movements = yield* credits.movements(operatorId, yield* listPage)
      const purchaseId = (yield* query).get("purchase")
      const found = purchaseId === null ? Option.none() : yield* payments.purchaseOf(operatorId, purchaseId)
      const offers = payments.packages.map((each) => ({ package: each, key: randomUUID() }))
      const { status = 200, ...rest } = more
      const view = creditView(frame, {
        own,
        offers,
        movements,
        ...rest,
        ...(Option.isSome(found) && { purchase: found.value })
      })
      const headers = Option.match(payments.checkoutOrigin, { onNone: () => ({}), onSome: withFormsTo })
      return show(site, frame, view, { status, headers })
    })

    yield* router.add(
      "GET",
      pagePaths.credit,
      ownerPage((frame, operator) => page(frame, operator))
    )

    yield* router.add(
      "POST",
      pagePaths.credit,
      ownerForm(
        Effect.fnUntraced(function* (frame, operator, fields) {
          const reject = (error: { readonly detail: string }) =>
            page(frame, operator, { complaint: error.detail, status: errorStatus(error) })
          const key = yield* keyOf(fields)
          return yield* payments.begin(operator, { package: fields.get("package") ?? "", key }).pipe(
            Effect.map(({ payAt, purchaseId }) => goTo(site, payAt ?? site.at(creditPage(purchaseId)))),
            Effect.catchTags({
              IdempotencyKeyReused: reject,
              InvalidRequest: reject,
              PaymentsUnavailable: reject
            })
          )
        })
      )
    )
  })
)

export const layer = Layer.merge(account, topUps)

/** A package and the idempotency key of its form. */
interface Offer {
  readonly package: CreditPackage
  readonly key: string
}

const grouped = (amount: number): string => new Intl.NumberFormat("en").format(amount)

/** The state of the purchase that the owner returns from or looks up. */
const purchaseNotice = ({ credits: bought, state }: Purchase): Html => {
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

const offerItem = (frame: Frame, { key, package: offered }: Offer) =>
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
          ${offers.map((each) => offerItem(frame, each))}
        </ul>
        <p class="quiet small">
          You pay on a page of Stripe's, which sees your payment details; we do not. Credit that was refunded
          is taken back from what is left of it in your account.
        </p>
      </section>`

const signed = (change: bigint): string => (change < 0n ? `−${creditsOf(-change)}` : `+${creditsOf(change)}`)

const movementItem = ({ agentName, at, change, reason }: OwnerMovement) =>
  html`<li>
    <p class="row">
      <span>${agentName === null ? reason : html`Moved to ${agentName}`}</span>
      <span class="numeric">${signed(change)}</span>
      <span class="quiet small">${day(at)}</span>
    </p>
  </li>`

const history = (frame: Frame, { items, next_cursor }: PageOf<OwnerMovement>) =>
  html`<section aria-labelledby="history">
    <h2 id="history">Transactions</h2>
    ${
      items.length === 0
        ? html`<p class="quiet">Nothing${next_cursor === null ? " yet" : " here"}.</p>`
        : html`<ul class="rows">
              ${items.map(movementItem)}
            </ul>
            ${nextPage(frame, creditPage(), next_cursor)}`
    }
  </section>`

const creditView = (
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
    ${accountTabs(frame, "Credit")}
    ${of.complaint === undefined ? null : notice("problem", "Nothing was bought.", of.complaint)}
    ${of.purchase === undefined ? null : purchaseNotice(of.purchase)}
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

export const holdings = ({ available, frozen }: Holdings): string =>
  frozen === 0n ? credits(available) : `${credits(available)}, and ${credits(frozen)} frozen`

interface RejectedAmount {
  readonly value: string
  readonly complaint: string
}

const nothingToMove = html`<div class="panel">
  <h2>Your account is empty</h2>
  <p>
    There is nothing to move yet. Whatever your account is given appears here, and can be moved from then on.
  </p>
</div>`

const topUpView = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly agent: OwnAgent
    /** Makes sending the form twice move credit once. */
    readonly key: string
    readonly moved?: TopUp
    readonly rejected?: RejectedAmount
  }
): Page => {
  const { agent, key, moved, own, rejected } = of
  const amount = field({
    name: "amount",
    label: "Credits to move",
    hint: `From your account, which has ${credits(own.credit.available)}, to ${agent.name}.`,
    complaint: rejected?.complaint,
    input: {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      maxlength: "15",
      ...(rejected !== undefined && { value: rejected.value })
    }
  })
  return {
    title: `${rejected === undefined ? "" : "Error: "}Top up ${agent.name}`,
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
        own.credit.available === 0n && rejected === undefined
          ? nothingToMove
          : html`<div class="panel">
              ${form(
                frame,
                topUpPage(agent.agentId),
                html`<input type="hidden" name="idempotency_key" value=${key} />${amount}
                  <p>
                    <label>
                      <input type="checkbox" name="sure" value="yes" required />
                      I know that it cannot be taken back
                    </label>
                  </p>
                  <button>Move credit</button>`
              )}
            </div>`
      }
      <p><a href=${frame.at(accountPage)}>Back to your agents</a></p>
    `
  }
}
