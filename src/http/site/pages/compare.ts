/** The comparison of two agents, on the questions that both answered. */
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { Skill } from "../../../services/Skill.ts"
import type { Comparison } from "../../../services/Skill.ts"
import { Pages } from "../siteLayer.ts"
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

/** For comparisons with the random walk, an e-value supports the agent only; if the walk leads, the value says nothing. */
const saysTheOther = ({ e_value, told, told_from }: Comparison): boolean =>
  told !== null && e_value !== null && e_value < told_from

/** The result of the comparison, as one sentence. */
const verdict = ({ t: { agentPage: messages } }: Frame, compared: Comparison) => {
  const { a, b, questions, told } = compared
  if (isOfReferences(compared)) return messages.references
  if (questions === 0) return messages.noneInCommon
  if (told === null) return messages.notTold
  const [better, other] = told === "a" ? [a, b] : [b, a]
  const [before, between, after] = messages.better
  return html`${before}${named(better.agent_name)}${between}${named(other.agent_name)}${after}`
}

const result = (frame: Frame, compared: Comparison) => {
  const { a, b, by_day, days, difference, difference_ci95, e_value, questions, told_from } = compared
  const { t } = frame
  const messages = t.agentPage
  const one = ({ agent_id, agent_name, reference, skill }: Comparison["a"]) =>
    html`${agentLink(frame, agent_id, named(agent_name))}${
      reference === null ? null : messages.aReferenceOfOurs
    }${messages.withSkill(signed(skill))}`
  return html`
    <section class="panel" aria-label=${messages.outcome}>
      <p><strong>${verdict(frame, compared)}</strong></p>
      ${facts([
        ["A", one(a)],
        ["B", one(b)],
        [
          messages.bothAnswered,
          messages.inCommon(String(questions), questions === 1, String(days), days === 1)
        ],
        [messages.aLessB, difference === null ? null : signed(difference)],
        [
          t.interval,
          difference_ci95 === null
            ? null
            : messages.forOneLook(signed(difference_ci95[0]), signed(difference_ci95[1]))
        ],
        [
          messages.eValue,
          e_value === null || isOfReferences(compared) || saysTheOther(compared)
            ? null
            : messages.eValueDiffers(e_value.toPrecision(3), String(told_from))
        ]
      ])}
    </section>
    ${
      by_day.length === 0
        ? null
        : sequenceChart(
            by_day.map(({ difference: ofDay, questions: count, ...each }) => ({
              ...each,
              more: [String(count), ofDay.toFixed(3)]
            })),
            {
              title: messages.differenceByDay,
              summary: messages.differenceSummary(String(by_day.length)),
              zero: messages.zeroIsNone,
              more: [messages.questions, messages.difference]
            },
            t
          )
    }
  `
}

export const compareView = (
  frame: Frame,
  wanted: { readonly a: string; readonly b: string },
  compared: Comparison | undefined
): Page => {
  const { t } = frame
  const messages = t.agentPage
  const path = comparePage({
    ...(wanted.a !== "" && { a: wanted.a }),
    ...(wanted.b !== "" && { b: wanted.b })
  })
  return {
    title: messages.compare,
    audience: "everybody",
    translation: path,
    below: "/leaderboard",
    width: "wide",
    content: html`
      <div><h1>${messages.compare}</h1></div>
      <p class="lead">${messages.compareLead} <a href=${frame.at(methodsPage)}>${t.computed}</a>${t.stop}</p>
      <form method="get" action=${frame.at(pagePaths.compare)}>
        ${agentField("a", messages.fieldA, wanted.a)} ${agentField("b", messages.fieldB, wanted.b)}
        ${languageField(frame, pagePaths.compare)}
        <p><button>${messages.compareThem}</button></p>
      </form>
      ${compared === undefined ? empty(messages.whereIds) : result(frame, compared)}
      ${
        compared === undefined
          ? null
          : html`<p class="quiet small">
              ${t.asJson}
              <a href=${frame.at(`/api/v1/eval/compare?${new URLSearchParams(wanted).toString()}`)}
                >${messages.theComparison}</a
              >${t.stop}
            </p>`
      }
    `
  }
}
