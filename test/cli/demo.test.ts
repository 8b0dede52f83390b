import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it as plainIt, layer } from "@effect/vitest"
import { DateTime, Duration, Effect, Fiber, Layer, Option, References, Schedule, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import { clientOf, enrol, isAlone, lessConfident, predict, strategies } from "../../cli/demo/agent.ts"
import { answerTo, preparedFor } from "../../cli/demo/answers.ts"
import { demo } from "../../cli/demo/command.ts"
import { fromFile, play, synthetic } from "../../cli/demo/play.ts"
import type { Game } from "../../cli/demo/play.ts"
import { commitOf, conclude, faultOf } from "../../cli/demo/report.ts"
import * as Jobs from "../../src/jobs/Jobs.ts"
import { judge, passScore } from "../../src/scoring/registration.ts"
import { NewAnswer } from "../../src/services/domain/Answer.ts"
import { RegistrationAnswer } from "../../src/services/RegistrationJudge.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { isFull } from "../support/breadth.ts"
import { runCommand } from "../support/commands.ts"
import { testServer, TestServer } from "../support/server.ts"
import { bank, drawn, inUse } from "../support/registrationEvents.ts"
import { testAdminToken } from "../support/settings.ts"

// PostgreSQL of a demonstration's own server may run as another account, which needs access.
const directory = mkdtempSync(join(tmpdir(), "auspex-demo-test-"))
chmodSync(directory, 0o711)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const hours = [1200, 1210, 1203, 1204, 1190, 1195, 1196, 1180]
const tapeFile = join(directory, "hours.csv")
writeFileSync(
  tapeFile,
  ["time,open,high,low,close,volume"]
    .concat(
      hours.slice(1).map((close, index) => {
        const open = hours[index] ?? close
        return `2023-01-01T0${index}:00:00Z,${open},${Math.max(open, close)},${Math.min(open, close)},${close},1`
      })
    )
    .join("\n")
)

describe("The agents' answers to the registration challenge", () => {
  plainIt.each(inUse)(
    "The challenge of $slug is recognised by its prompt alone, and passes whatever was drawn",
    (template) => {
      for (let seed = 0; seed < 10; seed++) {
        const event = drawn(template, seed)
        assert.strictEqual(preparedFor(event.prompt).length, 1)
        const verdict = judge(event, answerTo(event.prompt), bank)
        assert.isAtLeast(verdict.score, passScore + 20, `${event.slug} ${JSON.stringify(verdict.criteria)}`)
      }
    }
  )

  plainIt("An answer that was prepared for one draw of an event fails on other draws", () => {
    const failed = inUse.flatMap((template) =>
      [1, 2, 3, 4].map((seed) => {
        const answer = answerTo(drawn(template, seed + 10).prompt)
        return judge(drawn(template, seed), answer, bank).passed ? 0 : 1
      })
    )
    assert.isAtLeast(failed.filter((each) => each === 1).length, failed.length * 0.9)
  })

  plainIt("An event that nobody prepared for gets an answer that the API takes", () => {
    for (const prompt of [
      "Copper rose.",
      "",
      "Something happened to crude oil and gold. Nobody knows why."
    ]) {
      assert.deepStrictEqual(preparedFor(prompt), [])
      assert.isTrue(Schema.is(RegistrationAnswer)(answerTo(prompt)))
    }
  })
})

describe("The agents' strategies", () => {
  const prices = hours

  plainIt.each(strategies)(
    "The strategy $name always sends what the API takes, from the first price on",
    (strategy) => {
      for (let seen = 1; seen <= prices.length; seen++) {
        const prediction = predict(strategy, prices.slice(0, seen), 0.3)
        assert.isTrue(Schema.is(NewAnswer)(prediction))
        assert.isTrue(prediction.confidence > 0 && prediction.confidence < 1)
        assert.isTrue(Schema.is(NewAnswer)(lessConfident(prediction)))
      }
    }
  )

  plainIt("Each strategy has a style of its own", () => {
    const rising = [100, 101, 102, 103, 104, 105]
    const directions = strategies.map((strategy) => predict(strategy, rising, 0.3).direction)
    assert.deepStrictEqual(directions, ["bullish", "bearish", "neutral"])
  })

  plainIt("A strategy's confidence is how often its rule was right so far", () => {
    const [, , cautious] = strategies
    assert.strictEqual(predict(cautious, [100], 1).confidence, 0.33)
    assert.strictEqual(predict(cautious, [100, 100, 100, 100, 100, 100, 100, 100], 1).confidence, 0.8)
    assert.strictEqual(predict(cautious, [100, 110, 100, 110, 100, 110, 100, 110], 1).confidence, 0.1)
  })

  plainIt("An agent that stands alone says the same less surely", () => {
    const counts = { bullish_count: 1, bearish_count: 0, neutral_count: 2 }
    assert.isTrue(isAlone("bullish", counts))
    assert.isFalse(isAlone("neutral", counts))
    const prediction = { direction: "bullish" as const, confidence: 0.5, reasoning: "Because." }
    assert.deepInclude(lessConfident(prediction), {
      direction: "bullish",
      confidence: 0.35,
      is_revision: true
    })
  })
})

describe("Receipts", () => {
  const body = `{"agent_id":"a","challenge_id":"c","kind":"directional","received_at":"2026-01-01T00:00:00.000Z","revision":0,"values":{"confidence":0.5,"direction":"bullish"}}`
  const salt = "00".repeat(32)
  const receipt = {
    body,
    salt,
    commit: commitOf({ body, salt, commit: "", leaf_index: null }),
    leaf_index: null
  }
  const stated = {
    agent_id: "a",
    challenge_id: "c",
    direction: "bullish",
    confidence: 0.5,
    created_at: "2026-01-01T00:00:00.000Z"
  }

  plainIt("Receipts hold for what was sent", () => assert.isUndefined(faultOf(receipt, stated)))

  plainIt("Receipts do not hold when anything was altered", () => {
    assert.isDefined(faultOf(null, stated))
    assert.isDefined(
      faultOf({ ...receipt, body: body.replace("0.5", "0.6") }, { ...stated, confidence: 0.6 })
    )
    assert.isDefined(faultOf({ ...receipt, salt: "01".repeat(32) }, stated))
    assert.isDefined(faultOf(receipt, { ...stated, direction: "bearish" }))
    assert.isDefined(faultOf(receipt, { ...stated, agent_id: "b" }))
    const other = commitOf({ ...receipt, body: "{}" })
    assert.isDefined(faultOf({ ...receipt, body: "{}", commit: other }, stated))
  })
})

const tapeOf = (rounds: number, from?: string) =>
  fromFile(tapeFile, rounds, from === undefined ? undefined : DateTime.makeUnsafe(from)).pipe(
    Effect.provide(NodeServices.layer)
  )

describe("The tape", () => {
  plainIt("The tape leaves the agents the hours before as history", async () => {
    const tape = await Effect.runPromise(tapeOf(2))
    assert.deepStrictEqual(tape.history, [1200, 1210, 1203, 1204, 1190])
    assert.deepStrictEqual(tape.hours, [
      { label: "2023-01-01 05:00", open: 1195, close: 1196 },
      { label: "2023-01-01 06:00", open: 1196, close: 1180 }
    ])
  })

  plainIt("The tape begins at the chosen hour, and ends with the file", async () => {
    const tape = await Effect.runPromise(tapeOf(24, "2023-01-01T04:30:00Z"))
    assert.strictEqual(tape.hours.length, 2)
    const beyond = await Effect.runPromise(Effect.flip(tapeOf(24, "2024-01-01T00:00:00Z")))
    assert.include(beyond.message, "has no hour at or after 2024-01-01")
  })

  plainIt("The tape is made up the same way for the same seed", async () => {
    const [one, again, other] = await Effect.runPromise(
      Effect.all([synthetic(24, 1), synthetic(24, 1), synthetic(24, 2)])
    )
    assert.deepStrictEqual(one, again)
    assert.notDeepEqual(one, other)
    assert.strictEqual(one.hours.length, 24)
    assert.isTrue(one.hours.every(({ label }) => label.includes("made up")))
  })
})

/** Time and jobs are as in production. */
const cap = 4
const playing = (environment: Readonly<Record<string, string>>) =>
  testServer({ environment: { AUSPEX_PROVISIONAL_PREDICTION_LIMIT: String(cap), ...environment } })
const live = Layer.merge(Jobs.layer, Jobs.noticeWatch).pipe(
  Layer.provideMerge(playing({ AUSPEX_JOB_INTERVAL: "500 millis" })),
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error"))
)

layer(live, { excludeTestServices: true })("The demonstration on a running server", (it) => {
  it.effect("The demonstration registers, predicts to the limit, is settled, and checks its receipts", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const args = ["--url", url, "--prices", tapeFile, "--rounds", "6", "--speed", "90"]
      const ran = yield* runCommand(demo, args, { AUSPEX_ADMIN_TOKEN: testAdminToken })
      assert.isTrue(ran.ok, ran.err + ran.out)
      const lines = ran.out.split("\n")
      assert.match(lines[0] ?? "", /^Three agents register.*predict 6 hours of ETH on http/)
      assert.match(lines[1] ?? "", /takes about 24 s/)
      assert.include(ran.out, `predicts at most ${cap} challenges, so ${cap} hours are played.`)
      const rounds = lines.filter((line) => /^2023-01-01 0\d:00 .* (bullish|bearish|neutral)$/.test(line))
      assert.deepStrictEqual(
        rounds.map((line) => line.slice(0, 16)),
        ["01", "02", "03", "04"].map((hour) => `2023-01-01 ${hour}:00`)
      )
      assert.match(rounds[0] ?? "", / 1210 .* 1203 .* -0\.58 %  bearish$/)
      for (const { name } of strategies) assert.match(ran.out, new RegExp(`demo ${name} `))
      const [, holding, of] = /(\d+) of (\d+) receipts hold/.exec(ran.out) ?? []
      assert.strictEqual(holding, of)
      assert.isAbove(Number(of), 0)
    })
  )

  it.effect("The demonstration refuses to play prices that would settle somebody else's challenge", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const administrator = yield* clientOf(url, testAdminToken)
      const now = yield* DateTime.now
      yield* administrator.admin.createChallenge({
        headers: {},
        payload: {
          asset: "HG",
          open_price: 4,
          deadline: DateTime.add(now, { hours: 1 }),
          resolve_at: DateTime.add(now, { hours: 2 })
        }
      })
      const environment = { AUSPEX_ADMIN_TOKEN: testAdminToken }
      const ran = yield* runCommand(demo, ["--url", url, "--asset", "HG"], environment)
      assert.isFalse(ran.ok)
      assert.match(ran.err, /has 1 open challenge\(s\) on HG/)
      const paused = yield* runCommand(demo, ["--url", url, "--asset", "BTC"], environment)
      assert.match(paused.err, /BTC is paused/)
      const unknown = yield* runCommand(demo, ["--url", url, "--asset", "XX"], environment)
      assert.match(unknown.err, /"XX" is not a target/)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

/** A game that nobody settles. */
const unsettledGame = Effect.fnUntraced(function* (url: string, asset: string, rounds: number) {
  const tape = yield* synthetic(rounds, 1)
  const agents = yield* Effect.forEach(strategies, (strategy) => enrol(url, strategy, { asset, history: [] }))
  const game: Game = {
    url,
    anyone: yield* clientOf(url),
    administrator: yield* clientOf(url, testAdminToken),
    agents,
    asset,
    tape,
    rounds,
    pace: 1000,
    settlementTimeout: Duration.millis(500)
  }
  return game
})

layer(playing({}), { excludeTestServices: true })("The demonstration without the settlement job", (it) => {
  it.effect("The demonstration reports what was not settled", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const game = yield* unsettledGame(url, "ETH", 1)
      const [round, ...others] = yield* play(game, () => Effect.void)
      assert.isDefined(round)
      assert.strictEqual(others.length, 0)
      assert.isTrue(Option.isNone(round.results))
      assert.deepStrictEqual(yield* conclude(game, [round]), ["hour 1, made up: not settled"])
    }).pipe(Effect.provide([FetchHttpClient.layer, TestConsole.layer]))
  )

  it.effect("The demonstration leaves nothing open when it is interrupted", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const game = yield* unsettledGame(url, "GC", 3)
      const active = (status: "open" | "cancelled") =>
        game.anyone.public.challenges({ query: { asset: "GC", status } })
      const playingNow = yield* Effect.forkChild(play(game, () => Effect.void))
      yield* Effect.repeat(active("open"), {
        until: ({ total }) => total > 0,
        schedule: Schedule.spaced("50 millis")
      })
      yield* Fiber.interrupt(playingNow)
      assert.strictEqual((yield* active("open")).total, 0)
      assert.isAtLeast((yield* active("cancelled")).total, 1)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

interface Ended {
  readonly code: number | null
  readonly out: string
}

/** The program as npm runs it; `seen` may act on its output so far. */
const program = (args: ReadonlyArray<string>, seen: (out: string, pid: number) => void = () => {}) =>
  Effect.callback<Ended>((resume) => {
    const child = spawn(process.execPath, ["cli/demo.ts", ...args], {
      env: { ...process.env, TMPDIR: directory, DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }
    })
    let out = ""
    const take = (chunk: Buffer) => {
      out += chunk.toString()
      seen(out, child.pid ?? 0)
    }
    child.stdout.on("data", take)
    child.stderr.on("data", take)
    child.on("close", (code) => resume(Effect.succeed({ code, out })))
    return Effect.sync(() => child.kill("SIGTERM"))
  })

/** The folders that a demonstration's own server leaves behind. */
const leftovers = (): ReadonlyArray<string> =>
  readdirSync(directory).filter((name) => name.startsWith("auspex-demo-"))

const isServing = (out: string) =>
  Effect.promise(async () => {
    const url = /It serves at (http:\S+)\.\n/.exec(out)?.[1] ?? "none"
    return fetch(`${url}/health/live`).then(
      () => true,
      () => false
    )
  })

describe.runIf(isFull)("The demonstration with a server of its own", () => {
  plainIt("The demonstration plays from registration to leaderboard, and leaves nothing behind", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { code, out } = yield* program(["--rounds", "2", "--speed", "90", "--asset", "BTC"])
        assert.strictEqual(code, 0, out)
        assert.match(
          out,
          /^Three agents .* 2 hours of BTC on a server that is removed at the end\.\nEach hour of a made-up random walk/
        )
        assert.match(out, /\n(\d+) of \1 receipts hold/)
        assert.deepStrictEqual(leftovers(), [])
        assert.isFalse(yield* isServing(out))
      })
    )
  )

  plainIt("The demonstration stops its server and removes its data on Ctrl-C", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        let isInterrupted = false
        const { code, out } = yield* program([], (out, pid) => {
          if (isInterrupted || !out.includes("It serves at")) return
          isInterrupted = true
          process.kill(pid, "SIGINT")
        })
        assert.strictEqual(code, 130, out)
        assert.include(out, "demo: interrupted")
        assert.deepStrictEqual(leftovers(), [])
        assert.isFalse(yield* isServing(out))
      })
    )
  )
})
