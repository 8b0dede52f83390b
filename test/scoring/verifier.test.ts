/** A proof of the track record holds or it does not, whatever anybody wrote into the file. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { verify } from "../../src/scoring/verifier/verify.ts"
import type { CheckName, Request, Verification } from "../../src/scoring/verifier/verify.ts"
import {
  canonical,
  cosignatureLine,
  noteKey,
  openingOf,
  otherEntries,
  proofFile,
  sealed,
  sha256,
  signatureLine
} from "../support/provenLog.ts"
import type { Sealed } from "../support/provenLog.ts"

const key = noteKey("auspex.example/log/global")
const witness = noteKey("witness.example/w1", 4)
const keys = [key.verifierKey]

const found = ({ checks }: Verification, name: CheckName) => checks.find((check) => check.name === name)

const failed = (verification: Verification) =>
  verification.checks.filter(({ outcome }) => outcome === "failed").map(({ name }) => name)

/** The prediction at `index` of a log of `size` entries. */
const placed = (prediction: Sealed, index: number, size: number) =>
  otherEntries(size).map((entry, at) => (at === index ? prediction.entry : entry))

const proofOf = (prediction: Sealed, index = 4, size = 7) =>
  proofFile({ entries: placed(prediction, index, size), index, key, extra: openingOf(prediction) })

const rejects = async (
  request: Partial<Request> & Pick<Request, "proof">,
  name: CheckName,
  says: RegExp | string
) => {
  const verification = await verify({ keys, ...request })
  assert.isFalse(verification.holds)
  assert.isNull(verification.statement)
  assert.deepStrictEqual(failed(verification), [name])
  assert.match(found(verification, name)?.says ?? "", new RegExp(says))
}

describe("A proof that holds", () => {
  it("A proof shows the prediction as it was sealed", async () => {
    const prediction = sealed()
    const verification = await verify({ proof: proofOf(prediction), keys })
    assert.isTrue(verification.holds)
    assert.deepStrictEqual(
      verification.checks.map(({ name, outcome }) => [name, outcome]),
      [
        ["file", "passed"],
        ["signature", "passed"],
        ["witnesses", "not_made"],
        ["inclusion", "passed"],
        ["commit", "passed"],
        ["receipt", "not_made"]
      ]
    )
    assert.deepStrictEqual(verification.statement?.facts, [
      ["Agent", "01a1fc93-4966-77af-ae60-9f02bae5a6cd"],
      ["Challenge", "01a1fc93-cf15-7009-bfbe-56ab2106280a"],
      ["Direction", "bearish"],
      ["Confidence", "0.7"],
      ["Received at", "2026-11-21T05:28:27.724Z"],
      ["Revision", "the first one"],
      ["SHA-256 of the reasoning", sha256("lower highs for six hours").toString("hex")],
      ["Place in the log", "entry 4 of a log of 7"]
    ])
  })

  it("A proof holds at every place of logs of 1 to 17 entries", async () => {
    const prediction = sealed()
    for (let size = 1; size <= 17; size++) {
      for (let index = 0; index < size; index++) {
        const { holds } = await verify({ proof: proofOf(prediction, index, size), keys })
        assert.isTrue(holds, `entry ${index} of ${size}`)
      }
    }
  })

  it("A proof may come as bytes, and with the receipt, bare or in its answer", async () => {
    const prediction = sealed()
    const proof = Buffer.from(proofOf(prediction))
    const answer = `{\n  "prediction_id": "x", "receipt": ${prediction.receipt}\n}\n`
    for (const receipt of [prediction.receipt, Buffer.from(answer)]) {
      const verification = await verify({ proof, keys, receipt })
      assert.isTrue(verification.holds)
      assert.strictEqual(found(verification, "receipt")?.outcome, "passed")
    }
  })

  it("A receipt stands in for missing extra data of a proof", async () => {
    const prediction = sealed()
    const proof = proofFile({ entries: placed(prediction, 2, 5), index: 2, key })
    const verification = await verify({ proof, keys, receipt: prediction.receipt })
    assert.isTrue(verification.holds)
    assert.strictEqual(verification.statement?.title, "A prediction")
    assert.isFalse((await verify({ proof, keys })).holds)
  })

  it("A proof of a sealed prediction shows only that something was sealed", async () => {
    const prediction = sealed()
    const proof = proofFile({
      entries: placed(prediction, 1, 3),
      index: 1,
      key,
      extra: { entry: prediction.entry }
    })
    const verification = await verify({ proof, keys })
    assert.isTrue(verification.holds)
    assert.strictEqual(verification.statement?.title, "A sealed prediction")
    assert.strictEqual(found(verification, "commit")?.outcome, "not_made")
  })

  it("A proof of a settlement shows its result", async () => {
    const entry = canonical({
      challenge_id: "01a1fc93-cf15-7009-bfbe-56ab2106280a",
      observation: "1180.25",
      result: "bearish",
      type: "settlement",
      version: 1
    })
    const proof = proofFile({ entries: [...otherEntries(3), entry], index: 3, key, extra: { entry } })
    const verification = await verify({ proof, keys })
    assert.isTrue(verification.holds)
    assert.strictEqual(verification.statement?.title, "A settlement")
    const facts = new Map(verification.statement?.facts)
    assert.strictEqual(facts.get("Closing price"), "1180.25")
  })

  it("A proof of a range's settlement shows both ends of the range", async () => {
    const entry = canonical({
      challenge_id: "01a1fc93-cf15-7009-bfbe-56ab2106280a",
      high: "1190",
      low: "1180.25",
      observation: "1180.25",
      result: "bullish",
      type: "settlement",
      version: 1
    })
    const proof = proofFile({ entries: [...otherEntries(3), entry], index: 3, key, extra: { entry } })
    const { statement } = await verify({ proof, keys })
    const facts = new Map(statement?.facts)
    assert.deepStrictEqual(
      ["Low end", "High end", "Closing price"].map((name) => facts.get(name)),
      ["1180.25", "1190", "1180.25"]
    )
  })

  it("A proof of an amendment shows the replaced version, and that another may have followed", async () => {
    const entry = canonical({
      amended_at: "2026-03-04T00:00:00.000Z",
      challenge_id: "01a1fc93-cf15-7009-bfbe-56ab2106280a",
      observation: "3.1",
      observed_at: "2026-03-02T13:30:00.000Z",
      previous_version: 1,
      reason_sha256: "ab".repeat(32),
      reference_scale: "0.12",
      result: null,
      type: "amendment",
      version: 2
    })
    const proof = proofFile({ entries: [...otherEntries(3), entry], index: 3, key, extra: { entry } })
    const verification = await verify({ proof, keys })
    assert.isTrue(verification.holds)
    assert.strictEqual(verification.statement?.title, "An amendment of a settlement")
    const facts = new Map(verification.statement?.facts)
    assert.deepInclude(Object.fromEntries(facts), {
      "Published value": "3.1",
      "Amended at": "2026-03-04T00:00:00.000Z",
      "Recorded at, of the first version": "2026-03-02T13:30:00.000Z",
      Version: "2",
      "In place of version": "1",
      "SHA-256 of the reason": "ab".repeat(32)
    })
    // The time beside the new value is that of the new value.
    assert.deepStrictEqual(
      verification.statement?.facts.slice(1, 3).map(([term]) => term),
      ["Published value", "Amended at"]
    )
    assert.isFalse(facts.has("Recorded at"))
    assert.include(verification.statement?.limits.join(" "), "the newest one counts")
  })

  it("A proof of a prediction says that it may have been revised, and where that shows", async () => {
    const prediction = sealed()
    const opened = await verify({ proof: proofOf(prediction), keys })
    assert.match(opened.statement?.limits.join(" ") ?? "", /last word.*highest revision.*results/)
  })

  it("A second signature of the log itself does not count as that of a witness", async () => {
    const second = noteKey(key.name)
    const whole = proofOf(sealed())
    const body = whole.slice(whole.indexOf("\n\n") + 2, whole.lastIndexOf("\n\n") + 1)
    const twice = await verify({ proof: `${whole}${signatureLine(second, body)}`, keys })
    assert.isTrue(twice.holds)
    assert.include(found(twice, "witnesses")?.says, "has no cosignature")
    const seen = await verify({ proof: `${whole}${cosignatureLine(witness, body, 1_795_000_000)}`, keys })
    assert.include(found(seen, "witnesses")?.says, "the file names witness.example/w1+")
  })

  it("A proof of a yes-or-no settlement shows its level", async () => {
    const entry = canonical({
      challenge_id: "01a1fc93-cf15-7009-bfbe-56ab2106280a",
      level: "70000",
      observation: "69999.5",
      result: "bearish",
      type: "settlement"
    })
    const proof = proofFile({ entries: [...otherEntries(3), entry], index: 3, key, extra: { entry } })
    const facts = new Map((await verify({ proof, keys })).statement?.facts)
    assert.deepStrictEqual(
      ["Result", "Level", "Open price"].map((term) => facts.get(term)),
      ["bearish", "70000", undefined]
    )
    assert.include([...facts.values()], "69999.5")
  })

  it("A proof of a macro settlement shows the result of its credit pool", async () => {
    const entry = canonical({
      challenge_id: "01a1fc93-cf15-7009-bfbe-56ab2106280a",
      observation: "3.2",
      pool: {
        outcome: "paid",
        paid: "600.3",
        reward_pool: "500",
        root: "ef".repeat(32),
        staked: "150",
        stakes: 2,
        winning_bin: 3
      },
      reference_scale: "0.12",
      type: "settlement"
    })
    const proof = proofFile({ entries: [...otherEntries(3), entry], index: 3, key, extra: { entry } })
    const facts = new Map((await verify({ proof, keys })).statement?.facts)
    assert.strictEqual(facts.get("Credit pool"), "paid")
    assert.strictEqual(facts.get("Reward pool in credits"), "500")
    assert.strictEqual(facts.get("Credits paid as rewards"), "600.3")
    assert.strictEqual(facts.get("Merkle root of the stakes and rewards"), "ef".repeat(32))
  })

  it("A proof takes any of several keys of the log, and cosignatures of witnesses with their times", async () => {
    const prediction = sealed()
    const proof = proofFile({
      entries: placed(prediction, 0, 2),
      index: 0,
      key,
      extra: openingOf(prediction),
      cosigned: [[witness, 1_795_000_000]]
    })
    const older = noteKey("auspex.example/log/global")
    const verification = await verify({
      proof,
      keys: [older.verifierKey, key.verifierKey],
      witnesses: [witness.verifierKey]
    })
    assert.isTrue(verification.holds)
    assert.include(found(verification, "witnesses")?.says, "18 November 2026")
  })
})

describe("A proof that does not hold", () => {
  const prediction = sealed()
  const proof = proofOf(prediction)

  it("A proof without a key proves nothing", async () => {
    const verification = await verify({ proof, keys: [] })
    assert.isFalse(verification.holds)
    assert.strictEqual(found(verification, "signature")?.outcome, "not_made")
    assert.include(found(verification, "signature")?.says, `${key.name}+${key.id.toString("hex")}`)
  })

  it("A verification names the check that failed", async () => {
    const stranger = noteKey(key.name)
    const other = sealed({ challenge_id: "01a1fc93-cf15-7009-bfbe-000000000000" })
    const swapped = { ...openingOf(prediction), body: other.body }
    const entries = placed(prediction, 4, 7)
    const proofWith = (extra: Readonly<Record<string, string>> | string) =>
      proofFile({ entries, index: 4, key, extra })
    await rejects(
      { proof, keys: [stranger.verifierKey] },
      "signature",
      "another key of the same log.*key\\.rotate"
    )
    await rejects(
      { proof, keys: [noteKey("elsewhere.example/log").verifierKey] },
      "signature",
      "not signed by"
    )
    await rejects({ proof, keys: ["not a key"] }, "signature", "name\\+id\\+base64")
    await rejects(
      { proof: proofOf(prediction), witnesses: [witness.verifierKey] },
      "witnesses",
      "not cosigned"
    )
    await rejects({ proof, witnesses: [key.verifierKey] }, "witnesses", "type 0x04")
    await rejects({ proof: proof.replace("index 4", "index 3") }, "inclusion", "do not lead")
    await rejects({ proof: proof.replace("index 4", "index 7") }, "inclusion", "no entry 7")
    await rejects({ proof: proof.replace(/\n[\w+/=]{44}\n/, "\n") }, "inclusion", "too few")
    await rejects(
      { proof: proofWith({ ...openingOf(prediction), entry: other.entry }) },
      "inclusion",
      "do not lead"
    )
    await rejects({ proof: proofWith(swapped) }, "commit", "not the hash")
    await rejects({ proof, receipt: other.receipt }, "receipt", "another prediction")
    await rejects({ proof, receipt: "{" }, "receipt", "not JSON")
    await rejects(
      { proof: proofFile({ entries, index: 4, key, origin: "x", extra: openingOf(prediction) }) },
      "signature",
      "another log"
    )
  })

  it("A sealed prediction fails for a wrong receipt alone, with the mistake in it", async () => {
    const other = sealed({ revision: 1 })
    const sealedProof = proofFile({
      entries: placed(prediction, 4, 7),
      index: 4,
      key,
      extra: { entry: prediction.entry }
    })
    const receipt = JSON.parse(prediction.receipt)
    const changed = (members: Readonly<Record<string, unknown>>) => canonical({ ...receipt, ...members })
    assert.isTrue((await verify({ proof: sealedProof, keys, receipt: prediction.receipt })).holds)
    await rejects({ proof: sealedProof, receipt: other.receipt }, "receipt", "another revision")
    await rejects({ proof: sealedProof, receipt: "{" }, "receipt", "not JSON")
    await rejects(
      { proof: sealedProof, receipt: changed({ salt: other.salt }) },
      "receipt",
      "contradicts itself"
    )
    for (const place of [3, 5]) {
      const elsewhere = changed({ leaf_index: place })
      await rejects({ proof: sealedProof, receipt: elsewhere }, "receipt", `names entry ${place}.*entry 4`)
    }
    const [entry = ""] = otherEntries(1)
    const ofElse = proofFile({ entries: [entry], index: 0, key, extra: { entry } })
    await rejects({ proof: ofElse, receipt: prediction.receipt }, "receipt", "A receipt is of a prediction")
  })

  it("A proof is of one challenge throughout", async () => {
    const elsewhere = sealed({ challenge_id: "01a1fc93-cf15-7009-bfbe-000000000000" })
    await rejects({ proof: proofOf(elsewhere) }, "commit", "another challenge")
  })

  it("A commit opens only with a text that can be read in one way", async () => {
    for (const body of [
      prediction.body.replace("{", '{"agent_id":"other",'),
      prediction.body.replace(":0.7", ":0.70"),
      `${prediction.body}\n`,
      "[]",
      "x".repeat(10)
    ]) {
      const c = sha256("auspex/commit/v1\0", Buffer.from(prediction.salt, "hex"), body).toString("hex")
      const entry = canonical({ ...JSON.parse(prediction.entry), c })
      const forged = proofFile({
        entries: [entry],
        index: 0,
        key,
        extra: { body, entry, salt: prediction.salt }
      })
      await rejects({ proof: forged }, "commit", "canonical JSON|JSON object|not JSON")
    }
  })

  it("A proof can be written in one way only", async () => {
    const lines = proof.split("\n")
    const [header, extra, index = "", ...rest] = lines
    const assembled = (...parts: ReadonlyArray<string | undefined>) => [...parts, ...rest].join("\n")
    const notCanonical = Buffer.from(` ${canonical(openingOf(prediction))}`).toString("base64")
    const withMore = Buffer.from(canonical({ ...openingOf(prediction), more: "" })).toString("base64")
    for (const written of [
      "",
      "\n",
      proof.slice(0, 200),
      proof.replaceAll("\n", "\r\n"),
      proof.slice(0, -1),
      `${proof}\n`,
      `${proof} `,
      `${proof}rubbish\n`,
      `\n${proof}`,
      `\ufeff${proof}`,
      proof.replace("\n\n", "\n\n\n"),
      proof.replace("@v1", "@v2"),
      assembled(header, extra, "index 04"),
      assembled(header, extra, "index +4"),
      assembled(header, extra, "index 4 "),
      assembled(header, extra, "index 99999999999999999999"),
      assembled(header, index, extra),
      assembled(header, extra, extra, index),
      assembled(header, `extra ${notCanonical}`, index),
      assembled(header, `extra ${withMore}`, index),
      assembled(header, "extra ", index),
      assembled(header, `${extra ?? ""}=`, index),
      assembled(header, extra, index, ...Array.from({ length: 64 }, () => sha256("").toString("base64"))),
      assembled(header, extra, index, sha256("").toString("base64url")),
      `${proof}${"— a aaaaaaaa\n".repeat(101)}`,
      `${proof}— a b c\n`,
      `${proof}${"x".repeat(700_000)}\n`,
      "\ud800"
    ]) {
      await rejects({ proof: written }, "file", ".")
    }
  })

  it("A proof with an index or a size beyond doubles does not hang", async () => {
    await rejects({ proof: proof.replace("index 4", "index 9007199254740991") }, "inclusion", "no entry")
    await rejects({ proof: proof.replace("\n7\n", "\n9007199254740993\n") }, "file", "whole number")
  })

  it("A wrong signature is not mended by a second one of a known key", async () => {
    const line = proof.split("\n").at(-2) ?? ""
    const wrong = line.replace(/.{8}$/, "AAAAAA==")
    await rejects({ proof: proof.replace(line, `${wrong}\n${line}`) }, "signature", "does not fit")
  })
})

describe("Hostile input", () => {
  const prediction = sealed()
  const proof = Buffer.from(
    proofFile({
      entries: placed(prediction, 4, 7),
      index: 4,
      key,
      extra: openingOf(prediction),
      cosigned: [[witness, 1_795_000_000]]
    })
  )
  const request = { keys, witnesses: [witness.verifierKey] }

  it.prop(
    "A valid proof fails by any change of any byte",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: proof.length - 1 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 }))
    ],
    async ([at, change]) => {
      const changed = Uint8Array.from(proof, (byte, index) => (index === at ? byte ^ change : byte))
      const { holds, statement } = await verify({ ...request, proof: changed })
      assert.isFalse(holds, `byte ${at} changed by ${change}`)
      assert.isNull(statement)
    },
    { arbitrary: { runs: 400 } }
  )

  it("A valid proof fails by each byte of it, and by its length", async () => {
    assert.isTrue((await verify({ ...request, proof })).holds)
    for (const at of proof.keys()) {
      const changed = Uint8Array.from(proof, (byte, index) => (index === at ? byte ^ 1 : byte))
      assert.isFalse((await verify({ ...request, proof: changed })).holds, `byte ${at}`)
      assert.isFalse((await verify({ ...request, proof: proof.subarray(0, at) })).holds, `cut at ${at}`)
    }
  })

  it.prop(
    "A verification of any text or bytes never rejects, in any place",
    [Schema.String, Schema.Uint8Array],
    async ([text, bytes]) => {
      for (const hostile of [text, bytes, `c2sp.org/tlog-proof@v1\n${text}`]) {
        assert.isFalse(
          (await verify({ proof: hostile, keys: [text], witnesses: [text], receipt: hostile })).holds
        )
      }
      const { holds } = await verify({ proof, keys: [`${text}+${text}+${text}`], receipt: text })
      assert.isFalse(holds)
    }
  )

  it("A proof nested deeper than any stack is refused", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`
    const extra = `{"entry":${deep}}`
    await rejects({ proof: proofFile({ entries: ["x"], index: 0, key, extra }) }, "file", ".")
    await rejects({ proof: proofOf(prediction), receipt: deep }, "receipt", ".")
  })

  it("A proof's texts reach no terminal as control sequences", async () => {
    const entry = canonical({ type: "\u001b[2J\u202etest", x: "\u0007" })
    const verification = await verify({
      proof: proofFile({ entries: [entry], index: 0, key, extra: { entry } }),
      keys
    })
    assert.isTrue(verification.holds)
    const { checks, statement } = verification
    const shown = [...checks.map(({ says }) => says), ...(statement?.facts.flat() ?? [])].join(" ")
    assert.include(shown, "?[2J?test")
    assert.notMatch(shown, /[\p{Cc}\p{Cf}]/u)
  })
})
