/**
 * Parses a connection URL as libpq reads it (https://www.postgresql.org/docs/18/libpq-connect.html), as far as it is supported here.
 * Anything else is rejected: an operator relies on `sslrootcert`, so no parameter is ignored.
 */
import { Duration, Redacted, Result } from "effect"
import type { Array as Arr } from "effect"

export interface Host {
  /** A name, an address, or the directory of a Unix-domain socket. */
  readonly host: string
  readonly port: number
}

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const

/** libpq has further values, for sessions that only read. */
const sessionAttributes = ["any", "read-write", "primary"] as const

export interface DatabaseUrl {
  /** Hosts are tried in this order. */
  readonly hosts: Arr.NonEmptyReadonlyArray<Host>
  readonly username: string | undefined
  readonly password: Redacted.Redacted | undefined
  readonly database: string | undefined
  readonly sslMode: (typeof sslModes)[number]
  /** A file of authorities, or `system` for those that the machine trusts. */
  readonly sslRootCert: string | undefined
  readonly sslCert: string | undefined
  readonly sslKey: string | undefined
  /** The attributes that a server must have; otherwise the next host is tried. */
  readonly target: (typeof sessionAttributes)[number]
  /** The timeout of each host. */
  readonly connectTimeout: Duration.Duration
  readonly applicationName: string
  readonly options: string | undefined
}

const parameters = [
  "host",
  "port",
  "dbname",
  "user",
  "password",
  "sslmode",
  "sslrootcert",
  "sslcert",
  "sslkey",
  "target_session_attrs",
  "connect_timeout",
  "application_name",
  "options"
] as const
type Parameter = (typeof parameters)[number]

type Parsed<A> = Result.Result<A, string>

/** An error shows no secret: it quotes only parameters that hold none. */
export const parseDatabaseUrl = (url: Redacted.Redacted): Parsed<DatabaseUrl> =>
  Result.gen(function* () {
    const shape = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/
    const [matched, user = "", authority = "", path = "", query = ""] = shape.exec(Redacted.value(url)) ?? []
    if (matched === undefined)
      return yield* Result.fail("expected postgres://user:password@host:port/database")
    const given = yield* parametersOf(query)
    const [, name = "", password = ""] = /^([^:]*):?(.*)$/.exec(user) ?? []
    const hosts = yield* hostsOf(authority, given)
    const sslMode = yield* sslModeOf(given)
    const text = (parameter: Parameter, before: string) =>
      Result.map(decoded(before), (value) => given.get(parameter) ?? (value === "" ? undefined : value))
    const secret = yield* text("password", password)
    const parsed: DatabaseUrl = {
      hosts,
      sslMode,
      username: yield* text("user", name),
      password: secret === undefined ? undefined : Redacted.make(secret),
      database: yield* text("dbname", path),
      sslRootCert: given.get("sslrootcert"),
      sslCert: given.get("sslcert"),
      sslKey: given.get("sslkey"),
      target: yield* oneOf(
        "target_session_attrs",
        given.get("target_session_attrs") ?? (hosts.length > 1 ? "read-write" : "any"),
        sessionAttributes
      ),
      connectTimeout: yield* connectTimeoutOf(given.get("connect_timeout"), hosts.length),
      applicationName: given.get("application_name") ?? "auspex",
      options: given.get("options")
    }
    return parsed
  })

const decoded = (text: string): Parsed<string> =>
  Result.try({ try: () => decodeURIComponent(text), catch: () => "a % in it begins no encoded character" })

const oneOf = <const Value extends string>(
  parameter: Parameter,
  text: string,
  values: ReadonlyArray<Value>
): Parsed<Value> =>
  Result.fromNullishOr(
    values.find((value) => value === text),
    () => `${parameter}=${text}: expected ${values.join(", ")}`
  )

const parametersOf = (query: string): Parsed<ReadonlyMap<Parameter, string>> =>
  Result.gen(function* () {
    const given = new Map<Parameter, string>()
    for (const pair of query.split("&").filter((each) => each !== "")) {
      const [, written = "", value = ""] = /^([^=]*)=?(.*)$/.exec(pair) ?? []
      const name = parameters.find((each) => each === written)
      if (name === undefined) {
        return yield* Result.fail(
          `its parameter "${written}" is not supported; those that are: ${parameters.join(", ")}`
        )
      }
      given.set(name, yield* decoded(value))
    }
    return given
  })

const portOf = (text: string): Parsed<number> => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? Result.succeed(port) : Result.fail(`"${text}" is no port`)
}

/** The parameters `host` and `port` take precedence over those before the path; a single port applies to all hosts. */
const hostsOf = (
  authority: string,
  given: ReadonlyMap<Parameter, string>
): Parsed<Arr.NonEmptyReadonlyArray<Host>> =>
  Result.gen(function* () {
    const written = authority.split(",").map((each) => /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(each))
    if (written.includes(null)) return yield* Result.fail("one of its hosts cannot be read")
    const names = given.get("host")?.split(",") ?? []
    if (names.length === 0) {
      for (const match of written) {
        names.push(yield* decoded((match?.[1] ?? "").replace(/^\[(.*)\]$/, "$1")))
      }
    }
    const ports = given.get("port")?.split(",") ?? written.map((match) => match?.[2] ?? "")
    if (ports.length > 1 && ports.length !== names.length) {
      return yield* Result.fail(`it has ${names.length} hosts and ${ports.length} ports`)
    }
    const hostAt = (index: number): Parsed<Host> =>
      Result.map(portOf((ports.length === 1 ? ports[0] : ports[index]) || "5432"), (port) => ({
        host: names[index] || "localhost",
        port
      }))
    const others: Array<Host> = []
    for (let index = 1; index < names.length; index++) others.push(yield* hostAt(index))
    return [yield* hostAt(0), ...others]
  })

/** The default is `prefer`, as in libpq; a mode that verifies needs authorities. */
const sslModeOf = (given: ReadonlyMap<Parameter, string>): Parsed<DatabaseUrl["sslMode"]> =>
  Result.gen(function* () {
    const root = given.get("sslrootcert")
    const mode = yield* oneOf(
      "sslmode",
      given.get("sslmode") ?? (root === "system" ? "verify-full" : "prefer"),
      sslModes
    )
    if (root === "system" && mode !== "verify-full") {
      return yield* Result.fail(`sslrootcert=system needs sslmode=verify-full, not ${mode}`)
    }
    if (root === undefined && (mode === "verify-ca" || mode === "verify-full")) {
      return yield* Result.fail(`sslmode=${mode} needs sslrootcert: a file, or system`)
    }
    if (given.has("sslcert") !== given.has("sslkey")) {
      return yield* Result.fail("sslcert and sslkey belong together")
    }
    return mode
  })

/** The wait for a connection must have room for a host that does not answer before one that does. */
const connectTimeoutOf = (text: string | undefined, hosts: number): Parsed<Duration.Duration> => {
  if (text === undefined) return Result.succeed(Duration.seconds(hosts > 1 ? 2 : 5))
  if (!/^\d{1,9}$/.test(text)) return Result.fail(`connect_timeout=${text}: expected whole seconds`)
  return Result.succeed(text === "0" ? Duration.infinity : Duration.seconds(Number(text)))
}
