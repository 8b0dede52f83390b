/** An operator's account: the agents, their credit and the plan. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Operators, accountPage, isPaid, rewardCoefficient } from "../../../services/Operators.ts"
import type { Account, OwnAgent, Plan } from "../../../services/Operators.ts"
import { creditPage } from "../../../services/Payments.ts"
import type { SecretRotation } from "../../../services/Registry.ts"
import { Settings } from "../../../services/Settings.ts"
import type { AgentStatus } from "../../../services/domain/agentStatus.ts"
import { InvalidRequest } from "../../../services/domain/errors.ts"
import { Pages } from "../Pages.ts"
import { agentPage, pagePaths, topUpPage } from "../paths.ts"
import { goTo, show } from "../responses.ts"
import { accountTabs, badge, credits, day, facts, form, named, notice } from "../views/components.ts"
import type { Tone } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { holdings } from "./credit.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { ownerForm, ownerPage, site } = yield* Pages
    const operators = yield* Operators
    const { planCredit } = yield* Settings

    yield* router.add(
      "GET",
      pagePaths.account,
      ownerPage(
        Effect.fnUntraced(function* (frame, operator) {
          const account = yield* operators.account(operator.operatorId)
          return show(site, frame, accountView(frame, account, planCredit))
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
        <button class="secondary">
          ${isOn ? "Do not let" : "Let"} ${agent.name} spend credit on models
        </button>`
    )}
  </div>`
}

const ownAgent = (frame: Frame, agent: OwnAgent, plan: Plan) => {
  const [tone, word] = agentStatuses[agent.status]
  const model = [agent.modelProvider, agent.modelName].filter((text) => text !== null && text !== "")
  return html`<article class="panel">
    <header>
      <h2><a href=${frame.at(agentPage(agent.agentId))}>${named(agent.name)}</a></h2>
      ${badge(tone, word)}
    </header>
    ${advice(agent)}
    ${facts([
      ["Credit", holdings(agent.credit)],
      ["Model", model.length === 0 ? null : model.join(" · ")],
      ["Claimed", day(agent.claimedAt)],
      ["Registered", day(agent.createdAt)],
      ["Agent id", html`<code>${agent.agentId}</code>`]
    ])}
    <p><a class="button secondary" href=${frame.at(topUpPage(agent.agentId))}>Top up ${agent.name}</a></p>
    ${spendingOf(frame, agent, plan)} ${secretOf(frame, agent)}
  </article>`
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
    <p><a href=${frame.at(creditPage())}>What moved it, and where more comes from</a></p>
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
      ["Language models", isPaid(plan) ? "for agents that you let" : "not on this plan"],
      ["Pool rewards", `times ${rewardCoefficient(plan)}`]
    ])}
    <p class="quiet small">The administrators of this service put you on another one.</p>
  </section>`

const accountView = (frame: Frame, own: Account, planCredit: Readonly<Record<Plan, number>>): Page => ({
  title: "Your agents",
  content: html`
    ${accountTabs(frame, "Your agents")}
    <h1>Your agents</h1>
    <p class="quiet">
      Signed in as <strong>${own.operator.email ?? "your account at the identity provider"}</strong>.
    </p>
    ${ownCredit(frame, own)} ${planOf(own, planCredit)}
    ${own.agents.length === 0 ? nothingYet : own.agents.map((agent) => ownAgent(frame, agent, own.operator.plan))}
    <p class="quiet small">
      If you write to the administrators of this service, tell them your operator id:
      <code>${own.operator.operatorId}</code>
    </p>
  `
})

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
