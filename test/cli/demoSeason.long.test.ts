/** Two weeks of the season on a real server whose clock is moved, from its start to the checks of its ledger and log. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { demo } from "../../cli/demo/command.ts"
import { runCommand } from "../support/commands.ts"

describe("The season of the demonstration", () => {
  it.live("The season makes challenges of every type, which are predicted, settled and ranked by skill", () =>
    Effect.gen(function* () {
      const { err, ok, out } = yield* runCommand(demo, ["season", "--weeks", "2"])
      assert.isTrue(ok, err + out)
      const row = (kind: string) =>
        new RegExp(`^${kind} +(\\d+) +(\\d+) +(\\d+) +(\\d+) +(\\d+)$`, "m")
          .exec(out)
          ?.slice(1)
          .map(Number) ?? []
      // Ten trading days of eight futures, and the days of ether.
      const [sessions = 0, settled = 0, cancelled = -1] = row("session")
      assert.isAtLeast(sessions, 8 * 10 + 13)
      assert.isAtLeast(settled, 8 * 10 + 12)
      assert.strictEqual(cancelled, 0)
      for (const kind of [
        "flash",
        "1h",
        "4h",
        "1d",
        "numeric_close",
        "count_days",
        "threshold",
        "barrier",
        "macro"
      ]) {
        const [made = 0, done = 0, ended = -1, , predictions = 0] = row(kind)
        assert.isAbove(made, 0, kind)
        assert.isAbove(done, 0, kind)
        assert.strictEqual(ended, 0, kind)
        // The ladder's last challenges are not answered any more.
        assert.isAtLeast(predictions, 4 * (/^\d/.test(kind) ? done : made), kind)
      }
      // All agents hear the same hints: boldness wins by average, honesty by skill.
      const [byAverage = "", bySkill = ""] = out.split("By average,")[1]?.split("By skill,") ?? []
      assert.match(byAverage, /all in[^]* honest/)
      assert.match(bySkill, /honest[^]* all in/)
      assert.match(bySkill, /all in .* (nothing says so|worse, and that is not luck)$/m)
      assert.match(out, /Ledger: .* [12] pools settled, .* 0 differences/)
      assert.match(out, /Figures: those of \d+ agents .* 0 differences/)
      assert.match(out, /Log: .* 0 differences/)
    })
  )
})
