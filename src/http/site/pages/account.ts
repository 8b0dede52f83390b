/** An operator's account: the agents, their credit and the plan. */
import { DateTime, Duration, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Operators, accountPage, isPaid, rewardCoefficient } from "../../../services/Operators.ts"
import type { Account, Operator, OwnAgent, Plan } from "../../../services/Operators.ts"
import { creditPage } from "../../../services/Payments.ts"
import type { SecretRotation } from "../../../services/domain/credentials.ts"
import { Settings } from "../../../services/Settings.ts"
import { Skill } from "../../../services/Skill.ts"
import type { OwnRecord } from "../../../services/Skill.ts"
import type { AgentStatus } from "../../../services/domain/agentStatus.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { Pages } from "../siteLayer.ts"
import { agentPage, pagePaths, topUpPage } from "../paths.ts"
import { goTo, show } from "../responses.ts"
import { signed } from "../charts/intervals.ts"
import {
  accountTabs,
  badge,
  credits,
  day,
  facts,
  form,
  instant,
  recentForm,
  named,
  notice
} from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { modelOf, number, rankChange } from "../views/format.ts"
import { holdings } from "./credit.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const operators = yield* Operators
    const skills = yield* Skill
    const { planCredit } = yield* Settings

    const page = Effect.fnUntraced(function* (
      frame: Frame,
      { operatorId }: Operator,
      refused: { readonly complaint?: string; readonly status: number } = { status: 200 }
    ) {
      const [account, records, now] = yield* Effect.all(
        [operators.account(operatorId), skills.ofOwner(operatorId), DateTime.now],
        { concurrency: "unbounded" }
      )
      const { complaint, status } = refused
      const view = { own: account, records, planCredit, now, ...(complaint !== undefined && { complaint }) }
      return show(site, frame, accountView(frame, view), { status })
    })

    yield* router.add(
      "GET",
      pagePaths.account,
      ownerPage((frame, operator) => page(frame, operator))
    )

    yield* router.add(
      "POST",
      pagePaths.rotateSecret,
      ownerForm(
        Effect.fnUntraced(function* (frame, operator, fields) {
          if (fields.get("sure") !== "yes") {
            return yield* page(frame, operator, {
              complaint: frame.t.owners.agents.tickFirst,
              status: 400
            })
          }
          const { agent_id: agentId = "" } = yield* HttpRouter.params
          const gatewayKeys = fields.get("gateway_keys") === "revoke" ? "revoke" : "keep"
          const rotated = yield* operators.rotateSecret({
            operatorId: operator.operatorId,
            agentId,
            gatewayKeys
          })
          return show(site, frame, newSecretView(frame, rotated))
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.spending,
      ownerForm(
        Effect.fnUntraced(function* (_, operator, fields) {
          const { agent_id: agentId = "" } = yield* HttpRouter.params
          const answer = fields.get("spending")
          if (answer !== "on" && answer !== "off") {
            return yield* InvalidRequest.of("spending", "Expected on or off.")
          }
          yield* operators.allowSpending({
            operatorId: operator.operatorId,
            agentId,
            isAllowed: answer === "on"
          })
          return goTo(site, site.at(accountPage))
        })
      )
    )
  })
)

const rotateSecretPath = (agentId: string) => `/account/agents/${agentId}/rotate-secret`

const tones: Readonly<Record<AgentStatus, Tone>> = {
  active: "success",
  active_provisional: "info",
  issuance_paused: "warning",
  challenge_pending: "info",
  suspended: "problem"
}

const advice = ({ t }: Frame, agent: OwnAgent) =>
  agent.status === "suspended"
    ? notice("problem", t.owners.agents.suspended, t.owners.agents.suspendedMeans)
    : null

const secretOf = (frame: Frame, agent: OwnAgent) => {
  const t = frame.t.owners.agents
  return agent.authMethod === "private_key_jwt"
    ? html`<p class="quiet small">${t.keyOfItsOwn}</p>`
    : html`<details>
        <summary>${t.replaceSecret}</summary>
        <p>${t.whenToReplace}</p>
        ${form(
          frame,
          rotateSecretPath(agent.agentId),
          html`<p>
              <label>
                <input type="checkbox" name="gateway_keys" value="revoke" checked />
                ${t.revokeKeys}
              </label>
            </p>
            <p>
              <label>
                <input type="checkbox" name="sure" value="yes" required />
                ${t.oldOneEnds}
              </label>
            </p>
            <button class="danger">${t.replaceSecretOf(agent.name)}</button>`
        )}
      </details>`
}

const spendingPath = (agentId: string) => `/account/agents/${agentId}/spending`

/** The owner's switch that permits model calls; it needs a paid plan. */
const spendingOf = (frame: Frame, agent: OwnAgent, plan: Plan) => {
  const t = frame.t.owners.agents
  const isOn = agent.creditArenaEnabled
  return html`<div>
    <h3>${t.models}</h3>
    <p>${isOn ? t.maySpend : t.mayNotSpend}${isOn && !isPaid(plan) ? t.notOnFree : ""}</p>
    ${form(
      frame,
      spendingPath(agent.agentId),
      html`<input type="hidden" name="spending" value=${isOn ? "off" : "on"} />
        <button class="secondary">${isOn ? t.turnOff(agent.name) : t.turnOn(agent.name)}</button>`
    )}
  </div>`
}

const ownAgent = (frame: Frame, agent: OwnAgent, plan: Plan, isOnly: boolean) => {
  const { owners } = frame.t
  const t = owners.agents
  const model = modelOf({ model_provider: agent.modelProvider, model_name: agent.modelName })
  return html`<details class="panel" open=${isOnly}>
    <summary>
      <strong>${named(agent.name)}</strong> ${badge(tones[agent.status], t.statuses[agent.status])}
    </summary>
    <div id=${`agent-${agent.agentId}`}>
      ${advice(frame, agent)}
      ${facts([
        [t.credit, holdings(agent.credit, frame.t)],
        [t.model, model.length === 0 ? null : model.join(" ")],
        [t.claimed, day(agent.claimedAt, frame.t)],
        [t.registered, day(agent.createdAt, frame.t)],
        [owners.agentId, html`<code>${agent.agentId}</code>`]
      ])}
      <p>
        <a class="button secondary" href=${frame.at(topUpPage(agent.agentId))}>${owners.topUp(agent.name)}</a>
      </p>
      ${spendingOf(frame, agent, plan)} ${secretOf(frame, agent)}
    </div>
  </details>`
}

const nothingYet = ({ t }: Frame) =>
  html`<div class="panel">
    <h2>${t.owners.agents.noneYet}</h2>
    <p>${t.owners.agents.howToGet}</p>
  </div>`

const ownCredit = (frame: Frame, { agents, credit }: Account) => {
  const { owners } = frame.t
  return html`<section class="panel" aria-labelledby="credit">
    <h2 id="credit">${owners.yourCredit}</h2>
    <p class="amount">${credits(credit.available, frame.t)}</p>
    <p><a href=${frame.at(creditPage())}>${owners.agents.toCredit}</a></p>
    <p class="quiet small">
      ${agents.length === 0 ? owners.agents.onceYouOwn : `${owners.yoursAlone}${owners.stop}`}
    </p>
  </section>`
}

const planOf = (
  frame: Frame,
  { operator: { plan } }: Account,
  planCredit: Readonly<Record<Plan, number>>
) => {
  const { owners } = frame.t
  const t = owners.agents
  return html`<section class="panel" aria-labelledby="plan">
    <h2 id="plan">${t.plan(owners.plans[plan])}</h2>
    ${facts([
      [t.credit, planCredit[plan] === 0 ? null : t.eachMonth(planCredit[plan])],
      [t.models, isPaid(plan) ? t.forAllowed : t.notOnPlan],
      [t.poolRewards, `${rewardCoefficient(plan)}x`]
    ])}
    <p class="quiet small">${t.changePlans}</p>
  </section>`
}

/** An agent that has been silent for this long may have stopped. */
const silence = Duration.days(3)

/** A warning that the owner may act on; null without one. */
const warningOf = (
  { t }: Frame,
  agent: OwnAgent,
  record: OwnRecord | undefined,
  now: DateTime.Utc
): string | null => {
  const { warnings } = t.owners.agents
  if (agent.status === "suspended") return warnings.suspended
  if (agent.status === "issuance_paused") return warnings.paused
  if (record === undefined || record.last_answer_at === null) return warnings.unheard
  const silent = DateTime.distance(DateTime.makeUnsafe(record.last_answer_at), now)
  return Duration.isGreaterThan(silent, silence) && record.open > 0 ? warnings.silent : null
}

const recordRow = (frame: Frame, agent: OwnAgent, record: OwnRecord | undefined, now: DateTime.Utc) => {
  const { t } = frame
  const { agents: messages, never } = t.owners
  const warning = warningOf(frame, agent, record, now)
  const cells: ReadonlyArray<readonly [name: string, value: Html]> = [
    [
      t.rank,
      record === undefined || record.rank === null
        ? "–"
        : html`#${number(record.rank)} ${rankChange(record.rank, record.rank_before, t)}`
    ],
    [t.skill, signed(record?.skill ?? null)],
    [t.average, record === undefined || record.avg_score === null ? "–" : record.avg_score.toFixed(1)],
    [messages.lastTen, recentForm(record?.form ?? [], t)],
    [
      messages.openAnswered,
      record === undefined ? "–" : messages.answeredOf(record.open_answered, record.open)
    ],
    [
      messages.lastAnswer,
      record === undefined || record.last_answer_at === null
        ? never
        : instant(DateTime.makeUnsafe(record.last_answer_at), t)
    ],
    [messages.credit, credits(agent.credit.available, t)]
  ]
  const broad: ReadonlySet<string> = new Set([messages.lastTen, messages.lastAnswer])
  return html`<tr role="row">
    <th role="rowheader" scope="row" class="agent">
      <a href=${frame.at(agentPage(agent.agentId))}>${named(agent.name)}</a>
      ${warning === null ? null : badge("warning", warning)}
      <a class="small" href=${`#agent-${agent.agentId}`}>${messages.settings}</a>
    </th>
    ${cells.map(
      ([name, value]) =>
        html`<td role="cell" class=${broad.has(name) ? "broad" : undefined} data-label=${name}>${value}</td>`
    )}
  </tr>`
}

const columnsOf = ({ t }: Frame) => {
  const { credit, lastAnswer, lastTen, openAnswered } = t.owners.agents
  return [t.rank, t.skill, t.average, lastTen, openAnswered, lastAnswer, credit]
}

const dashboard = (frame: Frame, { agents }: Account, records: ReadonlyArray<OwnRecord>, now: DateTime.Utc) =>
  html`<table class="dashboard" role="table">
    <caption class="unseen">
      ${frame.t.owners.agents.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th role="columnheader" scope="col" class="agent">${frame.t.agent}</th>
        ${columnsOf(frame).map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${agents.map((agent) =>
        recordRow(
          frame,
          agent,
          records.find(({ agent_id }) => agent_id === agent.agentId),
          now
        )
      )}
    </tbody>
  </table>`

const accountView = (
  frame: Frame,
  view: {
    readonly own: Account
    readonly records: ReadonlyArray<OwnRecord>
    readonly planCredit: Readonly<Record<Plan, number>>
    readonly now: DateTime.Utc
    /** The reason why the form was rejected. */
    readonly complaint?: string
  }
): Page => {
  const { complaint, now, own, planCredit, records } = view
  const { agents, operator } = own
  const { owners } = frame.t
  const t = owners.agents
  const title = owners.tabs.agents
  return {
    title: complaint === undefined ? title : owners.error(title),
    width: "wide",
    content: html`
      ${accountTabs(frame, "agents")}
      ${complaint === undefined ? null : notice("problem", t.nothingReplaced, complaint)}
      <h1>${title}</h1>
      <p class="quiet">
        ${t.signedInAs[0]}<strong>${operator.email ?? t.atProvider}</strong>${t.signedInAs[1]}
      </p>
      ${agents.length === 0 ? nothingYet(frame) : dashboard(frame, own, records, now)}
      <div class="split">
        <div class="beside">${ownCredit(frame, own)} ${planOf(frame, own, planCredit)}</div>
        <div class="first">
          ${agents.map((agent) => ownAgent(frame, agent, operator.plan, agents.length === 1))}
        </div>
      </div>
      <p class="quiet small">${t.yourId} <code>${operator.operatorId}</code></p>
    `
  }
}

const newSecretView = (frame: Frame, rotated: SecretRotation): Page => {
  const { owners } = frame.t
  const t = owners.agents
  const {
    agent_id: agentId,
    client_secret: secret,
    disabled_webhooks: off,
    revoked_gateway_keys: revoked
  } = rotated
  return {
    title: t.newSecret,
    content: html`
      ${notice("warning", t.copySecret, t.shownOnce)}
      <h1>${t.newSecret}</h1>
      <code class="secret">${secret}</code>
      <p>${t.giveSecret[0]}<code>client_secret</code>${t.giveSecret[1]}</p>
      ${facts([
        [owners.agentId, html`<code>${agentId}</code>`],
        [t.keysRevoked, revoked === 0 ? t.noKeys : String(revoked)],
        [t.webhooksOff, off === 0 ? t.noKeys : String(off)]
      ])}
      <p><a class="button secondary" href=${frame.at(accountPage)}>${owners.copied.agents}</a></p>
    `
  }
}
