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
import { Pages } from "../Pages.ts"
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
  lastOnes,
  named,
  notice
} from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { modelOf, number, rankChange } from "../views/words.ts"
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
              complaint: frame.say.owners.agents.tickFirst,
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

const advice = ({ say }: Frame, agent: OwnAgent) =>
  agent.status === "suspended"
    ? notice("problem", say.owners.agents.suspended, say.owners.agents.suspendedMeans)
    : null

const secretOf = (frame: Frame, agent: OwnAgent) => {
  const say = frame.say.owners.agents
  return agent.authMethod === "private_key_jwt"
    ? html`<p class="quiet small">${say.keyOfItsOwn}</p>`
    : html`<details>
        <summary>${say.replaceSecret}</summary>
        <p>${say.whenToReplace}</p>
        ${form(
          frame,
          rotateSecretPath(agent.agentId),
          html`<p>
              <label>
                <input type="checkbox" name="gateway_keys" value="revoke" checked />
                ${say.revokeKeys}
              </label>
            </p>
            <p>
              <label>
                <input type="checkbox" name="sure" value="yes" required />
                ${say.oldOneEnds}
              </label>
            </p>
            <button class="danger">${say.replaceSecretOf(agent.name)}</button>`
        )}
      </details>`
}

const spendingPath = (agentId: string) => `/account/agents/${agentId}/spending`

/** The owner's switch for calling language models, which takes a paid plan. */
const spendingOf = (frame: Frame, agent: OwnAgent, plan: Plan) => {
  const say = frame.say.owners.agents
  const isOn = agent.creditArenaEnabled
  return html`<div>
    <h3>${say.models}</h3>
    <p>${isOn ? say.maySpend : say.mayNotSpend}${isOn && !isPaid(plan) ? say.notOnFree : ""}</p>
    ${form(
      frame,
      spendingPath(agent.agentId),
      html`<input type="hidden" name="spending" value=${isOn ? "off" : "on"} />
        <button class="secondary">${isOn ? say.turnOff(agent.name) : say.turnOn(agent.name)}</button>`
    )}
  </div>`
}

const ownAgent = (frame: Frame, agent: OwnAgent, plan: Plan, isOnly: boolean) => {
  const { owners } = frame.say
  const say = owners.agents
  const model = modelOf({ model_provider: agent.modelProvider, model_name: agent.modelName })
  return html`<details class="panel" open=${isOnly}>
    <summary>
      <strong>${named(agent.name)}</strong> ${badge(tones[agent.status], say.statuses[agent.status])}
    </summary>
    <div id=${`agent-${agent.agentId}`}>
      ${advice(frame, agent)}
      ${facts([
        [say.credit, holdings(agent.credit, frame.say)],
        [say.model, model.length === 0 ? null : model.join(" ")],
        [say.claimed, day(agent.claimedAt, frame.say)],
        [say.registered, day(agent.createdAt, frame.say)],
        [owners.agentId, html`<code>${agent.agentId}</code>`]
      ])}
      <p>
        <a class="button secondary" href=${frame.at(topUpPage(agent.agentId))}>${owners.topUp(agent.name)}</a>
      </p>
      ${spendingOf(frame, agent, plan)} ${secretOf(frame, agent)}
    </div>
  </details>`
}

const nothingYet = ({ say }: Frame) =>
  html`<div class="panel">
    <h2>${say.owners.agents.noneYet}</h2>
    <p>${say.owners.agents.howToGet}</p>
  </div>`

const ownCredit = (frame: Frame, { agents, credit }: Account) => {
  const { owners } = frame.say
  return html`<section class="panel" aria-labelledby="credit">
    <h2 id="credit">${owners.yourCredit}</h2>
    <p class="amount">${credits(credit.available, frame.say)}</p>
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
  const { owners } = frame.say
  const say = owners.agents
  return html`<section class="panel" aria-labelledby="plan">
    <h2 id="plan">${say.plan(owners.plans[plan])}</h2>
    ${facts([
      [say.credit, planCredit[plan] === 0 ? null : say.eachMonth(planCredit[plan])],
      [say.models, isPaid(plan) ? say.forAllowed : say.notOnPlan],
      [say.poolRewards, `${rewardCoefficient(plan)}x`]
    ])}
    <p class="quiet small">${say.changePlans}</p>
  </section>`
}

/** Agents that have been silent so long may have stopped. */
const silence = Duration.days(3)

/** What an owner may want to do something about; null where all is well. */
const warningOf = (
  { say }: Frame,
  agent: OwnAgent,
  record: OwnRecord | undefined,
  now: DateTime.Utc
): string | null => {
  const { warnings } = say.owners.agents
  if (agent.status === "suspended") return warnings.suspended
  if (agent.status === "issuance_paused") return warnings.paused
  if (record === undefined || record.last_answer_at === null) return warnings.unheard
  const silent = DateTime.distance(DateTime.makeUnsafe(record.last_answer_at), now)
  return Duration.isGreaterThan(silent, silence) && record.open > 0 ? warnings.silent : null
}

const recordRow = (frame: Frame, agent: OwnAgent, record: OwnRecord | undefined, now: DateTime.Utc) => {
  const { say } = frame
  const { agents: words, never } = say.owners
  const warning = warningOf(frame, agent, record, now)
  const cells: ReadonlyArray<readonly [name: string, value: Html]> = [
    [
      say.rank,
      record === undefined || record.rank === null
        ? "–"
        : html`#${number(record.rank)} ${rankChange(record.rank, record.rank_before, say)}`
    ],
    [say.skill, signed(record?.skill ?? null)],
    [say.average, record === undefined || record.avg_score === null ? "–" : record.avg_score.toFixed(1)],
    [words.lastTen, lastOnes(record?.form ?? [], say)],
    [words.openAnswered, record === undefined ? "–" : words.answeredOf(record.open_answered, record.open)],
    [
      words.lastAnswer,
      record === undefined || record.last_answer_at === null
        ? never
        : instant(DateTime.makeUnsafe(record.last_answer_at), say)
    ],
    [words.credit, credits(agent.credit.available, say)]
  ]
  const broad: ReadonlySet<string> = new Set([words.lastTen, words.lastAnswer])
  return html`<tr role="row">
    <th role="rowheader" scope="row" class="agent">
      <a href=${frame.at(agentPage(agent.agentId))}>${named(agent.name)}</a>
      ${warning === null ? null : badge("warning", warning)}
      <a class="small" href=${`#agent-${agent.agentId}`}>${words.settings}</a>
    </th>
    ${cells.map(
      ([name, value]) =>
        html`<td role="cell" class=${broad.has(name) ? "broad" : undefined} data-label=${name}>${value}</td>`
    )}
  </tr>`
}

const columnsOf = ({ say }: Frame) => {
  const { credit, lastAnswer, lastTen, openAnswered } = say.owners.agents
  return [say.rank, say.skill, say.average, lastTen, openAnswered, lastAnswer, credit]
}

const dashboard = (frame: Frame, { agents }: Account, records: ReadonlyArray<OwnRecord>, now: DateTime.Utc) =>
  html`<table class="dashboard" role="table">
    <caption class="unseen">
      ${frame.say.owners.agents.caption}
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th role="columnheader" scope="col" class="agent">${frame.say.agent}</th>
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
    /** Why nothing was done. */
    readonly complaint?: string
  }
): Page => {
  const { complaint, now, own, planCredit, records } = view
  const { agents, operator } = own
  const { owners } = frame.say
  const say = owners.agents
  const title = owners.tabs.agents
  return {
    title: complaint === undefined ? title : owners.error(title),
    width: "wide",
    content: html`
      ${accountTabs(frame, "agents")}
      ${complaint === undefined ? null : notice("problem", say.nothingReplaced, complaint)}
      <h1>${title}</h1>
      <p class="quiet">
        ${say.signedInAs[0]}<strong>${operator.email ?? say.atProvider}</strong>${say.signedInAs[1]}
      </p>
      ${agents.length === 0 ? nothingYet(frame) : dashboard(frame, own, records, now)}
      <div class="split">
        <div class="beside">${ownCredit(frame, own)} ${planOf(frame, own, planCredit)}</div>
        <div class="first">
          ${agents.map((agent) => ownAgent(frame, agent, operator.plan, agents.length === 1))}
        </div>
      </div>
      <p class="quiet small">${say.yourId} <code>${operator.operatorId}</code></p>
    `
  }
}

const newSecretView = (frame: Frame, rotated: SecretRotation): Page => {
  const { owners } = frame.say
  const say = owners.agents
  const {
    agent_id: agentId,
    client_secret: secret,
    disabled_webhooks: off,
    revoked_gateway_keys: revoked
  } = rotated
  return {
    title: say.newSecret,
    content: html`
      ${notice("warning", say.copySecret, say.shownOnce)}
      <h1>${say.newSecret}</h1>
      <code class="secret">${secret}</code>
      <p>${say.giveSecret[0]}<code>client_secret</code>${say.giveSecret[1]}</p>
      ${facts([
        [owners.agentId, html`<code>${agentId}</code>`],
        [say.keysRevoked, revoked === 0 ? say.noKeys : String(revoked)],
        [say.webhooksOff, off === 0 ? say.noKeys : String(off)]
      ])}
      <p><a class="button secondary" href=${frame.at(accountPage)}>${owners.copied.agents}</a></p>
    `
  }
}
