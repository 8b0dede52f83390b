/** Sign-in by a link in a mail: it proves the address, works once, and only the newest does. */
import { DateTime, Duration, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { DisposableAddress, EmailAddress, mailboxOf } from "../../../../services/emails.ts"
import { NotFound } from "../../../../services/errors.ts"
import { RateLimiter } from "../../../../services/RateLimiter.ts"
import { Mailer } from "../../../../services/Mailer.ts"
import { signInPage, toAccount, ReturnTo, SignInLinkEnded } from "../../../../services/Operators.ts"
import type { Operators, SignInView } from "../../../../services/Operators.ts"
import { Settings } from "../../../../services/Settings.ts"
import { signInText } from "../../../mail/texts.ts"
import { encryption } from "../../../crypto/encryption.ts"
import { isToken, makeToken, sha256 } from "../../../crypto/secrets.ts"
import { execute, findOption, timestamp, transaction } from "../../sql.ts"
import { makeAccounts } from "./accounts.ts"

const instant = Schema.DateTimeUtcFromDate

const LinkRow = Schema.Struct({
  email: EmailAddress,
  return_to: Schema.Uint8Array,
  expires_at: instant,
  superseded_at: Schema.NullOr(instant),
  used_at: Schema.NullOr(instant)
})

const UsedRow = Schema.Struct({ email: EmailAddress, return_to: Schema.Uint8Array })

const noLink = () => new NotFound({ detail: "There is no such sign-in link." })

const reasons: Record<SignInLinkEnded["reason"], string> = {
  expired: "This sign-in link is too old",
  replaced: "A newer sign-in link took the place of this one",
  used: "This sign-in link has been used"
}

const ended = (reason: SignInLinkEnded["reason"]) =>
  new SignInLinkEnded({ detail: `${reasons[reason]}: ask for a new one.`, reason })

export const makeSignInLinks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const settings = yield* Settings
  const limits = yield* RateLimiter
  const mailer = yield* Mailer
  const accounts = yield* makeAccounts
  const { decrypt, encrypt } = encryption(settings.tokenSecret, "return path")
  const linkRow = findOption(LinkRow)
  const usedRow = findOption(UsedRow)
  const decodeReturnTo = Schema.decodeUnknownOption(ReturnTo)

  const returnToOf = (encrypted: Uint8Array): ReturnTo =>
    Option.getOrElse(Option.flatMap(decrypt(encrypted), decodeReturnTo), () => toAccount)

  const requestSignIn: Operators["Service"]["requestSignIn"] = Effect.fn("Operators.requestSignIn")(
    function* ({ email, returnTo, address }) {
      yield* limits.consume("sign_ins", address)
      if (!accounts.mayBeNew(email) && Option.isNone(yield* accounts.find(email))) {
        return yield* DisposableAddress.of(email)
      }
      yield* limits.consume("sign_in_mails", mailboxOf(email))
      const to = yield* accounts.ownAddress(email)
      const now = yield* DateTime.now
      const expiresAt = DateTime.addDuration(now, settings.signInLinkTtl)
      const token = makeToken("signIn")
      yield* transaction(sql)(
        Effect.gen(function* () {
          // Two requests at once take turns, or each would leave a live link.
          yield* execute(sql`select pg_advisory_xact_lock(hashtextextended(${`sign in ${to}`}, 0))`)
          yield* execute(sql`
              update sign_in_links set superseded_at = ${timestamp(now)}
               where email = ${to} and superseded_at is null and used_at is null`)
          yield* execute(sql`
              insert into sign_in_links (token_hash, email, return_to, created_at, expires_at)
              values (${sha256(token)}, ${to}, ${encrypt(returnTo)}, ${timestamp(now)}, ${timestamp(expiresAt)})`)
          yield* mailer.enqueue({
            kind: "sign_in",
            to,
            ...signInText({
              baseUrl: settings.baseUrl,
              link: settings.baseUrl + signInPage(token),
              expiresAt
            }),
            expiresAt
          })
        })
      )
    }
  )

  const viewSignIn: Operators["Service"]["viewSignIn"] = Effect.fn("Operators.viewSignIn")(function* (token) {
    if (!isToken("signIn", token)) return yield* noLink()
    const found = yield* linkRow(sql`
      select email, return_to, expires_at, superseded_at, used_at
        from sign_in_links where token_hash = ${sha256(token)}`)
    if (Option.isNone(found)) return yield* noLink()
    const { email, return_to, expires_at, superseded_at, used_at } = found.value
    const view = (state: "expired" | "replaced" | "used"): SignInView => ({ state })
    if (used_at !== null) return view("used")
    if (superseded_at !== null) return view("replaced")
    if (DateTime.isGreaterThanOrEqualTo(yield* DateTime.now, expires_at)) return view("expired")
    return { state: "open", email, returnTo: returnToOf(return_to) }
  })

  const signIn: Operators["Service"]["signIn"] = Effect.fn("Operators.signIn")(function* (token) {
    const now = yield* DateTime.now
    const used = Effect.gen(function* () {
      // One statement, so that of two who press the button at once one signs in.
      const link = yield* usedRow(sql`
        update sign_in_links set used_at = ${timestamp(now)}
         where token_hash = ${sha256(token)} and used_at is null and superseded_at is null and expires_at > ${timestamp(now)}
        returning email, return_to`)
      if (Option.isNone(link)) return Option.none()
      const operatorId = yield* accounts.ofEmail(link.value.email)
      if (Option.isNone(operatorId)) return yield* ended("replaced")
      const session = yield* accounts.startSession(operatorId.value)
      return Option.some({ session, returnTo: returnToOf(link.value.return_to) })
    })
    const signedIn = yield* transaction(sql)(used)
    if (Option.isSome(signedIn)) return signedIn.value
    const { state } = yield* viewSignIn(token)
    // Open again to our eyes is what was ended between the two looks.
    return yield* ended(state === "open" ? "expired" : state)
  })

  /** Forgets links that ended this long ago. */
  const trim = Effect.fnUntraced(function* (older: Duration.Duration) {
    const now = yield* DateTime.now
    yield* execute(
      sql`delete from sign_in_links where expires_at < ${timestamp(DateTime.subtractDuration(now, older))}`
    )
  })

  return { requestSignIn, viewSignIn, signIn, trim }
})
