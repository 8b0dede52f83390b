/** What nobody waits for: written together, tried again while the database is away, and never left behind. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import type { Array as Arr } from "effect"
import { TestClock } from "effect/testing"
import * as writeBehind from "../../src/layers/postgres/writeBehind.ts"
import { StoreUnavailable } from "../../src/services/errors.ts"

const settled = Effect.yieldNow.pipe(Effect.repeat({ times: 10 }))

/** Keeps what was written, in the order in which it was; fails as it is told. */
const writing = Effect.fnUntraced(function* (
  refuse: (items: ReadonlyArray<number>) => Effect.Effect<void>,
  largest = 500
) {
  const written: Array<ReadonlyArray<number>> = []
  const scope = yield* Scope.make()
  const offer = yield* writeBehind
    .make({
      write: (items: Arr.NonEmptyReadonlyArray<number>) =>
        Effect.map(refuse(items), () => written.push(items)),
      rest: "100 millis",
      largest
    })
    .pipe(Scope.provide(scope))
  const offered = (items: ReadonlyArray<number>) =>
    Effect.andThen(
      Effect.sync(() => items.forEach(offer)),
      settled
    )
  return { offered, written, close: Scope.close(scope, Exit.void) }
})

/** What is due by then has been done. */
const later = (millis: number) => Effect.andThen(TestClock.adjust(millis), settled)

const always = () => Effect.void

describe("rows that nobody waits for", () => {
  it.effect("go together after a rest, and at the end of the scope", () =>
    Effect.gen(function* () {
      const { close, offered, written } = yield* writing(always)
      yield* offered([1])
      yield* offered([2])
      yield* offered([3])
      assert.deepStrictEqual(written, [[1]])
      yield* later(100)
      assert.deepStrictEqual(written, [[1], [2, 3]])
      yield* offered([4])
      yield* close
      assert.deepStrictEqual(written, [[1], [2, 3], [4]])
    })
  )

  it.effect("are never more than so many at once, and do not rest while there are more", () =>
    Effect.gen(function* () {
      const { offered, written } = yield* writing(always, 2)
      yield* offered([1, 2, 3, 4, 5])
      assert.deepStrictEqual(written, [
        [1, 2],
        [3, 4]
      ])
      yield* later(100)
      assert.deepStrictEqual(written, [[1, 2], [3, 4], [5]])
    })
  )

  it.effect("wait for a database that is away, in their order", () =>
    Effect.gen(function* () {
      let isAway = true
      const { offered, written } = yield* writing(() =>
        isAway ? Effect.die(new StoreUnavailable({ cause: "away" })) : Effect.void
      )
      yield* offered([1, 2])
      yield* later(4000)
      yield* offered([3])
      isAway = false
      assert.deepStrictEqual(written, [])
      yield* later(1000)
      assert.deepStrictEqual(written, [[1, 2, 3]])
    })
  )

  it.effect("lose only the one that cannot be written", () =>
    Effect.gen(function* () {
      const { offered, written } = yield* writing((items) =>
        items.includes(2) ? Effect.die(new Error("a bad row")) : Effect.void
      )
      yield* offered([1, 2, 3])
      yield* later(100)
      assert.deepStrictEqual(written, [[1], [3]])
    })
  )

  it.effect(
    "lose nothing, and keep their order, where the database goes away while they are written one by one",
    () =>
      Effect.gen(function* () {
        let answer: "broken" | "away" | "there" = "broken"
        const { offered, written } = yield* writing((items) => {
          if (answer === "there") return Effect.void
          if (answer === "away") return Effect.die(new StoreUnavailable({ cause: "away" }))
          if (items.length > 1) answer = "away"
          return Effect.die(new Error("a bad batch"))
        })
        const items = Array.from({ length: 300 }, (_, index) => index)
        yield* offered(items)
        yield* later(60_000)
        assert.deepStrictEqual(written, [])
        answer = "there"
        yield* later(5000)
        assert.deepStrictEqual(written.flat(), items)
      })
  )

  it.effect("do not hold up the end of a process whose database is away", () =>
    Effect.gen(function* () {
      const { close, offered, written } = yield* writing(() =>
        Effect.die(new StoreUnavailable({ cause: "away" }))
      )
      yield* offered([1])
      yield* close
      assert.deepStrictEqual(written, [])
    })
  )
})
