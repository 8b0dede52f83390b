/**
 * Runs in the browser on public pages: counts down, shows local times, and loads the page again when the public stream of
 * notices reports a change. It writes no markup of its own.
 */
// @effect-diagnostics globalDate:off globalRandom:off -- they are the browser's
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { lengthOf } from "./lengths.ts"

/** The server caches a page for this long. */
const settling = 1100
const between = 5000

/** Days come before months, as on the page. */
const language = document.documentElement.lang
const local = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, {
  dateStyle: "long",
  timeStyle: "short"
})
const zone = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" })

const zoneName = (at: Date): string =>
  zone.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? ""

/** Times of day only: a day of this site is a day in UTC. */
const instants = (within: ParentNode) => within.querySelectorAll<HTMLTimeElement>('time[datetime*="T"]')

/** Shows the local time; the title keeps the time in UTC. */
const localize = (within: ParentNode): void => {
  for (const time of instants(within)) {
    if (time.classList.contains("countdown") || time.title !== "") continue
    const at = new Date(time.dateTime)
    time.title = time.textContent
    time.textContent = `${local.format(at)} ${zoneName(at)}`
  }
}

const t =
  language === "en"
    ? { soon: "a moment", fresh: "This page was brought up to date.", copied: "Copied" }
    : { soon: "片刻", fresh: "本页已更新。", copied: "已复制" }

/** An expired countdown says so until the next load. */
const countDown = (): void => {
  for (const time of document.querySelectorAll<HTMLTimeElement>("time.countdown")) {
    const left = new Date(time.dateTime).getTime() - Date.now()
    const text = left > 0 ? lengthOf(left, language) : t.soon
    if (time.textContent !== text) time.textContent = text
  }
}

const main = (): HTMLElement | null => document.querySelector("main")

/** The page stays while its reader writes or selects text. */
const isBusy = (shown: HTMLElement): boolean =>
  (shown.contains(document.activeElement) && document.activeElement !== shown) ||
  document.getSelection()?.isCollapsed === false

const status = document.querySelector("#live")

/** Replaces the page by its current version; opened disclosures stay open. */
const replace = (fresh: Document): void => {
  const [old, made] = [main(), fresh.querySelector("main")]
  if (old === null || made === null || isBusy(old)) return
  const next = document.importNode(made, true)
  const opened = [...old.querySelectorAll("details")].map(({ open }) => open)
  for (const [index, each] of [...next.querySelectorAll("details")].entries()) {
    each.open ||= opened[index] === true
  }
  localize(next)
  next.classList.add("fresh")
  old.replaceWith(next)
  countDown()
  if (status !== null) status.textContent = t.fresh
}

/** The request parses the page, so no text becomes markup here. */
const refresh = (): void => {
  const request = new XMLHttpRequest()
  request.open("GET", location.href)
  request.responseType = "document"
  request.setRequestHeader("cache-control", "no-cache")
  request.addEventListener("load", () => {
    if (request.status === 200 && request.responseXML !== null) replace(request.responseXML)
  })
  request.send()
}

let due: ReturnType<typeof setTimeout> | undefined
let last = 0

/** Many notices cause one reload within a few seconds. */
const refreshSoon = (): void => {
  if (due !== undefined) return
  due = setTimeout(
    () => {
      due = undefined
      last = Date.now()
      refresh()
    },
    Math.max(settling, last + between - Date.now())
  )
}

/** A page shows one challenge, or depends on any notice. */
const concerns = (live: string, text: unknown): boolean =>
  live === "" || (typeof text === "string" && text.includes(live))

let stream: EventSource | undefined
let again: typeof due
let failures = 0

const listen = (): void => {
  const { live, stream: path } = main()?.dataset ?? {}
  if (live === undefined || path === undefined || stream !== undefined) return
  const opened = new EventSource(path)
  stream = opened
  opened.addEventListener("message", ({ data }) => {
    if (concerns(live, data)) refreshSoon()
  })
  opened.addEventListener("open", () => {
    if (failures > 0) refreshSoon()
    failures = 0
  })
  // A browser gives up (2: CLOSED) after an answer such as 503. The delay is random, so readers return one by one.
  opened.addEventListener("error", () => {
    if (stream !== opened || opened.readyState !== 2) return
    pause()
    again = setTimeout(listen, Math.min(120, 2 ** ++failures) * (500 + 500 * Math.random()))
  })
}

const pause = (): void => {
  clearTimeout(again)
  stream?.close()
  stream = undefined
}

/** A hidden tab pauses; it catches up when it is visible again. */
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    pause()
  } else {
    countDown()
    if (main()?.dataset["live"] !== undefined) refreshSoon()
    listen()
  }
})

/** Shows the value under the pointer; the table below has it, too. */
const readOut = ({ clientX, target }: PointerEvent): void => {
  const drawing = target instanceof Element ? target.closest<SVGElement>("svg[data-points]") : null
  const shown = drawing?.parentElement?.querySelector(".readout")
  if (drawing === null || shown === null || shown === undefined) return
  const { left, width } = drawing.getBoundingClientRect()
  const place = (100 * (clientX - left)) / width
  const far = (point: ReadonlyArray<number>) => Math.abs((point[0] ?? 0) - place)
  const [nearest] = (drawing.dataset["points"] ?? "")
    .split(" ")
    .map((point) => point.split(",").map(Number))
    .toSorted((a, b) => far(a) - far(b))
  const [, minutes = 0, value = 0] = nearest ?? []
  const at = new Date(minutes * 60_000)
  shown.textContent = `${value.toLocaleString("en-GB", { maximumSignificantDigits: 10 })} · ${local.format(at)} ${zoneName(at)}`
}

document.addEventListener("pointermove", readOut)
document.addEventListener("pointerdown", readOut)

/** The key / focuses the search field, except while the reader writes. */
document.addEventListener("keydown", (event) => {
  const { key, target } = event
  if (key !== "/" || (target instanceof Element && target.closest("input, textarea, select") !== null)) return
  const field = document.querySelector<HTMLInputElement>('input[name="q"]')
  if (field === null) return
  event.preventDefault()
  field.focus()
})

/** Buttons that copy a text need a script. */
for (const button of document.querySelectorAll<HTMLButtonElement>("button[data-copy]")) {
  const text = document.getElementById(button.dataset["copy"] ?? "")?.textContent ?? ""
  button.hidden = false
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = t.copied
  })
}

setInterval(() => {
  if (!document.hidden) countDown()
}, 1000)

localize(document)
countDown()
if (!document.hidden) listen()
