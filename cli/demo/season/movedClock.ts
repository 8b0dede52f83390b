/**
 * Loaded before a server's own program (`node --import`), whose clock it moves: to where AUSPEX_DEMO_NOW says at the start,
 * and then to each time that comes as a line of standard input. From there it goes on at its usual pace, as the clock of a
 * machine does that was set; timers are not touched. So the server is the one that everybody runs.
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

moveTo(process.env["AUSPEX_DEMO_NOW"] ?? "")

let rest = ""
process.stdin.setEncoding("utf8").on("data", (text: string) => {
  const lines = (rest + text).split("\n")
  rest = lines.pop() ?? ""
  for (const line of lines) moveTo(line)
})
process.stdin.unref()
