/**
 * Runs in the browser on /verify: accepts a proof that is pasted, dropped, chosen or linked to, checks it there, and shows
 * the result. Content of a proof is written as text, never as markup.
 */
/// <reference lib="dom" />
import { verify } from "../../../../scoring/verifier/verify.ts"
import type { Check, Verification } from "../../../../scoring/verifier/verify.ts"
import { messagesIn } from "./verifyMessages.ts"

const t = await messagesIn(document.documentElement.lang)

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

/** The exact bytes of a file, as long as the field shows it: fields change line ends. */
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

const tones: Readonly<Record<Check["outcome"], string>> = {
  passed: "success",
  failed: "problem",
  not_made: ""
}

const checkItem = ({ outcome: found, says, title }: Check): HTMLElement =>
  element("li", [
    element(
      "p",
      [
        element("strong", t.told(title)),
        element("span", t.outcomes[found], { class: `badge ${tones[found]}` })
      ],
      { class: "check" }
    ),
    element("p", t.told(says), { class: "quiet small" })
  ])

const notice = (tone: string, title: string, more: string): HTMLElement =>
  element("div", [element("div", [element("p", [element("strong", title)]), element("p", more)])], {
    class: `notice plain ${tone}`
  })

const verdict = ({ checks, holds }: Verification): HTMLElement => {
  if (holds) return notice("success", t.holds, t.holdsMore)
  const failed = checks.find((check) => check.outcome === "failed")
  return failed === undefined
    ? notice("warning", t.nothingYet, t.nothingYetMore)
    : notice("problem", t.holdsNot, t.failed(t.told(failed.title), t.told(failed.says)))
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Addresses of agents and challenges, with ID as placeholder, in the language of this page where they have it. */
const pagesOf: Readonly<Record<string, string | undefined>> = {
  Agent: form.dataset["agent"],
  Challenge: form.dataset["challenge"]
}

/** A fact; an agent or a challenge is linked to its page on this site and has its name. */
const factOf = (term: string, text: string): HTMLElement => {
  const address = pagesOf[term]?.replace("ID", text)
  if (address === undefined || !uuid.test(text)) return element("dd", t.told(text))
  const link = element("a", text, { href: address })
  nameAfter(address, link)
  return element("dd", [link, element("small", ` ${text}`)])
}

/** Replaces the text of a link by the heading of its page on this site. The request parses the page by itself. */
const nameAfter = (address: string, link: HTMLElement): void => {
  const request = new XMLHttpRequest()
  request.open("GET", address)
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
    element("h3", t.told(title)),
    element(
      "dl",
      facts.flatMap(([term, text]) => [element("dt", t.told(term)), factOf(term, text)]),
      { class: "facts long" }
    ),
    ...limits.map((limit) => element("p", t.told(limit), { class: "quiet small" }))
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
    show(t.nothingToCheck, [notice("info", t.noProof, t.noProofMore)])
    return
  }
  const held = receipt.value.trim()
  const verification = await verify({
    // A text that was copied from a page often lacks its last line end.
    proof: exact ?? `${proof.value.trim()}\n`,
    keys: lines(keys),
    witnesses: lines(witnesses),
    ...(held !== "" && { receipt: held })
  })
  show(t.found, [
    verdict(verification),
    ...statementOf(verification),
    element("h3", t.checks),
    element("ol", verification.checks.map(checkItem), { class: "points" })
  ])
}

const load = (bytes: Uint8Array) => {
  proof.value = new TextDecoder().decode(bytes)
  exact = bytes
}

/** Larger than any proof: the file is not read. */
const maxFileBytes = 1_000_000

const take = async (file: File | undefined) => {
  if (file === undefined) return
  if (file.size > maxFileBytes) {
    show(t.found, [notice("problem", t.notAProof, t.tooLarge)])
    return
  }
  load(new Uint8Array(await file.arrayBuffer()))
  await check()
}

const notLoaded = (why: string) => show(t.found, [notice("warning", t.notLoaded, why)])

/** A proof of this site, from the path in the link; nothing is fetched from elsewhere. */
const fetchLinked = async (path: string) => {
  const below = form.dataset["proofs"] ?? ""
  const address = new URL(path, location.origin)
  if (address.origin !== location.origin || !address.pathname.startsWith(below)) {
    show(t.found, [notice("problem", t.notOfThisSite, t.notOfThisSiteMore)])
    return
  }
  try {
    const answer = await fetch(address, {
      headers: { accept: "text/plain" },
      credentials: "omit",
      redirect: "error"
    })
    if (!answer.ok) {
      const body: unknown = await answer.json().catch(() => null)
      const detail = typeof body === "object" && body !== null && "detail" in body ? String(body.detail) : ""
      notLoaded(detail)
      return
    }
    load(new Uint8Array(await answer.arrayBuffer()))
  } catch {
    notLoaded(t.noAnswer)
    return
  }
  await check()
}

const start = async () => {
  // Without the browser's cryptography nothing is checked here: an implementation of this page could not be trusted.
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
  // A file that is dropped anywhere on the page is read as a proof; dropped text goes where the browser puts it.
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
