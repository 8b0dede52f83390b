/** The bytes of each type of entry: a change of them changes what strangers have verified. */
import { eachLevel } from "../../src/scoring/kinds/facts.ts"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { canonicalJson } from "../../src/layers/crypto/canonicalJson.ts"
import {
  EntryType,
  adminAudit,
  amendment,
  challengeClose,
  challengeCreate,
  keyRotate,
  predictionCommit,
  predictionReveal,
  settlement,
  voided
} from "../../src/layers/postgres/log/entries.ts"
import { leafHash, rootOf } from "../../src/layers/postgres/log/frontier.ts"

const at = (iso: string) => DateTime.makeUnsafe(iso)
const bytes = (value: number) => new Uint8Array(32).fill(value)
const text = (entry: Uint8Array) => Buffer.from(entry).toString("utf8")
const id = "01890a5d-ac96-774b-bcce-b302099a8057"

const noOtherTerms = {
  period: null,
  unit: null,
  bin_edges: null,
  reference_scale: null,
  decimal_step: null,
  categories: null,
  reference: null,
  reward_pool: null,
  ...eachLevel(() => null),
  window_from: null,
  pool_owner_rule: null,
  rule_version: null
}
const created = {
  ...noOtherTerms,
  challenge_type: "directional" as const,
  challenge_id: id,
  asset: "GC",
  kind: "session",
  event_id: "fed-holds",
  question: "Which way will gold move?",
  resolution_criteria: "Up or down.",
  resolution_criteria_zh: "涨跌。",
  created_at: at("2026-03-02T00:00:00Z"),
  deadline: at("2026-03-03T00:00:00Z"),
  resolve_at: at("2026-03-03T00:00:00.5Z"),
  close_price_until: at("2026-03-04T00:00:00.5Z"),
  cancel_at: at("2026-03-10T00:00:00.5Z"),
  open_price: "2050.1",
  dead_zone_pct: "0.3"
}
const closed = { challenge_id: id, closed_at: created.deadline, commits: 2, last_index: 7, root: bytes(0xab) }
const settled = {
  challenge_id: id,
  version: 1,
  result: "bullish",
  open_price: "2050.1",
  reference_scale: null,
  ...eachLevel(() => null),
  observation: "2061",
  dead_zone_pct: "0.3",
  source: "admin 1h candle",
  observed_at: at("2026-03-03T00:00:00.5Z"),
  fetched_at: at("2026-03-03T00:01:00Z"),
  raw_sha256: bytes(1),
  settled_at: at("2026-03-03T00:02:00Z"),
  scores: 2,
  root: bytes(0xcd),
  pool: null
}

describe("The entry of each type", () => {
  it("The entry of a challenge has its terms, and the hash of its texts", () => {
    assert.strictEqual(
      text(challengeCreate(created)),
      `{"asset":"GC","cancel_at":"2026-03-10T00:00:00.500Z","challenge_id":"${id}","challenge_type":"directional",` +
        `"close_price_until":"2026-03-04T00:00:00.500Z","created_at":"2026-03-02T00:00:00.000Z","dead_zone_pct":"0.3",` +
        `"deadline":"2026-03-03T00:00:00.000Z","event_id":"fed-holds",` +
        `"frozen_sha256":"7d73226e7da490263d577e9ee7c858b13156df16ec3b96d9165b19df69b40797","kind":"session",` +
        `"open_price":"2050.1","resolve_at":"2026-03-03T00:00:00.500Z","scoring_version":1,"source":null,` +
        `"type":"challenge.create"}`
    )
  })

  it("The entry of a macro challenge has its bins, its scale and its reward pool", () => {
    const macro = {
      ...created,
      challenge_type: "macro" as const,
      asset: "CPI",
      kind: "macro",
      event_id: null,
      open_price: null,
      dead_zone_pct: null,
      period: "2026-03",
      unit: "% y/y",
      bin_edges: ["3", "3.1"],
      reference_scale: "0.12",
      decimal_step: "0.1",
      categories: null,
      reference: null,
      reward_pool: "1000.5",
      pool_owner_rule: false
    }
    assert.strictEqual(
      text(challengeCreate(macro)),
      `{"asset":"CPI","bin_edges":["3","3.1"],"cancel_at":"2026-03-10T00:00:00.500Z","challenge_id":"${id}",` +
        `"challenge_type":"macro","created_at":"2026-03-02T00:00:00.000Z","deadline":"2026-03-03T00:00:00.000Z",` +
        `"decimal_step":"0.1","event_id":null,` +
        `"frozen_sha256":"7d73226e7da490263d577e9ee7c858b13156df16ec3b96d9165b19df69b40797","kind":"macro",` +
        `"period":"2026-03","pool_owner_rule":false,"reference_scale":"0.12","resolve_at":"2026-03-03T00:00:00.500Z","reward_pool":"1000.5",` +
        `"scoring_version":1,"source":null,"type":"challenge.create","unit":"% y/y"}`
    )
  })

  it("The entry of a challenge whose rules were not frozen with it has none", () => {
    for (const challenge_type of ["macro", "price_event"]) {
      assert.notMatch(text(challengeCreate({ ...created, challenge_type })), /pool_owner_rule|rule_version/)
    }
  })

  it("The entry of a macro challenge's settlement has the value and the scale", () => {
    const macro = { ...settled, result: null, open_price: null, dead_zone_pct: null, reference_scale: "0.12" }
    assert.strictEqual(
      text(settlement({ ...macro, observation: "3.2", source: "admin" })),
      `{"challenge_id":"${id}","fetched_at":"2026-03-03T00:01:00.000Z","observation":"3.2",` +
        `"observed_at":"2026-03-03T00:00:00.500Z","raw_sha256":"${"01".repeat(32)}","reference_scale":"0.12",` +
        `"result":null,"root":"${"cd".repeat(32)}","scores":2,"settled_at":"2026-03-03T00:02:00.000Z",` +
        `"source":"admin","type":"settlement","version":1}`
    )
  })

  it("The entry of a price event has its level and window, or its scale, and no other terms", () => {
    const event = {
      ...created,
      challenge_type: "price_event" as const,
      asset: "BTC",
      event_id: null,
      rule_version: 2
    }
    const rest =
      `"cancel_at":"2026-03-10T00:00:00.500Z","challenge_id":"${id}","challenge_type":"price_event",` +
      `"created_at":"2026-03-02T00:00:00.000Z","deadline":"2026-03-03T00:00:00.000Z"`
    const window_from = at("2026-03-02T01:00:00Z")
    assert.strictEqual(
      text(challengeCreate({ ...event, kind: "barrier", level: "70000", window_from })),
      `{"asset":"BTC",${rest},"decimal_step":null,"event_id":null,` +
        `"frozen_sha256":"7d73226e7da490263d577e9ee7c858b13156df16ec3b96d9165b19df69b40797","kind":"barrier",` +
        `"level":"70000","reference_scale":null,"resolve_at":"2026-03-03T00:00:00.500Z","rule_version":2,` +
        `"scoring_version":1,` +
        `"source":null,"type":"challenge.create","window_from":"2026-03-02T01:00:00.000Z"}`
    )
    assert.include(
      text(challengeCreate({ ...event, kind: "count_days", reference_scale: "1.3", decimal_step: "1" })),
      `"decimal_step":"1","event_id":null,`
    )
  })

  it("The entry of a yes-or-no question's settlement has its level, and no open price", () => {
    const threshold = { ...settled, open_price: null, dead_zone_pct: null, level: "70000" }
    assert.strictEqual(
      text(settlement({ ...threshold, observation: "70001.5" })),
      `{"challenge_id":"${id}","fetched_at":"2026-03-03T00:01:00.000Z","level":"70000","observation":"70001.5",` +
        `"observed_at":"2026-03-03T00:00:00.500Z","raw_sha256":"${"01".repeat(32)}","result":"bullish",` +
        `"root":"${"cd".repeat(32)}","scores":2,"settled_at":"2026-03-03T00:02:00.000Z",` +
        `"source":"admin 1h candle","type":"settlement","version":1}`
    )
  })

  it("The entry of a range and that of its settlement have both ends of it", () => {
    const ends = { low: "69000", high: "71000.5" }
    const event = { ...created, challenge_type: "price_event" as const, asset: "BTC", event_id: null }
    assert.include(
      text(challengeCreate({ ...event, kind: "range", ...ends })),
      `"high":"71000.5","kind":"range","level":null,"low":"69000",`
    )
    const range = { ...settled, open_price: null, dead_zone_pct: null, ...ends }
    assert.include(
      text(settlement({ ...range, observation: "70001.5" })),
      `"high":"71000.5","low":"69000","observation":"70001.5",`
    )
  })

  it("The entry of a macro challenge's end has what its credit came to, where there was a pool", () => {
    const pool = {
      outcome: "paid",
      winning_bin: 3,
      reward_pool: "1000.5",
      staked: "150",
      stakes: 2,
      paid: "600.3",
      root: bytes(0xef)
    }
    const written =
      `"pool":{"outcome":"paid","paid":"600.3","reward_pool":"1000.5","root":"${"ef".repeat(32)}",` +
      `"staked":"150","stakes":2,"winning_bin":3}`
    assert.include(text(settlement({ ...settled, pool })), `${written},"raw_sha256"`)
    assert.include(
      text(voided({ challenge_id: id, voided_at: created.deadline, reason: "why", pool })),
      `${written},"reason_sha256"`
    )
  })

  it("The entry of a challenge without a dead zone of its own has no criteria to hash", () => {
    const older = { ...created, dead_zone_pct: null, resolution_criteria: null, resolution_criteria_zh: null }
    assert.include(
      text(challengeCreate({ ...older, event_id: null })),
      `"dead_zone_pct":null,"deadline":"2026-03-03T00:00:00.000Z","event_id":null,` +
        `"frozen_sha256":"5b9999880dd25c5c89e73950768b3595372ffc913418833cbde416677afdbe1d"`
    )
  })

  it("The entry of a prediction has its commit, and nothing of whose it is", () => {
    assert.strictEqual(
      text(predictionCommit({ challenge_id: id, commit: bytes(0x0f) })),
      `{"c":"${"0f".repeat(32)}","challenge_id":"${id}","type":"prediction.commit"}`
    )
  })

  it("The entry of a close has the number of commits, the last of them, and their root", () => {
    assert.strictEqual(
      text(challengeClose(closed)),
      `{"challenge_id":"${id}","closed_at":"2026-03-03T00:00:00.000Z","commits":2,"last_index":7,` +
        `"root":"${"ab".repeat(32)}","type":"challenge.close"}`
    )
  })

  it("The entry of a close without commits has no last one", () => {
    assert.include(
      text(challengeClose({ ...closed, commits: 0, last_index: null })),
      `"commits":0,"last_index":null,`
    )
  })

  it("The entry of a reveal has the very text that was hashed", () => {
    assert.strictEqual(
      text(predictionReveal({ commit_index: 7, body: `{"kind":"x","ü":"\\n"}`, salt: bytes(2) })),
      `{"body":"{\\"kind\\":\\"x\\",\\"ü\\":\\"\\\\n\\"}","commit_index":7,"salt":"${"02".repeat(32)}",` +
        `"type":"prediction.reveal"}`
    )
  })

  it("The entry of a settlement has the prices that decided it, and the root of its scores", () => {
    assert.strictEqual(
      text(settlement(settled)),
      `{"challenge_id":"${id}","dead_zone_pct":"0.3","fetched_at":"2026-03-03T00:01:00.000Z","observation":"2061",` +
        `"observed_at":"2026-03-03T00:00:00.500Z","open_price":"2050.1","raw_sha256":"${"01".repeat(32)}",` +
        `"result":"bullish","root":"${"cd".repeat(32)}","scores":2,"settled_at":"2026-03-03T00:02:00.000Z",` +
        `"source":"admin 1h candle","type":"settlement","version":1}`
    )
  })

  it("The entry of an amendment has a settlement's fields, the old version, and its reason's hash", () => {
    assert.strictEqual(
      text(
        amendment({
          ...settled,
          version: 3,
          previous_version: 2,
          result: "bearish",
          observation: "2031",
          source: "admin",
          raw_sha256: null,
          reason: 'No price came, "sorry".'
        })
      ),
      `{"amended_at":"2026-03-03T00:02:00.000Z","challenge_id":"${id}","dead_zone_pct":"0.3",` +
        `"fetched_at":"2026-03-03T00:01:00.000Z","observation":"2031","observed_at":"2026-03-03T00:00:00.500Z",` +
        `"open_price":"2050.1","previous_version":2,"raw_sha256":null,` +
        `"reason_sha256":"3f19ef1eda0bf837c60e8dd3ed5003bdbb2399131b6149d6e1cca60129e794a3","result":"bearish",` +
        `"root":"${"cd".repeat(32)}","scores":2,"source":"admin","type":"amendment","version":3}`
    )
  })

  it("The entry of a cancelled challenge has the hash of the reason, not its text", () => {
    assert.strictEqual(
      text(
        voided({
          challenge_id: id,
          voided_at: created.deadline,
          reason: 'No price came, "sorry".',
          pool: null
        })
      ),
      `{"challenge_id":"${id}","reason_sha256":"3f19ef1eda0bf837c60e8dd3ed5003bdbb2399131b6149d6e1cca60129e794a3",` +
        `"type":"void","voided_at":"2026-03-03T00:00:00.000Z"}`
    )
  })

  it("The entry of a change of keys has both verifier keys", () => {
    assert.strictEqual(
      text(keyRotate({ old: "a/log/global+1+x", new: "a/log/global+2+y" })),
      `{"new":"a/log/global+2+y","old":"a/log/global+1+x","type":"key.rotate"}`
    )
  })

  it("The entry of administrators' calls has how many links their chain has, and its head", () => {
    assert.strictEqual(
      text(adminAudit({ count: 7, head: bytes(0xef), at: created.deadline })),
      `{"at":"2026-03-03T00:00:00.000Z","count":7,"head":"${"ef".repeat(32)}","type":"admin.audit"}`
    )
  })
})

describe("The entries of docs/log-entries.md", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/log-entries.md"), "utf8")
  const lines = page.split("\n").filter((line) => line.startsWith(`{"`))
  const members = lines.map((line) => JSON.parse(line))
  const of = (wanted: string) => members.filter(({ type }) => type === wanted)

  it("The entries of docs/log-entries.md are one of each type, as they are stored", () => {
    assert.sameMembers([...new Set(members.map(({ type }) => type))], [...EntryType.literals])
    assert.deepStrictEqual(
      lines.map((line) => canonicalJson(JSON.parse(line))),
      lines
    )
  })

  it("The reveal on the page opens the first commit, and the close is over both", () => {
    const [reveal] = of("prediction.reveal")
    const commits = of("prediction.commit").map(({ c }) => Buffer.from(c, "hex"))
    const opened = createHash("sha256").update("auspex/commit/v1\0")
    opened.update(Buffer.from(reveal.salt, "hex")).update(reveal.body)
    assert.deepStrictEqual(commits[0], opened.digest())
    assert.strictEqual(of("challenge.close")[0]?.root, rootOf(commits.map(leafHash)).toString("hex"))
  })

  it("The entries on the page name the agent by the hash that the page explains", () => {
    const [registered] = of("agent.register")
    const hash = createHash("sha256").update("auspex/agent-name/v1\0Calm Forecaster").digest("hex")
    assert.strictEqual(registered.name_sha256, hash)
    assert.deepStrictEqual(
      [of("agent.claim")[0]?.agent_id, of("agent.key")[0]?.agent_id],
      [registered.agent_id, registered.agent_id]
    )
  })
})
