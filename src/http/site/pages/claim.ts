/** The claim page, and the pages that a claim mail links to. */
import { Effect, Layer, Option, Result, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Claims, claimPage, mailClaimPage, notMinePage } from "../../../services/Claims.ts"
import type {
  ClaimState,
  ClaimView,
  ClaimableAgent,
  MailClaimState,
  MailClaimView
} from "../../../services/Claims.ts"
import { Operators, ReturnTo, accountPage } from "../../../services/Operators.ts"
import type { Operator } from "../../../services/Operators.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { text } from "../../../services/domain/text.ts"
import { CurrentRequest } from "../../CurrentRequest.ts"
import { Pages } from "../siteLayer.ts"
import { pagePaths } from "../paths.ts"
import { goTo, show } from "../responses.ts"
import { day, facts, field, form, inEnglish, instant, notice, quoted } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { emailOf, enter, mailSentView, signInForms } from "./signIn.ts"
import type { RejectedField } from "./signIn.ts"

const statuses: Readonly<Record<(ClaimState | MailClaimState)["state"], number>> = {
  open: 200,
  claimed: 200,
  locked: 403,
  expired: 410,
  replaced: 410,
  declined: 410
}

const decodeCode = Schema.decodeUnknownOption(text({ minimum: 1, maximum: 64 }))

/** The pairing code as typed, without its spaces. The service compares it. */
const codeOf = (fields: URLSearchParams): Option.Option<string> =>
  decodeCode(fields.get("pairing_code")?.replaceAll(/\s/g, ""))

const unknownLink = () =>
  new NotFound({
    detail: "There is no such claim link. Was it cut off when it was copied?"
  })

const tokenInPath = Effect.map(HttpRouter.params, ({ token = "" }) => token)

const byLink = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { personalPage, site, formPost } = yield* Pages
    const claims = yield* Claims
    const operators = yield* Operators

    const page = Effect.fnUntraced(function* (frame: Frame, token: string, rejected?: RejectedClaim) {
      const view = yield* Effect.mapError(claims.view(token), unknownLink)
      const status = view.state === "open" && rejected !== undefined ? 400 : statuses[view.state]
      return show(site, frame, claimView(frame, token, view, rejected), { status })
    })

    const sendLink = Effect.fnUntraced(function* (frame: Frame, token: string, fields: URLSearchParams) {
      const email = emailOf(fields, frame)
      if (Result.isFailure(email)) return yield* page(frame, token, email.failure)
      const { state } = yield* Effect.mapError(claims.view(token), unknownLink)
      if (state !== "open") return yield* page(frame, token)
      const { address } = yield* CurrentRequest
      const returnTo = ReturnTo.make(claimPage(token))
      return yield* operators.requestSignIn({ email: email.success, returnTo, address }).pipe(
        Effect.as(show(site, frame, mailSentView(frame, email.success), { status: 202 })),
        Effect.catchTag("DisposableAddress", ({ detail }) =>
          page(frame, token, { field: "email", value: email.success, complaint: inEnglish(detail) })
        )
      )
    })

    const tryCode = Effect.fnUntraced(function* (
      frame: Frame,
      operator: Operator,
      token: string,
      fields: URLSearchParams
    ) {
      const rejection = (complaint: string): RejectedClaim => ({
        field: "pairing_code",
        value: "",
        complaint
      })
      const code = codeOf(fields)
      if (Option.isNone(code)) return yield* page(frame, token, rejection(frame.t.claiming.codeNeeded))
      const claim = { token, pairingCode: code.value, operatorId: operator.operatorId }
      return yield* claims.claimWithCode(claim).pipe(
        Effect.as(goTo(site, site.at(claimPage(token)))),
        Effect.catchTags({
          NotFound: unknownLink,
          WrongPairingCode: () => page(frame, token, rejection(frame.t.claiming.wrongCode)),
          ClaimLocked: () => page(frame, token),
          ClaimLinkEnded: () => page(frame, token),
          AlreadyClaimed: () => page(frame, token)
        })
      )
    })

    yield* router.add(
      "GET",
      pagePaths.claim,
      personalPage(({ frame }) => Effect.flatMap(tokenInPath, (token) => page(frame, token)))
    )

    yield* router.add(
      "POST",
      pagePaths.claim,
      formPost(
        Effect.fnUntraced(function* ({ frame }, fields) {
          const token = yield* tokenInPath
          return yield* frame.operator === null
            ? sendLink(frame, token, fields)
            : tryCode(frame, frame.operator, token, fields)
        })
      )
    )
  })
)

const byMail = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { personalPage, site, formPost } = yield* Pages
    const claims = yield* Claims
    const begin = yield* enter

    const page = Effect.fnUntraced(function* (frame: Frame, token: string) {
      const view = yield* Effect.mapError(claims.viewMailClaim(token), unknownLink)
      return show(site, frame, mailClaimView(frame, token, view), { status: statuses[view.state] })
    })

    yield* router.add(
      "GET",
      pagePaths.mailClaim,
      personalPage(({ frame }) => Effect.flatMap(tokenInPath, (token) => page(frame, token)))
    )

    yield* router.add(
      "POST",
      pagePaths.mailClaim,
      formPost(
        Effect.fnUntraced(function* (visitor) {
          const token = yield* tokenInPath
          return yield* claims.claimByMail(token).pipe(
            Effect.flatMap(({ session }) =>
              begin(visitor, session, goTo(site, site.at(mailClaimPage(token))))
            ),
            Effect.catchTags({
              NotFound: unknownLink,
              ClaimLinkEnded: () => page(visitor.frame, token),
              AlreadyClaimed: () => page(visitor.frame, token)
            })
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.notMine,
      personalPage(
        Effect.fnUntraced(function* ({ frame }) {
          const token = yield* tokenInPath
          const view = yield* Effect.mapError(claims.viewMailClaim(token), unknownLink)
          const declinedPage =
            view.state === "declined" ? declinedView(frame, view.email) : notMineView(frame, token, view)
          return show(site, frame, declinedPage)
        })
      )
    )

    // Mail programs post here by themselves, without cookie and form token (RFC 8058 one-click): the link authorises
    // the request.
    yield* router.add(
      "POST",
      pagePaths.notMine,
      personalPage(
        Effect.fnUntraced(function* ({ frame }) {
          const token = yield* tokenInPath
          const email = yield* Effect.mapError(claims.notMine(token), unknownLink)
          return show(site, frame, declinedView(frame, email))
        })
      )
    )
  })
)

export const layer = Layer.merge(byLink, byMail)

const stepOf = ({ t }: Frame, step: number, title: string) =>
  html`<div>
    <p class="step">${t.claiming.step(step)}</p>
    <h2 id="step">${title}</h2>
  </div>`

const signInFirst = (frame: Frame, token: string, rejected: RejectedField | undefined) => html`
  <section class="panel" aria-labelledby="step">
    ${stepOf(frame, 1, frame.t.claiming.signIn)}
    ${signInForms(frame, {
      action: claimPage(token),
      returnTo: claimPage(token),
      ...(rejected !== undefined && { rejected })
    })}
  </section>
`

const enterCode = (
  frame: Frame,
  options: {
    readonly token: string
    readonly agent: ClaimableAgent
    readonly operator: Operator
    readonly triesLeft: number
    readonly rejected: RejectedField | undefined
  }
) => {
  const t = frame.t.claiming
  return html`
    <section class="panel" aria-labelledby="step">
      ${stepOf(frame, 2, t.enterCode)}
      ${form(
        frame,
        claimPage(options.token),
        html`${field({
            name: "pairing_code",
            label: t.code,
            hint: t.codeHint(options.triesLeft),
            complaint: options.rejected?.complaint,
            input: {
              class: "code",
              autocomplete: "one-time-code",
              autocapitalize: "characters",
              spellcheck: "false",
              maxlength: "16",
              // Saves a try; the server decides.
              pattern: "\\s*[A-Za-z0-9]{3}[\\s\\-]?[A-Za-z0-9]{3}\\s*",
              title: t.codeShape,
              placeholder: "XXX-XXX"
            }
          })} <button>${t.claim(options.agent.name)}</button>`
      )}
      <p class="quiet small">${t.youAre(options.operator.email ?? t.accountAtProvider)}</p>
    </section>
  `
}

/** The reason why the form was rejected. */
interface RejectedClaim {
  readonly field: "email" | "pairing_code"
  readonly value: string
  readonly complaint: Html
}

const rejectionOf = (rejection: RejectedClaim | undefined, name: RejectedClaim["field"]) =>
  rejection?.field === name ? rejection : undefined

/** The page of a claim link in each of its states. */
const claimView = (frame: Frame, token: string, view: ClaimView, rejection?: RejectedClaim): Page => {
  const { agent } = view
  const t = frame.t.claiming
  switch (view.state) {
    case "open": {
      // A signed-in visitor has read about claiming, so the next step comes first.
      const secondStep =
        frame.operator === null
          ? null
          : enterCode(frame, {
              token,
              agent,
              operator: frame.operator,
              triesLeft: view.triesLeft,
              rejected: rejectionOf(rejection, "pairing_code")
            })
      const [before, after] = t.notYours
      return {
        title: rejection === undefined ? t.title(agent.name) : t.titleError(agent.name),
        content: html`
          ${heading(frame, agent, t.gaveLink)} ${secondStep} ${aboutAgent(frame, agent)} ${whatItMeans(frame)}
          ${frame.operator === null ? signInFirst(frame, token, rejectionOf(rejection, "email")) : null}
          <p class="quiet small">${before}${instant(view.expiresAt, frame.t)}${after}</p>
        `
      }
    }
    case "locked":
      return ending(frame, t.locked, around(t.lockedHow, agent.name), freshLink(frame))
    case "expired":
      return ending(frame, t.expired, around(t.expiredHow, agent.name), freshLink(frame))
    case "replaced":
      return ending(frame, t.replaced, around(t.replacedHow, agent.name), freshLink(frame))
    case "claimed":
      return claimed(frame, agent, view.claimedBy)
  }
}

/** The page of a claim mail's link: one button signs in and claims. */
const mailClaimView = (frame: Frame, token: string, view: MailClaimView): Page => {
  const { agent, email } = view
  const t = frame.t.claiming
  switch (view.state) {
    case "open": {
      const [before, sayIt, otherwise, after] = t.notYoursMail
      return {
        title: t.title(agent.name),
        content: html`
          ${heading(frame, agent, t.gaveAddress)} ${aboutAgent(frame, agent)} ${whatItMeans(frame)}
          <section class="panel" aria-labelledby="act">
            <h2 id="act">${t.oneClick}</h2>
            <p>${around(t.oneClickHow(agent.name), email)}</p>
            ${form(frame, mailClaimPage(token), html`<button>${t.claim(agent.name)}</button>`)}
          </section>
          <p class="quiet small">
            ${before}<a href=${frame.at(notMinePage(token))}>${sayIt}</a>${otherwise}${instant(
              view.expiresAt,
              frame.t
            )}${after}
          </p>
        `
      }
    }
    case "declined":
      return ending(frame, t.declined, around(t.declinedHow, agent.name), html`<p>${t.declinedMistake}</p>`)
    case "expired":
      return ending(frame, t.expired, around(t.expiredHow, agent.name), freshLink(frame))
    case "replaced":
      return ending(frame, t.replaced, around(t.replacedMailHow, agent.name), freshLink(frame))
    case "claimed":
      return claimed(frame, agent, view.claimedBy)
  }
}

/** Asks before it acts, because mail scanners follow links. */
const notMineView = (frame: Frame, token: string, view: MailClaimView): Page => {
  const t = frame.t.claiming
  const [before, between, after] = t.notMineWho
  return {
    title: t.notMine,
    content: html`
      <h1>${t.notMineAsk}</h1>
      <p class="lead">
        ${before}<strong>${view.email}</strong>${between}<strong>${view.agent.name}</strong>${after}
      </p>
      <div class="panel">
        <p>${t.notMineHow}</p>
        ${form(frame, notMinePage(token), html`<button>${t.notMineNow}</button>`)}
      </div>
    `
  }
}

const declinedView = (frame: Frame, email: string): Page => {
  const t = frame.t.claiming
  return {
    title: t.noMore,
    content: html`
      ${notice("success", t.noMoreNow)}
      <h1>${t.thankYou}</h1>
      <p class="lead">${around(t.noMoreTo, email)}</p>
    `
  }
}

/** A sentence around a name. */
const around = ([before, after]: ReadonlyArray<string>, name: string) =>
  html`${before}<strong>${name}</strong>${after}`

const joined = (...words: ReadonlyArray<string | null>): string | null => {
  const known = words.filter((word) => word !== null && word !== "")
  return known.length === 0 ? null : known.join(" · ")
}

const aboutAgent = (frame: Frame, agent: ClaimableAgent) => {
  const t = frame.t.claiming
  return html`
    <section class="panel" aria-label=${t.theAgent}>
      ${facts([
        [t.name, html`<strong>${agent.name}</strong>`],
        [t.model, joined(agent.modelProvider, agent.modelName)],
        [t.organisation, joined(agent.ownerOrg)],
        [t.registered, day(agent.createdAt, frame.t)],
        [t.predicted, t.challenges(agent.challengesPredicted)],
        [t.agentId, html`<code>${agent.agentId}</code>`]
      ])}
      ${
        agent.bio === null || agent.bio === ""
          ? null
          : html`<p class="quiet small">${t.saysOfItself}</p>
              ${quoted(agent.bio)}`
      }
    </section>
  `
}

const whatItMeans = ({ t }: Frame) => html`
  <section>
    <h2>${t.claiming.meaning}</h2>
    <ul class="points">
      ${t.claiming.meanings.map(([what, more]) => html`<li><strong>${what}</strong>${more}</li>`)}
    </ul>
  </section>
`

const heading = ({ t }: Frame, agent: ClaimableAgent, lead: string) => html`
  <div>
    <p class="eyebrow">${t.claiming.eyebrow}</p>
    <h1>${t.claiming.isYours(agent.name)}</h1>
  </div>
  <p class="lead">${lead}</p>
`

const freshLink = ({ t }: Frame) => html`
  <p>
    ${t.claiming.freshLink[0]}<code>POST /api/v1/agent/registry/claim-link/refresh</code
    >${t.claiming.freshLink[1]}
  </p>
`

const ending = ({ t }: Frame, title: string, lead: Html, more?: Html): Page => ({
  title,
  content: html`
    <div>
      <p class="eyebrow">${t.claiming.eyebrow}</p>
      <h1>${title}</h1>
    </div>
    <p class="lead">${lead}</p>
    ${more}
  `
})

const claimed = (frame: Frame, agent: ClaimableAgent, claimedBy: string): Page => {
  const t = frame.t.claiming
  if (frame.operator?.operatorId === claimedBy) {
    return {
      title: t.yours(agent.name),
      content: html`
        ${notice("success", t.complete, t.fullScopes)}
        <h1>${t.yours(agent.name)}</h1>
        <p class="lead">${t.owner}</p>
        ${aboutAgent(frame, agent)}
        <p><a class="button" href=${frame.at(accountPage)}>${t.seeAgents}</a></p>
      `
    }
  }
  const [before, link, after] = t.wasItYou
  const toAccount =
    frame.operator === null
      ? html`<p>${before}<a href=${frame.at("/sign-in")}>${link}</a>${after}</p>`
      : html`<p>${t.otherAccount}</p>`
  return ending(
    frame,
    t.already,
    around(t.alreadyHow, agent.name),
    html`${toAccount}
      <p class="quiet">${t.byOthers} <code>${agent.agentId}</code></p>`
  )
}
