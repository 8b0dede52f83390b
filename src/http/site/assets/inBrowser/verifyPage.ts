/**
 * Runs in the browser, on /verify: takes a proof that is pasted, dropped, chosen or linked to, checks it there, and says
 * what was found. Whatever comes from a proof is written as text, never as markup.
 */
/// <reference lib="dom" />
import { verify } from "../../../../scoring/verifier/verify.ts"
import type { Check, Verification } from "../../../../scoring/verifier/verify.ts"

const byId = <Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind => {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`the page lacks #${id}`)
}

const form = byId("verifier", HTMLFormElement)
const outcome = byId("outcome", HTMLElement)
const proof = byId("proof", HTMLTextAreaElement)
const keys = byId("keys", HTMLTextAreaElement)
const witnesses = byId("witnesses", HTMLTextAreaElement)
const receipt = byId("receipt", HTMLTextAreaElement)
const chosen = byId("file", HTMLInputElement)

/** What a file holds to the byte, for as long as the field shows it: fields change the ends of lines. */
let exact: Uint8Array | null = null

const element = (
  name: string,
  content: string | ReadonlyArray<Node>,
  attributes: Readonly<Record<string, string>> = {}
): HTMLElement => {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  if (typeof content === "string") made.textContent = content
  else made.append(...content)
  return made
}

const words: Readonly<Record<Check["outcome"], readonly [word: string, tone: string]>> = {
  passed: ["Passed", "success"],
  failed: ["Failed", "problem"],
  not_made: ["Not made", ""]
}

const checkItem = ({ outcome: found, says, title }: Check): HTMLElement => {
  const [word, tone] = words[found]
  return element("li", [
    element("p", [element("strong", title), element("span", word, { class: `badge ${tone}` })], {
      class: "check"
    }),
    element("p", says, { class: "quiet small" })
  ])
}

const notice = (tone: string, title: string, more: string): HTMLElement =>
  element("div", [element("div", [element("p", [element("strong", title)]), element("p", more)])], {
    class: `notice plain ${tone}`
  })

const verdict = ({ checks, holds }: Verification): HTMLElement => {
  if (holds) {
    return notice(
      "success",
      "The proof holds.",
      "Every check that was made passed, here in your browser, with the key in the field below."
    )
  }
  const failed = checks.find((check) => check.outcome === "failed")
  return failed === undefined
    ? notice(
        "warning",
        "This proves nothing yet.",
        "A check without which the others mean nothing was not made."
      )
    : notice("problem", "The proof does not hold.", `${failed.title}: this check failed. ${failed.says}`)
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The pages of what a proof is about, beside this one. */
const pagesOf: Readonly<Record<string, string>> = { Agent: "agents", Challenge: "challenges" }

/** A fact; of an agent or a challenge with a link to its page on this site, called as it is there. */
const factOf = (term: string, text: string): HTMLElement => {
  const folder = pagesOf[term]
  if (folder === undefined || !uuid.test(text)) return element("dd", text)
  const page = new URL(`${folder}/${text}`, location.href)
  const link = element("a", text, { href: page.pathname })
  nameAfter(page, link)
  return element("dd", [link, element("small", ` ${text}`)])
}

/** Puts the heading of a page of this site in place of what the link to it says. The request parses the page by itself. */
const nameAfter = (page: URL, link: HTMLElement): void => {
  const request = new XMLHttpRequest()
  request.open("GET", page)
  request.responseType = "document"
  request.addEventListener("load", () => {
    const heading = request.status === 200 ? request.responseXML?.querySelector("h1")?.textContent.trim() : ""
    if (heading !== undefined && heading !== "") link.textContent = heading
  })
  request.send()
}

const statementOf = ({ statement }: Verification): ReadonlyArray<HTMLElement> => {
  if (statement === null) return []
  const { facts, limits, title } = statement
  return [
    element("h3", title),
    element(
      "dl",
      facts.flatMap(([term, text]) => [element("dt", term), factOf(term, text)]),
      { class: "facts long" }
    ),
    ...limits.map((limit) => element("p", limit, { class: "quiet small" }))
  ]
}

const show = (title: string, parts: ReadonlyArray<HTMLElement>) => {
  outcome.replaceChildren(element("h2", title, { id: "outcome-title" }), ...parts)
  outcome.hidden = false
  outcome.focus()
}

const lines = (field: HTMLTextAreaElement): ReadonlyArray<string> =>
  field.value
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

const check = async () => {
  if (exact === null && proof.value.trim() === "") {
    show("There is nothing to check yet", [
      notice("info", "No proof is there.", "Paste the text of a proof file, drop the file, or choose it.")
    ])
    return
  }
  const held = receipt.value.trim()
  const verification = await verify({
    // What is copied out of a page often lacks the last line's end.
    proof: exact ?? `${proof.value.trim()}\n`,
    keys: lines(keys),
    witnesses: lines(witnesses),
    ...(held !== "" && { receipt: held })
  })
  show("What was found", [
    verdict(verification),
    ...statementOf(verification),
    element("h3", "The checks"),
    element("ol", verification.checks.map(checkItem), { class: "points" })
  ])
}

const load = (bytes: Uint8Array) => {
  proof.value = new TextDecoder().decode(bytes)
  exact = bytes
}

/** Larger than any proof: not worth reading. */
const maxFileBytes = 1_000_000

const take = async (file: File | undefined) => {
  if (file === undefined) return
  if (file.size > maxFileBytes) {
    show("What was found", [
      notice("problem", "This is no proof.", "The file is larger than any proof of a log.")
    ])
    return
  }
  load(new Uint8Array(await file.arrayBuffer()))
  await check()
}

const notLoaded = (why: string) =>
  show("What was found", [notice("warning", "The proof could not be loaded.", why)])

/** A proof of this site, by the path that a link names; nothing is fetched from elsewhere. */
const fetchLinked = async (path: string) => {
  const below = form.dataset["proofs"] ?? ""
  const address = new URL(path, location.origin)
  if (address.origin !== location.origin || !address.pathname.startsWith(below)) {
    show("What was found", [
      notice(
        "problem",
        "This link names no proof of this site.",
        "Download the proof, and choose the file here."
      )
    ])
    return
  }
  try {
    const answer = await fetch(address, {
      headers: { accept: "text/plain" },
      credentials: "omit",
      redirect: "error"
    })
    if (!answer.ok) {
      const told: unknown = await answer.json().catch(() => null)
      const detail = typeof told === "object" && told !== null && "detail" in told ? String(told.detail) : ""
      notLoaded(detail)
      return
    }
    load(new Uint8Array(await answer.arrayBuffer()))
  } catch {
    notLoaded(
      "This site did not answer. Load the page again, or download the proof and choose the file here."
    )
    return
  }
  await check()
}

const start = async () => {
  // A cryptography of one's own would be the last thing to trust; without the browser's, nothing is checked here.
  if (!isSecureContext) {
    byId("insecure", HTMLElement).hidden = false
    return
  }
  form.hidden = false
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void check()
  })
  proof.addEventListener("input", () => {
    exact = null
  })
  chosen.addEventListener("change", () => void take(chosen.files?.[0]))
  // A file that is dropped anywhere on the page is meant for it; text goes where the browser puts it.
  const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true
  document.addEventListener("dragover", (event) => {
    if (holdsFile(event)) event.preventDefault()
  })
  document.addEventListener("drop", (event) => {
    if (!holdsFile(event)) return
    event.preventDefault()
    void take(event.dataTransfer?.files[0])
  })
  const linked = new URLSearchParams(location.search).get("proof")
  if (linked !== null) await fetchLinked(linked)
}

await start()
