/** One call, candidate by candidate, until something is delivered or none is left. */
import { Effect, Exit, Redacted, Result } from "effect"
import { RefusedUpstream, UpstreamsBusy, UpstreamsFailed } from "../../services/Gateway.ts"
import type { Call, CallError, Recipient } from "../../services/Gateway.ts"
import { candidates } from "./candidates.ts"
import type { ProviderSetting, RouteSetting } from "./configuration.ts"
import type { Cooldown } from "./cooldown.ts"
import { routeId } from "./cooldown.ts"
import { attempt } from "./exchange.ts"
import type { Outcome, Progress } from "./exchange.ts"
import { leastRetryAfter } from "./failure.ts"
import type { Failure } from "./failure.ts"
import type { Leaving } from "./leaving.ts"
import { badCall } from "./letIn.ts"
import type { LetIn } from "./letIn.ts"
import { countAttempt } from "./metrics.ts"
import { providerRefusal, requestBody } from "./styles/index.ts"
import type { Refused, WholeAnswer } from "./styles/types.ts"
import type { Surroundings } from "./surroundings.ts"

/** How far a call has come: whoever settles it reads it here, also when its client left in the middle. */
export interface Course {
  provider: string | null
  attempts: number
  readonly progress: Progress
}

export const newCourse = (): Course => ({
  provider: null,
  attempts: 0,
  progress: { began: false, firstByteAt: undefined, sent: false, reader: undefined }
})

/** How a call ended that some provider took. */
export type Ending =
  | { readonly ending: "whole"; readonly answer: WholeAnswer }
  | { readonly ending: "streamed" | "broken" | "unread" }

/** Nothing of the provider's address, key or account reaches a client. */
const withoutProvider = (text: string, { apiKey, baseUrl }: ProviderSetting): string =>
  text
    .replaceAll(Redacted.value(apiKey), "[key]")
    .replaceAll(baseUrl.host, "[provider]")
    .replaceAll(baseUrl.hostname, "[provider]")

const outcomeName = (outcome: Outcome): string => {
  if (outcome.outcome === "broken") return `broken_${outcome.kind}`
  if (outcome.outcome !== "failed") return outcome.outcome
  return outcome.failure.kind === "status" ? `status_${outcome.failure.status}` : outcome.failure.kind
}

const noneAnswered = (failures: ReadonlyArray<Failure>) => {
  const seconds = leastRetryAfter(failures)
  return seconds === undefined
    ? new UpstreamsFailed({
        detail: "No provider of the model answered: nothing was charged. Try again shortly."
      })
    : new UpstreamsBusy({
        detail: `Every provider of the model is busy: nothing was charged. Try again in ${seconds} s.`,
        retry_after: seconds
      })
}

/** Answers how it ended; what fails has delivered nothing, what is interrupted was left by its client. */
export type Route = (
  call: Call,
  allowed: LetIn,
  course: Course,
  recipient: Recipient,
  around: Surroundings,
  leaving: Leaving
) => Promise<Exit.Exit<Ending, CallError>>

export const makeRouting = (cooldown: Cooldown): Route => {
  const tried = (
    call: Call,
    { admitted, inForce }: LetIn,
    route: RouteSetting,
    body: Uint8Array | string,
    course: Course,
    recipient: Recipient,
    isLast: () => boolean,
    { now }: Surroundings,
    leaving: Leaving
  ): Promise<Outcome> => {
    const { provider } = route
    const upstream = inForce.upstreams.get(provider.name)
    if (upstream === undefined) throw new Error(`no connections to ${provider.name}`)
    return attempt(
      {
        upstream,
        body,
        stream: admitted.stream,
        versionHeaders: call.versionHeaders,
        reading: {
          clientStyle: call.style,
          providerStyle: provider.style,
          model: admitted.model,
          asksUsage: admitted.asksUsage,
          choices: admitted.choices,
          requestId: call.requestId,
          created: Math.floor(now() / 1000)
        },
        recipient,
        isLast,
        progress: course.progress,
        now
      },
      leaving
    )
  }

  const noteHealth = (
    route: RouteSetting,
    outcome: Outcome,
    model: string,
    { now, run }: Surroundings
  ): void => {
    const isFailure =
      outcome.outcome === "broken" || (outcome.outcome === "failed" && outcome.failure.kind !== "empty")
    if (!isFailure) {
      // Whoever refuses a request, or is not read to the end, is there.
      if (outcome.outcome !== "failed") cooldown.succeeded(route)
      return
    }
    cooldown.failed(route, now(), outcome.outcome === "failed" ? outcome.failure.retryAfterMillis : undefined)
    void run(
      Effect.logWarning("a provider failed").pipe(
        Effect.annotateLogs({
          provider: route.provider.name,
          model,
          route: route.model,
          outcome: outcomeName(outcome)
        })
      )
    )
  }

  const orderOf = (call: Call, { model, pinned }: LetIn, { now, random }: Surroundings) => {
    if (pinned)
      return model.routes.filter(({ provider }) => provider.style === call.style || provider.translates)
    const at = now()
    return candidates(model.routes, call.style, (route) => cooldown.isCooling(route, at), random)
  }

  const routed: Route = async (call, allowed, course, recipient, around, leaving) => {
    const { admitted, model, pinned } = allowed
    const order = orderOf(call, allowed, around)
    const failures: Array<Failure> = []
    let untranslatable: Refused | undefined
    const bodyFor = (route: RouteSetting) =>
      requestBody(admitted, {
        style: route.provider.style,
        model: route.model,
        maxOutputTokens: model.maxOutputTokens
      })
    for (const [index, route] of order.entries()) {
      if (leaving.hasLeft) return Exit.interrupt()
      const body = bodyFor(route)
      if (Result.isFailure(body)) {
        untranslatable = body.failure
        continue
      }
      course.attempts += 1
      course.provider = route.provider.name
      if (!pinned) cooldown.begin(route, around.now())
      // Asked only where it matters, for it may translate.
      const isLast = () => order.slice(index + 1).every((later) => Result.isFailure(bodyFor(later)))
      const outcome = await around.inSpan(
        () => `Gateway.attempt ${routeId(route)}`,
        () => tried(call, allowed, route, body.success, course, recipient, isLast, around, leaving),
        (ended) => ({
          "gateway.provider": route.provider.name,
          "gateway.route": route.model,
          "gateway.outcome": outcomeName(ended)
        })
      )
      countAttempt(
        {
          provider: route.provider.name,
          model: model.name,
          route: route.model,
          outcome: outcomeName(outcome)
        },
        around.metrics
      )
      if (outcome.outcome === "left") return Exit.interrupt()
      if (!pinned) noteHealth(route, outcome, model.name, around)
      switch (outcome.outcome) {
        case "whole":
          return Exit.succeed({ ending: "whole", answer: outcome.answer })
        case "streamed":
        case "broken":
        case "unread":
          return Exit.succeed({ ending: outcome.outcome })
        case "refused": {
          const { message, param } = providerRefusal(route.provider.style, outcome.body)
          return Exit.fail(
            new RefusedUpstream({
              detail: withoutProvider(message, route.provider),
              status: outcome.status,
              param: param === null ? null : withoutProvider(param, route.provider)
            })
          )
        }
        case "failed":
          failures.push(outcome.failure)
      }
    }
    course.provider = null
    if (failures.length > 0) return Exit.fail(noneAnswered(failures))
    return Exit.fail(
      badCall(
        untranslatable ?? {
          message: `The model ${model.name} is not served in this style of calling.`,
          param: "model"
        }
      )
    )
  }
  return routed
}
