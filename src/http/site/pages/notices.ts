/** An owner's notices: mails, and webhooks with their deliveries. */
import { DateTime, Effect, Option, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { noticeTypes } from "../../../services/Notices.ts"
import { WebhookDisabled, Webhooks } from "../../../services/Webhooks.ts"
import type { AgentWebhook, Webhook, WebhookDelivery } from "../../../services/Webhooks.ts"
import type { Operator } from "../../../services/Operators.ts"
import { OwnerMails, ownerMails, unsubscribePage } from "../../../services/OwnerMails.ts"
import type { OwnerMail, UnsubscribeLink } from "../../../services/OwnerMails.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../siteLayer.ts"
import { agentPage, noticesPage, pagePaths, webhookPage } from "../paths.ts"
import { goTo, listPage, show } from "../responses.ts"
import {
  accountTabs,
  badge,
  day,
  facts,
  field,
  form,
  inEnglish,
  instant,
  nextPage,
  notice,
  pressing
} from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

const wantedTypes = Schema.decodeUnknownOption(Schema.NonEmptyArray(Schema.Literals(noticeTypes)))

interface Rejected {
  readonly field: "url" | "types" | null
  readonly complaint: Html
  readonly status: number
  readonly url: string
  readonly types: ReadonlyArray<string>
}

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, personalPage, site } = yield* Pages
    const webhooks = yield* Webhooks
    const mails = yield* OwnerMails

    const holderOf = ({ operatorId }: Operator) => ({ kind: "owner", id: operatorId }) as const

    const page = Effect.fnUntraced(function* (frame: Frame, operator: Operator, rejected?: Rejected) {
      const view = noticesView(frame, {
        email: operator.email,
        mails: yield* mails.chosen(operator.operatorId),
        webhooks: yield* webhooks.list(holderOf(operator)),
        ofAgents: yield* webhooks.listOfAgents(operator.operatorId),
        rejected
      })
      return show(site, frame, view, { status: rejected?.status ?? 200 })
    })

    const create = Effect.fnUntraced(function* (frame: Frame, operator: Operator, fields: URLSearchParams) {
      const url = (fields.get("url") ?? "").trim()
      const types = wantedTypes(fields.getAll("types"))
      const reject = (of: Rejected["field"], complaint: Html, status: number) =>
        page(frame, operator, { field: of, complaint, status, url, types: fields.getAll("types") })
      if (Option.isNone(types)) return yield* reject("types", frame.t.owners.notices.chooseOne, 400)
      return yield* webhooks.create(holderOf(operator), { url, types: types.value }).pipe(
        Effect.map((made) => show(site, frame, secretView(frame, made.webhook_id, made.secret))),
        Effect.catchTags({
          InvalidRequest: (error) =>
            reject("url", inEnglish(`${error.errors[0]?.message ?? error.detail}.`), errorStatus(error)),
          WebhookLimitReached: (error) => reject(null, inEnglish(error.detail), errorStatus(error))
        })
      )
    })

    /** The page of one webhook, with the reason if an action was rejected. */
    const one = Effect.fnUntraced(function* (frame: Frame, operator: Operator, refused?: WebhookDisabled) {
      const { webhook_id: id = "" } = yield* HttpRouter.params
      const deliveries = yield* webhooks.deliveries(holderOf(operator), id, yield* listPage)
      const hook = (yield* webhooks.list(holderOf(operator))).find(
        ({ webhook_id }) => webhook_id === id.toLowerCase()
      )
      if (hook === undefined) return yield* new NotFound({ detail: "There is no such webhook." })
      return show(site, frame, webhookView(frame, hook, deliveries, refused?.detail), {
        status: refused === undefined ? 200 : errorStatus(refused)
      })
    })

    const act = Effect.fnUntraced(function* (frame: Frame, operator: Operator, fields: URLSearchParams) {
      const { action, webhook_id: id = "" } = yield* HttpRouter.params
      const holder = holderOf(operator)
      const back = goTo(site, site.at(webhookPage(id)))
      switch (action) {
        case "test":
          return yield* Effect.as(webhooks.test(holder, id), back)
        case "redeliver":
          return yield* Effect.as(webhooks.redeliver(holder, id, fields.get("notice_id") ?? ""), back)
        case "enable":
          return yield* Effect.as(webhooks.update(holder, id, { enabled: true }), back)
        case "disable":
          return yield* Effect.as(webhooks.update(holder, id, { enabled: false }), back)
        case "rotate": {
          const { old_secret_until: until, secret } = yield* webhooks.rotate(holder, id)
          return show(site, frame, secretView(frame, id, secret, until))
        }
        case "delete":
          return yield* Effect.as(webhooks.remove(holder, id), goTo(site, site.at(noticesPage)))
        default:
          return yield* new NotFound({ detail: "A webhook has no such action." })
      }
    })

    yield* router.add(
      "GET",
      pagePaths.notices,
      ownerPage((frame, operator) => page(frame, operator))
    )
    yield* router.add("POST", pagePaths.notices, ownerForm(create, ["types"]))
    yield* router.add(
      "POST",
      pagePaths.mails,
      ownerForm(
        (_, operator, fields) =>
          Effect.as(
            mails.choose(
              operator.operatorId,
              ownerMails.filter((mail) => fields.getAll("mails").includes(mail))
            ),
            goTo(site, site.at(noticesPage))
          ),
        ["mails"]
      )
    )
    const link = Effect.map(HttpRouter.params, ({ mail = "", token = "" }) => ({ mail, token }))
    yield* router.add(
      "GET",
      pagePaths.unsubscribe,
      personalPage(({ frame }) =>
        Effect.gen(function* () {
          const { isChosen, mail } = yield* mails.view(yield* link)
          const view = isChosen ? unsubscribeView(frame, yield* link, mail) : unsubscribedView(frame, mail)
          return show(site, frame, view)
        })
      )
    )
    // Mail programs post here by themselves, without cookie and form token (RFC 8058): the link authorises the
    // request.
    yield* router.add(
      "POST",
      pagePaths.unsubscribe,
      personalPage(({ frame }) =>
        Effect.map(Effect.flatMap(link, mails.unsubscribe), (mail) =>
          show(site, frame, unsubscribedView(frame, mail))
        )
      )
    )
    yield* router.add(
      "GET",
      pagePaths.webhook,
      ownerPage((frame, operator) => one(frame, operator))
    )
    yield* router.add(
      "POST",
      pagePaths.webhookAction,
      ownerForm((frame, operator, fields) =>
        Effect.catchTag(act(frame, operator, fields), "WebhookDisabled", (error) =>
          one(frame, operator, error)
        )
      )
    )
  })
)

const at = (timestamp: string, { t }: Frame) => instant(DateTime.makeUnsafe(timestamp), t)

const stateOf = ({ t }: Frame, hook: Webhook) => {
  const { failing, off, on } = t.owners.notices.states
  if (!hook.enabled) return badge("problem", off)
  return hook.failing_since === null ? badge("success", on) : badge("warning", failing)
}

const typesOf = ({ t }: Frame, { types }: Webhook): string => {
  const messages = t.owners.notices
  return messages.allTypes(types.map((type) => messages.types[type]))
}

const oneWebhook = (frame: Frame, hook: Webhook) =>
  html`<article class="panel">
    <header>
      <h3><a href=${frame.at(webhookPage(hook.webhook_id))}>${hook.url}</a></h3>
      ${stateOf(frame, hook)}
    </header>
    <p>${typesOf(frame, hook)}${frame.t.owners.stop}</p>
  </article>`

const agentWebhook = (frame: Frame, hook: AgentWebhook) =>
  html`<article class="panel">
    <header>
      <h3>${hook.url}</h3>
      ${stateOf(frame, hook)}
    </header>
    <p><a href=${frame.at(agentPage(hook.agent_id))}>${hook.agent_name}</a></p>
    <p>${typesOf(frame, hook)}${frame.t.owners.stop}</p>
    ${form(
      frame,
      `${webhookPage(hook.webhook_id)}/delete`,
      html`<button class="danger" aria-label=${frame.t.owners.notices.removeOf(hook.url)}>
        ${frame.t.owners.notices.remove}
      </button>`
    )}
  </article>`

const newWebhookForm = (frame: Frame, rejected: Rejected | undefined) => {
  const t = frame.t.owners.notices
  return form(
    frame,
    noticesPage,
    html`${field({
        name: "url",
        label: t.address,
        hint: t.addressHint,
        complaint: rejected?.field === "url" ? rejected.complaint : undefined,
        input: { type: "url", maxlength: "2048", autocomplete: "off", value: rejected?.url ?? "" }
      })}
      <fieldset aria-describedby=${rejected?.field === "types" ? "types-complaint" : undefined}>
        <legend>${t.whatItIsTold}</legend>
        ${rejected?.field === "types" ? html`<p class="complaint" id="types-complaint">${rejected.complaint}</p>` : null}
        ${noticeTypes.toReversed().map(
          (type) =>
            html`<p>
              <label>
                <input
                  type="checkbox"
                  name="types"
                  value=${type}
                  checked=${rejected?.types.includes(type) ?? type === "prediction.settled"}
                />
                ${t.types[type]}
              </label>
            </p>`
        )}
      </fieldset>
      <button>${t.make}</button>`
  )
}

const mailsForm = (frame: Frame, email: string | null, chosen: ReadonlyArray<OwnerMail>) => {
  const t = frame.t.owners.notices
  return email === null
    ? html`<p>${t.noAddress}</p>`
    : form(
        frame,
        `${noticesPage}/mails`,
        html`<fieldset>
            <legend>${t.mailsTo(email)}</legend>
            ${ownerMails.map(
              (mail) =>
                html`<p>
                  <label>
                    <input type="checkbox" name="mails" value=${mail} checked=${chosen.includes(mail)} />
                    ${t.mailWhen[mail]}
                  </label>
                </p>`
            )}
          </fieldset>
          <button class="secondary">${t.keep}</button>`
      )
}

const unsubscribeView = (frame: Frame, link: UnsubscribeLink, mail: OwnerMail): Page => {
  const t = frame.t.owners.notices
  return {
    title: t.endMails,
    content: html`
      <h1>${t.endThem}</h1>
      <p>${t.youGet(t.mailWhen[mail])}</p>
      ${form(frame, unsubscribePage(link), html`<button>${t.endMails}</button>`)}
    `
  }
}

const unsubscribedView = (frame: Frame, mail: OwnerMail): Page => {
  const t = frame.t.owners.notices
  return {
    title: t.noMore,
    content: html`
      <h1>${t.noMore}</h1>
      <p>${t.youGetNone(t.mailWhen[mail])}</p>
    `
  }
}

interface Chosen {
  readonly email: string | null
  readonly mails: ReadonlyArray<OwnerMail>
  readonly webhooks: ReadonlyArray<Webhook>
  readonly ofAgents: ReadonlyArray<AgentWebhook>
  readonly rejected: Rejected | undefined
}

const noticesView = (frame: Frame, { email, mails, ofAgents, rejected, webhooks: own }: Chosen): Page => {
  const { owners } = frame.t
  const t = owners.notices
  const title = owners.tabs.notices
  return {
    title: rejected === undefined ? title : owners.error(title),
    content: html`
      ${accountTabs(frame, "notices")}
      ${rejected?.field === null ? notice("problem", t.noWebhookMade, rejected.complaint) : null}
      <h1>${title}</h1>
      <p class="lead">${t.lead}</p>
      <section aria-labelledby="mails">
        <h2 id="mails">${t.mails}</h2>
        ${mailsForm(frame, email, mails)}
      </section>
      <section aria-labelledby="webhooks">
        <h2 id="webhooks">${t.webhooks}</h2>
        ${own.length === 0 ? html`<p class="quiet">${owners.none}</p>` : own.map((hook) => oneWebhook(frame, hook))}
      </section>
      ${
        ofAgents.length === 0
          ? null
          : html`<section aria-labelledby="webhooks-of-agents">
              <h2 id="webhooks-of-agents">${t.ofAgents}</h2>
              <p>${t.ofAgentsMeans}</p>
              ${ofAgents.map((hook) => agentWebhook(frame, hook))}
            </section>`
      }
      <section class="panel" aria-labelledby="new-webhook">
        <h2 id="new-webhook">${t.newOne}</h2>
        ${newWebhookForm(frame, rejected)}
      </section>
    `
  }
}

const secretView = (frame: Frame, id: string, secret: string, until?: string): Page => {
  const { agents, notices: t } = frame.t.owners
  const [before, after] = t.oldSignsUntil
  return {
    title: t.theSecret,
    content: html`
      ${notice("warning", agents.copySecret, t.shownOnce)}
      <h1>${t.theSecret}</h1>
      <code class="secret">${secret}</code>
      <p>${t.secretChecks}${until === undefined ? null : html`${before}${at(until, frame)}${after}`}</p>
      <p><a class="button secondary" href=${frame.at(webhookPage(id))}>${t.copied}</a></p>
    `
  }
}

const deliveryTones: Readonly<Record<WebhookDelivery["state"], Tone>> = {
  waiting: "warning",
  delivered: "success",
  failed: "problem"
}

const answerOf = ({ t }: Frame, { error, status, took_ms: took }: WebhookDelivery): Html => {
  if (status === null) return error === null ? null : inEnglish(error)
  return took === null ? status : html`${status}<span class="quiet">${t.owners.notices.took(took)}</span>`
}

const oneDelivery = (frame: Frame, hook: Webhook, delivery: WebhookDelivery) => {
  const t = frame.t.owners.notices
  const next = delivery.next_attempt_at
  return html`<tr>
    <th scope="row">${at(delivery.created_at, frame)}</th>
    <td>${delivery.type}<br /><code class="small">${delivery.notice_id}</code></td>
    <td>${badge(deliveryTones[delivery.state], t.deliveryStates[delivery.state])}</td>
    <td class="number">${delivery.attempts}</td>
    <td>
      ${answerOf(frame, delivery)}
      ${next === null ? null : html`<br /><span class="small">${t.next}${at(next, frame)}</span>`}
    </td>
    <td>
      ${
        hook.enabled
          ? form(
              frame,
              `${webhookPage(hook.webhook_id)}/redeliver`,
              html`<input type="hidden" name="notice_id" value=${delivery.notice_id} />
                <button class="secondary" aria-label=${t.sendAgainOf(delivery.notice_id)}>
                  ${t.sendAgain}
                </button>`
            )
          : null
      }
    </td>
  </tr>`
}

const deliveriesTable = (frame: Frame, hook: Webhook, deliveries: ReadonlyArray<WebhookDelivery>) => {
  const t = frame.t.owners.notices
  return html`<div class="wide" role="region" aria-label=${t.deliveriesTable} tabindex="0">
    <table class="bins">
      <thead>
        <tr>
          ${[t.told, t.notice, t.state, t.attempts, t.answer, t.again].map(
            (name) => html`<th scope="col">${name}</th>`
          )}
        </tr>
      </thead>
      <tbody>
        ${deliveries.map((delivery) => oneDelivery(frame, hook, delivery))}
      </tbody>
    </table>
  </div>`
}

const webhookView = (
  frame: Frame,
  hook: Webhook,
  deliveries: PageOf<WebhookDelivery>,
  refused: string | undefined
): Page => {
  const { owners } = frame.t
  const t = owners.notices
  const path = webhookPage(hook.webhook_id)
  const { disabled_at: offSince, disabled_reason: why, failing_since: failingSince } = hook
  return {
    title: refused === undefined ? t.webhook : owners.error(t.webhook),
    content: html`
      ${accountTabs(frame, "notices")}
      ${refused === undefined ? null : notice("problem", t.nothingSent, inEnglish(refused))}
      <h1>${t.webhook}</h1>
      ${stateOf(frame, hook)}
      ${facts([
        [t.address, html`<code>${hook.url}</code>`],
        [t.isTold, typesOf(frame, hook)],
        [t.made, day(DateTime.makeUnsafe(hook.created_at), frame.t)],
        [t.failingSince, failingSince === null ? null : at(failingSince, frame)],
        [t.offSince, offSince === null ? null : at(offSince, frame)],
        [t.why, why === null ? null : (t.reasons[why] ?? why)]
      ])}
      <div class="links">
        ${hook.enabled ? pressing(frame, `${path}/test`, t.test) : null}
        ${pressing(frame, `${path}/rotate`, t.rotate)}
        ${pressing(frame, `${path}/${hook.enabled ? "disable" : "enable"}`, hook.enabled ? t.turnOff : t.turnOn)}
      </div>
      <details>
        <summary>${t.remove}</summary>
        <p>${t.removeMeans}</p>
        ${form(frame, `${path}/delete`, html`<button class="danger">${t.removeNow}</button>`)}
      </details>
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">${t.deliveries}</h2>
        ${
          deliveries.items.length === 0
            ? html`<p class="quiet">${t.noDeliveries}</p>`
            : deliveriesTable(frame, hook, deliveries.items)
        }
        ${nextPage(frame, path, deliveries.next_cursor)}
      </section>
    `
  }
}
