import { Predicate, Schema, SchemaAST } from "effect"

/** The status of a typed error, which stands beside its definition. What a handler failed with may come wrapped. */
export const errorStatus = (error: unknown): number => {
  const schema = Predicate.isObject(error) ? error.constructor : undefined
  if (Schema.isSchema(schema)) return Number(SchemaAST.resolve(schema.ast)?.["httpApiStatus"] ?? 500)
  return Predicate.hasProperty(error, "error") ? errorStatus(error.error) : 500
}
