/**
 * A front of PostgreSQL: it speaks TLS or not, admits chosen sessions, rejects startup parameters as PgBouncer does, and makes
 * sessions read-only like a standby's. It records the start of each session.
 */
import { writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import type { Socket } from "node:net"
import { join } from "node:path"
import { TLSSocket } from "node:tls"
import { Effect, Redacted } from "effect"
import { inject } from "vitest"

/** A self-signed certificate of localhost, and its key, which is public. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBYjCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABLSWsCKQEmfVY4Jm
AkV7tsyWSk3GhSy3zBGpgEc2I47PV6eRw6Ic/hG3Gvw3w4PS1BZGxVFDU2YzsMNn
tS96ihGjSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBSIfJfNMq6vZiqHtOYkdinVW9woXzAKBggqhkjOPQQDAgNJADBG
AiEAiGQrTrshMk21MQU4ZKNiYWCnJl3pXHlicZ1O6NRyAd0CIQDiMMZLqjQJzsvg
f04xDDSUdEKvLLDTUtK1+9jKzHBs8Q==
-----END CERTIFICATE-----
`

const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgb9YtvZYl5IF/ee2y
xwU376XdgMsZPTdeuZo03mtqDDKhRANCAAS0lrAikBJn1WOCZgJFe7bMlkpNxoUs
t8wRqYBHNiOOz1enkcOiHP4Rtxr8N8OD0tQWRsVRQ1NmM7DDZ7UveooR
-----END PRIVATE KEY-----
`

/** Another certificate, which has signed nothing here. */
const stranger = `-----BEGIN CERTIFICATE-----
MIIBYTCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEMmQLutoudqy3pq
8T/MLzlB9GTEWzwQNr7z3S3PkmPMVxIMXepcg1hXswmk2O1PL15qLmW1W7I3jERe
2JvROIqjSDBGMBQGA1UdEQQNMAuCCWxvY2FsaG9zdDAPBgNVHRMBAf8EBTADAQH/
MB0GA1UdDgQWBBTlFUYbIOBTvpu2jxtPN90OEpVAjTAKBggqhkjOPQQDAgNIADBF
AiEA5BqCNbc7fu93yuCT76cCEiGkN4M/5CqSAQWgrxCcL64CIH8g7YC54RpAVU9v
I6jJtJ9Cp/PqAlHil5LXIq5/8xUP
-----END CERTIFICATE-----
`

/** Writes a file of authorities, for `sslrootcert`. */
const fileOf = (name: string, content: string) =>
  Effect.sync(() => {
    const path = join(inject("scratch"), name)
    writeFileSync(path, content)
    return path
  })
export const rootFile = fileOf("front-root.pem", certificate)
export const strangerFile = fileOf("front-stranger.pem", stranger)

export interface Session {
  readonly isEncrypted: boolean
  /** The parameters that the client sent at its start. */
  readonly parameters: ReadonlyMap<string, string>
}

export interface Front {
  /** The URL of the same database through this front, by this name of the machine. */
  readonly url: (host: "localhost" | "127.0.0.1", query?: string) => Redacted.Redacted
  readonly port: number
  readonly sessions: ReadonlyArray<Session>
  /** The behaviour may change at any time; existing sessions stay unchanged. */
  readonly behaviour: {
    /** `broken`: it agrees to TLS, and then speaks none; `silent`: it never answers. */
    tls: "offered" | "refused" | "broken" | "silent"
    /** The sessions that `pg_hba.conf` has a line for. */
    lets: "all" | "encrypted" | "plain"
    isReadOnly: boolean
    /** Startup parameters other than these end the session. */
    takes: ReadonlySet<string> | null
  }
}

const sslRequest = 80_877_103
const cancelRequest = 80_877_102

const parametersIn = (startup: Buffer): ReadonlyMap<string, string> => {
  const texts = startup.subarray(8, -1).toString().split("\0")
  const pairs: Array<[string, string]> = []
  for (let index = 0; index + 1 < texts.length; index += 2)
    pairs.push([texts[index] ?? "", texts[index + 1] ?? ""])
  return new Map(pairs)
}

const withOptions = (startup: Buffer, options: string): Buffer => {
  const longer = Buffer.concat([startup.subarray(0, -1), Buffer.from(`options\0${options}\0\0`)])
  longer.writeInt32BE(longer.length)
  return longer
}

const refusal = (code: string, message: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const frame = Buffer.alloc(5)
  frame.write("E")
  frame.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([frame, fields])
}

export const makeFront = Effect.fnUntraced(function* (
  database: Redacted.Redacted,
  initial: Partial<Front["behaviour"]> = {}
) {
  const target = new URL(Redacted.value(database))
  const behaviour: Front["behaviour"] = {
    tls: "refused",
    lets: "all",
    isReadOnly: false,
    takes: null,
    ...initial
  }
  const sessions: Array<Session> = []
  const open = new Set<Socket>()

  const forward = (near: Socket, first: Buffer) => {
    const far = connect(Number(target.port), target.hostname)
    open.add(far)
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) socket.on("error", end).on("close", end)
    far.write(first)
    near.pipe(far)
    far.pipe(near)
  }

  const startup = (near: Socket, packet: Buffer, isEncrypted: boolean) => {
    if (packet.readInt32BE(4) === cancelRequest) return forward(near, packet)
    const parameters = parametersIn(packet)
    sessions.push({ isEncrypted, parameters })
    if (behaviour.lets !== "all" && (behaviour.lets === "encrypted") !== isEncrypted) {
      return near.end(
        refusal("28000", `no pg_hba.conf entry for host, ${isEncrypted ? "SSL" : "no"} encryption`)
      )
    }
    const { takes } = behaviour
    const odd = takes === null ? undefined : [...parameters.keys()].find((name) => !takes.has(name))
    if (odd !== undefined) return near.end(refusal("08P01", `unsupported startup parameter: ${odd}`))
    return forward(
      near,
      behaviour.isReadOnly ? withOptions(packet, "-c default_transaction_read_only=on") : packet
    )
  }

  const server = createServer((near) => {
    open.add(near)
    near.on("error", () => near.destroy())
    near.once("data", (packet: Buffer) => {
      if (behaviour.tls === "silent") return
      if (packet.readInt32BE(4) !== sslRequest) return startup(near, packet, false)
      if (behaviour.tls === "refused") {
        near.once("data", (next: Buffer) => startup(near, next, false))
        return near.write("N")
      }
      near.write("S")
      if (behaviour.tls === "broken") return near.end("no TLS")
      const secure = new TLSSocket(near, { isServer: true, cert: certificate, key: certificateKey })
      secure.on("error", () => near.destroy())
      return secure.once("data", (next: Buffer) => startup(secure, next, true))
    })
  })
  const port = yield* Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      server.listen(0, () => {
        const address = server.address()
        resume(Effect.succeed(address !== null && typeof address === "object" ? address.port : 0))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of open) socket.destroy()
      })
  )
  const front: Front = {
    port,
    sessions,
    behaviour,
    url: (host, query = "") => {
      const url = new URL(target)
      url.host = `${host}:${port}`
      url.search = query
      return Redacted.make(url.href)
    }
  }
  return front
})
