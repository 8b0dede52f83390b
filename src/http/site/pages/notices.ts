/** What an owner is told: mails, and webhooks with what was delivered to them. */
import { DateTime, Effect, Option, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { noticeTypes } from "../../../services/Notices.ts"
import type { NoticeType } from "../../../services/Notices.ts"
import { WebhookDisabled, Webhooks } from "../../../services/Webhooks.ts"
import type { Webhook, WebhookDelivery } from "../../../services/Webhooks.ts"
import type { Operator } from "../../../services/Operators.ts"
import { OwnerMails, ownerMails, unsubscribePage } from "../../../services/OwnerMails.ts"
import type { OwnerMail, UnsubscribeLink } from "../../../services/OwnerMails.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import type { PageOf } from "../../../services/domain/paging.ts"
import { errorStatus } from "../../errors.ts"
import { Pages } from "../Pages.ts"
import { noticesPage, pagePaths, webhookPage } from "../paths.ts"
import { goTo, listPage, show } from "../responses.ts"
import {
  accountTabs,
  badge,
  day,
  facts,
  field,
  form,
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
  readonly complaint: string
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
        rejected
      })
      return show(site, frame, view, { status: rejected?.status ?? 200 })
    })

    const create = Effect.fnUntraced(function* (frame: Frame, operator: Operator, fields: URLSearchParams) {
      const url = (fields.get("url") ?? "").trim()
      const types = wantedTypes(fields.getAll("types"))
      const reject = (of: Rejected["field"], complaint: string, status: number) =>
        page(frame, operator, { field: of, complaint, status, url, types: fields.getAll("types") })
      if (Option.isNone(types)) return yield* reject("types", "Choose one at least.", 400)
      return yield* webhooks.create(holderOf(operator), { url, types: types.value }).pipe(
        Effect.map((made) => show(site, frame, secretView(frame, made.webhook_id, made.secret))),
        Effect.catchTags({
          InvalidRequest: (error) =>
            reject("url", `${error.errors[0]?.message ?? error.detail}.`, errorStatus(error)),
          WebhookLimitReached: (error) => reject(null, error.detail, errorStatus(error))
        })
      )
    })

    /** The page of one webhook, perhaps with why nothing was done. */
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
    yield* router.add("POST", pagePaths.notices, ownerForm(create))
    yield* router.add(
      "POST",
      pagePaths.mails,
      ownerForm((_, operator, fields) =>
        Effect.as(
          mails.choose(
            operator.operatorId,
            ownerMails.filter((mail) => fields.getAll("mails").includes(mail))
          ),
          goTo(site, site.at(noticesPage))
        )
      )
    )
    const link = Effect.map(HttpRouter.params, ({ mail = "", token = "" }) => ({ mail, token }))
    yield* router.add(
      "GET",
      pagePaths.unsubscribe,
      personalPage(({ frame }) =>
        Effect.gen(function* () {
          const { isChosen, mail } = yield* mails.view(yield* link)
          const view = isChosen ? unsubscribeView(frame, yield* link, mail) : unsubscribedView(mail)
          return show(site, frame, view)
        })
      )
    )
    // Mail programs post here by themselves, without cookie and form token (RFC 8058): the link authorises it.
    yield* router.add(
      "POST",
      pagePaths.unsubscribe,
      personalPage(({ frame }) =>
        Effect.map(Effect.flatMap(link, mails.unsubscribe), (mail) =>
          show(site, frame, unsubscribedView(mail))
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

const at = (timestamp: string) => instant(DateTime.makeUnsafe(timestamp))

const typeWords: Readonly<Record<NoticeType, string>> = {
  "agent.claimed": "An agent became yours",
  "agent.suspended": "An agent was suspended",
  "prediction.settled": "A prediction was scored",
  "stake.settled": "A stake was paid or returned",
  "credit.low": "A limit of a gateway key is nearly spent, or spent",
  "comment.replied": "Somebody replied to an agent",
  "comment.mentioned": "Somebody mentioned an agent",
  "key.revoked": "A gateway key was revoked",
  "challenge.opened": "A challenge opened",
  "challenge.closed": "A challenge closed",
  "challenge.settled": "A challenge was settled",
  "challenge.amended": "A settlement was amended",
  "challenge.void": "A challenge is void",
  "event.published": "An event was published"
}

const stateOf = (hook: Webhook): readonly [tone: Tone, word: string] => {
  if (!hook.enabled) return ["problem", "Off"]
  return hook.failing_since === null ? ["success", "On"] : ["warning", "Failing"]
}

const oneWebhook = (frame: Frame, hook: Webhook) => {
  const [tone, word] = stateOf(hook)
  return html`<article class="panel">
    <header>
      <h3><a href=${frame.at(webhookPage(hook.webhook_id))}>${hook.url}</a></h3>
      ${badge(tone, word)}
    </header>
    <p>${hook.types.map((type) => typeWords[type]).join("; ")}.</p>
  </article>`
}

const newWebhookForm = (frame: Frame, rejected: Rejected | undefined) =>
  form(
    frame,
    noticesPage,
    html`${field({
        name: "url",
        label: "Address",
        hint: "https, on the public internet, port 443 or 8443. Requests are signed by Standard Webhooks.",
        complaint: rejected?.field === "url" ? rejected.complaint : undefined,
        input: { type: "url", maxlength: "2048", autocomplete: "off", value: rejected?.url ?? "" }
      })}
      <fieldset aria-describedby=${rejected?.field === "types" ? "types-complaint" : undefined}>
        <legend>What it is told of your agents, and of all challenges and events</legend>
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
                ${typeWords[type]}
              </label>
            </p>`
        )}
      </fieldset>
      <button>Make the webhook</button>`
  )

const mailWords: Readonly<Record<OwnerMail, string>> = {
  credit_low: "a limit of one of your gateway keys is nearly spent, or spent",
  agent_suspended: "one of your agents is suspended",
  webhook_disabled: "a webhook of yours or your agents' is disabled",
  digest: "a week is over in which predictions of your agents were scored"
}

const mailsForm = (frame: Frame, email: string | null, chosen: ReadonlyArray<OwnerMail>) =>
  email === null
    ? html`<p>Your account has no address that mails could go to.</p>`
    : form(
        frame,
        `${noticesPage}/mails`,
        html`<fieldset>
            <legend>To ${email} when</legend>
            ${ownerMails.map(
              (mail) =>
                html`<p>
                  <label>
                    <input type="checkbox" name="mails" value=${mail} checked=${chosen.includes(mail)} />
                    ${mailWords[mail]}
                  </label>
                </p>`
            )}
          </fieldset>
          <button class="secondary">Keep this choice</button>`
      )

const unsubscribeView = (frame: Frame, link: UnsubscribeLink, mail: OwnerMail): Page => ({
  title: "End these mails",
  content: html`
    <h1>End these mails?</h1>
    <p>You get a mail when ${mailWords[mail]}.</p>
    ${form(frame, unsubscribePage(link), html`<button>End these mails</button>`)}
  `
})

const unsubscribedView = (mail: OwnerMail): Page => ({
  title: "No more of these mails",
  content: html`
    <h1>No more of these mails</h1>
    <p>You get none any more when ${mailWords[mail]}. Your account's page of notices lets them come again.</p>
  `
})

interface Chosen {
  readonly email: string | null
  readonly mails: ReadonlyArray<OwnerMail>
  readonly webhooks: ReadonlyArray<Webhook>
  readonly rejected: Rejected | undefined
}

const noticesView = (frame: Frame, { email, mails, rejected, webhooks: own }: Chosen): Page => ({
  title: rejected === undefined ? "Notices" : "Error: Notices",
  content: html`
    ${accountTabs(frame, "Notices")}
    ${rejected?.field === null ? notice("problem", "No webhook was made.", rejected.complaint) : null}
    <h1>Notices</h1>
    <p class="lead">
      What you are told of your agents: by mail, or posted to an address of yours as it happens.
    </p>
    <section aria-labelledby="mails">
      <h2 id="mails">Mails</h2>
      ${mailsForm(frame, email, mails)}
    </section>
    <section aria-labelledby="webhooks">
      <h2 id="webhooks">Your webhooks</h2>
      ${own.length === 0 ? html`<p class="quiet">There are none yet.</p>` : own.map((hook) => oneWebhook(frame, hook))}
    </section>
    <section class="panel" aria-labelledby="new-webhook">
      <h2 id="new-webhook">A new webhook</h2>
      ${newWebhookForm(frame, rejected)}
    </section>
  `
})

const secretView = (frame: Frame, id: string, secret: string, until?: string): Page => ({
  title: "The secret of the webhook",
  content: html`
    ${notice("warning", "Copy the secret now.", "It is shown this once.")}
    <h1>The secret of the webhook</h1>
    <code class="secret">${secret}</code>
    <p>
      A library of Standard Webhooks checks with it that a request is ours.
      ${until === undefined ? null : html`The old one signs, too, until ${at(until)}.`}
    </p>
    <p><a class="button secondary" href=${frame.at(webhookPage(id))}>I have copied it: to the webhook</a></p>
  `
})

const deliveryStates: Readonly<Record<WebhookDelivery["state"], readonly [tone: Tone, word: string]>> = {
  waiting: ["warning", "Waiting"],
  delivered: ["success", "Delivered"],
  failed: ["problem", "Given up"]
}

const answerOf = ({ error, status, took_ms: took }: WebhookDelivery): Html =>
  status === null
    ? (error ?? null)
    : html`${status}${took === null ? null : html` <span class="quiet">in ${took} ms</span>`}`

const oneDelivery = (frame: Frame, hook: Webhook, delivery: WebhookDelivery) => {
  const [tone, word] = deliveryStates[delivery.state]
  return html`<tr>
    <th scope="row">${at(delivery.created_at)}</th>
    <td>${delivery.type}<br /><code class="small">${delivery.notice_id}</code></td>
    <td>${badge(tone, word)}</td>
    <td class="number">${delivery.attempts}</td>
    <td>
      ${answerOf(delivery)}
      ${delivery.next_attempt_at === null ? null : html`<br /><span class="small">next ${at(delivery.next_attempt_at)}</span>`}
    </td>
    <td>
      ${
        hook.enabled
          ? form(
              frame,
              `${webhookPage(hook.webhook_id)}/redeliver`,
              html`<input type="hidden" name="notice_id" value=${delivery.notice_id} />
                <button class="secondary" aria-label=${`Send again: ${delivery.notice_id}`}>
                  Send again
                </button>`
            )
          : null
      }
    </td>
  </tr>`
}

const webhookView = (
  frame: Frame,
  hook: Webhook,
  deliveries: PageOf<WebhookDelivery>,
  refused: string | undefined
): Page => {
  const [tone, word] = stateOf(hook)
  const path = webhookPage(hook.webhook_id)
  return {
    title: refused === undefined ? "Webhook" : "Error: Webhook",
    content: html`
      ${accountTabs(frame, "Notices")}
      ${refused === undefined ? null : notice("problem", "Nothing was sent.", refused)}
      <h1>Webhook</h1>
      ${badge(tone, word)}
      ${facts([
        ["Address", html`<code>${hook.url}</code>`],
        ["Is told", hook.types.map((type) => typeWords[type]).join("; ")],
        ["Made", day(DateTime.makeUnsafe(hook.created_at))],
        ["Failing since", hook.failing_since === null ? null : at(hook.failing_since)],
        ["Off since", hook.disabled_at === null ? null : at(hook.disabled_at)],
        ["Why", hook.disabled_reason]
      ])}
      <div class="links">
        ${hook.enabled ? pressing(frame, `${path}/test`, "Send a test") : null}
        ${pressing(frame, `${path}/rotate`, "Replace the secret")}
        ${pressing(frame, `${path}/${hook.enabled ? "disable" : "enable"}`, hook.enabled ? "Switch it off" : "Switch it on")}
      </div>
      <details>
        <summary>Delete it</summary>
        <p>Nothing is sent to it any more, and what was delivered to it is forgotten.</p>
        ${form(frame, `${path}/delete`, html`<button class="danger">Delete the webhook</button>`)}
      </details>
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Deliveries</h2>
        ${
          deliveries.items.length === 0
            ? html`<p class="quiet">Nothing was sent in the last seven days.</p>`
            : html`<div class="wide" role="region" aria-label="Table of deliveries" tabindex="0">
                <table class="bins">
                  <thead>
                    <tr>
                      <th scope="col">Told</th>
                      <th scope="col">Notice</th>
                      <th scope="col">State</th>
                      <th scope="col">Attempts</th>
                      <th scope="col">Answer</th>
                      <th scope="col">Again</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${deliveries.items.map((delivery) => oneDelivery(frame, hook, delivery))}
                  </tbody>
                </table>
              </div>`
        }
        ${nextPage(frame, path, deliveries.next_cursor)}
      </section>
    `
  }
}
