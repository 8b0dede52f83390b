/**
 * One connection to PostgreSQL, to the first host that meets the URL's conditions, with libpq's meaning of `sslmode`. The socket is
 * our own, so that it can be destroyed: the driver has no way to end a connection that has fallen silent.
 */
import { readFile } from "node:fs/promises"
import { createConnection } from "node:net"
import type { Socket } from "node:net"
import { getCACertificates } from "node:tls"
import type { ConnectionOptions } from "node:tls"
import { PgConnection } from "@effect/sql-pg"
import { Data, Effect, Exit, Predicate, Result, Scope } from "effect"
import type { Redacted } from "effect"
import { SqlError } from "effect/sql"
import { parseDatabaseUrl } from "./databaseUrl.ts"
import type { DatabaseUrl, Host } from "./databaseUrl.ts"

/** The message has all that an operator needs, except the setting's name. */
export class DatabaseUrlUnusable extends Data.TaggedError("DatabaseUrlUnusable")<{
  readonly message: string
}> {}

export interface Opened {
  readonly connection: PgConnection.PgConnection
  readonly socket: Socket
}

/** Opens a new connection each time; it ends with the scope. */
export type Connect = Effect.Effect<Opened, SqlError.SqlError, Scope.Scope>

/** Settings that are sent when a connection begins. */
export type SessionSettings = Readonly<Record<string, string>>

/** The peer of an idle connection is probed after this time; ten probes without an answer, a second apart, end it. */
const keepAlive = 10_000

/** The maximum wait for a new server's first answer. */
const maxReply = 2000

/** An ended connection whose peer does not end it, too, is destroyed. */
const maxGoodbye = 5000

const openSocket = ({ host, port }: Host): Socket => {
  const socket = host.startsWith("/")
    ? createConnection({ path: `${host}/.s.PGSQL.${port}` })
    : createConnection({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAlive })
  // The driver listens to the wrapped socket, which TLS makes, and not at all once the connection is released.
  socket.on("error", () => {})
  return socket
}

const contentOf = (parameter: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) =>
      new DatabaseUrlUnusable({
        message: `${parameter}=${path}: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

/** With authorities a certificate is verified in every mode, as in libpq; its name is verified in `verify-full` alone. */
const tlsOf = Effect.fnUntraced(function* ({ sslCert, sslKey, sslMode, sslRootCert }: DatabaseUrl) {
  const options: ConnectionOptions = { rejectUnauthorized: sslRootCert !== undefined }
  if (sslRootCert !== undefined) {
    options.ca =
      sslRootCert === "system" ? getCACertificates("system") : yield* contentOf("sslrootcert", sslRootCert)
  }
  if (sslCert !== undefined) options.cert = yield* contentOf("sslcert", sslCert)
  if (sslKey !== undefined) options.key = yield* contentOf("sslkey", sslKey)
  if (sslMode !== "verify-full") options.checkServerIdentity = () => undefined
  return options
})

/** The attempts in their order: with TLS, or without. */
const attemptsOf = ({ sslMode }: DatabaseUrl, { host }: Host, tls: ConnectionOptions) => {
  if (sslMode === "disable" || host.startsWith("/")) return [false]
  if (sslMode === "allow") return [false, tls]
  return sslMode === "prefer" ? [tls, false] : [tls]
}

const refusal = (message: string) =>
  new SqlError.SqlError({
    reason: new SqlError.ConnectionError({ cause: new Error(message), message, operation: "connect" })
  })

const whyOf = ({ message, reason: { cause } }: SqlError.SqlError): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : message

/**
 * True if libpq would make its second attempt (with TLS after one without, or the reverse): the server answered, but offered no usable TLS, or said that
 * `pg_hba.conf` has no line for this connection.
 */
const isWorthAnother = ({ reason: { cause } }: SqlError.SqlError): boolean =>
  !Predicate.hasProperty(cause, "severity") ||
  (Predicate.hasProperty(cause, "code") && cause.code === "28000")

const suits = {
  any: undefined,
  "read-write": {
    sql: "select current_setting('transaction_read_only') = 'off'",
    otherwise: "it takes no writes"
  },
  primary: { sql: "select not pg_is_in_recovery()", otherwise: "it is a standby" }
} as const

/** The maximum length of an application's name that leaves room for the program; PostgreSQL keeps 63 characters in all. */
export const maxPlainName = 55

/**
 * Makes the effect that opens connections to the URL's hosts with these session settings; certificates are read once. Sessions are
 * named after the application and the newest migration that its program knows, such as `auspex/35`.
 */
export const connectTo = Effect.fnUntraced(function* (redacted: Redacted.Redacted, program: number) {
  const url = yield* Result.match(parseDatabaseUrl(redacted), {
    onSuccess: Effect.succeed,
    onFailure: (message) => Effect.fail(new DatabaseUrlUnusable({ message }))
  })
  const tls = yield* tlsOf(url)
  const { hosts } = url
  const suitable = suits[url.target]

  const attempt = Effect.fnUntraced(function* (
    host: Host,
    ssl: boolean | ConnectionOptions,
    startupParameters: SessionSettings
  ) {
    const sockets: Array<Socket> = []
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const socket of sockets) socket.setTimeout(maxGoodbye, () => socket.destroy())
      })
    )
    let isReached = false
    return yield* PgConnection.make({
      ...host,
      ssl,
      startupParameters,
      // The driver opens a socket for the session, and later another one for each statement that it cancels.
      stream: () => {
        const socket = openSocket(host)
        if (sockets.length === 0) sockets.push(socket.once("connect", () => (isReached = true)))
        return socket
      },
      database: url.database,
      username: url.username,
      password: url.password,
      connectTimeout: url.connectTimeout,
      applicationName: `${url.applicationName.slice(0, maxPlainName)}/${program}`,
      startupOptions: url.options
    }).pipe(
      Effect.flatMap((connection) => {
        const [socket] = sockets
        return socket === undefined
          ? Effect.die("a connection without a socket")
          : Effect.succeed({ connection, socket })
      }),
      Effect.mapError((error) => ({ error, isReached }))
    )
  })

  const reach = (host: Host, settings: SessionSettings) => {
    const [first = false, second] = attemptsOf(url, host, tls)
    const opened = attempt(host, first, settings)
    return second === undefined
      ? opened
      : Effect.catchIf(
          opened,
          ({ error, isReached }) => isReached && isWorthAnother(error),
          () => attempt(host, second, settings)
        )
  }

  const requireSuitable = Effect.fnUntraced(function* ({ connection, socket }: Opened) {
    if (suitable === undefined) return
    // The connection is not interrupted, because that would also wait for the server.
    socket.setTimeout(maxReply, () => socket.destroy())
    const rows = yield* Effect.uninterruptible(connection.queryValues(suitable.sql, [], false))
    socket.setTimeout(0)
    if (rows[0]?.[0] !== true) return yield* refusal(suitable.otherwise)
  })

  /** Opens a connection to this host and checks that it meets the conditions. */
  const suited = Effect.fnUntraced(function* (host: Host, settings: SessionSettings) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return yield* reach(host, settings).pipe(
      Effect.mapError(({ error }) => error),
      Effect.tap(requireSuitable),
      Effect.timeoutOrElse({
        duration: url.connectTimeout,
        orElse: () => Effect.fail(refusal("Connection timed out"))
      }),
      Scope.provide(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  })

  /** The position of the last host that was connected to, which is tried first. */
  let last = 0

  const connect = Effect.fnUntraced(function* (settings: SessionSettings) {
    const failures: Array<readonly [Host, SqlError.SqlError]> = []
    const begin = last
    for (const [offset] of hosts.entries()) {
      const place = (begin + offset) % hosts.length
      const host = hosts[place] ?? hosts[0]
      const opened = yield* Effect.result(suited(host, settings))
      if (Result.isSuccess(opened)) {
        last = place
        return opened.success
      }
      failures.push([host, opened.failure])
    }
    const [only] = failures
    if (only !== undefined && failures.length === 1) return yield* only[1]
    return yield* refusal(
      failures.map(([{ host, port }, error]) => `${host}:${port}: ${whyOf(error)}`).join("; ")
    )
  })
  return { url, connect: (settings: SessionSettings): Connect => connect(settings) }
})
