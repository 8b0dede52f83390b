/** RFC 3161 time stamps over HTTP: requests, and checks that a reply answers one. */
import { id_signedData, SignedData } from "@peculiar/asn1-cms"
import { AsnConvert, OctetString } from "@peculiar/asn1-schema"
import {
  id_ct_tstInfo,
  MessageImprint,
  PKIStatus,
  TimeStampReq,
  TimeStampResp,
  TSTInfo
} from "@peculiar/asn1-tsp"
import { AlgorithmIdentifier } from "@peculiar/asn1-x509"
import { Duration, Effect, Option, Result } from "effect"
import { ExchangeFailed, parsePostUrl } from "./boundedPost.ts"
import type { Post } from "./boundedPost.ts"

const sha256Identifier = "2.16.840.1.101.3.4.2.1"

/** The content of a request, which its reply must repeat. */
export interface Question {
  /** SHA-256 of the stamped text. */
  readonly hash: Uint8Array
  /** The nonce distinguishes the reply from an older one. */
  readonly nonce: Uint8Array
}

/** A random nonce that is a positive integer without leading zeros, so that its DER has the same bytes. */
export const nonceOf = (random: Uint8Array): Uint8Array => {
  const [first = 0, ...rest] = random
  return Uint8Array.of((first & 0x3f) | 0x40, ...rest)
}

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** The encoded request. It requests the authority's certificates in the reply, so that the stamp can be verified alone. */
export const timeStampQuery = ({ hash, nonce }: Question): Uint8Array =>
  new Uint8Array(
    AsnConvert.serialize(
      new TimeStampReq({
        messageImprint: new MessageImprint({
          hashAlgorithm: new AlgorithmIdentifier({ algorithm: sha256Identifier, parameters: null }),
          hashedMessage: new OctetString(bufferOf(hash))
        }),
        nonce: bufferOf(nonce),
        certReq: true
      })
    )
  )

const same = (bytes: ArrayBuffer | undefined, wanted: Uint8Array): boolean =>
  bytes !== undefined && Buffer.from(bytes).equals(wanted)

/** The signed content of a token (RFC 3161, 2.4.2). */
const stampOf = (content: ArrayBuffer) => {
  const { certificates, encapContentInfo } = AsnConvert.parse(content, SignedData)
  const signed = encapContentInfo.eContent?.single?.buffer
  return {
    isStamp: encapContentInfo.eContentType === id_ct_tstInfo && signed !== undefined,
    hasCertificate: certificates !== undefined && certificates.length > 0,
    info: AsnConvert.parse(signed ?? new ArrayBuffer(0), TSTInfo)
  }
}

const faultOf = (reply: Uint8Array, { hash, nonce }: Question): string | undefined => {
  const { status, timeStampToken } = AsnConvert.parse(reply, TimeStampResp)
  if (status.status !== PKIStatus.granted && status.status !== PKIStatus.grantedWithMods) {
    return `it refused with status ${status.status}`
  }
  if (timeStampToken?.contentType !== id_signedData) return "its answer has no time stamp"
  const { hasCertificate, info, isStamp } = stampOf(timeStampToken.content)
  if (!isStamp) return "its answer has no time stamp"
  const { hashAlgorithm, hashedMessage } = info.messageImprint
  if (hashAlgorithm.algorithm !== sha256Identifier || !same(hashedMessage.buffer, hash)) {
    return "its time stamp is of something else"
  }
  if (!same(info.nonce, nonce)) return "its time stamp is the answer to another request"
  return hasCertificate ? undefined : "its time stamp comes without the certificate that was asked for"
}

/**
 * The reason why a reply does not answer the request, if any. Relying parties check the authority's signature, because they choose whose
 * certificates they trust.
 */
export const timeStampFault = (reply: Uint8Array, question: Question): Option.Option<string> =>
  Result.try(() => faultOf(reply, question)).pipe(
    Result.match({
      onFailure: () => Option.some("it answered something else than a time stamp"),
      onSuccess: Option.fromUndefinedOr
    })
  )

/** The bound is ten times a token with a chain of certificates. */
const maxBytes = "64 KiB"
const patience = Duration.seconds(20)

/** Requests a time stamp; the result is the reply's bytes. */
export const askTimeStamp = Effect.fnUntraced(function* (
  post: Post,
  url: string,
  question: Question
): Effect.fn.Return<Uint8Array, ExchangeFailed> {
  const { body, contentType } = yield* post({
    url,
    contentType: "application/timestamp-query",
    body: timeStampQuery(question),
    statuses: [200],
    maxBytes,
    patience
  })
  if (contentType !== "application/timestamp-reply") {
    return yield* new ExchangeFailed({ reason: "it answered something else than a time stamp" })
  }
  const fault = timeStampFault(body, question)
  if (Option.isSome(fault)) return yield* new ExchangeFailed({ reason: fault.value })
  return body
})

/** The URL of an authority, which may have a path and a query. */
export const parseAuthorityUrl = (text: string): Option.Option<string> =>
  Option.map(parsePostUrl(text), ({ href }) => href)
