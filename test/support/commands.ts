/** Command lines run within the test, with their output and their failures. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, Exit, Layer } from "effect"
import { Command } from "effect/cli"
import { FetchHttpClient } from "effect/http"
import { TestConsole } from "effect/testing"
import { brief, reported } from "../../cli/client/failures.ts"

const platform = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer, brief)

export interface Ran {
  readonly ok: boolean
  readonly out: string
  readonly err: string
}

/** Runs a command as its program does; it finds only `environment` set. */
export const runCommand = <Name extends string, Input, E, ContextInput>(
  command: Command.Command<
    Name,
    Input,
    ContextInput,
    E,
    Command.Environment | Layer.Success<typeof platform>
  >,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const exit = yield* Command.runWith(command, { version: "0" })(args).pipe(
      reported(command.name),
      Effect.exit
    )
    const out = yield* TestConsole.logLines
    const err = yield* TestConsole.errorLines
    return { ok: Exit.isSuccess(exit), out: out.join("\n"), err: err.join("\n") }
  }).pipe(
    Effect.provide([
      platform,
      Layer.fresh(TestConsole.layer),
      ConfigProvider.layer(ConfigProvider.fromEnv({ env: environment }))
    ])
  )
