/** Owners of the season's agents: each opens the claim mail that the server wrote, and presses its button. */
import { Effect, FileSystem, Path, Schedule } from "effect"
import { Cookies, HttpBody, HttpClient } from "effect/http"
import { CommandFailed } from "../../client/connection.ts"

/** The server's address and the folder of its mails. */
interface Post {
  readonly url: string
  readonly outbox: string
}

/** Each player has its own mailbox, and so another owner. */
export const mailboxOf = (name: string): string => `${name.replaceAll(" ", "-")}@example.org`

/** The token of an unused claim link in a mailbox; mails arrive within seconds. */
const mailedToken = (outbox: string, mailbox: string, used: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const names = (yield* fs.readDirectory(outbox)).filter((name) => name.endsWith(".eml"))
    const mails = yield* Effect.forEach(names, (name) => fs.readFileString(path.join(outbox, name)))
    const tokens = mails
      .filter((mail) => mail.includes(`To: ${mailbox}`))
      .map((mail) => /\/claim\/mail\/([\w-]+)/.exec(mail)?.[1])
    return yield* Effect.fromNullishOr(tokens.find((token) => token !== undefined && !used.has(token)))
  }).pipe(
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 200 }),
    Effect.mapError(() => new CommandFailed({ message: `No claim mail came to ${mailbox}.` }))
  )

/** Claims the agent whose operator has this mailbox by an unused link, and marks the link as used. */
export const claimByMail = Effect.fn("demo.season.claim")(function* (
  { outbox, url }: Post,
  mailbox: string,
  used: Set<string>
) {
  const token = yield* mailedToken(outbox, mailbox, used)
  used.add(token)
  const link = `${url}/claim/mail/${token}`
  const page = yield* HttpClient.get(link)
  const form_token = /name="form_token" value="([^"]+)"/.exec(yield* page.text)?.[1] ?? ""
  const answer = yield* HttpClient.post(link, {
    headers: { cookie: Cookies.toCookieHeader(page.cookies) },
    body: HttpBody.urlParams({ form_token })
  })
  if (answer.status >= 400) {
    return yield* new CommandFailed({ message: `${mailbox} could not claim its agent: ${answer.status}.` })
  }
})
