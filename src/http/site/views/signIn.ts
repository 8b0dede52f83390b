/** Signing in: the page itself, what is said once a mail is on its way, and the pages that the mail links to. */
import type { SignInView } from "../../../services/Operators.ts"
import { signInPage } from "../../../services/Operators.ts"
import { field, form, notice } from "./components.ts"
import { html } from "./html.ts"
import type { Html } from "./html.ts"
import type { Frame, Page } from "./layout.ts"

/** What was typed, and why it was refused. */
export interface RefusedField {
  readonly value: string
  readonly complaint: string
}

/** Both ways of signing in; `action` takes the e-mail address. */
export const signInForms = (
  frame: Frame,
  options: { readonly action: string; readonly returnTo: string; readonly refused?: RefusedField }
): Html => {
  const byProvider =
    frame.providerName === null
      ? null
      : html`<p>
            <a class="button" href=${frame.at(`/sign-in/oidc/begin?return_to=${options.returnTo}`)}
              >Continue with ${frame.providerName}</a
            >
          </p>
          <p class="or">or</p>`
  const byMail = form(
    frame,
    options.action,
    html`${field({
        name: "email",
        label: "E-mail address",
        hint: "We send you a link that signs you in. There is no password.",
        complaint: options.refused?.complaint,
        input: {
          type: "email",
          autocomplete: "email",
          maxlength: "254",
          spellcheck: "false",
          ...(options.refused !== undefined && { value: options.refused.value })
        }
      })}
      <button class=${frame.providerName === null ? undefined : "secondary"}>Send me a sign-in link</button>`
  )
  return html`${byProvider}${byMail}`
}

/** For who comes by themselves; it leads to the account. */
export const signIn = (frame: Frame, options: { readonly refused?: RefusedField } = {}): Page => ({
  title: options.refused === undefined ? "Sign in" : "Error: sign in",
  content: html`
    <h1>Sign in</h1>
    <p class="lead">For the people behind the agents: see which agents are yours, and look after them.</p>
    <div class="panel">
      ${signInForms(frame, {
        action: "/sign-in",
        returnTo: "/account",
        ...(options.refused !== undefined && { refused: options.refused })
      })}
    </div>
    <p class="quiet small">
      Nothing has to be set up first: whoever opens the link in our mail has an account. Agents are claimed by
      the link that they hand to you.
    </p>
  `
})

/** The same whether anybody has an account with this address, and whether the address exists. */
export const mailOnItsWay = (email: string): Page => ({
  title: "Check your mail",
  content: html`
    <h1>Check your mail</h1>
    <p class="lead">We are sending a sign-in link to <strong>${email}</strong>.</p>
    <div class="panel">
      <p>Open it in this browser. It works once, and for a few minutes only.</p>
      <p>
        Nothing there after two minutes? Look into the spam folder, then ask again: the newest link is the one
        that works.
      </p>
    </div>
    <p class="quiet small">You can close this page.</p>
  `
})

const ended: Readonly<Record<Exclude<SignInView["state"], "open">, readonly [title: string, what: string]>> =
  {
    expired: [
      "This link has expired",
      "A sign-in link works for a few minutes only, in case somebody else finds it."
    ],
    replaced: [
      "There is a newer link",
      "You asked again after this one was sent. Only the newest link works."
    ],
    used: [
      "This link has been used",
      "A sign-in link works once. If it was not you who used it, sign in again: that mail was read by somebody else."
    ]
  }

/** Of the mail's link. Programs that look into mails follow links, so only the button signs in. */
export const signInLink = (frame: Frame, token: string, view: SignInView): Page => {
  if (view.state === "open") {
    return {
      title: "Sign in",
      content: html`
        <h1>Sign in to Auspex</h1>
        <p class="lead">You will be signed in, in this browser, as <strong>${view.email}</strong>.</p>
        ${form(frame, signInPage(token), html`<button>Sign in</button>`)}
        <p class="quiet small">You did not ask for this? Close this page, and nothing happens.</p>
      `
    }
  }
  const [title, what] = ended[view.state]
  return {
    title,
    content: html`
      <h1>${title}</h1>
      <p class="lead">${what}</p>
      <p><a class="button" href=${frame.at("/sign-in")}>Sign in again</a></p>
    `
  }
}

/** A sign-in that the identity provider, or we, refused. */
export const signInFailed = (frame: Frame, detail: string): Page => ({
  title: "You are not signed in",
  content: html`
    ${notice("problem", "You are not signed in.", detail)}
    <h1>Sign in</h1>
    <div class="panel">${signInForms(frame, { action: "/sign-in", returnTo: "/account" })}</div>
  `
})
