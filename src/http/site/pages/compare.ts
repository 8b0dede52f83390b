/** Two agents beside each other, on the questions that both answered. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Skill } from "../../../services/Skill.ts"
import type { Comparison } from "../../../services/Skill.ts"
import { Pages } from "../Pages.ts"
import { sequenceChart } from "../charts/evidence.ts"
import { signed } from "../charts/intervals.ts"
import { comparePage, methodsPage, pagePaths } from "../paths.ts"
import { parameter, show } from "../responses.ts"
import { agentLink, empty, facts, named } from "../views/components.ts"
import { html } from "../views/html.ts"
import { languageField } from "../views/layout.ts"
import type { Frame, Page } from "../views/layout.ts"

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { publicPage, site } = yield* Pages
    const skill = yield* Skill

    yield* router.add(
      "GET",
      pagePaths.compare,
      publicPage(
        ["a", "b", "lang"],
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

const isOfReferences = ({ a, b }: Comparison): boolean => a.reference !== null && b.reference !== null

/** Beside the walk an E-value is of an agent that beats it: where the walk is the better one, the value says nothing of that. */
const saysTheOther = ({ e_value, told, told_from }: Comparison): boolean =>
  told !== null && e_value !== null && e_value < told_from

/** What the comparison shows, in one sentence. */
const verdict = ({ say: { agentPage: words } }: Frame, compared: Comparison) => {
  const { a, b, questions, told } = compared
  if (isOfReferences(compared)) return words.references
  if (questions === 0) return words.noneInCommon
  if (told === null) return words.notTold
  const [better, other] = told === "a" ? [a, b] : [b, a]
  const [before, between, after] = words.better
  return html`${before}${named(better.agent_name)}${between}${named(other.agent_name)}${after}`
}

const result = (frame: Frame, compared: Comparison) => {
  const { a, b, by_day, days, difference, difference_ci95, e_value, questions, told_from } = compared
  const { say } = frame
  const words = say.agentPage
  const one = ({ agent_id, agent_name, reference, skill }: Comparison["a"]) =>
    html`${agentLink(frame, agent_id, named(agent_name))}${
      reference === null ? null : words.aReferenceOfOurs
    }${words.withSkill(signed(skill))}`
  return html`
    <section class="panel" aria-label=${words.outcome}>
      <p><strong>${verdict(frame, compared)}</strong></p>
      ${facts([
        ["A", one(a)],
        ["B", one(b)],
        [words.bothAnswered, words.inCommon(String(questions), questions === 1, String(days), days === 1)],
        [words.aLessB, difference === null ? null : signed(difference)],
        [
          say.interval,
          difference_ci95 === null
            ? null
            : words.forOneLook(signed(difference_ci95[0]), signed(difference_ci95[1]))
        ],
        [
          words.eValue,
          e_value === null || isOfReferences(compared) || saysTheOther(compared)
            ? null
            : words.eValueDiffers(e_value.toPrecision(3), String(told_from))
        ]
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
              title: words.differenceByDay,
              summary: words.differenceSummary(String(by_day.length)),
              zero: words.zeroIsNone,
              more: [words.questions, words.difference]
            },
            say
          )
    }
  `
}

export const compareView = (
  frame: Frame,
  asked: { readonly a: string; readonly b: string },
  compared: Comparison | undefined
): Page => {
  const { say } = frame
  const words = say.agentPage
  const path = comparePage({
    ...(asked.a !== "" && { a: asked.a }),
    ...(asked.b !== "" && { b: asked.b })
  })
  return {
    title: words.compare,
    audience: "everybody",
    translation: path,
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div><h1>${words.compare}</h1></div>
      <p class="lead">${words.compareLead} <a href=${frame.at(methodsPage)}>${say.reckoned}</a>${say.stop}</p>
      <form method="get" action=${frame.at(pagePaths.compare)}>
        ${agentField("a", words.fieldA, asked.a)} ${agentField("b", words.fieldB, asked.b)}
        ${languageField(frame, pagePaths.compare)}
        <p><button>${words.compareThem}</button></p>
      </form>
      ${compared === undefined ? empty(words.whereIds) : result(frame, compared)}
      ${
        compared === undefined
          ? null
          : html`<p class="quiet small">
              ${say.asJson}
              <a href=${frame.at(`/api/v1/eval/compare?${new URLSearchParams(asked).toString()}`)}
                >${words.theComparison}</a
              >${say.stop}
            </p>`
      }
    `
  }
}
