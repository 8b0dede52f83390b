import canonicalize from "canonicalize"

/** A JSON value as RFC 8785 writes it: one text for one value. */
export const canonicalJson = (value: unknown): string => {
  const text = canonicalize(value)
  if (text === undefined) throw new Error("only JSON values are canonicalised")
  return text
}
