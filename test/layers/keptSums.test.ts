/** Kept sums come from the database as they are, however many digits they have. */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Effect, Equal, Schema } from "effect"
import { figuresOf, keptSums } from "../../src/layers/postgres/scoring/keptSums.ts"
import type { Figures } from "../../src/scoring/figures.ts"
import { rowsOf } from "../support/builders.ts"
import { testServices } from "../support/services.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_000_000_000 }))

/** Short ones, ones on both sides of what a double holds, and ones far longer; with zeros at their ends. */
const Decimal = Schema.Tuple([
  Schema.Literals([1n, 7n, 1837794n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 10n ** 30n + 1n]),
  Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 })),
  Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
])

const decimalOf = ([units, factor, scale]: typeof Decimal.Type) =>
  BigDecimal.make(units * BigInt(factor), scale)

const Kept = Schema.Struct({
  counts: Schema.Tuple([Count, Count, Count, Count, Count, Count, Count]),
  sums: Schema.Tuple([Decimal, Decimal, Decimal, Decimal, Decimal, Decimal])
})

layer(testServices())("kept sums", (it) => {
  it.effect.prop(
    "are read to the last digit",
    [Kept],
    ([{ counts, sums }]) =>
      Effect.gen(function* () {
        const [scored, binary, correct, skills, dayCount, days, squares] = counts
        const texts = sums.map((sum) => BigDecimal.format(decimalOf(sum)))
        const rows = yield* rowsOf(
          Schema.Struct({ sums: Schema.String }),
          (sql) => sql`
            select ${keptSums(sql)} as sums
              from (select '2026-03-05'::date as last_day, ${scored}::int as scored, ${binary}::int as binary_scored,
                           ${correct}::int as correct, ${skills}::int as skill_count, ${dayCount}::int as day_count,
                           ${days}::int as days, ${squares}::bigint as sum_day_count_sq, (t.s)[1] as score_sum,
                           (t.s)[2] as brier_sum, (t.s)[3] as skill_sum, (t.s)[4] as day_sum, (t.s)[5] as sum_day_sq,
                           (t.s)[6] as sum_day_cross
                      from (select ${texts}::numeric[] as s) t) f`
        )
        const [scoreSum, brierSum, skillSum, daySum, sumDaySq, sumDayCross] = sums
        const expected: Figures = {
          lastDay: "2026-03-05",
          scoredCount: scored,
          scoreSum: decimalOf(scoreSum),
          binaryCount: binary,
          correctCount: correct,
          brierSum: decimalOf(brierSum),
          skillCount: skills,
          skillSum: decimalOf(skillSum),
          dayCount,
          daySum: decimalOf(daySum),
          days,
          sumDaySq: decimalOf(sumDaySq),
          sumDayCross: decimalOf(sumDayCross),
          sumDayCountSq: squares
        }
        assert.strictEqual(rows.length, 1)
        for (const row of rows) assert.isTrue(Equal.equals(figuresOf(row.sums), expected), row.sums)
      }),
    { arbitrary: { runs: 200 } }
  )
})
