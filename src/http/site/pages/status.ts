/** The state of the service: the public log with instructions to mirror it, jobs, and prices. */
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
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { pagePaths, verifyPage } from "../paths.ts"
import { show } from "../responses.ts"
import { assetTag, badge, empty, facts, instant, notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"
import { number } from "../views/format.ts"

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
        ["lang"],
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
        ["lang"],
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

const stalledNotice = ({ checks }: Messages) => notice("warning", checks.stalled, checks.stalledMore)

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
  const { t } = frame
  const { log } = t.checks
  const { checkHow, mirrorHow, witness } = log
  const [origin, , root] = checkpoint?.split("\n") ?? []
  const cosigned = (checkpoint?.split("\n— ").length ?? 2) - 2
  const base = frame.origin + frame.at("")
  return {
    title: log.title,
    audience: "everybody",
    description: log.description,
    path: pagePaths.log,
    translation: pagePaths.log,
    live: "",
    content: html`
      <h1>${log.title}</h1>
      <p class="lead">${log.lead}</p>
      ${stalled ? stalledNotice(t) : null}
      ${
        checkpoint === null
          ? empty(log.nothing)
          : html`<section class="panel" aria-label=${log.itsHead}>
              ${facts([
                [log.entries, html`<strong>${number(entriesIn(checkpoint))}</strong>`],
                [log.name, html`<code>${origin}</code>`],
                [log.root, html`<code>${root}</code>`],
                [log.witnesses, witnesses.length === 0 ? log.noWitnesses : log.cosigned(witnesses, cosigned)],
                [log.timeStamp, stamped === undefined ? null : log.stamped(number(stamped))]
              ])}
              <p>
                <a href=${frame.at(logPaths.checkpoint)}>${log.head}</a>${log.comma}<a
                  href=${frame.at(logPaths.key)}
                  >${log.key}</a
                >
              </p>
            </section>`
      }
      <section aria-labelledby="check">
        <h2 id="check">${log.check}</h2>
        <p>${checkHow[0]}<a href=${frame.at(verifyPage())}>${checkHow[1]}</a>${checkHow[2]}</p>
      </section>
      <section aria-labelledby="mirror">
        <h2 id="mirror">${log.mirror}</h2>
        <p>${mirrorHow[0]}<code>c2sp.org/tlog-tiles</code>${mirrorHow[1]}</p>
        <pre class="code" tabindex="0"><code>${[
          `curl ${base}${logPaths.checkpoint}`,
          `curl ${base}/log/tile/0/000`,
          `curl ${base}/log/tile/entries/000`
        ].join("\n")}</code></pre>
        <p>${witness[0]}<code>c2sp.org/tlog-witness</code>${witness[1]}</p>
        ${keys.map((key) => html`<code class="secret">${key}</code>`)}
      </section>
    `
  }
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
  const { t } = frame
  const { health } = t.checks
  const { asOf, forPrograms } = health
  const isWell = !stalled && readiness.checks.every(({ ok }) => ok)
  return {
    title: t.status,
    audience: "everybody",
    description: health.description,
    path: pagePaths.status,
    translation: pagePaths.status,
    content: html`
      <h1>${t.status}</h1>
      <p class="lead">
        ${isWell ? badge("success", health.allIsWell) : badge("warning", health.isNotWell)}${asOf[0]}${instant(now, t)}${asOf[1]}
      </p>
      ${stalled ? stalledNotice(t) : null}
      <section aria-labelledby="checks">
        <h2 id="checks">${health.checks}</h2>
        ${facts(
          readiness.checks.map(({ name, ok }) => [
            health.names[name],
            ok ? badge("success", health.well) : badge("problem", health.notWell)
          ])
        )}
      </section>
      <section aria-labelledby="prices">
        <h2 id="prices">${health.lastPrice}</h2>
        ${
          latest.prices.length === 0
            ? empty(health.noPrice)
            : html`<div class="wide" role="group" aria-labelledby="prices" tabindex="0">
                <table class="bins">
                  <thead>
                    <tr>
                      <th scope="col">${health.asset}</th>
                      <th scope="col" class="number">${health.price}</th>
                      <th scope="col" class="number">${health.observed}</th>
                    </tr>
                  </thead>
                  <tbody>
                    ${latest.prices.map(
                      ({ asset, observed_at, price }) =>
                        html`<tr>
                          <th scope="row">${assetTag(frame, asset)}</th>
                          <td>${number(price)}</td>
                          <td>${instant(DateTime.makeUnsafe(observed_at), t)}</td>
                        </tr>`
                    )}
                  </tbody>
                </table>
              </div>`
        }
      </section>
      <section aria-labelledby="jobs">
        <h2 id="jobs">${health.jobs}</h2>
        ${
          runs.length === 0
            ? empty(health.noJob)
            : facts(runs.map(({ at, job }) => [health.job(job), instant(DateTime.makeUnsafe(at), t)]))
        }
      </section>
      <p class="quiet small">
        ${forPrograms[0]}<a href=${frame.at("/health/ready")}>/health/ready</a>${forPrograms[1]}
      </p>
    `
  }
}
