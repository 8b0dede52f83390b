/** A challenge's entries in the public log, and how anybody checks them: the same for challenges of every type. */
import { verifyPage } from "../paths.ts"
import type { ChallengeEntry } from "../../../services/TransparencyLog.ts"
import { html } from "./html.ts"
import type { Frame } from "./layout.ts"
import { entryProof, proofLinks, settlementProof } from "./proofLinks.ts"

type Meaning = readonly [title: string, meaning: string]

/** What decides a challenge of this type, as its settlement says. */
export interface RecordWords {
  readonly settled: string
  readonly amended: string
  readonly workOut: string
}

const meanings = ({ amended, settled }: RecordWords): ReadonlyMap<string, Meaning> =>
  new Map([
    [
      "challenge.create",
      ["Made", "The question, the criteria and every number that it settles by, frozen as they are."]
    ],
    [
      "challenge.close",
      [
        "Closed",
        "How many commits there were, revisions included, and one hash over them: none was added or left out later."
      ]
    ],
    ["settlement", ["Settled", settled]],
    ["amendment", ["Amended", amended]],
    ["void", ["Void", "It was cancelled, and nobody is scored by it."]]
  ])

const ends: ReadonlySet<string> = new Set(["settlement", "amendment", "void"])

export interface LogRecord {
  readonly challengeId: string
  readonly entries: ReadonlyArray<ChallengeEntry>
  /** The log stands still. */
  readonly halted: boolean
}

const logEntry = (
  frame: Frame,
  { challengeId, words }: { readonly challengeId: string; readonly words: RecordWords },
  { entry, isNewest }: { readonly entry: ChallengeEntry; readonly isNewest: boolean }
) => {
  const [title, meaning] = meanings(words).get(entry.type) ?? [entry.type, ""]
  const version = entry.version > 1 ? `, version ${entry.version}` : ""
  const proof = isNewest && ends.has(entry.type) ? settlementProof(challengeId) : entryProof(entry.leaf_index)
  return html`<li>
    <p class="row">
      <strong>${title}${version}</strong>
      <span>entry ${entry.leaf_index}</span>
      ${proofLinks(frame, proof, `the entry "${title}${version}"`)}
    </p>
    <p class="quiet small">
      ${meaning}
      ${entry.imported ? "It was recorded before this site had a log, and entered when the log began." : null}
    </p>
  </li>`
}

const standsStill = html`<p>
  The public log stands still at the moment, until the operators of this site have looked into it. What is
  recorded is kept, and enters the log when it goes on.
</p>`

const nothingYet = (halted: boolean) =>
  halted
    ? html`<p>This challenge is recorded, and has no place in the public log yet.</p>`
    : html`<p>This challenge is about to be entered into the public log, which takes a few seconds.</p>`

export const logRecord = (frame: Frame, { challengeId, entries, halted }: LogRecord, words: RecordWords) =>
  html`<section aria-labelledby="record">
    <h2 id="record">The record</h2>
    ${halted ? standsStill : null}
    ${
      entries.length === 0
        ? nothingYet(halted)
        : html`<p>
              What is entered in the public log is never changed or taken out. The entries about the challenge
              itself:
            </p>
            <ol class="rows">
              ${entries.map((entry, index) =>
                logEntry(
                  frame,
                  { challengeId, words },
                  {
                    entry,
                    isNewest: index === entries.length - 1
                  }
                )
              )}
            </ol>`
    }
    <details>
      <summary>How to check it</summary>
      <ol class="steps">
        <li>
          Take the proof file of a prediction, and <a href=${frame.at(verifyPage())}>check it</a> in your
          browser, or offline with a program of your own: the file has all that is needed but the log's key.
        </li>
        <li>
          A proof that holds shows what the agent said, sealed by a hash that stands at a place of the log,
          and that the log's key has signed the log with that place in it.
        </li>
        <li>
          The place of a prediction is below that of the entry “Closed”: so it was there before the challenge
          was closed. Witnesses who sign the log, too, say when they saw it.
        </li>
        <li>${words.workOut}</li>
      </ol>
    </details>
  </section>`
