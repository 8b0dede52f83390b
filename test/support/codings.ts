/** Decodes the Content-Encoding of bodies from the wire. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib"

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: (bytes) => brotliDecompressSync(bytes),
  gzip: (bytes) => gunzipSync(bytes),
  zstd: (bytes) => zstdDecompressSync(bytes)
}

/** The answer to HEAD names the coding of a body that it does not have. */
export const withoutCoding = (bytes: Buffer, coding: string | undefined): Buffer =>
  bytes.byteLength === 0 ? bytes : (decoders[coding ?? ""]?.(bytes) ?? bytes)
