/**
 * Moves the clock of an unmodified server; loaded before its program (`node --import`). The clock starts at DEMO_NOW and jumps to each
 * time that arrives as a line of standard input; in between it runs at its usual pace. Timers are not touched.
 */
// @effect-diagnostics globalDate:off processEnv:off -- it is what Clock and Config stand on
const RealDate = globalThis.Date

let ahead = 0
const now = (): number => RealDate.now() + ahead

const moveTo = (iso: string): void => {
  const target = RealDate.parse(iso)
  if (Number.isFinite(target)) ahead = target - RealDate.now()
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: Array<unknown>, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name))
})

moveTo(process.env["DEMO_NOW"] ?? "")

let rest = ""
process.stdin.setEncoding("utf8").on("data", (text: string) => {
  const lines = (rest + text).split("\n")
  rest = lines.pop() ?? ""
  for (const line of lines) moveTo(line)
})
process.stdin.unref()
