/** A recorded statement with its varying parts marked; plain data, since it travels between processes. */

export type Part =
  | "id"
  | "agentId"
  | "challengeId"
  | "salt"
  | "receivedAt"
  | "direction"
  | "confidence"
  | "reasoning"
  | "reasoningHash"

/** A text, split where a part stands. */
export type Pieces = ReadonlyArray<string | { readonly part: Part }>

export interface Template {
  /** Every parameter has a type: sql-pg sends types beside the values, `pg` and pgbench do not. */
  readonly text: string
  /** A value that is no text is sent as it was recorded. Arrays have one element. */
  readonly params: ReadonlyArray<{ readonly isArray: boolean; readonly value: Pieces | boolean | null }>
}

/** The parameters for `pg`, with the parts replaced by these values. */
export const fill = ({ params }: Template, values: Readonly<Record<Part, string>>): Array<unknown> =>
  params.map(({ isArray, value }) => {
    const one =
      value === null || typeof value === "boolean"
        ? value
        : value.map((piece) => (typeof piece === "string" ? piece : values[piece.part])).join("")
    return isArray ? [one] : one
  })
