/** Registration of agents with keys of their own: valid keys, and refused ones. */
import { generateKeyPairSync } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ecPair, rsaPair } from "../support/assertions.ts"
import { publicJwk } from "../support/hostileAssertions.ts"
import { post, testServer, wrongFields } from "../support/server.ts"

const endpoint = "/api/v1/agent/registry/register"
const registered = (fields: Readonly<Record<string, unknown>>) =>
  post(endpoint, { json: { name: "Ada", auth_method: "private_key_jwt", ...fields } })

const rsa = rsaPair()
const ec = ecPair()

const spki = (der: string) => `-----BEGIN PUBLIC KEY-----\n${der}\n-----END PUBLIC KEY-----\n`
const derOf = (pem: string) => pem.replaceAll(/-----[A-Z ]+-----|\s/g, "")
const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex").toString("base64")

const textOf = ({ publicKey }: { readonly publicKey: KeyObject }) =>
  publicKey.export({ format: "pem", type: "spki" }).toString()
const rsaOfBits = (modulusLength: number) => textOf(generateKeyPairSync("rsa", { modulusLength }))
const ecOn = (namedCurve: string) => textOf(generateKeyPairSync("ec", { namedCurve }))

const length = (bytes: Buffer): Buffer =>
  bytes.length < 128
    ? Buffer.from([bytes.length])
    : Buffer.from([0x82, bytes.length >> 8, bytes.length & 255])
const tagged = (tag: number, ...parts: ReadonlyArray<Buffer>) => {
  const bytes = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), length(bytes), bytes])
}
const integer = (value: bigint) => {
  const text = value.toString(16)
  const bytes = Buffer.from(text.length % 2 === 0 ? text : `0${text}`, "hex")
  return tagged(2, (bytes[0] ?? 0) > 127 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes)
}
/** An RSA key of these numbers, which no generator would make. */
const rsaOf = (modulus: bigint, exponent: bigint): string => {
  const numbers = tagged(0x30, integer(modulus), integer(exponent))
  const algorithm = Buffer.from("300d06092a864886f70d0101010500", "hex")
  const bits = tagged(3, Buffer.from([0]), numbers)
  return spki(tagged(0x30, algorithm, bits).toString("base64"))
}
const modulus = BigInt(`0x${Buffer.from(String(publicJwk(rsa)["n"]), "base64url").toString("hex")}`)
const pointOf = (point: string) => spki(hex(`3059301306072a8648ce3d020106082a8648ce3d030107034200${point}`))
const generator =
  "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"

const privatePem = rsa.privateKey.export({ format: "pem", type: "pkcs8" }).toString()

const weak: Readonly<Record<string, unknown>> = {
  nothing: "",
  "white space": "  \n ",
  "a word": "key",
  "a number": 5,
  "a list": [rsa.pem],
  "RSA of 512 bits": rsaOfBits(512),
  "RSA of 1024 bits": rsaOfBits(1024),
  "RSA of 2040 bits": rsaOfBits(2040),
  "RSA of 2047 bits": rsaOf((modulus >> 1n) | 1n, 65_537n),
  "RSA of 16384 bits": rsaOf((1n << 16_383n) + 1n, 65_537n),
  "RSA with exponent 1": rsaOf(modulus, 1n),
  "RSA with exponent 3": rsaOf(modulus, 3n),
  "RSA with exponent 17": rsaOf(modulus, 17n),
  "RSA with exponent 65535": rsaOf(modulus, 65_535n),
  "RSA with an even exponent": rsaOf(modulus, 65_538n),
  "RSA with a huge exponent": rsaOf(modulus, (1n << 64n) + 1n),
  "RSA with an even modulus": rsaOf(modulus + 1n, 65_537n),
  "RSA with a small factor": rsaOf(((1n << 2047n) / 751n + 1n) * 751n, 65_537n),
  "RSA of a power of two less one": rsaOf((1n << 2048n) - 1n, 65_537n),
  "RSA-PSS": textOf(generateKeyPairSync("rsa-pss", { modulusLength: 2048 })),
  DSA: textOf(generateKeyPairSync("dsa", { modulusLength: 2048, divisorLength: 256 })),
  "EC P-384": ecOn("P-384"),
  "EC P-521": ecOn("P-521"),
  "EC P-224": ecOn("secp224r1"),
  secp256k1: ecOn("secp256k1"),
  "EC P-256 with explicit parameters": textOf(
    generateKeyPairSync("ec", { namedCurve: "P-256", paramEncoding: "explicit" })
  ),
  "a point that is not on the curve": pointOf(`04${"11".repeat(64)}`),
  "the point at infinity": spki(hex("3019301306072a8648ce3d020106082a8648ce3d03010703020000")),
  "the point whose private key is 1": pointOf(generator),
  Ed25519: textOf(generateKeyPairSync("ed25519")),
  Ed448: textOf(generateKeyPairSync("ed448")),
  X25519: textOf(generateKeyPairSync("x25519")),
  "a private key": privatePem,
  "a private EC key": ec.privateKey.export({ format: "pem", type: "sec1" }).toString(),
  "an encrypted private key": rsa.privateKey
    .export({ format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase: "x" })
    .toString(),
  "a private key under a public name": spki(derOf(privatePem)),
  "PKCS #1 under another name": spki(
    rsa.publicKey.export({ format: "der", type: "pkcs1" }).toString("base64")
  ),
  "PKCS #1 of 1024 bits": rsaPair(1024).publicKey.export({ format: "pem", type: "pkcs1" }).toString(),
  "an EC key as PKCS #1": `-----BEGIN RSA PUBLIC KEY-----\n${derOf(ec.pem)}\n-----END RSA PUBLIC KEY-----\n`,
  "PKCS #1 cut short": `-----BEGIN RSA PUBLIC KEY-----\n${derOf(rsa.pem).slice(0, 200)}\n-----END RSA PUBLIC KEY-----\n`,
  "SubjectPublicKeyInfo as PKCS #1": `-----BEGIN RSA PUBLIC KEY-----\n${derOf(rsa.pem)}\n-----END RSA PUBLIC KEY-----\n`,
  "lines of two forms": rsa.pem.replace("BEGIN PUBLIC", "BEGIN RSA PUBLIC"),
  "a certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
  "two keys": rsa.pem + ec.pem,
  "a key and a private key": rsa.pem + privatePem,
  "text before it": `my key: ${rsa.pem}`,
  "text after it": `${rsa.pem}x`,
  "a key cut short": spki(derOf(rsa.pem).slice(0, 200)),
  "bytes after the key": spki(
    Buffer.concat([Buffer.from(derOf(ec.pem), "base64"), Buffer.from([0])]).toString("base64")
  ),
  "headers within": rsa.pem.replace("\n", "\nProc-Type: 4,ENCRYPTED\n\n"),
  "no base64": spki("!!!!"),
  "an empty block": spki(""),
  zeros: spki("AAAAAAAA"),
  "a JWK": JSON.stringify(publicJwk(rsa)),
  "an SSH key": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ ada@example",
  "a PGP key": "-----BEGIN PGP PUBLIC KEY BLOCK-----\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----",
  "too long": spki("A".repeat(5000)),
  "a NUL": rsa.pem.replace("\n", "\0\n"),
  "a byte order mark within": rsa.pem.replace("MII", "M\u200bII"),
  "a path": "/etc/ssl/key.pem"
}

const pkcs1 = rsa.publicKey.export({ format: "pem", type: "pkcs1" }).toString()

/** The older form of RSA keys, spaced as people and programs send it. */
const pkcs1Forms = [
  pkcs1,
  pkcs1.trim(),
  pkcs1.replaceAll("\n", "\r\n"),
  pkcs1.replaceAll("\n", "\\n"),
  pkcs1.replaceAll("\n", "\\r\\n"),
  `\n\t${pkcs1}\n\n`,
  pkcs1.replaceAll("\n", " \n"),
  pkcs1.replace(/(?<=KEY-----\n)[^-]*/, (base64) => `${base64.replaceAll("\n", "")}\n`),
  rsaPair(3072).publicKey.export({ format: "pem", type: "pkcs1" }).toString(),
  rsaPair(4096).publicKey.export({ format: "pem", type: "pkcs1" }).toString()
]

layer(testServer())("Registering an agent with a key", (it) => {
  it.effect("RSA of 2048 bits and more and EC P-256 are taken, however the PEM is spaced", () =>
    Effect.gen(function* () {
      const pems = [
        rsa.pem,
        ec.pem,
        rsaPair(3072).pem,
        ec.pem.trim(),
        ec.pem.replaceAll("\n", "\r\n"),
        `\n ${ec.pem} \n`,
        // Line breaks as two characters, and as three where they were written twice.
        ec.pem.replaceAll("\n", "\\n"),
        rsa.pem.replaceAll("\n", "\\r\\n"),
        ec.pem.replaceAll("\n", "\\\\n"),
        ...pkcs1Forms
      ]
      for (const public_key of [...pems, spki(derOf(rsa.pem))]) {
        const answer = yield* registered({ public_key })
        assert.strictEqual(answer.status, 201, JSON.stringify(answer.json))
        // The secret is for the claim link; the token endpoint does not take it.
        assert.match(String(answer.json["client_secret"]), /^aus_cs_/)
      }
    })
  )

  it.effect.each(Object.entries(weak))("A key is refused by the name of the field: %s", ([, public_key]) =>
    Effect.gen(function* () {
      const answer = yield* registered({ public_key })
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(wrongFields(answer), ["public_key"])
    })
  )

  it.effect.each([
    ["a private key", privatePem, "others have seen"],
    [
      "a private EC key",
      ec.privateKey.export({ format: "pem", type: "sec1" }).toString(),
      "others have seen"
    ],
    [
      "a private key with line breaks of two characters",
      privatePem.replaceAll("\n", "\\n"),
      "others have seen"
    ],
    ["a private JWK", JSON.stringify(rsa.privateKey.export({ format: "jwk" })), "others have seen"],
    ["a public and a private key", rsa.pem + privatePem, "others have seen"],
    ["a certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "got a certificate"],
    ["an SSH key", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ ada@example", "got a key of SSH"],
    ["a public JWK", JSON.stringify(publicJwk(rsa)), "got JSON"],
    ["quotes around it", JSON.stringify(rsa.pem), "without quotes"],
    ["two keys", rsa.pem + ec.pem, "got several"],
    ["no first and last line", derOf(rsa.pem), "are missing"],
    [
      "a PGP key",
      "-----BEGIN PGP PUBLIC KEY BLOCK-----\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----",
      "got a key of PGP"
    ]
  ] as const)("The error says which mistake it sees: %s", ([, public_key, told]) =>
    Effect.gen(function* () {
      const answer = yield* registered({ public_key })
      assert.strictEqual(answer.status, 400)
      assert.include(answer.json["detail"], told)
    })
  )

  it.effect("A registration has one of public_key and jwks_url, and only with private_key_jwt", () =>
    Effect.gen(function* () {
      const jwks_url = "https://keys.example.com/jwks"
      const both = ["jwks_url", "public_key"]
      assert.strictEqual((yield* registered({ jwks_url })).status, 201)
      assert.deepStrictEqual(wrongFields(yield* registered({})), both)
      assert.deepStrictEqual(wrongFields(yield* registered({ public_key: ec.pem, jwks_url })), both)
      for (const auth_method of [undefined, "client_credentials"]) {
        assert.deepStrictEqual(wrongFields(yield* registered({ auth_method, public_key: ec.pem })), [
          "public_key"
        ])
        assert.deepStrictEqual(wrongFields(yield* registered({ auth_method, jwks_url })), ["jwks_url"])
      }
      assert.deepStrictEqual(wrongFields(yield* registered({ auth_method: "none", public_key: ec.pem })), [
        "auth_method"
      ])
    })
  )
})
