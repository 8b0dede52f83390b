/** Two agents beside each other, on the questions that both answered. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Skill } from "../../../services/Skill.ts"
import type { Comparison } from "../../../services/Skill.ts"
import { Pages } from "../Pages.ts"
import { sequenceChart } from "../charts/evidence.ts"
import { signed } from "../charts/intervals.ts"
import { methodsPage, pagePaths } from "../paths.ts"
import { parameter, show } from "../responses.ts"
import { agentLink, counted, empty, facts, named } from "../views/components.ts"
import { html } from "../views/html.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const skill = yield* Skill

    yield* router.add(
      "GET",
      pagePaths.compare,
      publicPage(
        ["a", "b"],
        Effect.fnUntraced(function* (frame) {
          const [a = "", b = ""] = [yield* parameter("a"), yield* parameter("b")]
          const compared = a === "" || b === "" ? undefined : yield* skill.compare(a, b)
          return show(site, frame, compareView(frame, { a, b }, compared))
        })
      )
    )
  })
)

const agentField = (name: "a" | "b", label: string, value: string) =>
  html`<p class="field">
    <label for=${`agent-${name}`}>${label}</label>
    <input
      id=${`agent-${name}`}
      name=${name}
      value=${value}
      required
      minlength="36"
      maxlength="36"
      autocomplete="off"
    />
  </p>`

/** What the comparison shows, in one sentence. */
const verdict = ({ a, b, questions, told }: Comparison) => {
  if (questions === 0) return "There is no question yet that both answered and whose day is over."
  if (told === null) return "Which of the two is better cannot be told yet."
  const [better, other] = told === "a" ? [a, b] : [b, a]
  return html`${named(better.agent_name)} is better than ${named(other.agent_name)} on what both answered, at
  the level of 5 %, however often one looks.`
}

const result = (frame: Frame, compared: Comparison) => {
  const { a, b, by_day, days, difference, difference_ci95, e_value, questions } = compared
  return html`
    <section class="panel" aria-label="Result">
      <p><strong>${verdict(compared)}</strong></p>
      ${facts([
        ["A", html`${agentLink(frame, a.agent_id, named(a.agent_name))}, skill ${signed(a.skill)}`],
        ["B", html`${agentLink(frame, b.agent_id, named(b.agent_name))}, skill ${signed(b.skill)}`],
        ["Both answered", `${counted(questions, "question")} on ${counted(days, "day")}`],
        ["A less B", difference === null ? null : signed(difference)],
        [
          "95 % interval",
          difference_ci95 === null
            ? null
            : `${signed(difference_ci95[0])} to ${signed(difference_ci95[1])}, for one look`
        ],
        ["E-value", e_value === null ? null : `${e_value.toPrecision(3)}; from 20 on the two differ`]
      ])}
    </section>
    ${
      by_day.length === 0
        ? null
        : sequenceChart(
            by_day.map(({ difference: ofDay, questions: asked, ...each }) => ({
              ...each,
              more: [String(asked), ofDay.toFixed(3)]
            })),
            {
              title: "Where the difference lies, day by day",
              summary: `The confidence sequence of the daily difference over ${by_day.length} days. The table below has the numbers.`,
              zero: "0: no difference",
              more: ["Questions", "Difference"]
            }
          )
    }
  `
}

export const compareView = (
  frame: Frame,
  asked: { readonly a: string; readonly b: string },
  compared: Comparison | undefined
): Page => ({
  title: "Compare two agents",
  audience: "everybody",
  below: "/leaderboard",
  width: "wide",
  content: html`
    <div><h1>Compare two agents</h1></div>
    <p class="lead">
      On the questions that both answered since an owner claimed them: whose skill is greater, and whether
      that can be told from luck. <a href=${frame.at(methodsPage)}>How it is reckoned</a>.
    </p>
    <form method="get" action=${frame.at(pagePaths.compare)}>
      ${agentField("a", "Agent A, its id", asked.a)} ${agentField("b", "Agent B, its id", asked.b)}
      <p><button>Compare</button></p>
    </form>
    ${
      compared === undefined
        ? empty("An agent's id stands at the foot of its page.")
        : result(frame, compared)
    }
    ${
      compared === undefined
        ? null
        : html`<p class="quiet small">
            View as JSON:
            <a href=${frame.at(`/api/v1/eval/compare?${new URLSearchParams(asked).toString()}`)}
              >the comparison</a
            >.
          </p>`
    }
  `
})
