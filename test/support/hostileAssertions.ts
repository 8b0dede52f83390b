/** Assertions that must never give a token, each with its fault. */
import { constants, createHmac, createPrivateKey, createPublicKey, sign } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { base64url, signatureOf, signed } from "./assertions.ts"
import type { Changes, KeyPair } from "./assertions.ts"

interface Fixture {
  readonly agentId: string
  /** The id of another agent. */
  readonly otherId: string
  readonly pair: KeyPair
  /** Keys that no agent registered, one of each kind. */
  readonly stranger: Readonly<Record<KeyPair["alg"], KeyPair>>
  readonly claims: { readonly [claim: string]: unknown; readonly iat: number; readonly aud: string }
}

export interface Hostile {
  readonly name: string
  readonly assertion: string
  /** Changes of the other parameters of the request. */
  readonly parameters?: Changes
}

const json = (value: unknown) => JSON.stringify(value)
/** The last character holds bits that belong to no byte, so its neighbour decodes to the same. */
const following = (character: string): string => String.fromCharCode(character.charCodeAt(0) + 1)

const flip = (part: string): string => (part.startsWith("A") ? "B" : "A") + part.slice(1)

/** Claims and headers with wrong values, by name. */
const wrongClaims = ({
  agentId,
  claims: { aud, iat },
  otherId
}: Fixture): Readonly<Record<string, ReadonlyArray<unknown>>> => ({
  iss: [
    undefined,
    null,
    "",
    5,
    true,
    [agentId],
    { id: agentId },
    otherId,
    ` ${agentId}`,
    `${agentId} `,
    agentId.toUpperCase(),
    `${agentId}\0`,
    aud,
    "*"
  ],
  sub: [
    undefined,
    null,
    "",
    5,
    [agentId],
    otherId,
    `${agentId}\n`,
    agentId.toUpperCase(),
    agentId.replaceAll("-", "")
  ],
  aud: [
    undefined,
    null,
    "",
    5,
    {},
    [],
    [aud],
    [aud, "https://elsewhere.example"],
    [5, aud],
    `${aud}/`,
    `${aud} `,
    ` ${aud}`,
    `${aud}?x=1`,
    `${aud}#x`,
    aud.toUpperCase(),
    aud.replace("http:", "https:"),
    aud.replace(/\/api.*/, ""),
    aud.replace("/auth/token", "/registry/claim-link/refresh"),
    aud.replace("/api", "//api"),
    aud.replace("token", "%74oken"),
    "https://elsewhere.example/api/v1/agent/auth/token",
    aud.replace("/v1", "/v1/../v1"),
    aud.slice(0, -1),
    `${aud}\0`
  ],
  exp: [
    undefined,
    null,
    "",
    "60",
    String(iat + 60),
    true,
    [iat + 60],
    iat + 60.5,
    iat,
    iat - 1,
    iat + 61,
    iat + 91,
    iat + 3600,
    0,
    -1,
    2 ** 53,
    2 ** 31
  ],
  iat: [
    undefined,
    null,
    "0",
    String(iat),
    false,
    iat + 0.5,
    iat + 31,
    iat + 3600,
    iat - 91,
    iat - 3600,
    0,
    -1,
    [iat]
  ],
  nbf: [null, "0", iat + 31, iat + 3600, iat + 0.5, true, [iat]],
  jti: [
    undefined,
    null,
    "",
    5,
    true,
    [],
    ["x"],
    {},
    "x".repeat(129),
    "x".repeat(7000),
    "a\0b",
    "a\nb",
    "a\tb",
    "\u007f",
    "\u0085",
    "\ud800",
    "a\udc00"
  ]
})

const wrongHeaders = ({
  pair,
  stranger: { ES256, RS256 }
}: Fixture): Readonly<Record<string, ReadonlyArray<unknown>>> => ({
  alg: [
    undefined,
    null,
    "",
    5,
    true,
    [pair.alg],
    { alg: pair.alg },
    "none",
    "None",
    "NONE",
    "nOnE",
    "HS256",
    "HS384",
    "HS512",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES384",
    "ES512",
    "ES256K",
    "EdDSA",
    "Ed25519",
    "dir",
    "RSA1_5",
    "RSA-OAEP",
    "PBES2-HS256+A128KW",
    pair.alg.toLowerCase(),
    `${pair.alg} `,
    `${pair.alg}\0`,
    pair.alg === "RS256" ? "ES256" : "RS256"
  ],
  typ: [null, "", 5, "at+jwt", "dpop+jwt", "JWE", "logout+jwt", ["JWT"], "JWT\0"],
  kid: [null, "", 5, ["a"], {}, "x".repeat(257)],
  crit: [[], ["exp"], ["b64"], "exp", null],
  b64: [false, true],
  zip: ["DEF"],
  jwk: [ES256.publicKey.export({ format: "jwk" }), RS256.publicKey.export({ format: "jwk" })],
  jku: ["https://elsewhere.example/jwks"],
  x5u: ["https://elsewhere.example/x"],
  x5c: [["MIIB"]],
  cty: ["JWT"],
  enc: ["A128GCM"]
})

/** Texts that some parsers take for the same JSON, or for JSON at all. */
const wrongTexts = (right: string): Readonly<Record<string, string | Uint8Array>> => ({
  "no JSON": "nonsense",
  nothing: " ",
  null: "null",
  "a number": "1",
  "a string": json(right),
  "a list": `[${right}]`,
  "more after it": `${right}{}`,
  "a comma at the end": right.replace(/\}$/, ",}"),
  "a comment": right.replace(/^\{/, "{/* */"),
  "single quotes": right.replaceAll('"', "'"),
  "a byte order mark": `\ufeff${right}`,
  "UTF-16": Buffer.from(right, "utf16le"),
  "bytes that are not UTF-8": Buffer.concat([
    Buffer.from(`{"x":"`),
    Buffer.from([0xc3, 0x28]),
    Buffer.from(`",${right.slice(1)}`)
  ]),
  "an overlong encoding": Buffer.concat([
    Buffer.from(`{"x":"`),
    Buffer.from([0xc0, 0x80]),
    Buffer.from(`",${right.slice(1)}`)
  ]),
  "a member named __proto__": right.replace(/^\{/, '{"__proto__":{"a":1},'),
  "a member twice": right.replace(/^\{/, `{${right.slice(1, -1).split(",")[0]},`),
  "a member twice, escaped": right.replace(
    /^\{"(.)/,
    (start, first: string) =>
      `{"\\u${first.charCodeAt(0).toString(16).padStart(4, "0")}${right.slice(3, right.indexOf('"', 2))}":"x",${start.slice(1)}`
  ),
  "65 levels": right.replace(/^\{/, `{"deep":${"[".repeat(65)}${"]".repeat(65)},`),
  "2500 levels": right.replace(/^\{/, `{"deep":${"[".repeat(2500)}${"]".repeat(2500)},`)
})

const rawTexts = (right: string): Readonly<Record<string, string>> => {
  const [header = "", payload = "", signature = ""] = right.split(".")
  return {
    "no part": "x",
    "two parts": `${header}.${payload}`,
    "four parts": `${right}.x`,
    "five parts, as a JWE has": `${right}.x.x`,
    "an empty header": `.${payload}.${signature}`,
    "an empty payload": `${header}..${signature}`,
    "no signature": `${header}.${payload}.`,
    "dots only": "..",
    padding: `${right}=`,
    "padding in the middle": `${header}=.${payload}.${signature}`,
    "a space before": ` ${right}`,
    "a line break after": `${right}\n`,
    "white space within": `${header}.${payload} .${signature}`,
    "standard base64": `${header}.${payload}.${Buffer.from(signature, "base64url").toString("base64").replace(/^./, "+")}`,
    "another text for the same signature": `${header}.${payload}.${signature}A`,
    "another text for the same signature, in its last bits": `${right.slice(0, -1)}${following(right.slice(-1))}`,
    "a signature cut short": `${header}.${payload}.${signature.slice(0, -4)}`,
    "a signature with a bit flipped": `${header}.${payload}.${flip(signature)}`,
    "another header": `${base64url('{"typ":"JWT","alg":"RS256"} ')}.${payload}.${signature}`,
    "another payload": `${header}.${flip(payload)}.${signature}`,
    "JSON serialization": json({ payload, signatures: [{ protected: header, signature }] }),
    "flattened JSON serialization": json({ payload, protected: header, signature }),
    "more than 8 KiB": `${header}.${payload}.${signature}${"A".repeat(8192)}`,
    "Bearer in front": `Bearer ${right}`,
    "a NUL": `${right}\0`,
    "full-width dots": right.replaceAll(".", "\uff0e"),
    SQL: "' or 1=1 --",
    "a path": "../../etc/passwd"
  }
}

/** Signatures that are not of the registered key by the registered algorithm. */
const wrongSignatures = (
  { pair, stranger }: Fixture,
  header: string,
  payload: string
): ReadonlyArray<readonly [string, string]> => {
  const text = `${base64url(header)}.${base64url(payload)}`
  const whole = (name: string, signature: Uint8Array) => [name, `${text}.${base64url(signature)}`] as const
  const withHeader = (name: string, alg: string, make: (signedText: string) => Uint8Array) => {
    const other = `${base64url(json({ alg, typ: "JWT" }))}.${base64url(payload)}`
    return [name, `${other}.${base64url(make(other))}`] as const
  }
  const hmac = (key: string | Buffer) => (signedText: string) =>
    createHmac("sha256", key).update(signedText).digest()
  const der = pair.publicKey.export({ format: "der", type: "spki" })
  const { ES256, RS256 } = stranger
  const key: KeyObject = pair.privateKey
  return [
    whole("nobody's key of the same kind", signatureOf(pair.alg, stranger[pair.alg].privateKey, text)),
    whole("nothing but zeros", Buffer.alloc(64)),
    whole("nothing but zeros, as long as an RSA signature", Buffer.alloc(256)),
    whole(
      "r = s = 1",
      Buffer.concat([Buffer.alloc(31), Buffer.from([1]), Buffer.alloc(31), Buffer.from([1])])
    ),
    whole("one byte", Buffer.from([0])),
    whole("another digest", sign("sha512", Buffer.from(text), key)),
    whole("SHA-1", sign("sha1", Buffer.from(text), key)),
    whole("the signature of another text", signatureOf(pair.alg, key, `${text}x`)),
    withHeader("RS256 by a stranger", "RS256", (signedText) =>
      signatureOf("RS256", RS256.privateKey, signedText)
    ),
    withHeader("ES256 by a stranger", "ES256", (signedText) =>
      signatureOf("ES256", ES256.privateKey, signedText)
    ),
    withHeader("HS256 with the PEM as its key", "HS256", hmac(pair.pem)),
    withHeader("HS256 with the trimmed PEM as its key", "HS256", hmac(pair.pem.trim())),
    withHeader("HS256 with the DER as its key", "HS256", hmac(der)),
    withHeader("HS256 with an empty key", "HS256", hmac("")),
    ...(pair.alg === "ES256"
      ? [whole("DER instead of r and s", sign("sha256", Buffer.from(text), { key, dsaEncoding: "der" }))]
      : [
          whole(
            "PSS",
            sign("sha256", Buffer.from(text), {
              key,
              padding: constants.RSA_PKCS1_PSS_PADDING,
              saltLength: 32
            })
          ),
          whole("a byte too long", Buffer.concat([Buffer.from([0]), signatureOf("RS256", key, text)]))
        ])
  ]
}

/** A key of a small curve or size would prove nothing; assertions signed with the right key have exactly one fault. */
export const hostileAssertions = (fixture: Fixture): ReadonlyArray<Hostile> => {
  const { agentId, claims, otherId, pair } = fixture
  const rightHeader = { alg: pair.alg, typ: "JWT" }
  const by = (header: Changes, payload: Changes) =>
    signed(
      { ...pair, privateKey: createPrivateKey(pair.privateKey.export({ format: "pem", type: "pkcs8" })) },
      json(header),
      json(payload)
    )
  const right = by(rightHeader, claims)
  const many = (
    what: string,
    table: Readonly<Record<string, ReadonlyArray<unknown>>>,
    make: (change: Changes) => string
  ) =>
    Object.entries(table).flatMap(([member, values]) =>
      values.map((value): Hostile => ({
        name: `${what} ${member} = ${json(value)?.slice(0, 60)}`,
        assertion: make({ [member]: value })
      }))
    )
  return [
    ...many("claim", wrongClaims(fixture), (change) => by(rightHeader, { ...claims, ...change })),
    ...many("header", wrongHeaders(fixture), (change) => by({ ...rightHeader, ...change }, claims)),
    ...Object.entries(wrongTexts(json(claims))).map(([name, text]) => ({
      name: `payload: ${name}`,
      assertion: signed(pair, json(rightHeader), text)
    })),
    ...Object.entries(wrongTexts(json(rightHeader))).map(([name, text]) => ({
      name: `header: ${name}`,
      assertion: signed(pair, text, json(claims))
    })),
    {
      name: "claim exp = 1e999",
      assertion: signed(pair, json(rightHeader), json(claims).replace(/"exp":\d+/, '"exp":1e999'))
    },
    {
      name: "claim iat = -1e999",
      assertion: signed(pair, json(rightHeader), json(claims).replace(/"iat":\d+/, '"iat":-1e999'))
    },
    ...Object.entries(rawTexts(right)).map(([name, assertion]) => ({ name: `text: ${name}`, assertion })),
    ...wrongSignatures(fixture, json(rightHeader), json(claims)).map(([name, assertion]) => ({
      name: `signature: ${name}`,
      assertion
    })),
    { name: "another agent's id beside it", assertion: right, parameters: { agent_id: otherId } },
    {
      name: "another agent's id as client_id",
      assertion: right,
      parameters: { agent_id: undefined, client_id: otherId }
    },
    { name: "agent_id and client_id differ", assertion: right, parameters: { client_id: otherId } },
    { name: "agent_id in upper case", assertion: right, parameters: { agent_id: agentId.toUpperCase() } },
    { name: "no client_assertion_type", assertion: right, parameters: { client_assertion_type: undefined } },
    {
      name: "SAML",
      assertion: right,
      parameters: { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer" }
    },
    { name: "a secret beside it", assertion: right, parameters: { client_secret: "aus_cs_x" } },
    { name: "another grant", assertion: right, parameters: { grant_type: "authorization_code" } },
    {
      name: "the grant for assertions",
      assertion: right,
      parameters: { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer" }
    },
    { name: "an assertion in a list", assertion: right, parameters: { client_assertion: [right] } },
    { name: "an assertion of null", assertion: right, parameters: { client_assertion: null } }
  ]
}

/** The public half only, as a key set shows it. */
export const publicJwk = (pair: KeyPair, members: Changes = {}): Changes => ({
  ...createPublicKey(pair.pem).export({ format: "jwk" }),
  ...members
})
