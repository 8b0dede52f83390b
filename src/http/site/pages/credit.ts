/** An owner's credit: ledger entries, purchases, and transfers to agents. */
import { randomUUID } from "node:crypto"
import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Credits, TransferKey, NewTopUp, creditsOf } from "../../../services/Credits.ts"
import type { InsufficientCredit, OwnerMovement, TopUp } from "../../../services/Credits.ts"
import { Operators, accountPage } from "../../../services/Operators.ts"
import type { Account, Holdings, Operator, OwnAgent } from "../../../services/Operators.ts"
import { Payments, creditPage, moneyText, packageName } from "../../../services/Payments.ts"
import type { CreditPackage, Purchase } from "../../../services/Payments.ts"
import { InvalidRequest, NotFound } from "../../../services/domain/errors.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { pagePaths, topUpPage } from "../paths.ts"
import { goTo, listPage, query, show, withFormsTo } from "../responses.ts"
import {
  accountTabs,
  credits,
  day,
  facts,
  field,
  form,
  inEnglish,
  nextPage,
  notice
} from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { creditNumber } from "../views/format.ts"

const decodeAmount = Schema.decodeUnknownResult(NewTopUp.fields.amount)
const decodeKey = Schema.decodeUnknownOption(TransferKey)

/** The key makes a form that is sent twice count once. */
const keyOf = (fields: URLSearchParams) =>
  Effect.fromOption(decodeKey(fields.get("idempotency_key"))).pipe(
    Effect.mapError(() =>
      InvalidRequest.of("idempotency_key", "Expected the one that the page's form holds.")
    )
  )

const tooLittle = ({ available }: InsufficientCredit, { t }: Frame) =>
  available === 0n ? t.owners.credit.nothingToMove : t.owners.credit.atMost(creditsOf(available))

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
        return yield* NotFound.notOwned()
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
          const reject = (complaint: Html, status: number) =>
            page(frame, operator, { rejected: { value: typed.slice(0, 15), complaint }, status })
          const amount = decodeAmount(typed)
          if (Result.isFailure(amount)) return yield* reject(frame.t.owners.credit.noAmount, 400)
          if (fields.get("sure") !== "yes") {
            return yield* reject(frame.t.owners.credit.tickFirst, 400)
          }
          const agentId = yield* agentInPath
          const topUp = { amount: amount.success, idempotency_key: key }
          return yield* credits.topUp(operator.operatorId, agentId, topUp).pipe(
            Effect.as(goTo(site, site.at(topUpPage(agentId, key)))),
            Effect.catchTags({
              InsufficientCredit: (error) => reject(tooLittle(error, frame), errorStatus(error)),
              InvalidRequest: (error) =>
                reject(inEnglish(error.detail.replace("amount: ", "")), errorStatus(error)),
              IdempotencyKeyReused: (error) => reject(inEnglish(error.detail), errorStatus(error))
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
      more: { readonly complaint?: Html; readonly status?: number } = {}
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
            page(frame, operator, { complaint: inEnglish(error.detail), status: errorStatus(error) })
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
const purchaseNotice = ({ t }: Frame, { credits: bought, state }: Purchase): Html => {
  const messages = t.owners.credit
  switch (state) {
    case "paid":
      return notice("success", messages.bought(credits(bought, t)), messages.inAccount)
    case "open":
      return notice("info", messages.waiting, messages.waitingMeans)
    case "processing":
      return notice("info", messages.processing, messages.processingMeans)
    case "failed":
      return notice("problem", messages.failed, messages.nothingBought)
    case "expired":
      return notice("warning", messages.expired, messages.beginAgain)
  }
}

const offerItem = (frame: Frame, { key, package: offered }: Offer) => {
  const t = frame.t.owners.credit
  const [amount, money] = [grouped(offered.credits), moneyText(offered.price)]
  return html`<li>
    <div class="check">
      <p>
        <strong>${t.offered(amount)}</strong>
        <span class="quiet">${t.forMoney(money)}</span>
      </p>
      ${form(
        frame,
        creditPage(),
        html`<input type="hidden" name="package" value=${packageName(offered)} />
          <input type="hidden" name="idempotency_key" value=${key} />
          <button aria-label=${t.buyFor(amount, money)}>${t.buy}</button>`
      )}
    </div>
  </li>`
}

const shop = (frame: Frame, offers: ReadonlyArray<Offer>) =>
  offers.length === 0
    ? null
    : html`<section aria-labelledby="buy">
        <h2 id="buy">${frame.t.owners.credit.buyCredit}</h2>
        <ul class="points">
          ${offers.map((each) => offerItem(frame, each))}
        </ul>
        <p class="quiet small">${frame.t.owners.credit.howPaid}</p>
      </section>`

const signed = (change: bigint): string => `${change < 0n ? "" : "+"}${creditNumber(change)}`

const movementItem = ({ t }: Frame, { agentName, at, change, reason }: OwnerMovement) =>
  html`<li>
    <p class="row">
      <span>${agentName === null ? t.owners.credit.reason(reason) : t.owners.credit.movedTo(agentName)}</span>
      <span class="numeric">${signed(change)}</span>
      <span class="quiet small">${day(at, t)}</span>
    </p>
  </li>`

const history = (frame: Frame, { items, next_cursor }: PageOf<OwnerMovement>) => {
  const t = frame.t.owners.credit
  return html`<section aria-labelledby="history">
    <h2 id="history">${t.transactions}</h2>
    ${
      items.length === 0
        ? html`<p class="quiet">${next_cursor === null ? t.noTransactions : t.nothingHere}</p>`
        : html`<ul class="rows">
              ${items.map((each) => movementItem(frame, each))}
            </ul>
            ${nextPage(frame, creditPage(), next_cursor)}`
    }
  </section>`
}

const creditView = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly offers: ReadonlyArray<Offer>
    readonly movements: PageOf<OwnerMovement>
    readonly purchase?: Purchase
    readonly complaint?: Html
  }
): Page => {
  const { owners } = frame.t
  const t = owners.credit
  return {
    title: of.complaint === undefined ? owners.yourCredit : t.error,
    content: html`
      ${accountTabs(frame, "credit")}
      ${of.complaint === undefined ? null : notice("problem", t.nothingBought, of.complaint)}
      ${of.purchase === undefined ? null : purchaseNotice(frame, of.purchase)}
      <h1>${owners.yourCredit}</h1>
      <div class="panel">
        <p class="amount">${credits(of.own.credit.available, frame.t)}</p>
        <p class="quiet small">
          ${owners.yoursAlone}${t.moveFrom[0]}<a href=${frame.at(accountPage)}>${t.moveFrom[1]}</a
          >${t.moveFrom[2]}
        </p>
      </div>
      ${shop(frame, of.offers)} ${history(frame, of.movements)}
    `
  }
}

/** The credit of an agent, as text. */
export const holdings = ({ available, frozen }: Holdings, t: Messages): string =>
  frozen === 0n ? credits(available, t) : t.owners.credit.frozen(credits(available, t), credits(frozen, t))

interface RejectedAmount {
  readonly value: string
  readonly complaint: Html
}

const nothingToMove = ({ t }: Frame) =>
  html`<div class="panel">
    <h2>${t.owners.credit.empty}</h2>
    <p>${t.owners.credit.emptyMeans}</p>
  </div>`

const topUpView = (
  frame: Frame,
  of: {
    readonly own: Account
    readonly agent: OwnAgent
    /** The key makes a form that is sent twice move credit once. */
    readonly key: string
    readonly moved?: TopUp
    readonly rejected?: RejectedAmount
  }
): Page => {
  const { agent, key, moved, own, rejected } = of
  const { owners } = frame.t
  const t = owners.credit
  const inAccount = credits(own.credit.available, frame.t)
  const amount = field({
    name: "amount",
    label: t.toMove,
    hint: t.fromTo(inAccount, agent.name),
    complaint: rejected?.complaint,
    input: {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      maxlength: "15",
      ...(rejected !== undefined && { value: rejected.value })
    }
  })
  const title = owners.topUp(agent.name)
  return {
    title: rejected === undefined ? title : owners.error(title),
    content: html`
      ${moved === undefined ? null : notice("success", t.moved(credits(moved.amount, frame.t), agent.name))}
      <h1>${title}</h1>
      <p class="lead">${t.noWayBack}</p>
      ${facts([
        [t.yourAccount, inAccount],
        [agent.name, holdings(agent.credit, frame.t)]
      ])}
      ${
        own.credit.available === 0n && rejected === undefined
          ? nothingToMove(frame)
          : html`<div class="panel">
              ${form(
                frame,
                topUpPage(agent.agentId),
                html`<input type="hidden" name="idempotency_key" value=${key} />${amount}
                  <p>
                    <label>
                      <input type="checkbox" name="sure" value="yes" required />
                      ${t.isFinal}
                    </label>
                  </p>
                  <button>${t.move}</button>`
              )}
            </div>`
      }
      <p><a href=${frame.at(accountPage)}>${t.back}</a></p>
    `
  }
}
