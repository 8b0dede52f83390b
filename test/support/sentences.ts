/**
 * Checks every sentence about proof, rank and counts on the pages of an instance, and reports the false ones: against the API,
 * against the comparison of two agents, and against the rule (an e-value of 20 for each agent of the owner), which is computed here
 * independently.
 */
import { Effect, Schema } from "effect"
import { allMessages } from "../../src/http/site/messages/messages.ts"
import { challengesIn } from "./holdings.ts"
import { textOf } from "./visitor.ts"

const Interval = Schema.Tuple([Schema.Finite, Schema.Finite])

const Evidence = Schema.NullOr(
  Schema.Struct({
    answers: Schema.Int,
    days: Schema.Int,
    score: Schema.Finite,
    sequence: Interval,
    e_value: Schema.Finite,
    told: Schema.Boolean
  })
)

const Row = Schema.Struct({
  agent_id: Schema.String,
  agent_name: Schema.String,
  status: Schema.String,
  owner_agents: Schema.NullOr(Schema.Int),
  rank: Schema.NullOr(Schema.Int),
  group: Schema.Null,
  skill: Schema.NullOr(Schema.Finite),
  evidence: Evidence,
  needed: Schema.NullOr(Schema.Int),
  prediction_count: Schema.Int
})
type Row = typeof Row.Type

const Board = Schema.Struct({
  items: Schema.Array(Row),
  total: Schema.Int,
  agents: Schema.Int,
  min_count: Schema.Int,
  next_cursor: Schema.NullOr(Schema.String)
})

const Part = Schema.Struct({ skill: Schema.NullOr(Schema.Finite) })

const Profile = Schema.Struct({
  reference: Schema.NullOr(Schema.String),
  overall: Schema.NullOr(Schema.Struct({ evidence: Evidence, needed: Schema.NullOr(Schema.Int) })),
  categories: Schema.Array(Part),
  horizons: Schema.Array(Part),
  targets: Schema.Array(Part),
  by_day: Schema.Array(Schema.Struct({ answers: Schema.Int, sequence: Interval }))
})
type Profile = typeof Profile.Type

const Compared = Schema.Struct({
  told: Schema.NullOr(Schema.Literals(["a", "b"])),
  questions: Schema.Int,
  difference: Schema.NullOr(Schema.Finite),
  e_value: Schema.NullOr(Schema.Finite),
  told_from: Schema.Finite
})

const Results = Schema.Struct({
  type: Schema.String,
  status: Schema.String,
  result: Schema.NullOr(Schema.String),
  prediction_count: Schema.Int,
  predictions: Schema.Array(
    Schema.Struct({
      agent_name: Schema.String,
      reference: Schema.NullOr(Schema.String),
      direction: Schema.NullOr(Schema.String),
      is_correct: Schema.NullOr(Schema.Boolean),
      score: Schema.NullOr(Schema.Finite)
    })
  ),
  next_cursor: Schema.NullOr(Schema.String)
})

const Happened = Schema.Struct({ items: Schema.Array(Schema.Struct({ event_id: Schema.String })) })

const Feed = Schema.Struct({
  items: Schema.Array(Schema.Struct({ url: Schema.String, content_text: Schema.String }))
})

const languages = ["en", "zh"] as const
type Language = (typeof languages)[number]

const inLanguage = (path: string, language: Language): string =>
  `${path}${path.includes("?") ? "&" : "?"}lang=${language}`

/** A number as pages write it. */
const numberIn = (text: string): number =>
  Number(text.replaceAll("−", "-").replaceAll(",", "").replace("+", ""))

const isReference = ({ status }: Row): boolean => status === "reference"

/** The verdict of the rule on the API's own numbers. */
const verdictOf = (row: Row): "told" | "worse" | "open" | undefined => {
  const { evidence, owner_agents } = row
  if (evidence === null || isReference(row)) return undefined
  if (evidence.sequence[1] < 0) return "worse"
  return evidence.e_value >= 20 * (owner_agents ?? Infinity) ? "told" : "open"
}

const sentenceOf = (row: Row, language: Language): string | undefined => {
  const say = allMessages[language]
  const verdict = verdictOf(row)
  if (verdict === undefined || verdict !== "open") return verdict && say[verdict]
  return row.needed === null ? say.notAhead : say.ahead(String(row.needed), row.needed === 1)
}

/** The sentences about proof in a text. */
const sentencesIn = (text: string, language: Language): ReadonlyArray<string> => {
  const { ahead, notAhead, told, worse } = allMessages[language]
  const [before = "", after = ""] = ahead("#", false).split("#")
  return [
    ...[told, worse, notAhead].filter((sentence) => text.includes(sentence)),
    ...(text.includes(before) ? [before + after] : [])
  ]
}

/** The kind of a sentence, without the number of days. */
const kindOf = (sentence: string, language: Language): string =>
  sentencesIn(sentence, language)[0] ?? sentence

/** A row's word for an agent that is not claimed. */
const standingIn = (text: string, language: Language): string => {
  const { reference_, unclaimed } = allMessages[language]
  return [reference_, unclaimed].filter((each) => text.includes(each)).join()
}

const standingOf = (row: Row, language: Language): string => {
  const { reference_, unclaimed } = allMessages[language]
  if (isReference(row)) return reference_
  return row.status === "verified" ? "" : unclaimed
}

/** The conditions of a rank on pages, besides a claim. */
interface Needs {
  readonly minCount: number
  readonly minDays: number
}

const hasRank = (row: Row, order: string, { minCount, minDays }: Needs): boolean =>
  row.status === "verified" &&
  (order === "average" ? row.prediction_count >= minCount : (row.evidence?.days ?? 0) >= minDays)

const isSkill = (shown: number, { skill }: typeof Part.Type): boolean =>
  skill !== null && Math.abs(shown - skill) <= 0.00051

/** A number as texts write it. */
const decimal = /[−+-]?\d+(?:\.\d+)?/

const tablesOf = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/<table class="board[^>]*>.*?<\/table>/gs)].map(([table]) => table)

const headOf = (table: string): string => table.slice(0, table.indexOf("<tbody"))

/** Every skill in the facts of a page: its name and its number. */
const skillsIn = (page: string, language: Language): ReadonlyArray<readonly [string, number]> => {
  const { agentPage, skill } = allMessages[language]
  return [...page.matchAll(/<dt>(.*?)<\/dt>\s*<dd>(.*?)<\/dd>/gs)].flatMap(([, term = "", fact = ""]) => {
    const name = plain(term)
    if (!name.toLowerCase().includes(skill.toLowerCase()) && !/skill/i.test(name)) return []
    return name === agentPage.rankBySkill
      ? []
      : [[name, numberIn(decimal.exec(plain(fact))?.[0] ?? "none")] as const]
  })
}

const plain = (text: string): string => textOf({ text }).trim()

interface Drawn {
  readonly html: string
  /** The number in the column of ranks; 0 without one. */
  readonly rank: number
  readonly isFolded: boolean
  readonly agent: string | undefined
  readonly problems: ReadonlyArray<string>
}

/** The rows of a page's leaderboards, each with the parts of its drawing that its numbers lack. */
const drawnRows = (page: string): ReadonlyArray<Drawn> =>
  tablesOf(page).flatMap((table) => {
    const before = page.slice(0, page.indexOf(table))
    const isFolded = before.lastIndexOf("<details") > before.lastIndexOf("</details>")
    const ticks = [...table.matchAll(/<text class="tick" x="([\d.]+)%"[^>]*>\s*([^<\s]+)\s*</g)].map(
      ([, x = "", value = ""]) => ({ x: Number(x), value: numberIn(value) })
    )
    const [first, last] = [ticks.at(0), ticks.at(-1)]
    const body = table.slice(table.indexOf("<tbody"))
    return [...body.matchAll(/<tr role="row">(.*?)<\/tr>/gs)].map(([, html = ""]) => {
      const agent = /href="\/agents\/([0-9a-f-]{36})/.exec(html)?.[1]
      const at = /class="mean" cx="([\d.]+)%"/.exec(html)?.[1]
      const written = plain(/class="quiet interval-text"\s*>(.*?)<\/span/s.exec(html)?.[1] ?? "")
      const numbers = [...written.matchAll(/[−+]?\d+(?:\.\d+)?/g)].map(([found]) => numberIn(found))
      const strong = numberIn(
        plain(/<strong>((?:(?!<strong>).)*?)<\/strong>\s*<\/td>/s.exec(html)?.[1] ?? "")
      )
      // A mean daily score has its interval beside it, an average has it in the cell before.
      const [value = strong, low, high] = numbers.length === 3 ? numbers : [strong, ...numbers]
      const problems: Array<string> = []
      if (at !== undefined && first !== undefined && last !== undefined && first.x !== last.x) {
        const scale = (last.value - first.value) / (last.x - first.x)
        const shown = first.value + (Number(at) - first.x) * scale
        const rounding = numbers.length === 3 ? 0.005 : 0.05
        if (Math.abs(shown - value) > rounding + Math.abs(scale) * 0.1) {
          problems.push(`draws ${shown.toFixed(3)} beside ${value}`)
        }
      }
      if (low !== undefined && high !== undefined && (value < low - 0.06 || value > high + 0.06)) {
        problems.push(`says ${value}, outside of ${low} to ${high}`)
      }
      const rank = Number(/class="rank">\s*(\d+)/.exec(html)?.[1] ?? 0)
      return { html, agent, isFolded, problems, rank }
    })
  })

/** Leaderboards of a part of the answers. */
const parts = ["category=commodities", "category=crypto", "category=economics", "horizon=1d", "horizon=1w"]

/** The number of challenges of each type and state that are read. */
const maxChallenges = 60

export const falseSentences = Effect.fnUntraced(function* <E, R>(
  read: (path: string) => Effect.Effect<string, E, R>,
  /** The requirements of a rank by skill on pages. */
  { minDays }: { readonly minDays: number }
) {
  const complaints: Array<string> = []
  const must = (isSo: boolean, complaint: string) => {
    if (!isSo) complaints.push(complaint)
  }
  const json = <S extends Schema.Decoder<unknown>>(schema: S, path: string) =>
    Effect.flatMap(read(path), Schema.decodeUnknownEffect(Schema.fromJsonString(schema)))

  const boardOf = Effect.fnUntraced(function* (order: string) {
    const items: Array<Row> = []
    let path: string | null = `/api/v1/eval/leaderboard?order=${order}&limit=200`
    let counts = { agents: 0, total: 0, min_count: 0 }
    while (path !== null) {
      const page: typeof Board.Type = yield* json(Board, path)
      items.push(...page.items)
      counts = page
      path =
        page.next_cursor === null
          ? null
          : `/api/v1/eval/leaderboard?order=${order}&limit=200&cursor=${encodeURIComponent(page.next_cursor)}`
    }
    must(counts.total === items.length, `${order}: total ${counts.total} of ${items.length} rows`)
    const agents = items.filter((row) => !isReference(row))
    must(counts.agents === agents.length, `${order}: ${counts.agents} agents of ${agents.length}`)
    // The API ranks every claimed agent, and nobody else.
    for (const row of items) {
      must((row.rank !== null) === (row.status === "verified"), `${order}: ${row.agent_name} has ${row.rank}`)
    }
    return { items, minCount: counts.min_count }
  })

  const { items: bySkill } = yield* boardOf("skill")
  const { items: byAverage, minCount } = yield* boardOf("average")
  const needs = { minCount, minDays }
  const walk = bySkill.find((row) => row.agent_name === "Reference: random walk")?.agent_id
  const facts = new Map([...byAverage, ...bySkill].map((row) => [row.agent_id, row]))

  const profiles = new Map<string, Profile>()

  // The API itself: a leaderboard, an agent's record, and the comparison with the walk agree.
  for (const row of bySkill) {
    const who = row.agent_name
    const verdict = verdictOf(row)
    must(
      row.evidence?.told === (verdict === "told"),
      `${who}: told ${row.evidence?.told}, by the rule ${verdict}`
    )
    must(
      verdict === "open" || verdict === "told" || row.needed === null,
      `${who}: needs ${row.needed} days for nothing`
    )
    must(verdict !== "open" || row.needed !== 0, `${who}: needs no more days, and is not told`)
    const profile = yield* json(Profile, `/api/v1/eval/agents/${row.agent_id}/skill`)
    must(
      JSON.stringify([profile.overall?.evidence, profile.overall?.needed]) ===
        JSON.stringify([row.evidence, row.needed]),
      `${who}: the record of its own page has other evidence than the board`
    )
    for (const { sequence } of profile.by_day)
      must(sequence[0] <= sequence[1], `${who}: a sequence is upside down`)
    profiles.set(row.agent_id, profile)
    if (row.evidence !== null) {
      const { answers, score, sequence } = row.evidence
      const isWhole = profile.by_day.reduce((sum, each) => sum + each.answers, 0) === answers
      const last = profile.by_day.at(-1)?.sequence ?? sequence
      const isSame = sequence.every((end, index) => Math.abs(end - (last[index] ?? end)) < 1e-9)
      must(!isWhole || isSame, `${who}: after its last day ${last.join()}, on the board ${sequence.join()}`)
      must(sequence[0] <= score && score <= sequence[1], `${who}: ${score} is outside of ${sequence.join()}`)
    }
    if (walk === undefined || walk === row.agent_id) continue
    const beside = yield* json(Compared, `/api/v1/eval/compare?a=${row.agent_id}&b=${walk}`)
    const expected = { told: "a", worse: "b", open: null }[verdict ?? "open"]
    must(beside.told === expected, `${who}: beside the walk ${beside.told}, on the board ${verdict}`)
    must(
      isReference(row) || beside.told_from === 20 * (row.owner_agents ?? 1),
      `${who}: is told from ${beside.told_from} on, with ${row.owner_agents} agents of its owner`
    )
  }

  for (const language of languages) {
    const say = allMessages[language]
    const proofs = (page: string, of: Row | undefined, where: string) => {
      const found = sentencesIn(plain(page), language)
      const expected = of === undefined ? undefined : sentenceOf(of, language)
      must(
        found.join() === (expected === undefined ? "" : kindOf(expected, language)),
        `${where}: says "${found.join()}", and the API "${expected}"`
      )
    }
    const drawings = (rows: ReadonlyArray<Drawn>, where: string) => {
      for (const { agent, problems } of rows) {
        for (const problem of problems)
          complaints.push(`${where}: ${facts.get(agent ?? "")?.agent_name}: ${problem}`)
      }
    }

    /** Agents without a rank are folded below the others, among which the references are listed. */
    const standings = (rows: ReadonlyArray<Drawn>, of: Map<string, Row>, order: string, where: string) => {
      const hasRanks = rows.some(({ rank }) => rank > 0)
      let lastRank = 0
      for (const { agent = "", isFolded, rank } of rows) {
        const row = of.get(agent)
        if (row === undefined) continue
        const who = `${where}: ${row.agent_name}`
        must(
          rank > 0 === hasRank(row, order, needs),
          `${who}: rank ${rank} after ${row.evidence?.days} days and ${row.prediction_count} predictions`
        )
        must(isFolded === (rank === 0 && !(hasRanks && isReference(row))), `${who}: is folded: ${isFolded}`)
        must(rank === 0 || rank >= lastRank, `${who}: rank ${rank} below ${lastRank}`)
        lastRank = Math.max(rank, lastRank)
      }
    }

    const ranks = new Map<string, number>()
    for (const order of ["skill", "peer", "average"]) {
      const path = inLanguage(`/leaderboard?order=${order}`, language)
      const page = yield* read(path)
      const rows = drawnRows(page)
      drawings(rows, path)
      must(!/Group \d|第 \d+ 组/.test(plain(page)), `${path}: speaks of groups`)
      const agentsHere = (order === "average" ? byAverage : bySkill).filter((row) => !isReference(row))
      must(
        order === "peer" ||
          plain(page).includes(say.haveScore(String(agentsHere.length), agentsHere.length === 1)),
        `${path}: not ${agentsHere.length} agents have a score`
      )
      const known = order === "average" ? new Map(byAverage.map((row) => [row.agent_id, row])) : facts
      standings(rows, known, order, path)
      must(
        order !== "average" || !tablesOf(page).some((table) => headOf(table).includes(say.skill)),
        `${path}: averages have a column of skill`
      )
      for (const { agent = "", html, rank } of rows) {
        const fact = known.get(agent)
        if (fact === undefined) continue
        const where = `${path}: ${fact.agent_name}`
        must(
          standingIn(plain(html), language) === standingOf(fact, language),
          `${where}: is called "${standingIn(plain(html), language)}"`
        )
        must(
          plain(html).includes(say.ofOwner(String(fact.owner_agents))) === (fact.owner_agents ?? 0) > 1,
          `${where}: its owner has ${fact.owner_agents} agents`
        )
        if (order !== "average") {
          proofs(html, fact, where)
          const skill = plain(/<strong>(.*?)<\/strong>/s.exec(html)?.[1] ?? "")
          must(isSkill(numberIn(skill), fact), `${where}: skill ${skill}, of the API ${fact.skill}`)
        }
        if (order === "skill") ranks.set(agent, rank)
      }
    }

    for (const part of parts) {
      const query = `order=skill&${part}`
      const { items } = yield* json(Board, `/api/v1/eval/leaderboard?${query}&limit=200`)
      const where = inLanguage(`/leaderboard?${query}`, language)
      const rows = drawnRows(yield* read(where))
      drawings(rows, where)
      must(rows.length === Math.min(items.length, 50), `${where}: ${rows.length} rows of ${items.length}`)
      standings(rows, new Map(items.map((row) => [row.agent_id, row])), "skill", where)
      for (const { agent, html } of rows) {
        const fact = items.find(({ agent_id }) => agent_id === agent)
        proofs(html, fact, `${where}: ${fact?.agent_name}`)
        const sentence = fact && sentenceOf(fact, language)
        must(
          sentence === undefined || plain(html).includes(say.onThisBoard(sentence)),
          `${where}: ${fact?.agent_name}: does not say that "${sentence}" is of this board`
        )
      }
    }

    const path = inLanguage("/search?q=reference", language)
    const found = yield* read(path)
    for (const [, agent = "", row = ""] of found.matchAll(
      /<a href="\/agents\/([0-9a-f-]{36})(.*?)<\/li>/gs
    )) {
      const fact = facts.get(agent)
      must(
        fact === undefined || standingIn(plain(row), language) === standingOf(fact, language),
        `${path}: ${fact?.agent_name} is called "${standingIn(plain(row), language)}"`
      )
    }

    for (const fact of bySkill) {
      const path = inLanguage(`/agents/${fact.agent_id}`, language)
      const page = yield* read(path)
      proofs(page, fact, path)
      drawings(drawnRows(page), path)
      const rank = ranks.get(fact.agent_id)
      const ranked = [...ranks.values()].filter((each) => each > 0).length
      const told = plain(page).split(say.agentPage.rankBySkill)[1]?.trim() ?? ""
      const percent = String(Math.ceil((100 * (rank ?? 0)) / ranked))
      const expected =
        rank === 0 ? say.agentPage.noRank : `#${rank} ${say.agentPage.ofRanked(String(ranked), percent)}`
      must(
        rank === undefined || isReference(fact) || told.startsWith(expected),
        `${path}: the rank by skill is not "${expected}": ${told.slice(0, 40)}`
      )
      const skills = skillsIn(page, language)
      must(skills.length > 0, `${path}: says no skill`)
      for (const [name, shown] of skills)
        must(isSkill(shown, fact), `${path}: ${name} is ${shown}, of the API ${fact.skill}`)
      const profile = profiles.get(fact.agent_id)
      const byPart = tablesOf(page).find((table) => headOf(table).includes(say.agentPage.skillByPart)) ?? ""
      const shownParts = [...byPart.matchAll(/class="number">\s*<strong>(.*?)<\/strong>/gs)]
      const partsOf =
        profile === undefined ? [] : [...profile.categories, ...profile.horizons, ...profile.targets]
      must(
        shownParts.length === partsOf.length &&
          partsOf.every((part, index) => isSkill(numberIn(plain(shownParts[index]?.[1] ?? "")), part)),
        `${path}: the skill by part is not the API's`
      )
      const badge = yield* read(`/agents/${fact.agent_id}/badge.svg`)
      const onBadge = numberIn(/skill ([−+\d.-]+)/.exec(badge)?.[1] ?? "none")
      must(isSkill(onBadge, fact), `${path}: its badge has the skill ${onBadge}`)
      const shown = Number(/>[^<>]*#(\d+)[^<>]*</.exec(badge)?.[1] ?? 0)
      must(rank === undefined || shown === rank, `${path}: its badge has the rank ${shown}, not ${rank}`)
    }

    const agents = bySkill.filter((row) => !isReference(row))
    const references = bySkill.filter(isReference)
    const theWalk = references.find(({ agent_id }) => agent_id === walk)
    const worst = agents.findLast((row) => verdictOf(row) === "worse")
    const pairs = [...agents, ...references.slice(0, 2)].flatMap((a, index, all) =>
      [all[index + 1], worst, theWalk].flatMap((b) => (b === undefined || a === b ? [] : [[a, b] as const]))
    )
    for (const [a, b] of pairs) {
      const query = `a=${a.agent_id}&b=${b.agent_id}`
      const compared = yield* json(Compared, `/api/v1/eval/compare?${query}`)
      const { difference, e_value, told, told_from } = compared
      const isOfReferences = isReference(a) && isReference(b)
      // An agent's record compares it with the walk; two other agents are compared by the e-value.
      if (a === theWalk || b === theWalk || isOfReferences) {
        must(!isOfReferences || told === null, `compare ${query}: of two references ${told} is better`)
      } else {
        must((told !== null) === (e_value ?? 0) >= told_from, `compare ${query}: told ${told} at ${e_value}`)
      }
      must(
        told === null || (told === "a") === (difference ?? 0) > 0,
        `compare ${query}: ${told} is better at a difference of ${difference}`
      )
      const text = plain(yield* read(inLanguage(`/compare?${query}`, language)))
      const [before, between, after] = say.agentPage.better.map((part) => part.trim())
      must(text.includes(`${after}`) === (told !== null), `compare ${query}: the page is not told ${told}`)
      if (told === null) continue
      const [better, other] = told === "a" ? [a, b] : [b, a]
      const at = text.indexOf(`${better.agent_name}`, text.indexOf(`${before}`))
      must(
        at >= 0 && text.indexOf(other.agent_name, text.indexOf(`${between}`, at)) > at,
        `compare ${query}: ${better.agent_name} is the better one`
      )
    }

    const home = yield* read(inLanguage("/", language))
    const scored = /<strong>([\d,]+)<\/strong>\s*(?:agents? scored|个智能体已有得分)/.exec(home)?.[1]
    const expected = agents.length === 0 ? byAverage.filter((row) => !isReference(row)).length : agents.length
    must(scored === undefined || numberIn(scored) === expected, `/: ${scored} agents scored, of ${expected}`)
    const leaders = drawnRows(home)
    drawings(leaders, "/")
    for (const { agent = "" } of leaders) {
      const fact = facts.get(agent)
      must(fact === undefined || !isReference(fact), `/: ${fact?.agent_name} leads`)
    }
    const { items: happened } = yield* json(Happened, "/api/v1/events?limit=20")
    for (const { event_id } of happened) {
      const where = inLanguage(`/events/${encodeURIComponent(event_id)}`, language)
      for (const [, meta = ""] of (yield* read(where)).matchAll(/<p class="meta">(.*?)<\/p>/gs)) {
        const agent = /href="\/agents\/([0-9a-f-]{36})/.exec(meta)?.[1] ?? ""
        const rank = Number(/class="tag">\s*#(\d+)/.exec(meta)?.[1] ?? 0)
        must(rank === (ranks.get(agent) ?? 0), `${where}: ${facts.get(agent)?.agent_name} has rank ${rank}`)
      }
    }
  }

  // Counts of questions include agents' answers, never those of references.
  const counts = new Map<string, number>()
  for (const status of ["open", "closed", "resolved"] as const) {
    for (const { id, prediction_count } of yield* challengesIn(read, status, maxChallenges)) {
      counts.set(id, prediction_count)
      const results = yield* json(Results, `/api/v1/eval/challenges/${id}/results?limit=200`)
      const answers = results.predictions.filter(({ reference }) => reference === null)
      const where = `/challenges/${id}`
      must(results.prediction_count === prediction_count, `${where}: counted otherwise in the list`)
      must(
        status === "open" || results.next_cursor !== null || answers.length === prediction_count,
        `${where}: ${prediction_count} predictions of ${answers.length}`
      )
      const page = yield* read(inLanguage(where, "en"))
      const text = plain(page)
      const described = /(\d+) AI agents? predicted/.exec(page)?.[1]
      must(
        Number(described) === prediction_count,
        `${where}: ${described} agents predicted, of ${prediction_count}`
      )
      const own = text.indexOf(allMessages.en.question.references)
      must(
        own >= 0 === results.predictions.length > answers.length &&
          !text.slice(0, Math.max(0, own)).includes("Reference:"),
        `${where}: references stand among agents`
      )
      const called = /Called it (\d+) of (\d+),/.exec(text)
      if (called !== null && results.next_cursor === null) {
        const right = answers.filter(({ is_correct }) => is_correct === true).length
        must(Number(called[1]) === right, `${where}: ${called[1]} called it, of ${right}`)
        must(Number(called[2]) === answers.length, `${where}: of ${called[2]}, and not ${answers.length}`)
      }
      const best = /Best call (.*?), ([\d.]+) points/.exec(text)
      if (best !== null) {
        const good = answers.flatMap(({ is_correct, score }) =>
          score !== null && (is_correct ?? score > 50) ? [score] : []
        )
        must(
          good.length > 0 && Math.max(...good).toFixed(1) === best[2],
          `${where}: the best call is wrong: ${best[0]}`
        )
      }
      for (const [, drawn] of page.matchAll(/aria-label="(\d+) (?:answers?|forecasts?)\b/g)) {
        must(
          results.next_cursor !== null || Number(drawn) === answers.length,
          `${where}: draws ${drawn} of ${answers.length}`
        )
      }
      const embedded = plain(yield* read(`/embed/challenges/${id}`))
      must(
        new RegExp(`(^| )${prediction_count} predictions?( |$)`).test(embedded),
        `/embed${where}: not ${prediction_count} predictions`
      )
    }
  }
  const list = yield* read(inLanguage("/challenges?status=resolved", "en"))
  for (const [, id = "", count] of list.matchAll(
    /href="\/challenges\/([0-9a-f-]{36})(?:(?!<\/tr>).)*?<td class="count">([\d,]+)<\/td>/gs
  )) {
    const known = counts.get(id)
    must(known === undefined || numberIn(count ?? "") === known, `/challenges: ${count} predictions of ${id}`)
  }
  const feed = yield* json(Feed, "/feeds/settlements/json")
  for (const { content_text, url } of feed.items) {
    const known = counts.get(/[0-9a-f-]{36}/.exec(url)?.[0] ?? "")
    must(
      known === undefined || content_text.endsWith(` ${known} predictions.`),
      `/feeds/settlements: "${content_text}" of ${known}`
    )
  }
  return complaints
})
