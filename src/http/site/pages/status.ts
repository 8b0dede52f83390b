/** How the service is: the public log with how to mirror it, and whether jobs run and prices come. */
import { DateTime, Effect, Option } from "effect"
import { HttpRouter } from "effect/http"
import { logPaths } from "../../routes.ts"
import { Health } from "../../../services/Health.ts"
import type { Readiness } from "../../../services/Health.ts"
import { JobRuns } from "../../../services/JobRuns.ts"
import type { JobRun } from "../../../services/JobRuns.ts"
import { Prices } from "../../../services/Prices.ts"
import type { LatestPrices } from "../../../services/Prices.ts"
import { TransparencyLog, entriesIn } from "../../../services/TransparencyLog.ts"
import { Witnesses } from "../../../services/Witnesses.ts"
import { Pages } from "../Pages.ts"
import { pagePaths, verifyPage } from "../paths.ts"
import { show } from "../responses.ts"
import { assetTag, badge, counted, empty, facts, instant, notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { number } from "../views/words.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const health = yield* Health
    const jobs = yield* JobRuns
    const log = yield* TransparencyLog
    const prices = yield* Prices
    const witnesses = yield* Witnesses

    yield* router.add(
      "GET",
      pagePaths.log,
      publicPage(
        [],
        Effect.fnUntraced(function* (frame) {
          const [checkpoint, keys, stalled, stamped] = yield* Effect.all(
            [
              Effect.option(log.checkpoint),
              log.verifierKeys,
              log.stalled,
              witnesses.timeStamped(Option.none())
            ],
            { concurrency: "unbounded" }
          )
          return show(
            site,
            frame,
            logView(frame, {
              checkpoint: Option.getOrNull(checkpoint),
              keys,
              stalled,
              stamped: stamped.at(0),
              witnesses: witnesses.all.map(({ name }) => name)
            })
          )
        })
      )
    )

    yield* router.add(
      "GET",
      pagePaths.status,
      publicPage(
        [],
        Effect.fnUntraced(function* (frame) {
          const [readiness, runs, latest, stalled, now] = yield* Effect.all(
            [health.readiness, jobs.last, prices.latestOfAll, log.stalled, DateTime.now],
            { concurrency: "unbounded" }
          )
          return show(site, frame, statusView(frame, { readiness, runs, latest, stalled, now }))
        })
      )
    )
  })
)

const stalledNotice = notice(
  "warning",
  "The log does not grow just now.",
  "What is recorded waits for it, and is not lost."
)

const logView = (
  frame: Frame,
  view: {
    readonly checkpoint: string | null
    readonly keys: ReadonlyArray<string>
    readonly stalled: boolean
    /** The size of the newest checkpoint with a time stamp. */
    readonly stamped: number | undefined
    readonly witnesses: ReadonlyArray<string>
  }
): Page => {
  const { checkpoint, keys, stalled, stamped, witnesses } = view
  const [origin, , root] = checkpoint?.split("\n") ?? []
  const cosigned = (checkpoint?.split("\n— ").length ?? 2) - 2
  const base = frame.origin + frame.at("")
  return {
    title: "The public log",
    audience: "everybody",
    description:
      "Every question, sealed prediction and settlement, in a log that only grows. How to mirror and check it.",
    path: pagePaths.log,
    live: "",
    content: html`
      <h1>The public log</h1>
      <p class="lead">
        Every question, every sealed prediction and every settlement is an entry of one log. It only grows:
        whoever keeps a copy, or an earlier head, sees any change.
      </p>
      ${stalled ? stalledNotice : null}
      ${
        checkpoint === null
          ? empty("Nothing has been entered yet.")
          : html`<section class="panel" aria-label="Its head">
              ${facts([
                ["Entries", html`<strong>${number(entriesIn(checkpoint))}</strong>`],
                ["Name", html`<code>${origin}</code>`],
                ["Root", html`<code>${root}</code>`],
                [
                  "Witnesses",
                  witnesses.length === 0
                    ? "none: nobody else signs it here"
                    : `${witnesses.join(", ")}; ${counted(cosigned, "cosignature")} under this head`
                ],
                [
                  "Time stamp",
                  stamped === undefined ? null : `of its first ${number(stamped)} entries (RFC 3161)`
                ]
              ])}
              <p>
                <a href=${frame.at(logPaths.checkpoint)}>The signed head</a>,
                <a href=${frame.at(logPaths.key)}>its key</a>
              </p>
            </section>`
      }
      <section aria-labelledby="check">
        <h2 id="check">Check something in it</h2>
        <p>
          Each prediction and each settlement on these pages has a proof file, which
          <a href=${frame.at(verifyPage())}>your browser checks</a>.
        </p>
      </section>
      <section aria-labelledby="mirror">
        <h2 id="mirror">Mirror it</h2>
        <p>It is served as <code>c2sp.org/tlog-tiles</code>, so programs of others read it. By hand:</p>
        <pre class="code" tabindex="0"><code>${[
          `curl ${base}${logPaths.checkpoint}`,
          `curl ${base}/log/tile/0/000`,
          `curl ${base}/log/tile/entries/000`
        ].join("\n")}</code></pre>
        <p>
          A witness of yours (<code>c2sp.org/tlog-witness</code>) is welcome: the operator enters its address
          and key.
        </p>
        ${keys.map((key) => html`<code class="secret">${key}</code>`)}
      </section>
    `
  }
}

const checkNames: Readonly<Record<Readiness["checks"][number]["name"], string>> = {
  starting: "Start",
  database: "Database",
  migrations: "Tables",
  clock_drift: "Clock",
  log: "Public log",
  prices: "Prices",
  draining: "Open for requests"
}

const statusView = (
  frame: Frame,
  view: {
    readonly readiness: Readiness
    readonly runs: ReadonlyArray<JobRun>
    readonly latest: typeof LatestPrices.Type
    readonly stalled: boolean
    readonly now: DateTime.Utc
  }
): Page => {
  const { latest, now, readiness, runs, stalled } = view
  const isWell = !stalled && readiness.checks.every(({ ok }) => ok)
  return {
    title: "Status",
    audience: "everybody",
    description: "Whether the service, its jobs, its log and its prices are well.",
    path: pagePaths.status,
    content: html`
      <h1>Status</h1>
      <p class="lead">
        ${isWell ? badge("success", "All is well") : badge("warning", "Something is not well")} as of
        ${instant(now)}.
      </p>
      ${stalled ? stalledNotice : null}
      <section aria-labelledby="checks">
        <h2 id="checks">Checks</h2>
        ${facts(
          readiness.checks.map(({ name, ok }) => [
            checkNames[name],
            ok ? badge("success", "Well") : badge("problem", "Not well")
          ])
        )}
      </section>
      <section aria-labelledby="prices">
        <h2 id="prices">Last price known</h2>
        ${
          latest.prices.length === 0
            ? empty("None is on record.")
            : html`<table class="bins">
                <thead>
                  <tr>
                    <th scope="col">Asset</th>
                    <th scope="col" class="number">Price</th>
                    <th scope="col" class="number">Observed</th>
                  </tr>
                </thead>
                <tbody>
                  ${latest.prices.map(
                    ({ asset, observed_at, price }) =>
                      html`<tr>
                        <th scope="row">${assetTag(frame, asset)}</th>
                        <td>${number(price)}</td>
                        <td>${instant(DateTime.makeUnsafe(observed_at))}</td>
                      </tr>`
                  )}
                </tbody>
              </table>`
        }
      </section>
      <section aria-labelledby="jobs">
        <h2 id="jobs">Jobs</h2>
        ${
          runs.length === 0
            ? empty("None has run yet.")
            : facts(runs.map(({ at, job }) => [job, instant(DateTime.makeUnsafe(at))]))
        }
      </section>
      <p class="quiet small">For programs: <a href=${frame.at("/health/ready")}>/health/ready</a>.</p>
    `
  }
}
