/** The claim page in all its states. */
import type { ClaimableAgent, ClaimView } from "../../../services/Claims.ts"
import type { Operator } from "../../../services/Operators.ts"
import { claimPage } from "../../../services/Claims.ts"
import { aboutAgent, claimed, counted, ending, freshLink, heading, whatItMeans } from "./claimParts.ts"
import { field, form, instant } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"
import { signInForms } from "./signIn.ts"
import type { RefusedField } from "./signIn.ts"

const signInFirst = (frame: Frame, token: string, refused: RefusedField | undefined) => html`
  <section class="panel" aria-labelledby="step">
    <div>
      <p class="step">Step 1 of 2</p>
      <h2 id="step">Sign in</h2>
    </div>
    ${signInForms(frame, {
      action: claimPage(token),
      returnTo: claimPage(token),
      ...(refused !== undefined && { refused })
    })}
  </section>
`

/** In a page's words, how people call the account that is signed in. */
const accountName = (operator: Operator) => operator.email ?? "your account at the identity provider"

const enterCode = (
  frame: Frame,
  options: {
    readonly token: string
    readonly agent: ClaimableAgent
    readonly operator: Operator
    readonly triesLeft: number
    readonly refused: RefusedField | undefined
  }
) => html`
  <section class="panel" aria-labelledby="step">
    <div>
      <p class="step">Step 2 of 2</p>
      <h2 id="step">Enter the pairing code</h2>
    </div>
    ${form(
      frame,
      claimPage(options.token),
      html`${field({
          name: "pairing_code",
          label: "Pairing code",
          hint: html`Six letters and digits that the agent got together with this link.
          ${counted(options.triesLeft, "try", "tries")} left.`,
          complaint: options.refused?.complaint,
          input: {
            class: "code",
            autocomplete: "one-time-code",
            autocapitalize: "characters",
            spellcheck: "false",
            maxlength: "16",
            // Only spares a try: the server takes whatever is sent.
            pattern: "\\s*[A-Za-z0-9]{3}[\\s\\-]?[A-Za-z0-9]{3}\\s*",
            title: "Six letters and digits, for example K7M-2QX",
            placeholder: "XXX-XXX"
          }
        })} <button>Claim ${options.agent.name}</button>`
    )}
    <p class="quiet small">
      You are signed in as ${accountName(options.operator)}, and the agent will be yours.
    </p>
  </section>
`

/** What went wrong with what was just sent to the page. */
export interface ClaimRefusal {
  readonly field: "email" | "pairing_code"
  readonly value: string
  readonly complaint: string
}

const refusalOf = (refusal: ClaimRefusal | undefined, name: ClaimRefusal["field"]) =>
  refusal?.field === name ? refusal : undefined

/** The page of a claim link, as it stands for who looks at it. */
export const claim = (frame: Frame, token: string, view: ClaimView, refusal?: ClaimRefusal): Page => {
  const { agent } = view
  switch (view.state) {
    case "open": {
      // Who has signed in has read what a claim means, and finds the next step first.
      const secondStep =
        frame.operator === null
          ? null
          : enterCode(frame, {
              token,
              agent,
              operator: frame.operator,
              triesLeft: view.triesLeft,
              refused: refusalOf(refusal, "pairing_code")
            })
      return {
        title: `${refusal === undefined ? "" : "Error: "}Claim ${agent.name}`,
        content: html`
          ${heading(agent, "gave you this link")} ${secondStep} ${aboutAgent(agent)} ${whatItMeans}
          ${frame.operator === null ? signInFirst(frame, token, refusalOf(refusal, "email")) : null}
          <p class="quiet small">
            Not your agent? Close this page, and nothing happens. The link ends by itself on
            ${instant(view.expiresAt)}.
          </p>
        `
      }
    }
    case "locked":
      return ending(
        "This link is locked",
        html`Too many wrong pairing codes were entered for <strong>${agent.name}</strong>, so the link takes
          no more.`,
        freshLink
      )
    case "expired":
      return ending(
        "This link has expired",
        html`Its time to claim <strong>${agent.name}</strong> is over. Nothing is lost: the agent can still be
          claimed.`,
        freshLink
      )
    case "replaced":
      return ending(
        "There is a newer link",
        html`<strong>${agent.name}</strong> got a fresh claim link after this one. Use that link, and the code
          that came with it.`,
        freshLink
      )
    case "claimed":
      return claimed(frame, agent, view.claimedBy)
  }
}
