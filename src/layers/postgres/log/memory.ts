/**
 * Compares the log with what this instance remembers outside the database, and says whether the instance may keep the log.
 *
 * Two rules keep the log from forking. What was seen under a signature must be in the tree: that is checked by everybody,
 * nobody can waive it, and whoever finds it violated leaves the checkpoint in the database as evidence. And an instance
 * that cannot tell what others have seen waits for an administrator: on a server that it does not know, and where it
 * remembers nothing beside a log that was signed.
 */
import { Data, DateTime, Effect, Option, Ref, Schema, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import { LogObservers } from "../../../services/LogObservers.ts"
import type { Sighting } from "../../../services/LogObservers.ts"
import { objectionTime } from "../../../services/LogSequencer.ts"
import { anyServer, LogSigner, SignerUnusable } from "../../../services/LogSigner.ts"
import type { Checkpoint, Memory } from "../../../services/LogSigner.ts"
import { isSignedBy, parseCheckpoint, parseNote, parseVerifierKey } from "../../crypto/signedNote.ts"
import { BackgroundClient } from "../BackgroundClient.ts"
import { findAll, transaction } from "../sql.ts"
import { follows, requireNewest } from "./identity.ts"
import { standingOf } from "./standing.ts"
import type { Standing } from "./standing.ts"
import { brokenTree, LogFault, requireTrees } from "./tree.ts"

/** This instance adds nothing to the log and signs nothing until an administrator says that it goes on. */
export class LogStopped extends Data.TaggedError("LogStopped")<{ readonly message: string }> {}

/** Why this instance waits. One that keeps no log may do without a memory. */
interface Waiting {
  readonly why: "forgetful" | "moved"
  readonly message: string
}

interface Look {
  readonly found: Standing
  readonly waiting: Option.Option<Waiting>
}

const order = "until an administrator says `npm run admin -- log continue`"

/** Without the size, which would make another reason of it with each entry. */
const forgetful = (doubts: ReadonlyArray<string>): string =>
  doubts.length > 0
    ? `${doubts.join("; ")}: this instance adds nothing to the log and signs nothing ${order}.`
    : `The log was signed before this instance had a memory of it (log-seen): it adds nothing to the log and signs nothing ${order}. Instances that remember the log go on.`

const moved = (server: string, known: string): string =>
  `The database is on another server than before, or on one that was promoted, restored or copied (system/timeline/database ${server}, before ${known}): this instance adds nothing to the log and signs nothing ${order}.`

const isSame = (one: Checkpoint, other: Checkpoint): boolean =>
  one.origin === other.origin && one.size === other.size && Buffer.compare(one.root, other.root) === 0

const isAlike = (one: Memory, other: Memory): boolean =>
  one.continuation === other.continuation &&
  Option.getOrNull(one.server) === Option.getOrNull(other.server) &&
  Option.getOrNull(one.checkpoint)?.note === Option.getOrNull(other.checkpoint)?.note

export const originOf = ({ names }: Standing): string | undefined => names.at(-1)

export const publishedIn = ({ checkpoint }: Standing): Option.Option<Checkpoint> =>
  Option.flatMap(Option.fromNullOr(checkpoint), parseCheckpoint)

/** Whether one is of a later name than the other, or larger. */
const isLater = ({ names }: Standing, one: Checkpoint, other: Checkpoint): boolean => {
  const [turn, before] = [names.indexOf(one.origin), names.indexOf(other.origin)]
  return turn === before ? one.size > other.size : turn > before
}

/** The log must begin with every tree that was signed under its name, and with every one that it has kept. */
export const examine = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  found: Standing,
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
  // The newest checkpoint is never deleted; a new one would hide that.
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

export const makeMemory = Effect.gen(function* () {
  const { client: sql } = yield* BackgroundClient
  const signer = yield* LogSigner
  const observers = yield* LogObservers
  const keyRows = findAll(Schema.Struct({ verifier_key: Schema.String }))
  /** One comparison at a time, so that none forgets what another has just seen. */
  const turns = yield* Semaphore.make(1)
  /** The run of the server on which the log was compared, on which others were asked, and on which it may be kept. */
  const compared = yield* Ref.make(Option.none<string>())
  const asked = yield* Ref.make(Option.none<string>())
  const kept = yield* Ref.make(Option.none<string>())
  /** What others claim to have seen, without a proof. */
  const doubts = yield* Ref.make<ReadonlyArray<string>>([])
  /** What was looked at last because it was about to be shown. */
  const shown = yield* Ref.make("")
  const showing = yield* Semaphore.make(1)
  const standing = standingOf(sql)

  const remembered = Effect.map(signer.memory, (memory) =>
    Option.flatMap(memory, ({ checkpoint }) => checkpoint)
  )

  const remember = Effect.fnUntraced(function* (memory: Memory) {
    const before = yield* signer.memory
    if (!Option.exists(before, (known) => isAlike(known, memory))) yield* signer.remember(memory)
  })

  /** What of this proves itself: signed in the name of the log by one of its keys. */
  const proven = Effect.fnUntraced(function* (found: Standing, sightings: ReadonlyArray<Sighting>) {
    const notes = sightings.flatMap((sighting) => ("note" in sighting ? [sighting.note] : []))
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
   * The log as it stands, once it has been compared. What is remembered is read before it: another process with this
   * directory may be signing, and the log is never behind what was signed earlier.
   */
  const compare = Effect.fnUntraced(function* (sightings: ReadonlyArray<Sighting>) {
    const own = yield* remembered
    const first = yield* standing
    const origin = originOf(first)
    if (origin !== undefined && Option.exists(own, (head) => !first.names.includes(head.origin))) {
      return yield* new SignerUnusable({
        message: `This data directory belongs to the log ${Option.getOrThrow(own).origin}, the database to ${origin}: each needs one of its own.`
      })
    }
    const others = yield* proven(first, sightings)
    const isKnown =
      others.length === 0 &&
      Option.contains(yield* Ref.get(compared), first.run) &&
      Option.exists(own, (head) => Option.exists(publishedIn(first), (newest) => isSame(head, newest)))
    if (isKnown) return first
    // On one connection, so on one server.
    const found = yield* transaction(sql)(
      Effect.tap(standing, (again) => examine(sql, again, [...Option.toArray(own), ...others]))
    )
    yield* Ref.set(compared, Option.some(found.run))
    return found
  })

  /** What to remember from now on, and whether the instance may keep the log on this server. */
  const judge = Effect.fnUntraced(function* (found: Standing) {
    const { continuation, server } = found
    const now = yield* DateTime.now
    const memory = yield* signer.memory
    const number = continuation?.number ?? 0
    const published = publishedIn(found)
    if (Option.isNone(memory)) {
      const isFirst = Option.isNone(published)
      return {
        memory: {
          checkpoint: published,
          server: isFirst ? Option.some(server) : Option.none(),
          continuation: number
        },
        waiting: isFirst ? Option.none() : Option.some<Waiting>({ why: "forgetful", message: forgetful([]) })
      }
    }
    const known = memory.value
    const checkpoint = Option.filter(published, (head) =>
      Option.match(known.checkpoint, { onNone: () => true, onSome: (own) => isLater(found, head, own) })
    ).pipe(Option.orElse(() => known.checkpoint))
    if (Option.exists(known.server, (each) => each === server || each === anyServer)) {
      const next: Memory = {
        checkpoint,
        server: Option.some(server),
        continuation: Math.max(known.continuation, number)
      }
      return { memory: next, waiting: Option.none() }
    }
    const unheard: Memory = { ...known, checkpoint }
    const why = Option.isNone(known.server) ? "forgetful" : "moved"
    if (continuation === null || number <= known.continuation || continuation.server !== server) {
      const claimed = yield* Ref.get(doubts)
      const message = Option.match(known.server, {
        onNone: () => forgetful(claimed),
        onSome: (before) => moved(server, before)
      })
      return { memory: unheard, waiting: Option.some<Waiting>({ why, message }) }
    }
    const from = DateTime.addDuration(continuation.continued_at, objectionTime)
    if (DateTime.isGreaterThan(from, now)) {
      const message = `An administrator said that the log goes on, which is in force from ${DateTime.formatIso(from)}, unless an instance remembers more of the log than there is.`
      return { memory: unheard, waiting: Option.some<Waiting>({ why, message }) }
    }
    yield* Ref.set(doubts, [])
    return {
      memory: { checkpoint, server: Option.some(server), continuation: number },
      waiting: Option.none()
    }
  })

  /** Others' claims without a proof: the instance forgets that it may keep the log. */
  const doubt = Effect.fnUntraced(function* (
    found: Standing,
    { shown: size, sightings }: { readonly shown: number; readonly sightings: ReadonlyArray<Sighting> }
  ) {
    const claims = sightings.flatMap((sighting) => {
      if ("note" in sighting) return []
      if (sighting.size === size) return [`${sighting.by} has attested another tree of ${size} entries`]
      return sighting.size > found.size
        ? [`${sighting.by} has attested ${sighting.size} entries, and the log has ${found.size}`]
        : []
    })
    if (claims.length === 0) return
    yield* Ref.set(doubts, claims)
    const memory = yield* signer.memory
    if (Option.isNone(memory)) return
    const continuation = Math.max(memory.value.continuation, found.continuation?.number ?? 0)
    yield* remember({ ...memory.value, server: Option.none(), continuation })
  })

  /** Compares, and remembers more. Whoever only looks does not mind waiting. */
  const look = (asking?: { readonly shown: number; readonly sightings: ReadonlyArray<Sighting> }) =>
    Effect.gen(function* () {
      const found = yield* compare(asking?.sightings ?? [])
      if (asking !== undefined) yield* doubt(found, asking)
      const { memory, waiting } = yield* judge(found)
      yield* remember(memory)
      const looked: Look = { found, waiting }
      return looked
    }).pipe(turns.withPermit)

  /** Said before why the instance waits: no administrator's word gives it the right key. */
  const requireKey = Effect.fnUntraced(function* (found: Standing) {
    const { newest_key: newest } = found
    const origin = originOf(found)
    if (origin === undefined || newest === null) return
    const keys = yield* signer.keys
    if (!follows(keys, { newest, origin })) yield* requireNewest(sql, keys, { newest, origin })
  })

  const mayKeep = Effect.fnUntraced(function* ({ found, waiting }: Look) {
    if (Option.isNone(waiting)) return found
    yield* requireKey(found)
    return yield* new LogStopped({ message: waiting.value.message })
  })

  /** As `keep`, without asking others. */
  const lookAlone = Effect.flatMap(look(), mayKeep)

  /** What others have seen, asked once a run of the server: where anything fails meanwhile, they are asked again. */
  const lookWithOthers = Effect.fnUntraced(function* ({ found }: Look) {
    const newest = publishedIn(found)
    const sightings = yield* observers.ask(Option.map(newest, ({ note }) => note))
    const shown = Option.match(newest, { onNone: () => 0, onSome: ({ size }) => size })
    const looked = yield* look({ shown, sightings })
    yield* Ref.set(asked, Option.some(found.run))
    return looked
  })

  /** The log as it stands, if this instance may keep it on this server. */
  const keep = Effect.gen(function* () {
    const looked = yield* look()
    const { fault, run } = looked.found
    const wasAsked = Option.contains(yield* Ref.get(asked), run)
    // Of a log that has a fault nothing more has to be known.
    return yield* mayKeep(wasAsked || fault !== null ? looked : yield* lookWithOthers(looked))
  }).pipe(
    Effect.tap(({ fault, run }) => Ref.set(kept, fault === null ? Option.some(run) : Option.none())),
    Effect.tapError(() => Ref.set(kept, Option.none()))
  )

  /** Whether the log may be kept on this run of the server, where that is not known yet. */
  const requireRun = Effect.fnUntraced(function* (run: string) {
    if (Option.contains(yield* Ref.get(kept), run)) return true
    return (yield* keep).run === run
  })

  /** What was just signed. */
  const rememberSigned = (checkpoint: Checkpoint) =>
    Effect.flatMap(signer.memory, (memory) =>
      Option.match(memory, {
        onNone: () => Effect.void,
        onSome: (known) =>
          Option.exists(
            known.checkpoint,
            (own) => own.origin === checkpoint.origin && own.size >= checkpoint.size
          )
            ? Effect.void
            : signer.remember({ ...known, checkpoint: Option.some(checkpoint) })
      })
    ).pipe(turns.withPermit)

  const isNew = ({ origin, size }: Checkpoint) =>
    Effect.map(
      remembered,
      (own) => !Option.exists(own, (known) => known.origin === origin && known.size >= size)
    )

  /** Looks before a checkpoint is shown that is not remembered, once each: what cannot be kept is shown all the same. */
  const beforeShowing = Effect.fnUntraced(function* (note: string) {
    const head = parseCheckpoint(note)
    if (Option.isNone(head) || !(yield* isNew(head.value))) return
    yield* Effect.gen(function* () {
      if (!(yield* isNew(head.value)) || (yield* Ref.get(shown)) === note) return
      const tried = Ref.set(shown, note)
      yield* look().pipe(
        Effect.tap(() => tried),
        Effect.tapError(() => tried)
      )
    }).pipe(showing.withPermit)
  })

  /** The larger one under the same name: what was seen, or this. */
  const largerOf = (note: string) =>
    Effect.map(remembered, (own) =>
      Option.filter(own, (known) =>
        Option.exists(
          Option.all([parseCheckpoint(note), parseCheckpoint(known.note)]),
          ([{ origin, size }]) => known.origin === origin && known.size > size
        )
      ).pipe(Option.match({ onNone: () => note, onSome: (known) => known.note }))
    )

  return { beforeShowing, keep, largerOf, look, lookAlone, rememberSigned, remembered, requireRun }
})
