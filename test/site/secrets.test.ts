/** No log line and no span contains the links, cookies and codes of a person. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { claimableByHttp, linksMailedTo, signInFrom, signInLink } from "../support/agents.ts"
import { TelemetryRecorder, telemetryRecorder, spanText } from "../support/telemetryRecorder.ts"
import { asClient, layer as provider, OpenIdProvider, passThrough } from "../support/openIdProvider.ts"
import { testServer } from "../support/server.ts"
import { makeVisitor } from "../support/visitor.ts"

const idp = provider("http://127.0.0.1:8080/sign-in/oidc/callback")
const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_SAMPLER_ARG: "1" }
const everything = Layer.merge(
  testServer({ environment: traced, swap: asClient.pipe(Layer.provide(idp)) }),
  idp
).pipe(Layer.provideMerge(telemetryRecorder))

layer(everything)("Secrets of people", (it) => {
  it.effect("Secrets of people stand in no log line and no span, whichever way they sign in and claim", () =>
    Effect.gen(function* () {
      const { lines, spans } = yield* TelemetryRecorder
      const { next } = yield* OpenIdProvider
      const secrets: Array<string> = []
      const lastPart = (path: string) => path.replace(/.*\//, "")

      const agent = yield* claimableByHttp({ operator_contact: "mailed@example.org" })
      secrets.push(lastPart(agent.path), agent.code)
      const byMail = makeVisitor()
      yield* byMail.follow(yield* signInFrom(byMail, agent.path, "ada@example.org"))
      secrets.push(lastPart(yield* signInLink("ada@example.org")), ...byMail.cookies.values())
      yield* byMail.fill(yield* byMail.open(agent.path), "pairing_code", { pairing_code: agent.code })

      const other = yield* claimableByHttp({ operator_contact: "clicked@example.org" })
      secrets.push(lastPart(other.path), other.code)
      const byClick = makeVisitor()
      const link =
        (yield* linksMailedTo("clicked@example.org")).find((path) => /mail\/[^/]+$/.test(path)) ?? ""
      yield* byClick.fill(yield* byClick.open(link), "Claim")
      const rotated = yield* byClick.fill(yield* byClick.open("/account"), "Replace")
      secrets.push(lastPart(link), /aus_cs_[\w-]+/.exec(rotated.text)?.[0] ?? "", ...byClick.cookies.values())

      next("grace", { email: "grace@example.org", email_verified: true })
      const third = yield* claimableByHttp()
      const atProvider = makeVisitor()
      const sent = yield* atProvider.open(`/sign-in/oidc/begin?return_to=${third.path}`)
      secrets.push(lastPart(third.path), ...atProvider.cookies.values())
      const back = yield* passThrough(sent.headers.get("location") ?? "")
      secrets.push(back.searchParams.get("code") ?? "")
      yield* atProvider.open(back.pathname + back.search)
      yield* atProvider.open(back.pathname + back.search)
      secrets.push(...atProvider.cookies.values())

      assert.isAbove(lines.length, 15)
      assert.isAbove(spans.length, 30)
      assert.isAtLeast(secrets.length, 14)
      const traces = spans.map(spanText)
      for (const secret of secrets) {
        assert.isAtLeast(secret.length, 7)
        for (const seen of [...lines, ...traces]) assert.notInclude(seen, secret)
      }
    })
  )
})
