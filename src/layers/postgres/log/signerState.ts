/**
 * Compares the log with the signer state, which this instance keeps outside the database, and decides whether the instance
 * may sequence and sign.
 *
 * Two rules keep the log from forking. First, the tree must begin with every checkpoint that was seen under a signature:
 * every instance checks this, no administrator can waive it, and an instance that finds it violated stores the checkpoint in
 * the database as evidence. Second, an instance that cannot tell what others have seen waits for an administrator: on a
 * server that it does not know, and where it has no signer state beside a log that was signed.
 */
import { Data, DateTime, Effect, Option, Ref, Schema, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import { LogObservers } from "../../../services/LogObservers.ts"
import type { ObservedHead } from "../../../services/LogObservers.ts"
import { resumeDelay } from "../../../services/LogSequencer.ts"
import { anyServer, LogSigner, SignerUnusable } from "../../../services/LogSigner.ts"
import type { Checkpoint, SignerState } from "../../../services/LogSigner.ts"
import { isSignedBy, parseCheckpoint, parseNote, parseVerifierKey } from "../../crypto/signedNote.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { findAll, transaction } from "../sql.ts"
import { follows, requireNewest } from "./identity.ts"
import { readLogState } from "./logState.ts"
import type { LogState } from "./logState.ts"
import { brokenTree, LogFault, requireTrees } from "./tree.ts"

/** This instance neither sequences nor signs until an administrator lets it go on. */
export class LogStopped extends Data.TaggedError("LogStopped")<{ readonly message: string }> {}

/** The reason why this instance waits for an administrator. An instance that does not sequence may lack a signer state. */
interface Waiting {
  readonly why: "missing_state" | "server_changed"
  readonly message: string
}

interface Comparison {
  readonly found: LogState
  readonly waiting: Option.Option<Waiting>
}

const order = "until an administrator says `npm run admin -- log continue`"

/** The message has no size, so that it does not change with each entry. */
const missingState = (claims: ReadonlyArray<string>): string =>
  claims.length > 0
    ? `${claims.join("; ")}: this instance adds nothing to the log and signs nothing ${order}.`
    : `The log was signed before this instance had a memory of it (log-seen): it adds nothing to the log and signs nothing ${order}. Instances that remember the log go on.`

const serverChanged = (server: string, known: string): string =>
  `The database is on another server than before, or on one that was promoted, restored or copied (system/timeline/database ${server}, before ${known}): this instance adds nothing to the log and signs nothing ${order}.`

const isSame = (one: Checkpoint, other: Checkpoint): boolean =>
  one.origin === other.origin && one.size === other.size && Buffer.compare(one.root, other.root) === 0

const isAlike = (one: SignerState, other: SignerState): boolean =>
  one.continuation === other.continuation &&
  Option.getOrNull(one.server) === Option.getOrNull(other.server) &&
  Option.getOrNull(one.checkpoint)?.note === Option.getOrNull(other.checkpoint)?.note

export const originOf = ({ names }: LogState): string | undefined => names.at(-1)

export const publishedIn = ({ checkpoint }: LogState): Option.Option<Checkpoint> =>
  Option.flatMap(Option.fromNullOr(checkpoint), parseCheckpoint)

/** True if checkpoint `one` has a later name than `other`, or the same name and more entries. */
const isLater = ({ names }: LogState, one: Checkpoint, other: Checkpoint): boolean => {
  const [turn, before] = [names.indexOf(one.origin), names.indexOf(other.origin)]
  return turn === before ? one.size > other.size : turn > before
}

/** Requires that the log begins with every tree that was signed under its name, and with every stored one. */
export const examine = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  found: LogState,
  seen: ReadonlyArray<Checkpoint>
) {
  const { lost, root, size } = found
  const published = publishedIn(found)
  const ofThisName = seen.filter(({ origin }) => origin === originOf(found))
  const heads = [
    ...ofThisName.map((head) => ({ size: head.size, root: head.root, seen: head })),
    ...Option.toArray(published).filter((head) => !ofThisName.some((each) => isSame(each, head))),
    ...lost
  ]
  const gone: { readonly size: number; readonly seen?: Checkpoint } | undefined = heads.find(
    (head) => head.size > size
  )
  if (gone !== undefined) {
    return yield* new LogFault({
      message: `The log has ${size} entries, but ${gone.size} were signed: an older state of the database was restored or promoted, or entries are gone.`,
      lost: gone.seen
    })
  }
  const [unkept] = Option.isNone(published) ? ofThisName : []
  // The newest checkpoint is never deleted, and signing a new one would hide that it is missing.
  if (unkept !== undefined) {
    return yield* new LogFault({
      message: `${unkept.size} entries were signed, and no checkpoint is kept: all of them are gone.`,
      lost: unkept
    })
  }
  yield* requireTrees(sql, [
    ...heads.map((head) => ({
      ...head,
      otherwise: `The first ${head.size} entries of the log do not have the root that was signed for them.`
    })),
    { size, root, otherwise: brokenTree(size) }
  ])
})

export const makeSignerState = Effect.gen(function* () {
  const { client: sql } = yield* BackgroundClient
  const signer = yield* LogSigner
  const observers = yield* LogObservers
  const keyRows = findAll(Schema.Struct({ verifier_key: Schema.String }))
  /** Comparisons take turns, so that none overwrites what another has just recorded. */
  const turns = yield* Semaphore.make(1)
  /** The runs of the server on which this instance last compared the log, queried observers, and was authorized. */
  const comparedRun = yield* Ref.make(Option.none<string>())
  const queriedRun = yield* Ref.make(Option.none<string>())
  const authorizedRun = yield* Ref.make(Option.none<string>())
  /** The claims of observers that have no proof. */
  const unproven = yield* Ref.make<ReadonlyArray<string>>([])
  /** The note that `recordShown` tried last. */
  const triedNote = yield* Ref.make("")
  const showing = yield* Semaphore.make(1)
  const logState = readLogState(sql)

  const ownCheckpoint = Effect.map(signer.state, (state) =>
    Option.flatMap(state, ({ checkpoint }) => checkpoint)
  )

  const save = Effect.fnUntraced(function* (state: SignerState) {
    const before = yield* signer.state
    if (!Option.exists(before, (known) => isAlike(known, state))) yield* signer.save(state)
  })

  /** The observed checkpoints that one of the log's keys has signed in the log's name. */
  const proven = Effect.fnUntraced(function* (found: LogState, observed: ReadonlyArray<ObservedHead>) {
    const notes = observed.flatMap((head) => ("note" in head ? [head.note] : []))
    if (notes.length === 0) return []
    const rows = yield* keyRows(sql`select verifier_key from log_keys`)
    const keys = rows.flatMap(({ verifier_key }) => Option.toArray(parseVerifierKey(verifier_key)))
    return notes.flatMap((note) =>
      Option.toArray(parseCheckpoint(note)).filter(
        ({ origin }) =>
          origin === originOf(found) &&
          Option.exists(parseNote(note), (parsed) => keys.some((key) => isSignedBy(parsed, key)))
      )
    )
  })

  /**
   * Reads and examines the log. The signer state is read first: another process with this data directory may be signing, and
   * the log is never behind what was signed earlier.
   */
  const examined = Effect.fnUntraced(function* (observed: ReadonlyArray<ObservedHead>) {
    const own = yield* ownCheckpoint
    const first = yield* logState
    const origin = originOf(first)
    if (origin !== undefined && Option.exists(own, (head) => !first.names.includes(head.origin))) {
      return yield* new SignerUnusable({
        message: `This data directory belongs to the log ${Option.getOrThrow(own).origin}, the database to ${origin}: each needs one of its own.`
      })
    }
    const others = yield* proven(first, observed)
    const isKnown =
      others.length === 0 &&
      Option.contains(yield* Ref.get(comparedRun), first.run) &&
      Option.exists(own, (head) => Option.exists(publishedIn(first), (newest) => isSame(head, newest)))
    if (isKnown) return first
    // One transaction uses one connection, so state and tree are read from one server.
    const found = yield* transaction(sql)(
      Effect.tap(logState, (again) => examine(sql, again, [...Option.toArray(own), ...others]))
    )
    yield* Ref.set(comparedRun, Option.some(found.run))
    return found
  })

  /** Decides the next signer state, and whether this instance may sequence and sign on this server. */
  const judge = Effect.fnUntraced(function* (found: LogState) {
    const { continuation, server } = found
    const now = yield* DateTime.now
    const state = yield* signer.state
    const number = continuation?.number ?? 0
    const published = publishedIn(found)
    if (Option.isNone(state)) {
      const isFirst = Option.isNone(published)
      const sequencesOn = isFirst ? Option.some(server) : Option.none<string>()
      const missing: Waiting = { why: "missing_state", message: missingState([]) }
      return {
        state: { checkpoint: published, server: sequencesOn, continuation: number },
        waiting: isFirst ? Option.none() : Option.some(missing)
      }
    }
    const known = state.value
    const checkpoint = Option.filter(published, (head) =>
      Option.match(known.checkpoint, { onNone: () => true, onSome: (own) => isLater(found, head, own) })
    ).pipe(Option.orElse(() => known.checkpoint))
    if (Option.exists(known.server, (each) => each === server || each === anyServer)) {
      const next: SignerState = {
        checkpoint,
        server: Option.some(server),
        continuation: Math.max(known.continuation, number)
      }
      return { state: next, waiting: Option.none() }
    }
    const unheard: SignerState = { ...known, checkpoint }
    const why = Option.isNone(known.server) ? "missing_state" : "server_changed"
    if (continuation === null || number <= known.continuation || continuation.server !== server) {
      const claims = yield* Ref.get(unproven)
      const message = Option.match(known.server, {
        onNone: () => missingState(claims),
        onSome: (before) => serverChanged(server, before)
      })
      return { state: unheard, waiting: Option.some<Waiting>({ why, message }) }
    }
    const from = DateTime.addDuration(continuation.continued_at, resumeDelay)
    if (DateTime.isGreaterThan(from, now)) {
      const message = `An administrator said that the log goes on, which is in force from ${DateTime.formatIso(from)}, unless an instance remembers more of the log than there is.`
      return { state: unheard, waiting: Option.some<Waiting>({ why, message }) }
    }
    yield* Ref.set(unproven, [])
    return {
      state: { checkpoint, server: Option.some(server), continuation: number },
      waiting: Option.none()
    }
  })

  /** Withdraws this instance's permission to sequence if observers make claims that they do not prove. */
  const withdraw = Effect.fnUntraced(function* (
    found: LogState,
    { observed, shown: size }: { readonly shown: number; readonly observed: ReadonlyArray<ObservedHead> }
  ) {
    const claims = observed.flatMap((head) => {
      if ("note" in head) return []
      if (head.size === size) return [`${head.by} has attested another tree of ${size} entries`]
      return head.size > found.size
        ? [`${head.by} has attested ${head.size} entries, and the log has ${found.size}`]
        : []
    })
    if (claims.length === 0) return
    yield* Ref.set(unproven, claims)
    const state = yield* signer.state
    if (Option.isNone(state)) return
    const continuation = Math.max(state.value.continuation, found.continuation?.number ?? 0)
    yield* save({ ...state.value, server: Option.none(), continuation })
  })

  /** Compares the log with the signer state and the answers of observers, and saves the next state. A reason to wait is a result, no failure. */
  const compare = (answers?: { readonly shown: number; readonly observed: ReadonlyArray<ObservedHead> }) =>
    Effect.gen(function* () {
      const found = yield* examined(answers?.observed ?? [])
      if (answers !== undefined) yield* withdraw(found, answers)
      const { state, waiting } = yield* judge(found)
      yield* save(state)
      const comparison: Comparison = { found, waiting }
      return comparison
    }).pipe(turns.withPermit)

  const requireKey = Effect.fnUntraced(function* (found: LogState) {
    const { newest_key: newest } = found
    const origin = originOf(found)
    if (origin === undefined || newest === null) return
    const keys = yield* signer.keys
    if (!follows(keys, { newest, origin })) yield* requireNewest(sql, keys, { newest, origin })
  })

  const requirePermission = Effect.fnUntraced(function* ({ found, waiting }: Comparison) {
    if (Option.isNone(waiting)) return found
    // A wrong key is reported before the reason for waiting, because no continuation cures it.
    yield* requireKey(found)
    return yield* new LogStopped({ message: waiting.value.message })
  })

  /** Does the same as `authorize` without observers. */
  const authorizeAlone = Effect.flatMap(compare(), requirePermission)

  /** Compares the log also with the answers of observers: once on each run of the server, and again after a failure. */
  const compareWithObservers = Effect.fnUntraced(function* ({ found }: Comparison) {
    const newest = publishedIn(found)
    const observed = yield* observers.ask(Option.map(newest, ({ note }) => note))
    const shown = Option.match(newest, { onNone: () => 0, onSome: ({ size }) => size })
    const comparison = yield* compare({ shown, observed })
    yield* Ref.set(queriedRun, Option.some(found.run))
    return comparison
  })

  /** Reads the log's state; fails unless this instance may sequence and sign on this server. */
  const authorize = Effect.gen(function* () {
    const comparison = yield* compare()
    const { fault, run } = comparison.found
    const wasQueried = Option.contains(yield* Ref.get(queriedRun), run)
    // A log with a fault is not signed, whatever observers know of it.
    return yield* requirePermission(
      wasQueried || fault !== null ? comparison : yield* compareWithObservers(comparison)
    )
  }).pipe(
    Effect.tap(({ fault, run }) => Ref.set(authorizedRun, fault === null ? Option.some(run) : Option.none())),
    Effect.tapError(() => Ref.set(authorizedRun, Option.none()))
  )

  /** True if this instance may sequence on this run of the server; authorizes it if that is not known yet. */
  const authorizeRun = Effect.fnUntraced(function* (run: string) {
    if (Option.contains(yield* Ref.get(authorizedRun), run)) return true
    return (yield* authorize).run === run
  })

  /** Records a checkpoint that this instance has just signed. */
  const recordSigned = (checkpoint: Checkpoint) =>
    Effect.flatMap(signer.state, (state) =>
      Option.match(state, {
        onNone: () => Effect.void,
        onSome: (known) =>
          Option.exists(
            known.checkpoint,
            (own) => own.origin === checkpoint.origin && own.size >= checkpoint.size
          )
            ? Effect.void
            : signer.save({ ...known, checkpoint: Option.some(checkpoint) })
      })
    ).pipe(turns.withPermit)

  const isNew = ({ origin, size }: Checkpoint) =>
    Effect.map(
      ownCheckpoint,
      (own) => !Option.exists(own, (known) => known.origin === origin && known.size >= size)
    )

  /** Compares the log before a checkpoint that is not recorded yet is shown. It tries once: the checkpoint is shown even if that fails. */
  const recordShown = Effect.fnUntraced(function* (note: string) {
    const head = parseCheckpoint(note)
    if (Option.isNone(head) || !(yield* isNew(head.value))) return
    yield* Effect.gen(function* () {
      if (!(yield* isNew(head.value)) || (yield* Ref.get(triedNote)) === note) return
      const tried = Ref.set(triedNote, note)
      yield* compare().pipe(
        Effect.tap(() => tried),
        Effect.tapError(() => tried)
      )
    }).pipe(showing.withPermit)
  })

  /** The larger of this checkpoint and the largest one seen under its name. */
  const largerOf = (note: string) =>
    Effect.map(ownCheckpoint, (own) =>
      Option.filter(own, (known) =>
        Option.exists(
          Option.all([parseCheckpoint(note), parseCheckpoint(known.note)]),
          ([{ origin, size }]) => known.origin === origin && known.size > size
        )
      ).pipe(Option.match({ onNone: () => note, onSome: (known) => known.note }))
    )

  return {
    authorize,
    authorizeAlone,
    authorizeRun,
    compare,
    largerOf,
    ownCheckpoint,
    recordShown,
    recordSigned
  }
})
