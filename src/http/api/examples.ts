export interface OperationExample {
  readonly request?: unknown
  readonly status: number
  readonly answer?: unknown
}

export const examples: Readonly<Record<string, OperationExample>> = {}
