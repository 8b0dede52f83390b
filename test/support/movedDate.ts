/**
 * Moves the clock of a process that a test starts (`NODE_OPTIONS=--import`): it is this many milliseconds ahead from the start on,
 * and each SIGUSR2 sets it right or wrong again. Timers are not changed.
 */
// @effect-diagnostics globalDate:off processEnv:off -- it is what Clock stands on
const RealDate = globalThis.Date
const wrong = Number(process.env["TEST_CLOCK_AHEAD"])

let ahead = wrong
const now = (): number => RealDate.now() + ahead

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: Array<unknown>, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name) => (name === "now" ? now : Reflect.get(target, name))
})

process.on("SIGUSR2", () => {
  ahead = ahead === 0 ? wrong : 0
})
