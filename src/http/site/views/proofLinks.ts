/** How pages show that what they say can be checked: the proof's file, and checking it at once. */
import { verifyPage } from "../paths.ts"
import { html } from "./html.ts"
import type { Frame } from "./layout.ts"

export const predictionProof = (commit: string) => `/api/v1/log/proof/${commit}`
export const settlementProof = (challengeId: string) => `/api/v1/log/settlement/${challengeId}`
export const entryProof = (leafIndex: number) => `/api/v1/log/proof/entry/${leafIndex}`

/** `of` says to those who hear the links one by one what they lead to. */
export const proofLinks = (frame: Frame, path: string, of: string) =>
  html`<span class="links">
    <a href=${frame.at(path)} aria-label=${`Proof file of ${of}`} download>Proof file</a>
    <a href=${frame.at(verifyPage(frame.at(path)))} aria-label=${`Check ${of} in the browser`}>Check</a>
  </span>`

/** `path` may have a query of its own, by which its list is filtered. */
export const nextPage = (frame: Frame, path: string, cursor: string | null) =>
  cursor === null
    ? null
    : html`<p>
        <a
          class="button secondary"
          href=${frame.at(`${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ cursor }).toString()}`)}
          >Next page</a
        >
      </p>`
