/** Reports the requests and their outcomes, and whether there were enough to be meaningful. */
import type { Operation } from "./document.ts"
import type { Session } from "./session.ts"

/** An operation without any input has few ways to be wrong. */
const takesAnything = ({ parameters, requestBody, secured }: Operation): boolean =>
  secured || parameters.length > 0 || requestBody !== undefined

/** A run is enough with this many requests of each operation, and with these outcomes of it. */
interface Enough {
  readonly requests: number
  readonly outcomes: "a success" | "each success and a refusal"
}

/** The operations that the run did not try enough, if any. Too few requests of an operation would prove nothing. */
export const unreached = (
  session: Session,
  operations: ReadonlyArray<Operation>,
  { outcomes, requests }: Enough
): ReadonlyArray<string> =>
  operations.flatMap((operation) => {
    const {
      accepted = 0,
      refused = 0,
      sent = 0,
      statuses = new Set()
    } = session.tallies.get(operation.operationId) ?? {}
    const successes = Object.keys(operation.responses).filter((status) => status.startsWith("2"))
    const few = [
      ...(accepted === 0 ? ["was never reached with a 2xx: fixture.ts says how each operation is"] : []),
      ...(sent < requests ? [`was sent only ${sent} requests`] : [])
    ]
    const missed = [
      ...(refused === 0 && takesAnything(operation) ? ["never refused anything"] : []),
      ...successes
        .filter((status) => !statuses.has(Number(status)))
        .map((status) => `never answered ${status}`)
    ]
    return [...few, ...(outcomes === "a success" ? [] : missed)].map(
      (what) => `${operation.operationId} ${what}`
    )
  })

/** A table with one line an operation. */
export const table = (session: Session, operations: ReadonlyArray<Operation>): string => {
  const cells = (values: ReadonlyArray<string | number>) =>
    values
      .map((value, index) => (index === 0 ? String(value).padEnd(32) : String(value).padStart(8)))
      .join("")
  const names = [...operations.map(({ operationId }) => operationId), "(no operation)"]
  const rows = names.flatMap((name) => {
    const tally = session.tallies.get(name)
    if (tally === undefined) return []
    const { accepted, refused, sent, slowest, statuses } = tally
    return [
      `${cells([name, sent, accepted, refused, Math.round(slowest)])}   ${[...statuses].sort().join(" ")}`
    ]
  })
  const all = [...session.tallies.values()]
  const total = (of: (tally: (typeof all)[number]) => number) =>
    all.reduce((sum, tally) => sum + of(tally), 0)
  const reached = operations.filter(
    ({ operationId }) => (session.tallies.get(operationId)?.accepted ?? 0) > 0
  ).length
  return [
    `${cells(["operation", "sent", "2xx", "other", "max ms"])}   statuses`,
    ...rows,
    cells([
      "all",
      total(({ sent }) => sent),
      total(({ accepted }) => accepted),
      total(({ refused }) => refused)
    ]),
    `${reached} of ${operations.length} operations reached a 2xx`
  ].join("\n")
}
