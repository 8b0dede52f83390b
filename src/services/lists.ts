/** Lists in a request. */
import { Schema, SchemaTransformation } from "effect"

const expected = (minimum: number, maximum: number): string =>
  minimum > 0
    ? `Expected a list of ${minimum} to ${maximum} elements`
    : `Expected a list of at most ${maximum} elements`

/**
 * A list of `minimum` to `maximum` elements. How many there are is checked before any of them is decoded, so a list that
 * is too long costs no more than the reading of its JSON. The published document has the schema of the elements.
 */
export const list = <Item extends Schema.Constraint>(
  item: Item,
  {
    description,
    maximum,
    minimum = 0
  }: { readonly minimum?: number; readonly maximum: number; readonly description?: string }
) =>
  Schema.declare((sent: unknown): sent is ReadonlyArray<Item["Encoded"]> => Array.isArray(sent), {
    expected: "array",
    // What JSON holds is decoded below.
    toCodecJson: () => undefined
  })
    .check(
      Schema.makeFilter<ReadonlyArray<Item["Encoded"]>>(
        ({ length }) => (length >= minimum && length <= maximum ? undefined : expected(minimum, maximum)),
        {
          representation: { id: "auspex/list", payload: null, schemas: [Schema.toEncoded(item).ast] },
          toJsonSchema: ({ schemas }) => ({
            type: "array",
            items: schemas[0],
            ...(minimum > 0 && { minItems: minimum }),
            maxItems: maximum,
            ...(description !== undefined && { description })
          })
        }
      )
    )
    .pipe(Schema.decodeTo(Schema.Array(item), SchemaTransformation.passthrough()))
