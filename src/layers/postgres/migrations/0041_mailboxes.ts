import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { mailboxOf } from "../../../services/emails.ts"
import { column, many, run } from "../query.ts"

const batch = 10_000

/**
 * A mailbox has one account. Of several that there are the oldest holds it, and the others are signed in to by their exact
 * address, as are accounts that an instance of the version before makes: those take their mailbox at the next sign-in,
 * where nobody holds it. Refusals are by mailbox, too.
 */
export const mailboxes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    alter table operators add column mailbox text
      constraint operators_mailbox_of_email check (mailbox is null or email is not null)`
  const accounts = many(Schema.Struct({ id: Schema.String, email: Schema.String }))
  let after = "00000000-0000-0000-0000-000000000000"
  let rows: ReadonlyArray<{ readonly id: string; readonly email: string }>
  do {
    rows = yield* accounts(sql`
      select id::text, email from operators where email is not null and id > ${after}::uuid order by id limit ${batch}`)
    after = rows.at(-1)?.id ?? after
    yield* run(sql`
      update operators o set mailbox = w.mailbox
        from unnest(
          ${column(
            "uuid",
            rows.map(({ id }) => id)
          )},
          ${column(
            "text",
            rows.map(({ email }) => mailboxOf(email))
          )}
        ) as w (id, mailbox)
       where o.id = w.id`)
  } while (rows.length === batch)
  yield* sql`
    update operators o set mailbox = null
      from (select id, row_number() over (partition by mailbox order by created_at, id) as place
              from operators where mailbox is not null) p
     where o.id = p.id and p.place > 1`
  yield* sql`alter table operators add constraint operators_one_per_mailbox unique (mailbox)`

  // The forms that were stored stay, for instances of the version before.
  const declined = yield* many(Schema.Struct({ mailbox: Schema.String, declined_at: Schema.Date }))(sql`
    select mailbox, declined_at from declined_mailboxes`)
  yield* run(sql`
    insert into declined_mailboxes (mailbox, declined_at)
    select distinct on (mailbox) mailbox, declined_at
      from unnest(
        ${column(
          "text",
          declined.map(({ mailbox }) => mailboxOf(mailbox))
        )},
        ${column(
          "timestamptz",
          declined.map(({ declined_at }) => declined_at)
        )}
      ) as d (mailbox, declined_at)
     order by mailbox, declined_at
    on conflict do nothing`)
})
