import { DateTime, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { EmailAddress } from "../../../services/domain/emails.ts"
import { NotFound } from "../../../services/domain/errors.ts"
import { Mailer } from "../../../services/Mailer.ts"
import { OwnerMails, ownerMails, unsubscribePage } from "../../../services/OwnerMails.ts"
import type { OwnerMail, UnsubscribeLink } from "../../../services/OwnerMails.ts"
import { Settings } from "../../../services/Settings.ts"
import { cursorCodecs } from "../../crypto/Cursors.ts"
import { textsOf } from "../../mail/language.ts"
import { withUnsubscribe } from "../../mail/texts.ts"
import { arrayParam, boundNow, execute, findAll, findOption, transaction } from "../sql.ts"

/** A mail that waited longer would bring old news. */
const lifetime = Duration.days(2)
const week = Duration.days(7)
/** All digests of a week are made at midnight; mail servers get them over this time. */
const digestSpread = Duration.hours(1)
/** The number of owners in one transaction. */
const batch = 50

const kinds = {
  credit_low: "credit_alert",
  agent_suspended: "agent_suspended",
  webhook_disabled: "webhook_disabled",
  digest: "digest"
} as const

const Chosen = Schema.Array(Schema.Literals(ownerMails))
const ChosenRow = Schema.Struct({ mails: Chosen })
const AddressRow = Schema.Struct({ email: EmailAddress })
const DueRow = Schema.Struct({ id: Schema.String, digest_day: Schema.String })

const ScoredRow = Schema.Struct({
  name: Schema.String,
  scored: Schema.Int,
  mean: Schema.Finite,
  all_scored: Schema.Int,
  all_mean: Schema.Finite
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const mailer = yield* Mailer
  const settings = yield* Settings
  const texts = textsOf(settings.site)
  const links = cursorCodecs(settings)("unsubscribe", Schema.String)
  const chosenRow = findOption(ChosenRow)
  const addressRow = findOption(AddressRow)
  const dueRows = findAll(DueRow)
  const scoredRows = findAll(ScoredRow)

  const mailsOf = (ownerId: string) =>
    Effect.map(
      chosenRow(sql`select mails from operators where id = ${ownerId}::uuid`),
      Option.match({ onNone: (): ReadonlyArray<OwnerMail> => [], onSome: ({ mails }) => mails })
    )

  const chosen: OwnerMails["Service"]["chosen"] = Effect.fn("OwnerMails.chosen")(mailsOf)

  const today = Effect.map(DateTime.now, DateTime.formatIsoDateUtc)

  const choose: OwnerMails["Service"]["choose"] = Effect.fn("OwnerMails.choose")(function* (ownerId, mails) {
    // A digest begins with the day on which it was chosen.
    yield* execute(sql`
      update operators
         set mails = ${arrayParam("text", [...new Set(mails)])},
             digest_day = case when not ${mails.includes("digest")}::bool then null
                               else coalesce(digest_day, ${yield* today}::date) end
       where id = ${ownerId}::uuid`)
  })

  const opened = Effect.fnUntraced(function* (link: UnsubscribeLink) {
    const mail = ownerMails.find((each) => each === link.mail)
    const owner = Option.getOrUndefined(links.decode(link.token, mail))
    if (mail === undefined || owner === undefined) {
      return yield* new NotFound({ detail: "There is no such link. Was it cut off when it was copied?" })
    }
    return { mail, owner }
  })

  const view: OwnerMails["Service"]["view"] = Effect.fn("OwnerMails.view")(function* (link) {
    const { mail, owner } = yield* opened(link)
    return { mail, isChosen: (yield* mailsOf(owner)).includes(mail) }
  })

  const unsubscribe: OwnerMails["Service"]["unsubscribe"] = Effect.fn("OwnerMails.unsubscribe")(
    function* (link) {
      const { mail, owner } = yield* opened(link)
      yield* execute(sql`
        update operators set mails = array_remove(mails, ${mail}::text),
               digest_day = case when ${mail}::text <> 'digest' then digest_day end
         where id = ${owner}::uuid`)
      return mail
    }
  )

  /** Spreads digests over the hour by the end of the owner's id, which is random. */
  const dueOf = (ownerId: string, now: DateTime.Utc) =>
    DateTime.addDuration(now, Duration.times(digestSpread, Number.parseInt(ownerId.slice(-8), 16) / 2 ** 32))

  const enqueue: OwnerMails["Service"]["enqueue"] = Effect.fn("OwnerMails.enqueue")(
    function* (ownerId, mail, message) {
      const now = yield* DateTime.now
      const found = yield* addressRow(sql`
      select email from operators where id = ${ownerId}::uuid and ${mail}::text = any(mails) and email is not null`)
      if (Option.isNone(found)) return
      const unsubscribeUrl = settings.baseUrl + unsubscribePage({ mail, token: links.encode(ownerId, mail) })
      yield* mailer.enqueue({
        kind: kinds[mail],
        to: found.value.email,
        ...withUnsubscribe(message, texts.unsubscribe(unsubscribeUrl)),
        unsubscribeUrl,
        ...(mail === "digest" && { dueAt: dueOf(ownerId, now) }),
        expiresAt: DateTime.addDuration(now, lifetime)
      })
    }
  )

  /** Selects each agent that had a prediction scored in the week from `day` on, with the present scores. */
  const scoredOf = (ownerId: string, day: string) =>
    scoredRows(sql`
      select a.name, w.scored::int, w.mean::float8, f.scored as all_scored, f.avg_score as all_mean
        from agents a
       cross join lateral (
         select count(*) as scored, avg(p.score) as mean
           from settlements s
           join prediction_scores p on p.challenge_id = s.challenge_id and p.version = s.version and p.agent_id = a.id
          where s.day >= ${day}::date and s.day < ${day}::date + 7
            and not exists (select from settlements n where n.challenge_id = s.challenge_id and n.version = s.version + 1)) w
        join agent_stats f on f.agent_id = a.id and f.board = 'global'
       where a.owner_id = ${ownerId}::uuid and w.scored > 0
       order by w.scored desc, a.name`)

  const sendSome = Effect.gen(function* () {
    const due = yield* dueRows(sql`
      update operators o set digest_day = o.digest_day + 7
        from (select id, digest_day from operators
               where digest_day <= ${DateTime.formatIsoDateUtc(yield* boundNow(sql))}::date - 7
               order by digest_day limit ${batch} for update skip locked) d
       where o.id = d.id
      returning o.id::text, d.digest_day::text`)
    for (const { digest_day: day, id } of due) {
      const agents = yield* scoredOf(id, day)
      const from = DateTime.makeUnsafe(`${day}T00:00:00Z`)
      if (agents.length === 0) continue
      yield* enqueue(
        id,
        "digest",
        texts.digest({ baseUrl: settings.baseUrl, from, until: DateTime.addDuration(from, week), agents })
      )
    }
    return due.length
  })

  const sendDigests: OwnerMails["Service"]["sendDigests"] = Effect.gen(function* () {
    let all = 0
    let some: number
    do {
      some = yield* transaction(sql)(sendSome)
      all += some
    } while (some === batch)
    return all
  }).pipe(Effect.withSpan("OwnerMails.sendDigests"))

  return OwnerMails.of({ chosen, choose, view, unsubscribe, enqueue, sendDigests })
})

export const layer = Layer.effect(OwnerMails, make)
