/** Alerts of spent limits. The statements that reserve or settle calls write their rows; this service makes notices and mails of them. */
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { creditsOf } from "../../../services/Credits.ts"
import { GatewayAlerts } from "../../../services/GatewayAlerts.ts"
import { GatewayKeyId, LimitPeriod } from "../../../services/GatewayKeys.ts"
import { EmailAddress, mailboxOf } from "../../../services/domain/emails.ts"
import { OwnerMails } from "../../../services/OwnerMails.ts"
import { RateLimiter } from "../../../services/RateLimiter.ts"
import { Settings } from "../../../services/Settings.ts"
import { textsOf } from "../../mail/language.ts"
import { insertAgentNotices } from "../notices/insertNotices.ts"
import { execute, findAll, orDie, timestamp, transaction } from "../sql.ts"

const batch = 100

/** The strongest new alert of a limit and period; weaker ones are marked as told together with it. */
const AlertRow = Schema.Struct({
  key_id: GatewayKeyId,
  period: LimitPeriod,
  since: Schema.String,
  credit_limit: Schema.BigInt,
  percent: Schema.Int,
  key_name: Schema.String,
  agent_name: Schema.String,
  owner_id: Schema.String,
  email: Schema.NullOr(EmailAddress)
})
type Alert = typeof AlertRow.Type

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const mails = yield* OwnerMails
  const limits = yield* RateLimiter
  const { baseUrl, site } = yield* Settings
  const alertRows = findAll(AlertRow)

  const due = alertRows(sql`
    select d.key_id::text, d.period, d.since::text, d.credit_limit, d.percent, k.name as key_name, a.name as agent_name, o.id::text as owner_id,
           case when 'credit_low' = any(o.mails) then o.email end as email
      from (select key_id, period, since, credit_limit, max(percent)::int as percent
              from (select * from gateway_alerts where told_at is null order by at limit ${batch}) oldest
             group by key_id, period, since, credit_limit) d
      join gateway_keys k on k.id = d.key_id
      join agents a on a.id = k.agent_id
      join operators o on o.id = k.owner_id
     order by d.key_id, d.period`)

  /**
   * Agents can cause any number of alerts, so alerts count towards a limit. The count is outside of transactions, because it
   * would lock the limit's window.
   */
  const recipient = Effect.fnUntraced(function* ({ email }: Alert) {
    if (email === null) return Option.none<EmailAddress>()
    return Option.as(yield* Effect.option(limits.consume("alert_mails", mailboxOf(email))), email)
  })

  const send = Effect.fnUntraced(function* (alert: Alert) {
    const to = yield* recipient(alert)
    const now = yield* DateTime.now
    const mailAlert = Effect.gen(function* () {
      const rows = yield* orDie(sql`
        update gateway_alerts set told_at = ${timestamp(now)}
         where key_id = ${alert.key_id}::uuid and period = ${alert.period} and since = ${alert.since}::date
           and credit_limit = ${alert.credit_limit}::int8 and percent <= ${alert.percent} and told_at is null
        returning 1`)
      if (rows.length === 0) return 0
      yield* execute(
        insertAgentNotices(sql, {
          type: "credit.low",
          agentId: "k.agent_id",
          cause: sql`concat_ws('/', k.id, ${alert.period}::text, ${alert.since}::text, ${alert.credit_limit}::int8, ${alert.percent}::int)`,
          subject: "jsonb_build_object('key_id', k.id)",
          data: sql`
            jsonb_build_object('period', ${alert.period}::text, 'limit', ${alert.credit_limit}::int8 / 1e6,
                               'percent', ${alert.percent}::int)`,
          at: sql`${timestamp(now)}`,
          from: sql`gateway_keys k where k.id = ${alert.key_id}::uuid`
        })
      )
      if (Option.isNone(to)) return 0
      const text = textsOf(site).creditAlert({
        baseUrl,
        agentName: alert.agent_name,
        keyName: alert.key_name,
        period: alert.period,
        amount: creditsOf(alert.credit_limit),
        isSpent: alert.percent === 100
      })
      yield* mails.enqueue(alert.owner_id, "credit_low", text)
      return 1
    })
    return yield* transaction(sql)(mailAlert)
  })

  const sendDue: GatewayAlerts["Service"]["sendDue"] = Effect.gen(function* () {
    let sent = 0
    let alerts: ReadonlyArray<Alert>
    do {
      alerts = yield* due
      for (const alert of alerts) sent += yield* send(alert)
    } while (alerts.length > 0)
    return sent
  }).pipe(Effect.withSpan("GatewayAlerts.sendDue"))

  return GatewayAlerts.of({ sendDue })
})

export const layer = Layer.effect(GatewayAlerts, make)
