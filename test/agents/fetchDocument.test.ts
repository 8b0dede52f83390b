/** Places that a jwks_url may lead to, and refusals of all others: a listener on loopback hears nothing. */
import { createSocket } from "node:dgram"
import type { LookupAddress } from "node:dns"
import { readFile } from "node:fs/promises"
import { createServer as createHttpServer } from "node:http"
import type { RequestListener, Server } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { addressesOf, dnsLookup, fetchAnswer } from "../../src/layers/keys/fetchDocument.ts"
import type { FetchOptions } from "../../src/layers/keys/fetchDocument.ts"
import { publicUrlFault, isPublicAddress } from "../../src/layers/keys/publicUrl.ts"
import { jwksTricks } from "../support/jwksTricks.ts"

/** A certificate for a name that does not exist, and its key, which everybody knows: for loopback tests only. */
const certifiedName = "keys.auspex.example"

const certificate = `-----BEGIN CERTIFICATE-----
MIIBYTCCAQagAwIBAgIBATAKBggqhkjOPQQDAjAeMRwwGgYDVQQDDBNrZXlzLmF1
c3BleC5leGFtcGxlMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAe
MRwwGgYDVQQDDBNrZXlzLmF1c3BleC5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAEv70tAVR+JmLm+MMlg5XtEtLmk1RO1mJtVM06zvENf8fcYuWYfdfG
RiL8p8ag0h6v3JeAC4Prx7KbJ9Dgh//XHqMzMDEwHgYDVR0RBBcwFYITa2V5cy5h
dXNwZXguZXhhbXBsZTAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYC
IQCYnj38WTT4Gj5jPG0qO7ws2bCvkhdPnI8hnbd1zzxySwIhAPVXkWu0BfkOK8yl
RvrhEInpeKVnqAZ7urBIoB7v3X5J
-----END CERTIFICATE-----
`

const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXMGcL+VNdTCOixZO
51f4GBaIKZPFPWzH2DB/KIFA9a+hRANCAAS/vS0BVH4mYub4wyWDle0S0uaTVE7W
Ym1UzTrO8Q1/x9xi5Zh918ZGIvynxqDSHq/cl4ALg+vHspsn0OCH/9ce
-----END PRIVATE KEY-----
`

const fetchDocument = (url: URL, options: FetchOptions) =>
  Effect.map(fetchAnswer(url, options), ({ bytes }) => bytes)

interface Listener {
  readonly port: number
  /** Connections, with or without a request. */
  readonly heard: () => number
}

const listen = (server: Server, host: string) =>
  Effect.acquireRelease(
    Effect.callback<Listener>((resume) => {
      let connections = 0
      server.on("connection", () => (connections += 1))
      server.listen(0, host, () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, heard: () => connections }))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
  )

const plain = (handler: RequestListener) => listen(createHttpServer(handler), "127.0.0.1")
const secure = (handler: RequestListener) =>
  listen(createHttpsServer({ cert: certificate, key: certificateKey }, handler), "127.0.0.1")

const limits = { maxBytes: 64 * 1024, maxMillis: 3000, ownMachine: false }
const own = { ...limits, ownMachine: true }

/** A resolver that answers this to every question. */
const resolving = (
  ...addresses: ReadonlyArray<string>
): Required<Pick<FetchOptions, "resolve">> & { readonly lookups: () => number } => {
  let lookups = 0
  return {
    lookups: () => lookups,
    resolve: (_name, _options, callback) => {
      lookups += 1
      const answers = addresses.map((address): LookupAddress => ({
        address,
        family: address.includes(":") ? 6 : 4
      }))
      callback(null, answers)
    }
  }
}

const anywhere = { isAllowed: () => true }

/** Addresses of names that must not be connected to. */
const insideAddresses = [
  "127.0.0.1",
  "127.8.8.8",
  "0.0.0.0",
  "10.1.2.3",
  "172.31.255.255",
  "192.168.0.1",
  "100.127.0.1",
  "169.254.169.254",
  "192.0.0.8",
  "198.19.0.1",
  "203.0.113.7",
  "240.0.0.1",
  "255.255.255.255",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::7f00:1",
  "64:ff9b::7f00:1",
  "2001:0:7f00:1::",
  "2001:db8::1",
  "2002:7f00:1::1",
  "3fff::1",
  "fe80::1",
  "fc00::1",
  "fd12:3456::1",
  "ff02::1",
  "100::1",
  "5f00::1"
]

describe("A jwks_url", () => {
  it.effect("A jwks_url is refused by its text unless it is plain https to a public place", () =>
    Effect.gen(function* () {
      const { heard, port } = yield* plain((_, response) => response.end("{}"))
      const all = jwksTricks(port)
      assert.isAtLeast(all.length, 60)
      const passed = all.filter((url) => publicUrlFault(url, { ownMachine: false }) === undefined)
      assert.deepStrictEqual(passed, [])
      // No connection is made to any of them that is a URL, either.
      const urls = all.filter((url) => /^https?:/i.test(url) && URL.canParse(url)).map((url) => new URL(url))
      const local = urls.filter(({ hostname }) => !hostname.includes("example") && !hostname.includes("xn--"))
      for (const url of local) {
        yield* Effect.flip(fetchDocument(url, { ...limits, ...resolving("127.0.0.1") }))
      }
      assert.strictEqual(heard(), 0)
    })
  )

  it("A jwks_url to a public place by plain https is taken", () => {
    for (const url of [
      "https://keys.example.com",
      "https://keys.example.com/",
      "https://keys.example.com:8443/a/b.json?x=1",
      "https://xn--exmple-cua.com/jwks",
      "https://93.184.215.14/jwks",
      "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/jwks"
    ]) {
      assert.isUndefined(publicUrlFault(url, { ownMachine: false }), url)
    }
  })

  it("A jwks_url may be on this very machine in development, by its plain names and no other", () => {
    for (const url of [
      "http://127.0.0.1:4000/jwks",
      "http://localhost:4000/jwks",
      "http://[::1]:4000/jwks",
      "https://localhost:4000/jwks"
    ]) {
      assert.isUndefined(publicUrlFault(url, own), url)
      assert.isDefined(publicUrlFault(url, { ownMachine: false }), url)
    }
    const plainOnes = /^https?:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/]/
    const others = jwksTricks(4000).filter((url) => !plainOnes.test(url))
    assert.isAtLeast(others.length, 60)
    assert.deepStrictEqual(
      others.filter((url) => publicUrlFault(url, own) === undefined),
      []
    )
  })
})

/** A name server that answers 93.184.215.14 for names that begin with "here", and nothing at all for others. */
const nameServer = Effect.acquireRelease(
  Effect.callback<{ readonly server: string; readonly close: () => void }>((resume) => {
    const socket = createSocket("udp4")
    socket.on("message", (query, { address, port }) => {
      if (query[12] !== 4 || query.toString("latin1", 13, 17) !== "here") return
      const question = query.subarray(12, query.indexOf(0, 12) + 5)
      const isForV4 = question.readUInt16BE(question.length - 4) === 1
      const head = Buffer.from([0x81, 0x80, 0, 1, 0, isForV4 ? 1 : 0, 0, 0, 0, 0])
      const answer = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 93, 184, 215, 14]
      socket.send(
        Buffer.concat([query.subarray(0, 2), head, question, Buffer.from(isForV4 ? answer : [])]),
        port,
        address
      )
    })
    socket.bind(0, "127.0.0.1", () =>
      resume(
        Effect.succeed({ server: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() })
      )
    )
  }),
  ({ close }) => Effect.sync(close)
)

describe("The lookup of a name", () => {
  const found = (server: string, name: string) =>
    addressesOf(new URL(`https://${name}/jwks`), { ...limits, resolve: dnsLookup([server]) })

  it.effect("A host name leads to the addresses that DNS has for it", () =>
    Effect.gen(function* () {
      const { server } = yield* nameServer
      assert.deepStrictEqual(yield* found(server, "here.example.com"), [
        { address: "93.184.215.14", family: 4 }
      ])
    })
  )

  it.effect("A host name whose servers hang is given up, and blocks no file and no other name", () =>
    Effect.gen(function* () {
      const { server } = yield* nameServer
      let ended = 0
      const hanging = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => found(server, `gone${index}.example.com`)),
        (each) =>
          Effect.forkChild(
            Effect.ensuring(
              Effect.flip(each),
              Effect.sync(() => (ended += 1))
            ),
            {
              startImmediately: true
            }
          )
      )
      yield* Effect.promise(() => readFile(import.meta.filename))
      yield* found(server, "here.example.com")
      assert.strictEqual(ended, 0)
      yield* Effect.forEach(hanging, Fiber.join)
    })
  )
})

describe("Fetching a document", () => {
  it.effect.each(insideAddresses)(
    "No connection is made when the name resolves to %s, alone or among public ones",
    (address) =>
      Effect.gen(function* () {
        assert.isFalse(isPublicAddress(address))
        const { heard, port } = yield* secure((_, response) => response.end("{}"))
        const url = new URL(`https://${certifiedName}:${port}/jwks`)
        for (const answer of [[address], ["93.184.215.14", address], [address, "93.184.215.14"]]) {
          const { reason } = yield* Effect.flip(fetchDocument(url, { ...limits, ...resolving(...answer) }))
          assert.include(reason, "not allowed")
        }
        assert.strictEqual(heard(), 0)
      })
  )

  it.effect("A fetch asks for the name once and connects to the vetted address, whatever comes later", () =>
    Effect.gen(function* () {
      const { heard, port } = yield* secure((_, response) => response.end('{"keys":[]}'))
      const resolver = resolving("127.0.0.1")
      const url = new URL(`https://${certifiedName}:${port}/jwks`)
      const bytes = yield* fetchDocument(url, { ...limits, ...resolver, ...anywhere, ca: certificate })
      assert.strictEqual(Buffer.from(bytes).toString(), '{"keys":[]}')
      assert.strictEqual(resolver.lookups(), 1)
      assert.strictEqual(heard(), 1)
    })
  )

  it.effect("A fetch trusts no certificate but a good one for that name", () =>
    Effect.gen(function* () {
      const { port } = yield* secure((_, response) => response.end("{}"))
      const from = (host: string, options: Partial<FetchOptions>) =>
        Effect.result(
          fetchDocument(new URL(`https://${host}:${port}/jwks`), {
            ...limits,
            ...resolving("127.0.0.1"),
            ...anywhere,
            ...options
          })
        )
      assert.isTrue(Result.isSuccess(yield* from(certifiedName, { ca: certificate })))
      assert.isTrue(Result.isFailure(yield* from(certifiedName, {})))
      assert.isTrue(Result.isFailure(yield* from("other.auspex.example", { ca: certificate })))
    })
  )

  const handlers: Readonly<Record<string, RequestListener>> = {
    "a redirect": (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    "a redirect with a body": (_, response) =>
      response.writeHead(301, { location: "/other" }).end('{"keys":[]}'),
    "an error": (_, response) => response.writeHead(500).end("{}"),
    "no content": (_, response) => response.writeHead(204).end(),
    "part of it": (_, response) => response.writeHead(206).end("{}"),
    gzip: (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
    GZIP: (_, response) => response.writeHead(200, { "content-encoding": "GZIP" }).end(gzipSync("{}")),
    "identity and br": (_, response) =>
      response.writeHead(200, { "content-encoding": "identity, br" }).end("{}"),
    compress: (_, response) => response.writeHead(200, { "content-encoding": "compress" }).end("{}"),
    "a length over the limit": (_, response) =>
      response.writeHead(200, { "content-length": "70000" }).end("x".repeat(70_000)),
    "more than it may": (_, response) => {
      response.writeHead(200)
      const more = () => response.write("x".repeat(8192), () => !response.destroyed && setImmediate(more))
      more()
    },
    "a byte now and then": (_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write("x"), 20)
      response.on("close", () => clearInterval(timer))
    },
    "headers and then nothing": (_, response) => response.writeHead(200).flushHeaders(),
    "nothing ever": () => {},
    "less than it promised": (_, response) => {
      response.writeHead(200, { "content-length": "100" })
      response.write("{", () => response.destroy())
    },
    "a broken connection": (request) => request.socket.destroy(),
    "no HTTP": (request) => request.socket.end("nonsense\r\n\r\n")
  }

  it.effect.each(Object.entries(handlers))(
    "A fetch gives up in time on a server that answers with %s",
    ([, handler]) =>
      Effect.gen(function* () {
        const { heard, port } = yield* plain(handler)
        const url = new URL(`http://127.0.0.1:${port}/jwks`)
        yield* Effect.flip(fetchDocument(url, { ...own, maxMillis: 300 }))
        assert.strictEqual(heard(), 1)
      })
  )

  it.effect("A fetch takes a body as it is where the header names no coding", () =>
    Effect.gen(function* () {
      for (const coding of [
        "",
        "identity",
        "Identity",
        "IDENTITY ",
        "UTF-8",
        "utf8",
        "none",
        "identity,,identity"
      ]) {
        const { port } = yield* plain((_, response) =>
          response.writeHead(200, { "content-encoding": coding }).end("{}")
        )
        const bytes = yield* fetchDocument(new URL(`http://127.0.0.1:${port}/jwks`), own)
        assert.strictEqual(Buffer.from(bytes).toString(), "{}", coding)
      }
    })
  )

  it.effect("A fetch takes exactly as many bytes as it may", () =>
    Effect.gen(function* () {
      const { port } = yield* plain((_, response) => response.end("x".repeat(100)))
      const url = new URL(`http://localhost:${port}/jwks`)
      const loopback = resolving("127.0.0.1")
      assert.strictEqual((yield* fetchDocument(url, { ...own, maxBytes: 100, ...loopback })).length, 100)
      yield* Effect.flip(fetchDocument(url, { ...own, maxBytes: 99, ...loopback }))
    })
  )

  it.effect("A fetch on this very machine connects to loopback only, whatever localhost resolves to", () =>
    Effect.gen(function* () {
      const { reason } = yield* Effect.flip(
        fetchDocument(new URL("http://localhost:9/jwks"), { ...own, ...resolving("10.0.0.1") })
      )
      assert.include(reason, "not allowed")
    })
  )
})
