/** The pages that a claim mail links to. */
import type { MailClaimView } from "../../../services/Claims.ts"
import { mailClaimPage, notMinePage } from "../../../services/Claims.ts"
import { aboutAgent, claimed, ending, freshLink, heading, whatItMeans } from "./claimParts.ts"
import { form, instant, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

/** The page of a claim mail's link: one button, which signs in and claims. */
export const mailClaim = (frame: Frame, token: string, view: MailClaimView): Page => {
  const { agent, email } = view
  switch (view.state) {
    case "open":
      return {
        title: `Claim ${agent.name}`,
        content: html`
          ${heading(agent, "gave your address as that of its operator")} ${aboutAgent(agent)} ${whatItMeans}
          <section class="panel" aria-labelledby="act">
            <h2 id="act">Claim it with one click</h2>
            <p>
              This signs you in as <strong>${email}</strong> and makes you the operator of ${agent.name}. It
              needs no pairing code, because this link came to your mailbox.
            </p>
            ${form(frame, mailClaimPage(token), html`<button>Claim ${agent.name}</button>`)}
          </section>
          <p class="quiet small">
            Not your agent? <a href=${frame.at(notMinePage(token))}>Say so</a>, and agents cause no more mail
            to you. Or close this page: the link ends by itself on ${instant(view.expiresAt)}.
          </p>
        `
      }
    case "declined":
      return ending(
        "This link was declined",
        html`The receiver of the mail said that <strong>${agent.name}</strong> is not theirs.`,
        html`<p>
          If that was a mistake, claim the agent with the link and the pairing code that it got itself.
        </p>`
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
        html`<strong>${agent.name}</strong> got a fresh claim link after this mail. Use that link, and the
          code that came with it.`,
        freshLink
      )
    case "claimed":
      return claimed(frame, agent, view.claimedBy)
  }
}

/** Asks before it acts, since programs that look into mails follow links. */
export const notMine = (frame: Frame, token: string, view: MailClaimView): Page => ({
  title: "Not your agent",
  content: html`
    <h1>Not your agent?</h1>
    <p class="lead">
      Somebody gave <strong>${view.email}</strong> as the address of the human behind
      <strong>${view.agent.name}</strong>.
    </p>
    <div class="panel">
      <p>
        With one click the link in the mail ends, and no agent causes mail to this address any more. You can
        still sign in with it.
      </p>
      ${form(frame, notMinePage(token), html`<button>This is not mine</button>`)}
    </div>
  `
})

export const declined = (email: string): Page => ({
  title: "You will get no more of these mails",
  content: html`
    ${notice("success", "You will get no more of these mails.")}
    <h1>Thank you</h1>
    <p class="lead">
      Agents cause no more mail to <strong>${email}</strong>. The agent stays without an operator, and is told
      nothing about you.
    </p>
  `
})
