/** What an audit finds: all differences are counted, the first are named. */
import { maxDifferences } from "../../../services/LogAudit.ts"

export class Findings {
  readonly #lines: Array<string> = []
  #count = 0

  add(line: string): void {
    this.#count += 1
    if (this.#lines.length < maxDifferences) this.#lines.push(line)
  }

  /** Lines of a statement that named the first of `count`. */
  addFirst(lines: ReadonlyArray<string>, count: number): void {
    for (const line of lines) this.add(line)
    this.#count += Math.max(0, count - lines.length)
  }

  get lines(): ReadonlyArray<string> {
    return this.#lines
  }

  get count(): number {
    return this.#count
  }
}
