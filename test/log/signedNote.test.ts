import { createPrivateKey, generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import {
  checkpointText,
  isKeyName,
  isSignedBy,
  keyId,
  parseCheckpointText,
  parseNote,
  parseVerifierKey,
  rawPublicKey,
  signNote,
  verifierKey
} from "../../src/layers/crypto/signedNote.ts"

/** The key and the note with which Go's `golang.org/x/mod/sumdb/note` is tested. */
const goVerifier = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
const goSeed = Buffer.from("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "base64").subarray(1)
const goKey = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), goSeed]),
  format: "der",
  type: "pkcs8"
})
const goText =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
const goLine =
  "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"

/** The checkpoint of C2SP's tlog-cosignature, with the line of a witness. */
const sofa = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
const sofaNote = `${sofa}
\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`

const opened = (note: string) => Option.getOrThrow(parseNote(note))
const verifierOf = (text: string) => Option.getOrThrow(parseVerifierKey(text))

describe("A signed note", () => {
  it("A signed note is signed, and its keys named, as Go's sumdb/note does, byte for byte", () => {
    assert.strictEqual(signNote(goText, "PeterNeumann", goKey), goLine)
    assert.strictEqual(verifierKey("PeterNeumann", rawPublicKey(goKey)), goVerifier)
    assert.strictEqual(keyId("PeterNeumann", 1, rawPublicKey(goKey)).toString("hex"), "c74f20a3")
  })

  it("A signed note is accepted as Go signed it, and with no other text under that signature", () => {
    const verifier = verifierOf(goVerifier)
    assert.isTrue(isSignedBy(opened(`${goText}\n${goLine}`), verifier))
    assert.isFalse(isSignedBy(opened(`${goText.replace("is.", "was.")}\n${goLine}`), verifier))
  })

  it("A signed note may have signatures of others, and is refused with a wrong one of the key", () => {
    const verifier = verifierOf(goVerifier)
    const { privateKey } = generateKeyPairSync("ed25519")
    const stranger = signNote(goText, "PeterNeumann", privateKey)
    assert.isTrue(isSignedBy(opened(`${goText}\n${stranger}${goLine}`), verifier))
    assert.isFalse(isSignedBy(opened(`${goText}\n${stranger}`), verifier))
    const wrong = signNote(`${goText}more\n`, "PeterNeumann", goKey)
    assert.isFalse(isSignedBy(opened(`${goText}\n${goLine}${wrong}`), verifier))
  })

  it("A signed note is checked by no verifier key that is altered anywhere", () => {
    for (let from = 0; from <= goVerifier.length; from++) {
      for (let to = from; to <= goVerifier.length; to++) {
        const part = goVerifier.slice(from, to)
        if (part !== goVerifier) assert.isTrue(Option.isNone(parseVerifierKey(part)), part)
      }
    }
    for (let at = 0; at < goVerifier.length; at++) {
      const next = String.fromCodePoint(goVerifier.charCodeAt(at) + 1)
      const altered = goVerifier.slice(0, at) + next + goVerifier.slice(at + 1)
      assert.isTrue(Option.isNone(parseVerifierKey(altered)), altered)
    }
    // A key of the wrong length, with the id that it would have.
    const long = "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY=="
    assert.isTrue(Option.isNone(parseVerifierKey(long)))
  })

  it("A signed note ends its text at the last empty line, as that of C2SP's specification", () => {
    const note = opened(sofaNote)
    assert.strictEqual(note.text, sofa)
    assert.deepStrictEqual(
      note.signatures.map(({ name, signature }) => [name, signature.length]),
      [
        ["example.com/behind-the-sofa", 64],
        ["witness.example.com/w1", 72]
      ]
    )
    assert.strictEqual(opened(`a\n\nb\n\n${goLine}`).text, "a\n\nb\n")
  })

  it("A signed note is not read from a text that is none", () => {
    const notNotes = [
      "",
      goText,
      `${goText}\n`,
      `${goText}\n${goLine.slice(0, -1)}`,
      `${goText}\n${goLine}\n`,
      `${goText}\n${goLine.replace("\u2014", "-")}`,
      `${goText}\n${goLine.replace("x08g", "x08=")}`,
      `${goText}\n\u2014 PeterNeumann x08goA==\n`,
      `${goText}\t\n\n${goLine}`
    ]
    for (const text of notNotes) assert.isTrue(Option.isNone(parseNote(text)), JSON.stringify(text))
  })

  it("A signed note has names with neither spaces nor plus signs", () => {
    assert.isTrue(isKeyName("auspex.example/log/global"))
    for (const name of ["", "a b", "a+b", "a\u00a0b", "a\nb", "a\u2028b", "a\u0000"])
      assert.isFalse(isKeyName(name))
  })
})

describe("A checkpoint", () => {
  it("A checkpoint is origin, size and root, a line each", () => {
    const root = Buffer.from("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=", "base64")
    assert.strictEqual(
      checkpointText({ origin: "example.com/behind-the-sofa", size: 20_852_163, root }),
      sofa
    )
  })

  it("A checkpoint is read from the specification's example, and passes over extension lines", () => {
    const head = Option.getOrThrow(parseCheckpointText(sofa))
    assert.strictEqual(checkpointText(head), sofa)
    assert.strictEqual(Option.getOrThrow(parseCheckpointText(`${sofa}extension\n`)).size, 20_852_163)
  })

  it("A checkpoint is read from no other text", () => {
    const wrong = [
      sofa.slice(0, -1),
      sofa.replace("20852163", "020852163"),
      sofa.replace("20852163", "-1"),
      sofa.replace("20852163", "9007199254740993"),
      sofa.replace("q2I=", "q2J="),
      sofa.replace("q2I=", "q2="),
      `\n${sofa}`,
      `${sofa}\n`
    ]
    for (const text of wrong) assert.isTrue(Option.isNone(parseCheckpointText(text)), JSON.stringify(text))
  })
})
