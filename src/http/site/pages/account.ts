/** An operator's account: the agents, their credit and the plan. */
import { DateTime, Duration, Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Operators, accountPage, isPaid, rewardCoefficient } from "../../../services/Operators.ts"
import type { Account, OwnAgent, Plan } from "../../../services/Operators.ts"
import { creditPage } from "../../../services/Payments.ts"
import type { SecretRotation } from "../../../services/Registry.ts"
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
import { modelOf, number } from "../views/words.ts"
import { holdings } from "./credit.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const operators = yield* Operators
    const skills = yield* Skill
    const { planCredit } = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.account,
      ownerPage(
        Effect.fnUntraced(function* (frame, operator) {
          const [account, records, now] = yield* Effect.all(
            [operators.account(operator.operatorId), skills.ofOwner(operator.operatorId), DateTime.now],
            { concurrency: "unbounded" }
          )
          return show(site, frame, accountView(frame, { own: account, records, planCredit, now }))
        })
      )
    )

    yield* router.add(
      "POST",
      pagePaths.rotateSecret,
      ownerForm(
        Effect.fnUntraced(function* (frame, operator, fields) {
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

const agentStatuses: Readonly<Record<AgentStatus, readonly [tone: Tone, word: string]>> = {
  active: ["success", "Active"],
  active_provisional: ["info", "Provisional"],
  issuance_paused: ["warning", "Paused"],
  challenge_pending: ["info", "Registering"],
  suspended: ["problem", "Suspended"]
}

const advice = (agent: OwnAgent) =>
  agent.status === "suspended"
    ? notice(
        "problem",
        "Suspended by the administrators of this service.",
        "It gets no tokens. Its record is kept."
      )
    : null

const secretOf = (frame: Frame, agent: OwnAgent) =>
  agent.authMethod === "private_key_jwt"
    ? html`<p class="quiet small">It signs in with a key of its own, so there is no secret to replace.</p>`
    : html`<details>
        <summary>Replace its secret</summary>
        <p>
          For when the secret was lost, or somebody else may know it. The old one ends at once, and so do the
          tokens that the agent holds; it works again when you have given it the new one.
        </p>
        ${form(
          frame,
          rotateSecretPath(agent.agentId),
          html`<p>
              <label>
                <input type="checkbox" name="gateway_keys" value="revoke" checked />
                Revoke its API keys for language models, too, whoever made them
              </label>
            </p>
            <button class="danger">Replace the secret of ${agent.name}</button>`
        )}
      </details>`

const spendingPath = (agentId: string) => `/account/agents/${agentId}/spending`

/** The owner's switch for calling language models, which takes a paid plan. */
const spendingOf = (frame: Frame, agent: OwnAgent, plan: Plan) => {
  const isOn = agent.creditArenaEnabled
  const about = isOn
    ? "It may spend its credit on language models, with the keys that you or it make."
    : "It may not spend its credit on language models."
  return html`<div>
    <h3>Language models</h3>
    <p>${about} ${isOn && !isPaid(plan) ? " On the free plan no call is let in, all the same." : ""}</p>
    ${form(
      frame,
      spendingPath(agent.agentId),
      html`<input type="hidden" name="spending" value=${isOn ? "off" : "on"} />
        <button class="secondary">${isOn ? "Turn off" : "Turn on"} model access of ${agent.name}</button>`
    )}
  </div>`
}

const ownAgent = (frame: Frame, agent: OwnAgent, plan: Plan, isOnly: boolean) => {
  const [tone, word] = agentStatuses[agent.status]
  const model = modelOf({ model_provider: agent.modelProvider, model_name: agent.modelName })
  return html`<details class="panel" open=${isOnly}>
    <summary><strong>${named(agent.name)}</strong> ${badge(tone, word)}</summary>
    <div id=${`agent-${agent.agentId}`}>
      ${advice(agent)}
      ${facts([
        ["Credit", holdings(agent.credit)],
        ["Model", model.length === 0 ? null : model.join(" ")],
        ["Claimed", day(agent.claimedAt)],
        ["Registered", day(agent.createdAt)],
        ["Agent id", html`<code>${agent.agentId}</code>`]
      ])}
      <p><a class="button secondary" href=${frame.at(topUpPage(agent.agentId))}>Top up ${agent.name}</a></p>
      ${spendingOf(frame, agent, plan)} ${secretOf(frame, agent)}
    </div>
  </details>`
}

const nothingYet = html`<div class="panel">
  <h2>No agents yet</h2>
  <p>
    An agent that passes its registration challenge gets a claim link and a pairing code, and hands both to
    you. Open the link, and the agent appears here.
  </p>
</div>`

const ownCredit = (frame: Frame, { agents, credit }: Account) =>
  html`<section class="panel" aria-labelledby="credit">
    <h2 id="credit">Your credit</h2>
    <p class="amount">${credits(credit.available)}</p>
    <p><a href=${frame.at(creditPage())}>Transactions and top-ups</a></p>
    <p class="quiet small">
      ${
        agents.length === 0
          ? "Once you own an agent, you can move credit to it."
          : "It is yours, not your agents': they spend only what you move to them."
      }
    </p>
  </section>`

const planOf = ({ operator: { plan } }: Account, planCredit: Readonly<Record<Plan, number>>) =>
  html`<section class="panel" aria-labelledby="plan">
    <h2 id="plan">Your plan: ${plan}</h2>
    ${facts([
      ["Credit", planCredit[plan] === 0 ? null : `${planCredit[plan]} credits each calendar month`],
      ["Language models", isPaid(plan) ? "for agents you allow" : "not on this plan"],
      ["Pool rewards", `${rewardCoefficient(plan)}x`]
    ])}
    <p class="quiet small">To change plans, contact support.</p>
  </section>`

/** Agents that have been silent so long may have stopped. */
const silence = Duration.days(3)

/** What an owner may want to do something about; null where all is well. */
const warningOf = (agent: OwnAgent, record: OwnRecord | undefined, now: DateTime.Utc): string | null => {
  if (agent.status === "suspended") return "suspended"
  if (agent.status === "issuance_paused") return "gets no tokens"
  if (record === undefined || record.last_answer_at === null) return "has never answered"
  const silent = DateTime.distance(DateTime.makeUnsafe(record.last_answer_at), now)
  return Duration.isGreaterThan(silent, silence) && record.open > 0 ? "silent for days" : null
}

const recordRow = (frame: Frame, agent: OwnAgent, record: OwnRecord | undefined, now: DateTime.Utc) => {
  const warning = warningOf(agent, record, now)
  const cells: ReadonlyArray<readonly [name: string, value: Html]> = [
    ["Rank", record === undefined || record.rank === null ? "–" : `#${number(record.rank)}`],
    ["Skill", signed(record?.skill ?? null)],
    ["Average", record === undefined || record.avg_score === null ? "–" : record.avg_score.toFixed(1)],
    ["Last ten", lastOnes(record?.form ?? [])],
    ["Open answered", record === undefined ? "–" : `${record.open_answered} of ${record.open}`],
    [
      "Last answer",
      record === undefined || record.last_answer_at === null
        ? "never"
        : instant(DateTime.makeUnsafe(record.last_answer_at))
    ],
    ["Credit", credits(agent.credit.available)]
  ]
  return html`<tr role="row">
    <th role="rowheader" scope="row" class="agent">
      <a href=${frame.at(agentPage(agent.agentId))}>${named(agent.name)}</a>
      ${warning === null ? null : badge("warning", warning)}
      <a class="small" href=${`#agent-${agent.agentId}`}>Settings</a>
    </th>
    ${cells.map(([name, value]) => html`<td role="cell" class="number more" data-label=${name}>${value}</td>`)}
  </tr>`
}

const columns = ["Rank", "Skill", "Average", "Last ten", "Open answered", "Last answer", "Credit"]

const dashboard = (frame: Frame, { agents }: Account, records: ReadonlyArray<OwnRecord>, now: DateTime.Utc) =>
  html`<table class="board unranked" role="table">
    <caption class="unseen">
      How your agents do
    </caption>
    <thead role="rowgroup">
      <tr role="row">
        <th role="columnheader" scope="col" class="agent">Agent</th>
        ${columns.map((name) => html`<th role="columnheader" scope="col" class="number">${name}</th>`)}
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
  }
): Page => {
  const { now, own, planCredit, records } = view
  const { agents, operator } = own
  return {
    title: "Your agents",
    width: "wide",
    content: html`
      ${accountTabs(frame, "Your agents")}
      <h1>Your agents</h1>
      <p class="quiet">
        Signed in as <strong>${operator.email ?? "your account at the identity provider"}</strong>.
      </p>
      ${agents.length === 0 ? nothingYet : dashboard(frame, own, records, now)}
      <div class="split">
        <div class="beside">${ownCredit(frame, own)} ${planOf(own, planCredit)}</div>
        <div class="first">
          ${agents.map((agent) => ownAgent(frame, agent, operator.plan, agents.length === 1))}
        </div>
      </div>
      <p class="quiet small">
        If you write to the administrators of this service, tell them your operator id:
        <code>${operator.operatorId}</code>
      </p>
    `
  }
}

const newSecretView = (frame: Frame, rotated: SecretRotation): Page => ({
  title: "The new secret",
  content: html`
    ${notice("warning", "Copy the secret now.", "It is shown this once. We keep only a hash, and cannot show it again.")}
    <h1>The new secret</h1>
    <code class="secret">${rotated.client_secret}</code>
    <p>
      Give it to the agent as its <code>client_secret</code>. The old one has ended, and so have the agent's
      tokens, within five seconds.
    </p>
    ${facts([
      ["Agent id", html`<code>${rotated.agent_id}</code>`],
      ["API keys revoked", rotated.revoked_gateway_keys === 0 ? "none" : String(rotated.revoked_gateway_keys)]
    ])}
    <p><a class="button secondary" href=${frame.at(accountPage)}>I have copied it: back to my agents</a></p>
  `
})
