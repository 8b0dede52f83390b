/** The processor time of processes, read from /proc; without /proc nothing is reported. */
import { execFileSync } from "node:child_process"
import { readFileSync, readdirSync } from "node:fs"
import { platform } from "node:os"

const hasProc = platform() === "linux"
const ticksPerSecond = hasProc ? Number(execFileSync("getconf", ["CLK_TCK"]).toString()) : Number.NaN

interface Stat {
  readonly parent: number
  /** Ticks of the process itself; `ended` counts those of its ended children. */
  readonly own: number
  readonly ended: number
}

const statOf = (pid: number): Stat | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    // The name, in brackets, may contain anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    const field = (index: number) => Number(fields[index])
    return { parent: field(1), own: field(11) + field(12), ended: field(13) + field(14) }
  } catch {
    return undefined
  }
}

const micros = (ticks: number) => (ticks / ticksPerSecond) * 1e6

/** The microseconds that a process has used so far; null if they are unknown. */
export const usedByProcess = (pid: number): number | null => {
  const stat = hasProc ? statOf(pid) : undefined
  return stat === undefined ? null : micros(stat.own)
}

/** The microseconds that a postmaster and all its children, including ended ones, have used so far. */
export const usedByPostgres = (postmaster: number): number | null => {
  const root = hasProc ? statOf(postmaster) : undefined
  if (root === undefined) return null
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  const children = pids.map(statOf).filter((stat) => stat?.parent === postmaster)
  return micros(children.reduce((sum, stat) => sum + (stat?.own ?? 0), root.own + root.ended))
}
