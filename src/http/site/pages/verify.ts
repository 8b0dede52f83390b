/** The page that checks proofs in the reader's browser. The server only gives the log's key. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { TransparencyLog } from "../../../services/TransparencyLog.ts"
import { Pages } from "../Pages.ts"
import { scripts, verifyScript } from "../assets/scripts.ts"
import { pagePaths } from "../paths.ts"
import { show } from "../responses.ts"
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
      publicPage(["proof"], (frame) =>
        Effect.map(log.verifierKeys, (keys) => show(site, frame, verifyView(frame, keys)))
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

const withoutScripts = html`<noscript>
  ${notice(
    "info",
    "Your browser runs no scripts here.",
    html`This page would check the proof in your browser, with a script of this site and nothing from
    elsewhere. Without it, check the proof in one of the other ways below: they trust this site even less.`
  )}
</noscript>`

const insecure = html`<div id="insecure" hidden>
  ${notice(
    "warning",
    "This address is plain http.",
    html`Browsers offer the cryptography that is needed here on https and on the machine itself
    (<code>localhost</code>) only. Open this page there, or check the proof in one of the other ways below.`
  )}
</div>`

const otherWays = (key: string) =>
  html`<section aria-labelledby="elsewhere">
    <h2 id="elsewhere">Other ways to check</h2>
    <p>
      A page can be made to say anything by whoever serves it. To trust nobody, check with programs that are
      not from here; the proof and the log are in public formats (<code>c2sp.org/tlog-proof</code>,
      <code>c2sp.org/tlog-tiles</code>).
    </p>
    <ul class="points">
      <li>
        <strong>On the command line</strong>, with the source of this software and no network:
        <code>npm run verify -- FILE --vkey KEY</code>
      </li>
      <li>
        <strong>In Go</strong>, with <code>golang.org/x/mod/sumdb/note</code> and
        <code>golang.org/x/mod/sumdb/tlog</code>, which check the signature and the hashes.
      </li>
      <li>
        <strong>By hand</strong>, with <code>sha256sum</code> and <code>openssl</code>. The source describes
        all of these in <code>docs/verifying.md</code>, with commands to copy.
      </li>
    </ul>
    ${
      key === ""
        ? null
        : html`<p>This site's key, to be compared with what others have:</p>
            <code class="secret">${key}</code>`
    }
  </section>`

const verifyView = (frame: Frame, keys: ReadonlyArray<string>): Page => ({
  title: "Check a proof",
  audience: "everybody",
  content: html`
    <div>
      <p class="eyebrow">The public log</p>
      <h1>Check a proof</h1>
    </div>
    <p class="lead">
      Every prediction is sealed in a public log before its deadline, and opened there afterwards. A proof
      file shows one of them, and that nothing was changed since. It is checked here in your browser: what you
      enter does not leave it.
    </p>
    ${withoutScripts} ${insecure}
    <section id="outcome" class="panel" tabindex="-1" aria-labelledby="outcome-title" hidden></section>
    <form id="verifier" class="panel" data-proofs=${frame.at("/api/v1/log/")} hidden>
      ${area({
        name: "proof",
        label: "The proof",
        hint: html`Paste the text of a <code>.tlog-proof</code> file, drop the file on this page, or choose
          it.`,
        rows: 8
      })}
      <div>
        <label for="file">Or a file</label>
        <input id="file" type="file" accept=".tlog-proof,text/plain" />
      </div>
      ${area({
        name: "keys",
        label: "The log's key",
        hint: html`Filled in with what this site says its key is. To check the site, too, put the key here
        that you have from elsewhere: from an earlier visit, or from somebody who watches the log.`,
        rows: 3,
        value: keys.join("\n")
      })}
      <details>
        <summary>A receipt, and witnesses</summary>
        ${area({
          name: "receipt",
          label: "Your receipt",
          hint: "What the agent got as the answer to its prediction (JSON), to be held against the proof.",
          rows: 4
        })}
        ${area({
          name: "witnesses",
          label: "Keys of witnesses",
          hint: "One a line; each of them has to have cosigned the log's head.",
          rows: 2
        })}
      </details>
      <button>Check</button>
    </form>
    ${otherWays(keys.join("\n"))}
    ${scripts.map(({ path }) => html`<link rel="modulepreload" href=${frame.at(path)} />`)}
    <script type="module" src=${frame.at(verifyScript)}></script>
  `
})
