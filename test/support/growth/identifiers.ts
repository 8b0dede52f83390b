/** Numbered identifiers: the same in JavaScript and in the SQL that seeds by `generate_series`. */

const numbered = (prefix: string) => (number: number) =>
  `${prefix}-0000-7000-8000-${number.toString(16).padStart(12, "0")}`

export const agentPrefix = "0190a000"
export const challengePrefix = "0190c000"
export const ownerPrefix = "0190b800"
export const keyPrefix = "0190fd00"
export const agentId = numbered(agentPrefix)
export const challengeId = numbered(challengePrefix)
export const ownerId = numbered(ownerPrefix)
export const keyId = numbered(keyPrefix)

/** The identifier as a text expression of SQL; `number` is an expression, too. */
export const uuidText = (prefix: string, number: string) =>
  `('${prefix}-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))`

/** Wall-clock time without `Date`, which only the service's clock may use. */
export const epochMillis = () => performance.timeOrigin + performance.now()
