/** The page that checks proofs in the reader's browser. The server only provides the log's key. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { Pages } from "../siteLayer.ts"
import type { Messages } from "../messages/messages.ts"
import { chineseScript, scripts, verifyScript } from "../assets/scripts.ts"
import { agentPage, challengePage, pagePaths, verifyPage } from "../paths.ts"
import { parameter, show } from "../responses.ts"
import { notice } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const log = yield* TransparencyLog

    yield* router.add(
      "GET",
      pagePaths.verify,
      publicPage(
        ["proof", "lang"],
        Effect.fnUntraced(function* (frame) {
          const proof = yield* parameter("proof")
          return show(site, frame, verifyView(frame, yield* log.verifierKeys, proof))
        })
      )
    )
  })
)

const area = (options: {
  readonly name: string
  readonly label: string
  readonly hint: Html
  readonly rows: number
  readonly value?: string
}) => {
  const { hint, label, name, rows, value } = options
  return html`<div>
    <label for=${name}>${label}</label>
    <p class="hint" id=${`${name}-hint`}>${hint}</p>
    <textarea
      id=${name}
      rows=${rows}
      spellcheck="false"
      autocapitalize="off"
      autocomplete="off"
      aria-describedby=${`${name}-hint`}
      value=${value ?? ""}
    />
  </div>`
}

const withoutScripts = ({ checks: { proof } }: Messages) =>
  html`<noscript> ${notice("info", proof.noScripts, proof.noScriptsMore)} </noscript>`

const insecure = ({ checks: { proof } }: Messages) => {
  const { plainHttpMore: more } = proof
  return html`<div id="insecure" hidden>
    ${notice("warning", proof.plainHttp, html`${more[0]}<code>localhost</code>${more[1]}`)}
  </div>`
}

const otherWays = ({ checks: { proof } }: Messages, key: string) => {
  const { withTools, inGo, onCommandLine, trustNobody } = proof
  return html`<section aria-labelledby="elsewhere">
    <h2 id="elsewhere">${proof.otherWays}</h2>
    <p>
      ${trustNobody[0]}<code>c2sp.org/tlog-proof</code>${trustNobody[1]}<code>c2sp.org/tlog-tiles</code>${trustNobody[2]}
    </p>
    <ul class="points">
      <li>
        <strong>${onCommandLine[0]}</strong>${onCommandLine[1]}<code>npm run verify -- FILE --vkey KEY</code>
      </li>
      <li>
        <strong>${inGo[0]}</strong
        >${inGo[1]}<code>golang.org/x/mod/sumdb/note</code>${inGo[2]}<code>golang.org/x/mod/sumdb/tlog</code>${inGo[3]}
      </li>
      <li>
        <strong>${withTools[0]}</strong
        >${withTools[1]}<code>sha256sum</code>${withTools[2]}<code>openssl</code>${withTools[3]}<code>docs/verifying.md</code>${withTools[4]}
      </li>
    </ul>
    ${
      key === ""
        ? null
        : html`<p>${proof.itsKey}</p>
            <code class="secret">${key}</code>`
    }
  </section>`
}

/** `linked` is the path of the proof in the page's address. */
const verifyView = (frame: Frame, keys: ReadonlyArray<string>, linked: string | undefined): Page => {
  const { t } = frame
  const { log, proof } = t.checks
  return {
    title: t.check,
    audience: "everybody",
    path: verifyPage(),
    translation: verifyPage(linked),
    content: html`
      <div>
        <p class="eyebrow">${log.title}</p>
        <h1>${t.check}</h1>
      </div>
      <p class="lead">${proof.lead}</p>
      ${withoutScripts(t)} ${insecure(t)}
      <section id="outcome" class="panel" tabindex="-1" aria-labelledby="outcome-title" hidden></section>
      <form
        id="verifier"
        class="panel"
        data-proofs=${frame.at("/api/v1/log/")}
        data-agent=${frame.at(agentPage("ID"))}
        data-challenge=${frame.at(challengePage("ID"))}
        hidden
      >
        ${area({
          name: "proof",
          label: proof.proof,
          hint: html`${proof.proofHint[0]}<code>.tlog-proof</code>${proof.proofHint[1]}`,
          rows: 8
        })}
        <div>
          <label for="file">${proof.file}</label>
          <input id="file" type="file" accept=".tlog-proof,text/plain" />
        </div>
        ${area({
          name: "keys",
          label: proof.key,
          hint: proof.keyHint,
          rows: 3,
          value: keys.join("\n")
        })}
        <details>
          <summary>${proof.more}</summary>
          ${area({ name: "receipt", label: proof.receipt, hint: proof.receiptHint, rows: 4 })}
          ${area({ name: "witnesses", label: proof.witnesses, hint: proof.witnessesHint, rows: 2 })}
        </details>
        <button>${proof.check}</button>
      </form>
      ${otherWays(t, keys.join("\n"))}
      ${scripts
        .filter(({ path }) => path !== chineseScript || t.tag !== "en")
        .map(({ path }) => html`<link rel="modulepreload" href=${frame.at(path)} />`)}
      <script type="module" src=${frame.at(verifyScript)}></script>
    `
  }
}
