import { assert, describe, it } from "@effect/vitest"
import { isUuid } from "../../../src/services/identifiers.ts"
import { makeCallIds } from "../../../src/layers/gateway/callIds.ts"

const now = 1_790_000_000_000

/** What a UUID of version 7 says of its time. */
const timeIn = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)

describe("ids of calls", () => {
  it("are UUIDs of version 7 of their time", () => {
    const id = makeCallIds()(now)
    assert.isTrue(isUuid(id))
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.strictEqual(timeIn(id), now)
    assert.strictEqual(timeIn(makeCallIds()(0)), 0)
  })

  it("grow, however many there are in a millisecond, and where the clock goes back", () => {
    const next = makeCallIds()
    const times = [...Array.from({ length: 10_000 }, () => now), now + 1, now - 60_000, now + 5]
    const ids = times.map(next)
    assert.deepStrictEqual(ids.toSorted(), ids)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.strictEqual(timeIn(next(now + 10)), now + 10)
  })

  it("of two processes are told apart by chance", () => {
    assert.notStrictEqual(makeCallIds()(now), makeCallIds()(now))
  })
})
