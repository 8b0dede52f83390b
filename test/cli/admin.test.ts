import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it as plainIt, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { CliOutput } from "effect/cli"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { admin } from "../../cli/admin/command.ts"
import { instantOf } from "../../cli/admin/session.ts"
import { table } from "../../cli/client/table.ts"
import { MacroProposals } from "../../src/services/MacroSource.ts"
import { claim, onboard, someOperator } from "../support/agents.ts"
import { forecast, importCandles, newMacro } from "../support/challenges.ts"
import { stake, staker } from "../support/credit.ts"
import { runCommand } from "../support/commands.ts"
import { post, testServer, TestServer } from "../support/server.ts"
import { testAdminToken } from "../support/settings.ts"
import { match, tournament } from "../support/tournaments.ts"
import { asOwner } from "../support/database.ts"

const directory = mkdtempSync(join(tmpdir(), "auspex-admin-test-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

let files = 0
const file = (content: string, ending = "csv"): string => {
  files += 1
  const path = join(directory, `${files}.${ending}`)
  writeFileSync(path, content)
  return path
}

/** Runs a command as an operator types it, with the server and the token in the environment. */
const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const { url } = yield* TestServer
  return yield* runCommand(admin, args, { AUSPEX_BASE_URL: url, AUSPEX_ADMIN_TOKEN: testAdminToken })
})

/** Imports a price file of this content. */
const importPrices = (content: string, asset: string, ...more: ReadonlyArray<string>) =>
  run("prices", "import", file(content), "--asset", asset, ...more)

const words = (text: string): ReadonlyArray<string> => text.split(" ")

const jsonFile = (content: unknown): string => file(JSON.stringify(content), "json")

const json = (text: string) => Schema.decodeEffect(Schema.fromJsonString(Schema.JsonObject))(text)

const ids = (text: string): ReadonlyArray<string> =>
  text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
const firstId = (text: string): string => ids(text)[0] ?? "none"

const today = "2026-03-02T12:00:00Z"
const moveToToday = TestClock.setTime(Date.parse(today))

const candles = (rows: ReadonlyArray<string>) => ["time,open,high,low,close,volume", ...rows].join("\n")

layer(testServer())("The administrators' commands", (it) => {
  it.effect("Events are imported, and the stored ones are shown", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const path = jsonFile([{ event_id: "opec-1", title: "减产 announced", assets: ["CL"] }])
      const ran = yield* run("events", "import", path)
      assert.isTrue(ran.ok, ran.err)
      assert.match(ran.out, /opec-1\s+2026-03-02 12:00:00\s+CL\s+减产 announced/)
    })
  )

  it.effect("A wrong command is answered with the likely one, and a refusal with its remedy", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const unknown = yield* run("events", "import", jsonFile([{ title: "One", assets: ["gold"] }]))
      assert.include(unknown.err, "is not a target: expected one of GC, ")
      assert.include(unknown.err, "(did you mean GC?)")
      const { url } = yield* TestServer
      const environment = { AUSPEX_BASE_URL: `${url}/elsewhere`, AUSPEX_ADMIN_TOKEN: testAdminToken }
      const lost = yield* runCommand(admin, ["release-calendar", "show"], environment)
      assert.include(lost.err, "There is nothing at this path. /skill.md says how to use this service, ")
    })
  )

  it.effect("A tournament is archived once and listed, and the wrong place of a file is named", () =>
    Effect.gen(function* () {
      yield* moveToToday
      assert.strictEqual((yield* run("archive", "list")).out, "Nothing is archived.")
      const sent = tournament({ slug: "world-cup", matches: 3 })
      const made = yield* run("archive", "import", jsonFile(sent))
      assert.match(made.out, /world-cup +World Cup +2026-02-28 20:00:00 +3 +2026-03-02 12:00:00/, made.err)
      const again = yield* run("archive", "import", jsonFile(sent))
      assert.strictEqual(again.out, made.out)
      assert.strictEqual((yield* run("archive", "list")).out, made.out)
      const other = yield* run("archive", "import", jsonFile({ ...sent, title: "x" }))
      assert.include(other.err, "take another slug")
      const wrong = JSON.stringify({ ...sent, slug: "A b", challenges: [{ ...match(0), result: "nobody" }] })
      const refused = yield* run("archive", "import", file(wrong, "json"))
      assert.include(refused.err, "slug: ")
      assert.include(refused.err, "challenges.0.result: Expected one of the outcomes")
    })
  )

  it.effect("The release calendar is shown and set from its file, whose wrong places are named", () =>
    Effect.gen(function* () {
      yield* moveToToday
      assert.strictEqual((yield* run("release-calendar", "show")).out, "No release is planned.")
      const release = { asset: "CPI", period: "2026-02", unit: "%", release_at: "2026-03-11T12:30:00Z" }
      const set = yield* run("release-calendar", "set", jsonFile({ releases: [release] }))
      assert.match(set.out, /CPI +2026-02 +% +2026-03-11 12:30:00 +- +0 +-/, set.err)
      const shown = (yield* run("release-calendar", "show", "--json")).out
      const again = yield* run("release-calendar", "set", file(shown, "json"))
      assert.strictEqual(again.out, set.out)
      const twice = jsonFile({ releases: [release, release] })
      const refused = yield* run("release-calendar", "set", twice)
      assert.include(refused.err, "releases.1.period: Expected each period of a series once")
      const wrong = jsonFile({ releases: [{ ...release, release_at: "soon" }] })
      assert.include((yield* run("release-calendar", "set", wrong)).err, "release_at")
      const entries = (yield* run("audit", "--limit", "1")).out
      assert.match(entries, /release-calendar/)
    })
  )

  it.effect("Macro challenges are made, listed, resolved and voided", () =>
    Effect.gen(function* () {
      yield* moveToToday
      assert.strictEqual((yield* run("macro", "list")).out, "There are no macro challenges yet.")
      const make = (period: string, ...more: ReadonlyArray<string>) =>
        run(
          ...words(`macro create --asset CPI --period ${period} --deadline 2026-03-02T13:00:00Z --unit %`),
          "--bin-edges=-0.1, 0, 3.1",
          ...more
        )
      const made = yield* make("2026-03", "--reference-scale", "0.12", "--release-at", "2026-03-02T13:30:00Z")
      assert.isTrue(made.ok, made.err)
      assert.match(made.out, /bin edges +-0\.1, 0, 3\.1/)
      assert.match(made.out, /deadline +2026-03-02 13:00:00 UTC/)
      assert.match(made.out, /release +2026-03-02 13:30:00 UTC/)
      const id = firstId(made.out)
      const older = yield* make("2026-04", "--reference-scale", "none")
      assert.match(older.out, /reference scale +-/)
      assert.include((yield* make("x", "--reference-scale", "much")).err, "--reference-scale takes a number")
      assert.include(
        (yield* run(...words("macro create --asset CPI --period x --deadline in1h --bin-edges a"))).err,
        "--bin-edges takes numbers"
      )
      const early = yield* run("macro", "resolve", id, "--value", "3.2")
      assert.include(early.err, "nothing is settled or voided before its deadline")

      yield* TestClock.setTime(Date.parse("2026-03-02T14:00:00Z"))
      const resolved = yield* run("macro", "resolve", id, "--value=-0.05")
      assert.match(resolved.out, /published value +-0\.05/)
      const voided = yield* run("macro", "void", firstId(older.out), "--reason", "never published")
      assert.match(voided.out, /void +never published/)
      const listed = yield* run("macro", "list", "--status", "resolved")
      assert.match(listed.out, /CPI +2026-03 +resolved +2026-03-02 13:00:00/)
      assert.notInclude(listed.out, "2026-04")
      assert.strictEqual((yield* run("macro", "list", "--status", "open")).out, "No macro challenge is open.")
      const shown = yield* run("macro", "results", id)
      assert.match(shown.out, /published value +-0\.05\nbin +1, -0\.1 to below 0\nreference scale +0\.12/)
      assert.notInclude(shown.out, "close price")

      const amended = yield* run("macro", "amend", id, "--value=0.05", "--reason", "a sign")
      assert.match(amended.out, /published value +0\.05/)
      assert.match(amended.out, /1 +2026-\S+ \S+ +- +-0\.05/)
      assert.match(amended.out, /2 +2026-\S+ \S+ +- +0\.05 .*a sign/)
      const after = yield* run("macro", "results", id)
      assert.match(after.out, /published value +0\.05\nbin +2/)
      assert.match(after.out, /amended +version 2: a sign\namended at +2026-.* UTC\nfirst settled +2026-/)
      assert.match(after.out, /\npool +void\nwinning bin +1, -0\.1 to below 0\nreward pool +0\n/)
      const ended = yield* run("macro", "results", firstId(older.out))
      assert.match(ended.out, /\nvoid +never published\n/)
    })
  )

  it.effect("First prints that were found are listed, and a challenge is settled by its own", () =>
    Effect.gen(function* () {
      yield* moveToToday
      assert.include((yield* run("macro", "proposals", "list")).out, "No first print waits")
      const deadline = DateTime.makeUnsafe("2026-03-02T12:30:00Z")
      const [found, other] = [
        yield* newMacro({ deadline, period: "2026-02", decimal_step: 0.1 }),
        yield* newMacro({ deadline, period: "2026-01" })
      ]
      yield* forecast(yield* staker(0), found)
      yield* MacroProposals.use((proposals) =>
        proposals.record(found.id, {
          value: 3.25,
          source: "FRED CPIAUCNS pc1",
          observation: "2026-02-01",
          releasedOn: "2026-03-02",
          fetchedAt: deadline,
          payloadHash: new Uint8Array(32)
        })
      )
      yield* TestClock.setTime(DateTime.toEpochMillis(deadline))
      const listed = yield* run("macro", "proposals", "list")
      assert.match(listed.out, /CPI +2026-02 +3\.25 .*2026-03-02 +FRED CPIAUCNS pc1/)
      const none = yield* run("macro", "proposals", "accept", other.id)
      assert.include(none.err, `Nothing is proposed for ${other.id}`)
      const doubted = yield* run("macro", "proposals", "accept", found.id)
      assert.include(doubted.err, "3.25 is no multiple of the decimal step, 0.1; with confirm true")
      const taken = yield* run("macro", "proposals", "accept", found.id, "--confirm")
      assert.match(taken.out, /published value +3\.25/)
      assert.include((yield* run("macro", "proposals", "list")).out, "No first print waits")
    })
  )

  it.effect("The stakes on a macro challenge and the end of its pool are shown", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const challenge = yield* newMacro({ reward_pool: 1000 })
      const [winner, loser] = [yield* staker(100), yield* staker(100)]
      for (const agent of [winner, loser]) yield* forecast(agent, challenge)
      yield* stake(winner, challenge, 75_500_000n)
      yield* stake(loser, challenge, 50, 2.9)
      yield* TestClock.adjust("2 hours")
      const closed = yield* run("macro", "results", challenge.id)
      assert.isTrue(closed.ok, closed.err)
      assert.notInclude(closed.out, "\npool")
      assert.match(closed.out, /agent +3\.1 +0\.1 .* 75\.5 +2 +- /)

      yield* run("macro", "resolve", challenge.id, "--value=3.1")
      const shown = yield* run("macro", "results", challenge.id)
      assert.match(
        shown.out,
        /\npool +paid\nwinning bin +2, 3\.1 to below 3\.2\nreward pool +1000\nstaked +125\.5 by 2 agents\npaid +1000\n/
      )
      assert.match(shown.out, new RegExp(`${winner} +agent .* 75\\.5 +2 +1000 `))
      assert.match(shown.out, new RegExp(`${loser} +agent .* 50 +0 +0 `))
      const answer = yield* json((yield* run("macro", "results", challenge.id, "--json")).out)
      assert.deepInclude(answer["pool"], { outcome: "paid", reward_pool: 1000, staked: 125.5, paid: 1000 })
    })
  )

  it.effect("Price events are made, listed and voided, and show how they came out", () =>
    Effect.gen(function* () {
      yield* moveToToday
      assert.strictEqual((yield* run("price-events", "list")).out, "There are no price events yet.")
      const make = (...more: ReadonlyArray<string>) =>
        run(
          ...words("price-events create --asset ETH --deadline 2026-03-02T13:00:00Z"),
          ...words("--resolve-at 2026-03-02T00:00:00Z"),
          ...more
        )
      const made = yield* make(...words("--kind threshold --level 1999.5"))
      assert.isTrue(made.ok, made.err)
      assert.match(
        made.out,
        /kind +threshold[^]*level +1999\.5[^]*criteria +Yes \(bullish\) if the close of Ethereum/
      )
      const close = yield* make(...words("--kind numeric_close --reference-scale 40"))
      assert.match(close.out, /reference scale +40/)
      const barrier = yield* make(...words("--kind barrier --level 10 --window-from 2026-03-01T20:00:00Z"))
      assert.match(barrier.out, /window from +2026-03-01 20:00:00 UTC/)
      assert.include((yield* make(...words("--kind barrier"))).err, "level: Missing key")
      const early = yield* run("price-events", "void", firstId(barrier.out), "--reason", "a digit")
      assert.include(early.err, "nothing is settled or voided before its deadline")

      yield* TestClock.setTime(Date.parse("2026-03-02T14:00:00Z"))
      yield* importCandles("ETH", "1h", [[DateTime.makeUnsafe("2026-03-01T23:00:00Z"), 2000]])
      yield* run("settle")
      const voided = yield* run("price-events", "void", firstId(barrier.out), "--reason", "a digit")
      assert.match(voided.out, /void +a digit/)
      const listed = yield* run("price-events", "list", "--status", "resolved")
      assert.match(listed.out, /ETH +threshold +resolved +2026-03-02 13:00:00/)
      assert.strictEqual(
        (yield* run("price-events", "list", "--status", "open")).out,
        "No price event is open."
      )
      const shown = yield* run("price-events", "results", firstId(made.out))
      assert.match(shown.out, /result +bullish\nlevel +1999\.5\nclose price +2000/)
      const numeric = yield* run("price-events", "results", firstId(close.out))
      assert.match(numeric.out, /close price +2000\nreference scale +40/)
      const amended = yield* run(
        ...words(`price-events amend ${firstId(made.out)} --close-price 1999 --reason x`)
      )
      assert.match(amended.out, /result +bearish/)
    })
  )

  it.effect("An empty list says whether nothing is there, or nothing of that kind", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const none = yield* run("challenges", "list", "--asset", "HG")
      assert.strictEqual(none.out, "No challenge is like that.")
      // Without an address it is the server of this machine, at the port of the settings.
      const { port } = new URL(url)
      const near = yield* runCommand(admin, ["challenges", "list", "--asset", "HG"], { AUSPEX_PORT: port })
      assert.strictEqual(near.out, none.out, near.err)
    })
  )

  it.effect("The wrong place of an event file is named before anything is sent", () =>
    Effect.gen(function* () {
      const path = jsonFile({ events: [{ title: "good" }, { title: "" }] })
      const ran = yield* run("events", "import", path)
      assert.isFalse(ran.ok)
      assert.include(ran.err, "events.1.title")
    })
  )

  it.effect("Candles are imported once; contradictions are kept aside, and decided once", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const first = candles(["2026-03-01T00:00:00Z,10,12,9,11,5", "2026-03-01T01:00:00Z,11,12,9,10.5,5"])
      const importFirst = (content: string) => importPrices(content, "NG", "--interval", "1h")
      const imported = yield* importFirst(first)
      assert.strictEqual(imported.out, "NG: 2 inserted, 0 known already, 0 kept aside")
      const again = yield* importFirst(first)
      assert.strictEqual(again.out, "NG: 0 inserted, 2 known already, 0 kept aside")
      const contradicting = yield* importFirst(first.replace("10.5,5", "10.75,5"))
      assert.match(contradicting.out, /1 kept aside because they contradict/)

      const quarantine = yield* run("prices", "quarantine", "list")
      assert.match(quarantine.out, /NG\s+1h\s+2026-03-01 01:00:00\s+10\.5\s+10\.75/)
      const id = firstId(quarantine.out)
      const both = yield* run("prices", "decide", id, "--accept", "--reject", "--reason", "undecided")
      assert.strictEqual(both.err, "admin: Say either --accept or --reject.")
      const decided = yield* run("prices", "decide", id, "--accept", "--reason", "the exchange corrected it")
      assert.include(decided.out, "NG at 2026-03-01 01:00:00: accepted 10.75")
      const twice = yield* run("prices", "decide", id, "--reject", "--reason", "no")
      assert.include(twice.err, "a decision is final")
      assert.strictEqual((yield* run("prices", "quarantine")).out, "No price waits for a decision.")
    })
  )

  it.effect("Daily closes are taken as quotes at the end of the UTC day", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const closes = yield* importPrices("date,close\r\n2026-02-27,76.87\r\n2026-02-28,72.82\r\n", "CL")
      assert.strictEqual(closes.out, "CL: 2 inserted, 0 known already, 0 kept aside")
      const sql = yield* SqlClient.SqlClient
      const stored = yield* sql`
        select p.interval, to_char(p.time at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as time, p.close::text as close
          from price_points p where p.asset = 'CL' order by p.time`
      assert.deepStrictEqual(
        stored.map((row) => ({ ...row })),
        [
          { interval: "quote", time: "2026-02-28 00:00", close: "76.87" },
          { interval: "quote", time: "2026-03-01 00:00", close: "72.82" }
        ]
      )
    })
  )

  it.effect("A large file is sent in parts, with progress on stderr", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const start = Date.parse("2020-01-01T00:00:00Z")
      const rows = Array.from(
        { length: 5001 },
        (_, hour) => `${DateTime.formatIso(DateTime.makeUnsafe(start + hour * 3_600_000))},1,2,1,2,0`
      )
      const ran = yield* importPrices(candles(rows), "HG", "--interval", "1h", "--json")
      assert.strictEqual(ran.err, "5000 of 5001 points sent\n5001 of 5001 points sent")
      assert.deepInclude(yield* json(ran.out), { asset: "HG", inserted: 5001, unchanged: 0 })
    })
  )

  it.effect("The wrong line of a price file is named", () =>
    Effect.gen(function* () {
      const wrong = ["2026-03-01T00:00:00Z,10,12,9,11,5", "", "2026-03-01T01:00:00Z,10,12,9,eleven,5"]
      const importHours = (rows: ReadonlyArray<string>) =>
        importPrices(candles(rows), "NG", "--interval", "1h")
      const text = yield* importHours(wrong)
      assert.match(text.err, /\.csv, line 4: close: /)
      const low = yield* importHours(["2026-03-01T02:00:00Z,10,12,11,11,5"])
      assert.match(low.err, /line 2: Expected low <= open, close <= high/)
      const local = yield* importPrices("time,price\n2026-03-01 02:00,5", "NG")
      assert.match(local.err, /line 2: time: Expected an ISO 8601 date-time with its offset/)
      const interval = yield* importPrices(candles(["2026-03-01T02:00:00Z,10,12,9,11,5"]), "NG")
      assert.match(interval.err, /--interval 1h or 1d is needed/)
      const header = yield* importPrices("a,b\n1,2", "NG")
      assert.match(header.err, /expected a header with .* got "a,b"/)
      const absent = yield* run("prices", "import", join(directory, "none.csv"), "--asset", "NG")
      assert.match(absent.err, /none\.csv cannot be read: there is no such file\./)
    })
  )

  it.effect("A challenge is created with a deadline from now, listed, and cancelled with a reason", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const created = yield* run(
        ...words("challenges create --asset GC --resolve-at 2026-03-02T15:30:00Z --open-price 2000.5"),
        ...words("--dead-zone 0.25 --question Up? --deadline"),
        "in 2 hours"
      )
      assert.isTrue(created.ok, created.err)
      assert.match(created.out, /deadline\s+2026-03-02 14:00:00 UTC/)
      assert.match(created.out, /resolves\s+2026-03-02 15:30:00 UTC/)
      assert.match(created.out, /dead zone\s+0\.25 %/)
      const id = firstId(created.out)
      const listed = yield* run("challenges", "list", "--asset", "GC", "--status", "open")
      assert.match(
        listed.out,
        new RegExp(
          `${id}\\s+GC\\s+open\\s+2026-03-02 14:00:00\\s+2026-03-02 15:30:00\\s+2000\\.5\\s+0\\s+Up\\?`
        )
      )
      const cancelled = yield* run("challenges", "cancel", id, "--reason", "asked by mistake")
      assert.match(cancelled.out, /cancelled\s+asked by mistake/)
      const twice = yield* run("challenges", "cancel", id, "--reason", "again")
      assert.strictEqual(
        twice.err,
        "admin: The challenge is cancelled; only one that is open or closed can be cancelled."
      )
    })
  )

  it.effect("A text that is no instant, no percentage or no kind is refused in one line", () =>
    Effect.gen(function* () {
      const base = ["challenges", "create", "--asset", "GC", "--resolve-at", "in 3 hours"]
      const soon = yield* run(...base, "--deadline", "soon")
      assert.strictEqual(
        soon.err,
        'admin: --deadline "soon" is no instant: expected for example 2026-01-31T12:00:00Z or "in 2 hours".'
      )
      const zone = yield* run(...base, "--deadline", "in 2 hours", "--dead-zone", "wide")
      assert.include(zone.err, "--dead-zone takes a percentage")
      const kind = yield* run(...base, "--deadline", "in 2 hours", "--kind", "weekly")
      assert.isFalse(kind.ok)
      assert.match(kind.err, /Invalid value for flag --kind.*\nUsage: /)
    })
  )

  it.effect("Settlement, results and leaderboard are shown, and tampered statistics are found", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const { token } = yield* onboard({ name: "Ada 阿达" })
      const created = yield* run(
        ...words("challenges create --asset ES --deadline 1h --resolve-at 1h --open-price 100")
      )
      const id = firstId(created.out)
      yield* post(`/api/v1/eval/challenges/${id}/predict`, {
        token,
        json: { direction: "bullish", confidence: 0.6 }
      })
      yield* TestClock.adjust("2 hours")
      yield* importPrices("time,price\n2026-03-02T13:00:00Z,101", "ES")
      const settled = yield* run("settle")
      assert.include(settled.out, `1 settled\n  ${id}`)
      const results = yield* run("challenges", "results", id)
      assert.match(results.out, /result\s+bullish/)
      assert.match(results.out, /bullish\s+0\.6\s+80\.00/)
      const board = yield* run("leaderboard")
      assert.match(board.out, /Ada 阿达\s+80\.00\s+-\s+100\.0 %\s+1/)
      const sound = yield* run("figures", "check")
      assert.isTrue(sound.ok)
      assert.include(sound.out, "0 differences.")

      const amended = yield* run("challenges", "amend", id, "--close-price", "99", "--reason", "a digit")
      assert.match(amended.out, /result\s+bearish/)
      assert.match(amended.out, /1 +2026-\S+ \S+ +bullish +101/)
      assert.match(amended.out, /2 +2026-\S+ \S+ +bearish +99 .*a digit/)
      const shown = yield* run("challenges", "results", id)
      assert.match(shown.out, /amended\s+version 2: a digit/)
      assert.match((yield* run("leaderboard")).out, /Ada 阿达\s+20\.00\s+-\s+0\.0 %\s+1/)
      const wrong = yield* run("macro", "amend", id, "--value", "99", "--reason", "a digit")
      assert.isFalse(wrong.ok)
      assert.include(wrong.err, "actual_value: Expected no value")

      const sql = yield* SqlClient.SqlClient
      yield* sql`update agent_stats set score_sum = score_sum + 1`
      const tampered = yield* run("figures", "check")
      assert.isFalse(tampered.ok)
      assert.notInclude(tampered.out, " 0 differences.")
      assert.strictEqual(
        tampered.err,
        "admin: The stored statistics differ from a recomputation from the scores: see above."
      )
      yield* sql`update agent_stats set score_sum = score_sum - 1`
    })
  )

  it.effect("Targets are shown and changed", () =>
    Effect.gen(function* () {
      assert.match((yield* run("targets", "list")).out, /ZN\s+10-year T-note\s+rates/)
      const changed = yield* run("targets", "set", "ZN", "--paused", "true", "--dead-zone", "0.35")
      assert.match(changed.out, /ZN\s.*\spaused\s+0\.35/)
      const nothing = yield* run("targets", "set", "ZN")
      assert.include(nothing.err, "Expected a setting")
      const unknown = yield* run("targets", "set", "XX", "--paused", "false")
      assert.include(unknown.err, 'admin: There is no target "XX"')
    })
  )

  it.effect("An owner is shown with its agents, and put on a plan", () =>
    Effect.gen(function* () {
      const { agentId } = yield* onboard({ name: "Ada" })
      yield* claim(agentId)
      const shown = yield* run("agents", "show", agentId)
      const ownerId = ids(shown.out.match(/owner\s+.*/)?.[0] ?? "")[0] ?? "none"
      assert.match(shown.out, /owner\s+[0-9a-f-]{36} \(free\)/)
      const owner = yield* run("owners", "show", ownerId)
      assert.match(owner.out, /plan\s+free/)
      assert.match(owner.out, new RegExp(`agent\\s+${agentId} active Ada`))
      assert.match((yield* run("owners", "set-plan", ownerId, "pro")).out, /plan\s+pro/)
      assert.match((yield* run("agents", "show", agentId)).out, /\(pro\)/)
      assert.match((yield* run("audit")).out, /changeOwner\s+200/)
      assert.include((yield* run("owners", "set-plan", ownerId, "gold")).err, "gold")
      const unknown = yield* run("owners", "show", "nobody")
      assert.strictEqual(unknown.err, "admin: There is no owner nobody.")
    })
  )

  it.effect("An agent is suspended and restored, and a rotated secret is shown once", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const { agentId, secret } = yield* onboard()
      assert.match((yield* run("agents", "suspend", agentId)).out, /status\s+suspended/)
      assert.match((yield* run("agents", "restore", agentId)).out, /status\s+active_provisional/)
      const shown = yield* run("agents", "show", agentId)
      assert.match(shown.out, /predictions\s+0 of 10 while provisional/)
      const rotated = yield* run("agents", "rotate-secret", agentId)
      assert.strictEqual(rotated.out.match(/aus_cs_/g)?.length, 1)
      assert.notInclude(rotated.out, secret)
      assert.include(rotated.out, "Gateway keys that ended with the old one: 0")
      const kept = yield* run("agents", "rotate-secret", agentId, "--keep-keys", "--json")
      assert.include(kept.out, '"revoked_gateway_keys": 0')
      const audited = yield* run("audit")
      assert.match(audited.out, /rotateSecret\s+200/)
      assert.notInclude(audited.out, "aus_cs_")
      const unknown = yield* run("agents", "show", "nobody")
      assert.strictEqual(unknown.err, "admin: There is no agent nobody.")
    })
  )

  it.effect("The outcome of a refused call is in the audit log", () =>
    Effect.gen(function* () {
      yield* run("targets", "set", "YY", "--paused", "false")
      const { out } = yield* run("audit", "--limit", "1")
      assert.match(out, /changeTarget\s+404/)
      assert.match(out, /There are more: --cursor \S+$/)
    })
  )

  it.effect("The server's answer is printed for machines", () =>
    Effect.gen(function* () {
      const { out } = yield* run("targets", "list", "--json")
      assert.isArray((yield* json(out))["categories"])
    })
  )

  it.effect(
    "The token comes from --token, the environment, then the data directory, and is never shown",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const given = ["audit", "--limit", "1", "--url", url]
        writeFileSync(join(directory, "admin-token"), `${testAdminToken}\n`)
        assert.isTrue((yield* runCommand(admin, given, { AUSPEX_DATA_DIR: directory })).ok)
        const wrong = { AUSPEX_DATA_DIR: directory, AUSPEX_ADMIN_TOKEN: "not-the-token-at-all" }
        assert.isTrue((yield* runCommand(admin, [...given, "--token", testAdminToken], wrong)).ok)
        const refused = yield* runCommand(admin, given, wrong)
        assert.match(refused.err, /^admin: The administrator's token is wrong\. It comes from --token/)
        assert.notInclude(refused.err, "not-the-token")
        const none = yield* runCommand(admin, given, { AUSPEX_DATA_DIR: join(directory, "nowhere") })
        assert.match(none.err, /^admin: No administrator's token/)
        assert.isTrue(
          (yield* runCommand(admin, ["leaderboard", "--url", url], { AUSPEX_DATA_DIR: "/nowhere" })).ok
        )
      })
  )

  it.effect("A missing server, or another program in its place, is reported", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const nobody = yield* runCommand(admin, ["leaderboard", "--url", "http://127.0.0.1:1"])
      assert.strictEqual(
        nobody.err,
        "admin: No server answers at http://127.0.0.1:1. Start one with npm start, or say where it is with --url."
      )
      const elsewhere = yield* runCommand(admin, ["leaderboard", "--url", `${url}/elsewhere`])
      assert.isFalse(elsewhere.ok)
      assert.match(elsewhere.err, /^admin: .+$/)
      const noUrl = yield* runCommand(admin, ["leaderboard", "--url", "ftp://example.org"])
      assert.include(noUrl.err, "Expected an http or https URL")
    })
  )
})

layer(testServer())("The administrators' commands for credit", (it) => {
  it.effect("Credit is given to agents and owners, once for a key, and the ledger is proved", () =>
    Effect.gen(function* () {
      yield* moveToToday
      const { agentId } = yield* onboard()
      yield* claim(agentId)
      const owner = yield* someOperator
      const given = words(`agents grant ${agentId} 12.5 --key round-7 --reason`)
      for (const ran of [yield* run(...given, "won the round"), yield* run(...given, "won the round")]) {
        assert.isTrue(ran.ok, ran.err)
        assert.match(ran.out, new RegExp(`account +agent:${agentId}\\namount +12.5\\nreason +won the round`))
      }
      const other = yield* run(...given, "another reason")
      assert.isFalse(other.ok)
      assert.include(other.err, "round-7")
      const owners = yield* run(...words(`owners grant ${owner} 70 --key invoice-1 --reason paid --json`))
      assert.deepInclude(yield* json(owners.out), { account: `owner:${owner}`, amount: 70 })
      const checked = yield* run("ledger", "check")
      assert.isTrue(checked.ok, checked.err)
      assert.match(checked.out, /transfers +2\n/)
      assert.match(checked.out, /issued +82\.5\n/)
      assert.match(checked.out, /with agents +12\.5\n/)
      assert.include(checked.out, "Everything holds.")
      assert.deepInclude(yield* json((yield* run("ledger", "check", "--json")).out), { with_owners: 70 })
    })
  )

  it.effect("A wrong amount, reason or key is answered with its rule, each in words of its own", () =>
    Effect.gen(function* () {
      for (const [wrong, told] of [
        ["0 --key k --reason r", "amount: Expected a value greater than or equal to 0.000001"],
        ["10000000.5 --key k --reason r", "amount: Expected a value less than or equal to 10000000"],
        ["1.0000001 --key k --reason r", "amount: Expected a number with at most 6 decimals"],
        ["5 --key a/b --reason r", "idempotency_key: Expected 1 to 128 characters of A-Z a-z 0-9 . _ : -"]
      ] as const) {
        const ran = yield* run(...words(`agents grant x ${wrong}`))
        assert.isFalse(ran.ok)
        assert.include(ran.err, told)
        assert.notInclude(ran.err, ";")
      }
      const both = yield* run(...words("agents grant x 0 --key a/b --reason r"))
      assert.match(both.err, /amount: .*; idempotency_key: /)
    })
  )

  it.effect("The check fails when the ledger is not as it must be, and says where", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(sql`alter table accounts disable trigger accounts_moved_by_transfers`)
      yield* asOwner(sql`update accounts set posted = 1 where id = 'gateway_revenue'`)
      const ran = yield* run("ledger", "check")
      assert.isFalse(ran.ok)
      assert.include(
        ran.out,
        "account gateway_revenue has 1 micro-credits and holds 0, its transfers sum to 0 and 0"
      )
      assert.include(ran.out, "accounts_moved_by_transfers of accounts is missing or switched off")
      assert.strictEqual(ran.err, "admin: The ledger violates an invariant: see above.")
    })
  )
})

describe("Instants from now", () => {
  const now = DateTime.makeUnsafe(today)
  const told = (text: string) => Effect.map(instantOf("deadline", text, now), DateTime.formatIso)

  plainIt.each([
    ["in 2 hours", "2026-03-02T14:00:00.000Z"],
    ["90 minutes", "2026-03-02T13:30:00.000Z"],
    ["45s", "2026-03-02T12:00:45.000Z"],
    ["in 1.5 days", "2026-03-04T00:00:00.000Z"],
    ["2026-03-05T10:00:00+02:00", "2026-03-05T08:00:00.000Z"]
  ])("An instant from now is read: %s", (text, expected) =>
    assert.strictEqual(Effect.runSync(told(text)), expected)
  )
})

describe("Tables", () => {
  const rows = [
    { id: "1", name: "三个字的名字很长很长很长很长", count: 5, note: "a note that is rather long" },
    { id: "22", name: "plain", count: 12345, note: "" }
  ]
  const columns = [
    { title: "id", of: ({ id }: (typeof rows)[number]) => id },
    { title: "name", of: ({ name }: (typeof rows)[number]) => name, yields: "cut" as const },
    { title: "count", of: ({ count }: (typeof rows)[number]) => count, yields: "dropped" as const },
    { title: "note", of: ({ note }: (typeof rows)[number]) => note, yields: "cut" as const }
  ]

  plainIt("Tables align by what a terminal shows, numbers to the right", () => {
    assert.deepStrictEqual(table(rows, columns).split("\n"), [
      "id  name                          count  note",
      " 1  三个字的名字很长很长很长很长      5  a note that is rather long",
      "22  plain                         12345"
    ])
  })

  plainIt("Tables fit the terminal: cut first, then dropped, identifiers never", () => {
    for (const width of [60, 50, 40, 32, 20, 4]) {
      const lines = table(rows, columns, width).split("\n")
      assert.isTrue(lines.every((line) => line.includes("1") || line.includes("2") || line.startsWith("id")))
      if (width >= 32) assert.isAtMost(Math.max(...lines.map(CliOutput.displayWidth)), width)
    }
    assert.match(table(rows, columns, 66), /count .*…/s)
    assert.notInclude(table(rows, columns, 60), "count")
    assert.notInclude(table(rows, columns, 60), "…")
  })

  plainIt("Tables show nothing that a terminal would act on", () => {
    const hostile = [{ id: "\u001b[2J\u009b31m\nx", name: "\u2028", count: 1, note: "\t" }]
    // oxlint-disable-next-line no-control-regex -- naming control characters is the purpose
    assert.notMatch(table(hostile, columns).replaceAll("\n", ""), /[\u0000-\u001f\u007f-\u009f\u2028]/)
  })
})
