/** Recomputes every hash of the tree from the bytes of the entries, and compares the stored hashes and signed tree heads. */
import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { findAll, findOne, findOption, whenGiven, rowsOf } from "../../sql.ts"
import { emptyRoot, Frontier, leafHash } from "../../log/frontier.ts"
import type { FullNode } from "../../log/frontier.ts"
import { auditLoggedHeads } from "./adminAudit.ts"
import type { LoggedHead } from "./adminAudit.ts"
import type { RecordedContinuation } from "./continuations.ts"
import { StoredEntry, checkColumns, entryColumns } from "./entry.ts"
import type { Members } from "./entry.ts"
import { eachPage } from "./findings.ts"
import type { Findings } from "./findings.ts"

const usualPage = 4096

const LoggedEntry = Schema.Struct({ ...StoredEntry.fields, index: Schema.Finite })
const Head = Schema.Struct({ size: Schema.Finite, root: Schema.String })
const Node = Schema.Struct({ level: Schema.Int, n: Schema.Finite, hash: Schema.NullOr(Schema.String) })
const State = Schema.Struct({ size: Schema.Finite, root: Schema.String, last: Schema.NullOr(Schema.Finite) })

/** A checkpoint that an instance saw under the log's name; the log may have lost it. */
export interface SeenHead {
  readonly size: number
  readonly root: Uint8Array
  /** True if the database has this checkpoint or a larger one. */
  readonly isKept: boolean
  /** The table or file that has recorded it. */
  readonly where: string
}

const seenName = ({ size, where }: SeenHead) => `checkpoint of size ${size}, which was seen (${where})`

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** The commits of a challenge that the entries read so far have not closed. */
interface Commits {
  readonly tree: Frontier
  count: number
  lastIndex: number
}

export interface Rotation {
  readonly place: string
  readonly old: unknown
  readonly new: unknown
}

/** True if an entry is a commit whose bytes are exactly those that its columns determine. */
const isCommit = ({ challenge_id, commit, commit_index, entry, type, version }: StoredEntry): boolean =>
  type === "prediction.commit" &&
  version === null &&
  commit_index === null &&
  Buffer.compare(
    entry,
    Buffer.from(`{"c":"${commit}","challenge_id":"${challenge_id}","type":"prediction.commit"}`)
  ) === 0

/** Compares number, last index and root in a close with the commits before it. */
const checkClose = (
  findings: Findings,
  { challenge, index }: { readonly challenge: string; readonly index: number },
  members: Members,
  commits: Commits | undefined
) => {
  const expected = {
    commits: commits?.count ?? 0,
    last_index: commits?.lastIndex ?? null,
    root: hex(commits?.tree.root() ?? emptyRoot)
  }
  for (const name of ["commits", "last_index", "root"] as const) {
    if (members[name] !== expected[name]) {
      findings.add(
        `entry ${index} closes challenge ${challenge}: its ${name} is not that of the commits before it`
      )
    }
  }
}

/**
 * Audits the tree. `seen` are the checkpoints that instances have recorded. `pageSize` is the number of entries, signed heads
 * and stored nodes that are read at a time; the findings do not depend on it.
 */
export const auditTree = Effect.fnUntraced(function* (
  findings: Findings,
  seen: ReadonlyArray<SeenHead>,
  pageSize: number = usualPage
) {
  const sql = yield* SqlClient.SqlClient
  const entries = findAll(LoggedEntry)
  const heads = findAll(Head)
  const nodes = findAll(Node)
  const state = findOption(State)
  const keptNodes = findOne(Schema.Struct({ nodes: Schema.Int }))

  const tree = new Frontier()
  const open = new Map<string, Commits>()
  const rotations: Array<Rotation> = []
  const continuations: Array<RecordedContinuation> = []
  /** The heads of the audit log in the current page. */
  const auditHeads: Array<LoggedHead> = []
  const wrongHeads: Array<number> = []
  /** The signed roots by size that have been read and that the tree has not reached. */
  const signed = new Map<number, string>()
  const lastRead = { size: -1, isLast: false }
  /** Full tiles to compare with the stored ones, many by one statement, since each statement waits until the next page is read. */
  const full: Array<FullNode> = []
  let next = 0
  let count = 0
  let nodeCount = 0
  let hasGap = false

  const follow = ({ challenge_id, commit, index, type }: StoredEntry & { readonly index: number }) => {
    if (type !== "prediction.commit" || challenge_id === null || commit === null) return
    const commits = open.get(challenge_id) ?? { tree: new Frontier(), count: 0, lastIndex: index }
    commits.tree.append(leafHash(Buffer.from(commit, "hex")))
    commits.count += 1
    commits.lastIndex = index
    open.set(challenge_id, commits)
  }

  const check = (entry: typeof LoggedEntry.Type) => {
    follow(entry)
    // Most entries are commits, and comparing their bytes is cheaper than parsing them.
    if (isCommit(entry)) return
    const members = checkColumns(findings, entry)
    if (members === undefined) return
    const type = members["type"]
    if (type === "key.rotate")
      rotations.push({ place: `entry ${entry.index}`, old: members["old"], new: members["new"] })
    if (type === "admin.audit")
      auditHeads.push({ place: `entry ${entry.index}`, count: members["count"], head: members["head"] })
    if (type === "log.continue")
      continuations.push({ index: entry.index, number: members["number"], entry: entry.entry })
    if (type === "challenge.close") {
      const challenge = members["challenge_id"]
      if (typeof challenge !== "string") {
        findings.add(`entry ${entry.index} closes a challenge, but does not name it`)
        return
      }
      checkClose(findings, { challenge, index: entry.index }, members, open.get(challenge))
      open.delete(challenge)
    }
  }

  const checkNodes = Effect.fnUntraced(function* (made: ReadonlyArray<FullNode>) {
    const kept = yield* nodes(sql`
      select w.level, w.n::float8 as n, encode(k.hash, 'hex') as hash
        from ${rowsOf(sql, "w", made, {
          level: ["int4", ({ level }) => level],
          n: ["int8", ({ n }) => BigInt(n)]
        })}
        left join log_nodes k on k.level = w.level and k.n = w.n
       order by w.position`)
    for (const [position, { hash, level, n }] of made.entries()) {
      const width = 256 ** level
      const covered = `entries ${n * width} to ${(n + 1) * width - 1}`
      const found = kept[position]?.hash ?? null
      if (found === null) {
        findings.add(`the hash of ${covered} is missing (log_nodes, level ${level}, n ${n})`)
      } else if (found !== hex(hash)) {
        findings.add(`${covered} do not have their stored hash (log_nodes, level ${level}, n ${n})`)
      }
    }
  })

  const readHeads = Effect.fnUntraced(function* (upTo: number) {
    while (lastRead.size < upTo && !lastRead.isLast) {
      const page = yield* heads(sql`
        select size::float8 as size, encode(root, 'hex') as root from log_checkpoints
         where size > ${BigInt(lastRead.size)}::int8 order by size limit ${pageSize}`)
      for (const { root, size } of page) signed.set(size, root)
      lastRead.size = page.at(-1)?.size ?? lastRead.size
      lastRead.isLast = page.length < pageSize
    }
  })

  const read = (after: typeof LoggedEntry.Type | undefined) =>
    entries(sql`
      select index::float8 as index, ${entryColumns(sql)} from log_entries
       ${whenGiven(sql, after, (last) => sql`where index > ${BigInt(last.index)}::int8`)}
       order by index limit ${pageSize}`)

  yield* eachPage(
    pageSize,
    read,
    Effect.fnUntraced(function* (page) {
      if (!hasGap) yield* readHeads((page.at(-1)?.index ?? next) + 1)
      const checkHead = () => {
        const root = signed.get(tree.size)
        signed.delete(tree.size)
        if (root !== undefined && root !== hex(tree.root())) wrongHeads.push(tree.size)
        for (const head of seen) {
          if (head.size === tree.size && hex(head.root) !== hex(tree.root()))
            findings.add(`${seenName(head)}: its root is not that of the first ${tree.size} entries`)
        }
      }
      if (count === 0) checkHead()
      for (const entry of page) {
        if (entry.index !== next && !hasGap) {
          hasGap = true
          findings.add(
            entry.index > next
              ? `entry ${next} is missing: entry ${entry.index} comes after entry ${next - 1}. Hashes are compared up to there only`
              : `entry ${entry.index} has an index that no entry has. Hashes are not compared`
          )
        }
        check(entry)
        next = entry.index + 1
        count += 1
        if (hasGap) continue
        const completed = tree.append(leafHash(entry.entry))
        full.push(...completed)
        nodeCount += completed.length
        checkHead()
      }
      yield* auditLoggedHeads(sql, findings, auditHeads.splice(0))
      if (full.length >= pageSize) yield* checkNodes(full.splice(0))
    })
  )
  if (full.length > 0) yield* checkNodes(full)

  const [wrongHead] = wrongHeads
  if (wrongHead !== undefined) {
    const later = wrongHeads.length - 1
    findings.add(
      `checkpoint of size ${wrongHead}: its root is not that of the first ${wrongHead} entries${later > 0 ? `, and so it is with ${later} later checkpoints` : ""}`
    )
  }
  for (const head of seen) {
    if (head.size > count) findings.add(`${seenName(head)}: the log has only ${count} entries`)
    if (!head.isKept) findings.add(`${seenName(head)}: neither it nor a later one is kept (log_checkpoints)`)
  }
  const kept = yield* state(sql`
    select s.size::float8 as size, encode(s.root, 'hex') as root, (select max(size)::float8 from log_checkpoints) as last
      from log_state s`)
  if (Option.isNone(kept)) {
    findings.add("log_state: it has no row")
    return { entries: count, rotations, continuations }
  }
  const head = kept.value
  if (head.size !== count) {
    findings.add(`log_state: its size is ${head.size}, but there are ${count} entries`)
  }
  if (!hasGap) {
    if (head.root !== hex(tree.root())) {
      findings.add(`log_state: its root is not that of the ${count} entries`)
    }
    const { nodes: stored } = yield* keptNodes(sql`select count(*)::int as nodes from log_nodes`)
    if (stored !== nodeCount) {
      const strays = yield* nodes(sql`
        select level, n::float8 as n, null::text as hash from log_nodes
         where n < 0 or level < 1 or (n + 1) * power(256::numeric, level) > ${BigInt(count)}::numeric
         order by level, n limit 100`)
      for (const { level, n } of strays) {
        findings.add(`log_nodes, level ${level}, n ${n}: the log has no entries for such a hash`)
      }
    }
  }
  if (head.last !== null && head.last > count) {
    findings.add(`checkpoint of size ${head.last}: the log has only ${count} entries`)
  }
  return { entries: count, rotations, continuations }
})
