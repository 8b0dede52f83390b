import canonicalize from "canonicalize"

/** Writes a JSON value as RFC 8785 demands: each value has one text. */
export const canonicalJson = (value: unknown): string => {
  const text = canonicalize(value)
  if (text === undefined) throw new Error("only JSON values can be canonicalised")
  return text
}
