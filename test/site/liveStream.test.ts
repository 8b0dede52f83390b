/** A live page's stream, run as the browser runs it, with a clock and streams of the test's own. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"

type Listener = (event: { readonly data: string }) => void

class Stream {
  static readonly CLOSED = 2
  static all: Array<Stream> = []
  readyState = 0
  readonly listeners = new Map<string, Listener>()
  readonly path: string
  constructor(path: string) {
    this.path = path
    Stream.all.push(this)
  }
  addEventListener(type: string, listener: Listener) {
    this.listeners.set(type, listener)
  }
  close() {
    this.readyState = Stream.CLOSED
  }
  tell(type: string, readyState: number, data = "") {
    this.readyState = readyState
    this.listeners.get(type)?.({ data })
  }
}

/** The streams that were opened so far. */
const opened = () => Stream.all.length
const newest = (): Stream => {
  const stream = Stream.all.at(-1)
  assert(stream !== undefined)
  return stream
}
const fail = () => newest().tell("error", Stream.CLOSED)

/** The number of streams that are opened within this time, in milliseconds. */
const openedWithin = (millis: number): number => {
  const before = opened()
  vi.advanceTimersByTime(millis)
  return opened() - before
}

let requests = 0
let page: { hidden: boolean; readonly listeners: Map<string, () => void> }

const setHidden = (hidden: boolean) => {
  page.hidden = hidden
  page.listeners.get("visibilitychange")?.()
}

beforeEach(async () => {
  Stream.all = []
  requests = 0
  vi.useFakeTimers()
  const listeners = new Map<string, () => void>()
  const document = {
    hidden: false,
    listeners,
    documentElement: { lang: "en" },
    querySelector: (selector: string) =>
      selector === "main" ? { dataset: { live: "", stream: "/notices" } } : null,
    querySelectorAll: () => [],
    addEventListener: (type: string, listener: () => void) => listeners.set(type, listener)
  }
  page = document
  vi.stubGlobal("document", document)
  vi.stubGlobal("location", { href: "https://auspex.example/" })
  vi.stubGlobal("EventSource", Stream)
  vi.stubGlobal(
    "XMLHttpRequest",
    class {
      open() {
        requests += 1
      }
      setRequestHeader() {}
      addEventListener() {}
      send() {}
    }
  )
  vi.resetModules()
  await import("../../src/http/site/assets/inBrowser/live.ts")
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe("A live page", () => {
  it("A live page opens a new stream after one that an answer such as 503 closed, and catches up", () => {
    assert.strictEqual(newest().path, "/notices")
    newest().tell("open", 1)
    fail()
    assert.strictEqual(opened(), 1)
    assert.strictEqual(openedWithin(2000), 1)
    assert.strictEqual(requests, 0)
    newest().tell("open", 1)
    vi.advanceTimersByTime(6000)
    assert.strictEqual(requests, 1)
    newest().tell("message", 1, "anything")
    vi.advanceTimersByTime(6000)
    assert.strictEqual(requests, 2)
  })

  it("A live page leaves a stream alone that the browser connects again", () => {
    newest().tell("error", 0)
    assert.strictEqual(openedWithin(600_000), 0)
  })

  it("A live page tries again ever more rarely, up to two minutes, and soon again after a success", () => {
    for (const pause of [2000, 4000, 8000, 16_000, 32_000, 64_000, 120_000, 120_000, 120_000]) {
      fail()
      assert.strictEqual(openedWithin(pause / 2 - 1), 0, String(pause))
      assert.strictEqual(openedWithin(pause / 2 + 1), 1, String(pause))
    }
    newest().tell("open", 1)
    fail()
    assert.strictEqual(openedWithin(2000), 1)
  })

  it("A live page comes back at another time than others that saw the same server go", () => {
    for (const [random, pause] of [
      [0, 1000],
      [0.5, 1500],
      [0.999, 1999]
    ] as const) {
      vi.spyOn(Math, "random").mockReturnValue(random)
      newest().tell("open", 1)
      fail()
      assert.strictEqual(openedWithin(pause - 1), 0)
      assert.strictEqual(openedWithin(2), 1)
    }
    vi.restoreAllMocks()
  })

  it("A live page has one stream, and none while nobody sees it", () => {
    newest().tell("open", 1)
    fail()
    setHidden(true)
    assert.strictEqual(openedWithin(600_000), 0)
    setHidden(false)
    assert.strictEqual(opened(), 2)
    assert.strictEqual(openedWithin(600_000), 0)
    setHidden(true)
    fail()
    assert.strictEqual(openedWithin(600_000), 0)
    assert.strictEqual(opened(), 2)
  })
})
