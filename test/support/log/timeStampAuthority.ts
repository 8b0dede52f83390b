/** A time stamp authority: `openssl ts -reply` behind HTTP, under a root of its own in a temporary folder. */
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect } from "effect"
import { fakeServer } from "./fakeServer.ts"
import type { Asked, FakeServer, Reply } from "./fakeServer.ts"

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0
if (!hasOpenssl) process.emitWarning("openssl is missing: tests of RFC 3161 time stamps are skipped")

const run = promisify(execFile)

const configuration = `
[ tsa ]
default_tsa = authority
[ authority ]
serial = ./serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_chain = no
[ req ]
distinguished_name = name
[ name ]
[ root ]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[ stamping ]
extendedKeyUsage = critical,timeStamping
`

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

/** A folder with a root, and a certificate for time stamps under it. */
const makeFolder = Effect.fnUntraced(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "auspex-tsa-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true }))
  )
  writeFileSync(join(folder, "openssl.cnf"), configuration)
  writeFileSync(join(folder, "serial"), "01\n")
  const openssl = (...args: ReadonlyArray<string>) =>
    Effect.promise(() => run("openssl", args, { cwd: folder }))
  const configured = ["-config", "openssl.cnf"]
  yield* openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "root.key",
    "-out",
    "root.pem",
    "-subj",
    "/CN=Root",
    "-days",
    "2",
    ...configured,
    "-extensions",
    "root"
  )
  yield* openssl("req", ...newKey, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=TSA", ...configured)
  yield* openssl(
    "x509",
    "-req",
    "-in",
    "tsa.csr",
    "-CA",
    "root.pem",
    "-CAkey",
    "root.key",
    "-CAcreateserial",
    "-out",
    "tsa.pem",
    "-days",
    "2",
    "-extfile",
    "openssl.cnf",
    "-extensions",
    "stamping"
  )
  return folder
})

export interface TimeStampAuthority extends FakeServer {
  /** What `openssl ts -verify` says of a reply and what it is thought to stamp. */
  readonly check: (reply: Uint8Array, stamped: string) => Effect.Effect<string>
}

export const makeTimeStampAuthority = Effect.fnUntraced(function* () {
  const folder = yield* makeFolder()
  const at = (name: string) => join(folder, name)
  const work = async ({ body, headers }: Asked): Promise<Reply> => {
    if (headers["content-type"] !== "application/timestamp-query") return { status: 415 }
    await writeFile(at("query.tsq"), body)
    const signer = ["-signer", "tsa.pem", "-inkey", "tsa.key", "-config", "openssl.cnf"]
    await run("openssl", ["ts", "-reply", "-queryfile", "query.tsq", ...signer, "-out", "reply.tsr"], {
      cwd: folder
    })
    return {
      status: 200,
      headers: { "content-type": "application/timestamp-reply" },
      body: await readFile(at("reply.tsr"))
    }
  }
  const server = yield* fakeServer(work)
  const check = (reply: Uint8Array, stamped: string) =>
    Effect.promise(async () => {
      await writeFile(at("checked.tsr"), reply)
      await writeFile(at("checked.txt"), stamped)
      const asked = ["ts", "-verify", "-in", "checked.tsr", "-data", "checked.txt", "-CAfile", "root.pem"]
      return run("openssl", asked, { cwd: folder }).then(
        ({ stdout }) => stdout.trim(),
        () => "Verification: FAILED"
      )
    })
  const authority: TimeStampAuthority = { ...server, check }
  return authority
})
