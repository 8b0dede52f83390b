/** Agents to be claimed, and the mails that operators get. */
import { Effect, Schema } from "effect"
import { Mailer } from "../../src/services/Mailer.ts"
import { pass, register } from "./agents.ts"
import { linksIn, Mailbox } from "./mailbox.ts"
import { makeVisitor } from "./visitor.ts"
import type { Visitor } from "./visitor.ts"

const ClaimFields = Schema.Struct({ claim_url: Schema.String, pairing_code: Schema.String })

const pathOf = (url: string) => new URL(url).pathname

/** An agent that passed its challenge, with the path of its claim page and its code. */
export const claimable = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const registered = yield* register(fields)
  const { claim_url, pairing_code } = yield* Effect.orDie(
    Schema.decodeUnknownEffect(ClaimFields)(yield* pass(registered))
  )
  return {
    agentId: registered.agent_id,
    secret: registered.client_secret,
    path: pathOf(claim_url),
    code: pairing_code
  }
})

/** A code that is as good as the right one, but is another. */
export const otherCode = (code: string): string =>
  code.startsWith("A") ? `B${code.slice(1)}` : `A${code.slice(1)}`

/** The links of the newest mail to an address, as paths; none when it got no mail. */
export const linksMailedTo = Effect.fnUntraced(function* (address: string) {
  const { delivered } = yield* Mailbox
  yield* (yield* Mailer).drain
  const mails = delivered.filter(({ to }) => to === address)
  return linksIn(mails.at(-1)).map(pathOf)
})

/** The path of the newest sign-in link mailed to an address, without the path that the service lives below. */
export const signInLink = Effect.fnUntraced(function* (address: string, below = "") {
  const links = yield* linksMailedTo(address)
  const link = links.map((path) => path.slice(below.length)).find((path) => path.startsWith("/sign-in/"))
  return link ?? (yield* Effect.die(new Error(`no sign-in link was mailed to ${address}`)))
})

/** Signs a visitor in from a page that has the form for it; answers where the mail's link led. */
export const signInFrom = Effect.fnUntraced(function* (visitor: Visitor, path: string, address: string) {
  yield* visitor.fill(yield* visitor.open(path), "email", { email: address })
  const link = yield* visitor.open(yield* signInLink(address))
  return yield* visitor.fill(link, "Sign in")
})

/** A visitor that is signed in and owns an agent. */
export const ownerVisitor = Effect.fnUntraced(function* (fields: Readonly<Record<string, unknown>> = {}) {
  const agent = yield* claimable(fields)
  const visitor = makeVisitor()
  const page = yield* visitor.follow(yield* signInFrom(visitor, agent.path, `${agent.agentId}@example.org`))
  yield* visitor.fill(page, "pairing_code", { pairing_code: agent.code })
  return { agent, visitor }
})
