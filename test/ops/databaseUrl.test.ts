/** DATABASE_URL as libpq reads it: https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-CONNSTRING-URIS */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Redacted, Result } from "effect"
import { parseDatabaseUrl } from "../../src/layers/postgres/databaseUrl.ts"

const parsed = (url: string) =>
  Result.getOrThrowWith(parseDatabaseUrl(Redacted.make(url)), (why) => new Error(why))

const whyNot = (url: string) => Result.getOrThrow(Result.flip(parseDatabaseUrl(Redacted.make(url))))

describe("A database URL", () => {
  it.each<[string, Array<[string, number]>]>([
    ["postgres://u:p@db.example/d", [["db.example", 5432]]],
    ["postgresql://db.example:6432", [["db.example", 6432]]],
    [
      "postgres://[::1]:6432,[::2]/d",
      [
        ["::1", 6432],
        ["::2", 5432]
      ]
    ],
    [
      "postgres://a:1,b:2,c/d",
      [
        ["a", 1],
        ["b", 2],
        ["c", 5432]
      ]
    ],
    ["postgres://%2Fvar%2Frun%2Fpostgresql/d", [["/var/run/postgresql", 5432]]],
    [
      "postgres:///d?host=a,b&port=1,2",
      [
        ["a", 1],
        ["b", 2]
      ]
    ],
    [
      "postgres:///d?host=a,b&port=6432",
      [
        ["a", 6432],
        ["b", 6432]
      ]
    ],
    ["postgres:///d", [["localhost", 5432]]]
  ])("A database URL names the hosts to try: %s", (url, hosts) => {
    assert.deepStrictEqual(
      parsed(url).hosts.map(({ host, port }) => [host, port]),
      hosts
    )
  })

  it("A database URL has user, password and database, encoded or as parameters, which come first", () => {
    const shown = (url: string) => {
      const { database, password, username } = parsed(url)
      return [username, password && Redacted.value(password), database]
    }
    assert.deepStrictEqual(shown("postgres://ada:p%40ss:w@h/d%2F1"), ["ada", "p@ss:w", "d/1"])
    assert.deepStrictEqual(shown("postgres://a:b@h/c?user=u&password=p%26&dbname=d"), ["u", "p&", "d"])
    assert.deepStrictEqual(shown("postgres://h"), [undefined, undefined, undefined])
  })

  it("A database URL prefers TLS, and takes a server that may be written to where it has a choice", () => {
    const usual = parsed("postgres://h/d")
    assert.deepInclude(usual, { sslMode: "prefer", target: "any", applicationName: "auspex" })
    assert.strictEqual(Duration.toSeconds(usual.connectTimeout), 5)
    const several = parsed("postgres://h,i/d")
    assert.deepInclude(several, { sslMode: "prefer", target: "read-write" })
    assert.strictEqual(parsed("postgres://h,i/d?target_session_attrs=any").target, "any")
    assert.strictEqual(parsed("postgres://h/d?sslrootcert=system").sslMode, "verify-full")
    assert.strictEqual(parsed("postgres://h/d?connect_timeout=0").connectTimeout, Duration.infinity)
  })

  it.each<[string, RegExp]>([
    ["mysql://h/d", /^expected postgres:\/\//],
    [
      "postgres://h/d?sslmode=on",
      /^sslmode=on: expected disable, allow, prefer, require, verify-ca, verify-full$/
    ],
    ["postgres://h/d?sslmode=verify-full", /^sslmode=verify-full needs sslrootcert: a file, or system$/],
    ["postgres://h/d?sslmode=require&sslrootcert=system", /^sslrootcert=system needs sslmode=verify-full/],
    ["postgres://h/d?sslcert=/c.pem", /^sslcert and sslkey belong together$/],
    [
      "postgres://h/d?target_session_attrs=standby",
      /^target_session_attrs=standby: expected any, read-write, primary$/
    ],
    ["postgres://h/d?channel_binding=require", /^its parameter "channel_binding" is not supported/],
    ["postgres://h/d?statement_timeout=5", /^its parameter "statement_timeout" is not supported/],
    ["postgres://h/d?connect_timeout=2.5", /^connect_timeout=2\.5: expected whole seconds$/],
    ["postgres://h:0/d", /^"0" is no port$/],
    ["postgres://a:1:2/d", /is no port$/],
    ["postgres://h/d?host=a,b&port=1,2,3", /^it has 2 hosts and 3 ports$/],
    ["postgres://u:p%@h/d", /^a % in it begins no encoded character$/]
  ])("A database URL that cannot be kept is refused with the reason: %s", (url, why) => {
    assert.match(whyNot(url), why)
  })

  it("A database URL shows no password when it is refused", () => {
    for (const url of [
      "postgres://u:the-secret@h:99999/d",
      "postgres://u:the-secret%@h/d",
      "postgres:/u:the-secret@h"
    ])
      assert.notInclude(whyNot(url), "the-secret")
  })
})
