/** The Open Graph images that chats and networks show beside a link to a page: 1200 x 630, with the page's own numbers. */
import { fileURLToPath } from "node:url"
import { renderAsync } from "@resvg/resvg-js"
import { scaleLinear } from "d3-scale"
import { line } from "d3-shape"
import { Cache, Context, Duration, Effect, Exit, Layer, Schema, Semaphore } from "effect"
import { apiErrorWith, errorCode } from "../../services/domain/errors.ts"
import { fragment, html, xmlText } from "./views/html.ts"
import type { Html } from "./views/html.ts"

export interface Picture {
  /** The subject of the title. */
  readonly above: string
  readonly title: string
  /** The number that answers the title. */
  readonly figure?: string | undefined
  readonly tone?: "bullish" | "bearish" | "neutral" | undefined
  readonly below?: string | undefined
  /** A series of values, drawn as a line. */
  readonly line?: ReadonlyArray<number>
}

const width = 1200
const height = 630
const margin = 64
/** The limits of the title. */
const charactersPerLine = 36
const maxLines = 3
/** The area of the line. */
const plot = { top: 390, bottom: 540 }

const colours = { bullish: "#1d6842", bearish: "#a12622", neutral: "#5f5b54" } as const

/** Wraps a text into lines of whole words; a longer text ends in an ellipsis. */
const linesOf = (text: string): ReadonlyArray<string> => {
  const lines: Array<string> = [""]
  for (const word of text.split(/\s+/).flatMap((each) => each.match(/.{1,36}/gu) ?? [])) {
    const last = lines.at(-1) ?? ""
    if (last !== "" && last.length + 1 + word.length > charactersPerLine) lines.push(word)
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`
  }
  return lines.length <= maxLines
    ? lines
    : lines.slice(0, maxLines).map((each, index) => (index === maxLines - 1 ? `${each}…` : each))
}

const valueLine = (values: ReadonlyArray<number>): Html => {
  if (values.length < 2) return null
  const x = scaleLinear([0, values.length - 1], [margin, width - margin])
  const y = scaleLinear([Math.min(...values), Math.max(...values)], [plot.bottom, plot.top])
  const path = line<number>()
    .x((_, index) => x(index))
    .y((value) => y(value))
    .digits(1)
  return html`<path d=${path(values) ?? ""} fill="none" stroke="#1c4f86" stroke-width="4" />`
}

/** The picture as SVG. */
export const svgOf = (picture: Picture): string => {
  const { above, below, figure, line: values = [], title, tone } = picture
  const lines = linesOf(title)
  const svg = fragment(
    html`<svg
      xmlns="http://www.w3.org/2000/svg"
      width=${width}
      height=${height}
      font-family="DejaVu Sans"
      fill="#1d1c1a"
    >
      <rect width="100%" height="100%" fill="#f7f6f2" />
      <text x=${margin} y="100" font-size="28" fill="#5f5b54">${above}</text>
      ${lines.map(
        (text, index) =>
          html`<text x=${margin} y=${170 + 60 * index} font-size="46" font-weight="bold">${text}</text>`
      )}
      ${
        figure === undefined
          ? null
          : html`<text
              x=${margin}
              y=${190 + 60 * lines.length}
              font-size="54"
              font-weight="bold"
              fill=${tone === undefined ? "#1d1c1a" : colours[tone]}
            >
              ${figure}
            </text>`
      }
      ${valueLine(values)}
      <line x1=${margin} x2=${width - margin} y1="560" y2="560" stroke="#dcd8cd" stroke-width="2" />
      <text x=${margin} y="600" font-size="26" fill="#5f5b54">${below ?? ""}</text>
      <text x=${width - margin} y="600" font-size="28" font-weight="bold" fill="#1c4f86" text-anchor="end">
        Auspex
      </text>
    </svg>`
  )
  return xmlText(svg)
}

const fontFiles = [
  import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"),
  import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf")
].map((url) => fileURLToPath(url))

/** 503: the queue of pictures to be drawn is full. */
export class PicturesBusy extends apiErrorWith("PicturesBusy", 503, {
  code: errorCode("pictures_busy"),
  retry_after: Schema.Int
}) {}

export class Pictures extends Context.Service<
  Pictures,
  { readonly png: (picture: Picture) => Effect.Effect<Uint8Array, PicturesBusy> }
>()("auspex/http/Pictures") {}

/** Drawn pictures are kept for a day. Each has some tens of kilobytes. */
const maxKept = 256
const keptFor = Duration.days(1)
/** At most this many pictures wait or are drawn. */
const maxQueue = 20

const draw = (svg: string) =>
  Effect.promise(async () => {
    const drawn = await renderAsync(svg, {
      font: { fontFiles, loadSystemFonts: false, defaultFontFamily: "DejaVu Sans" }
    })
    return drawn.asPng()
  })

/** Tests replace `drawing`. */
export const makePictures = Effect.fnUntraced(function* (
  drawing: (svg: string) => Effect.Effect<Uint8Array> = draw
) {
  const turns = yield* Semaphore.make(1)
  let queue = 0
  /** Draws one picture at a time, in a thread of its own: further pictures wait, requests for pages do not. */
  const drawn = (svg: string) =>
    Effect.suspend(() => {
      if (queue >= maxQueue) {
        return Effect.fail(
          new PicturesBusy({ detail: "Too many pictures are being drawn: come again.", retry_after: 5 })
        )
      }
      queue += 1
      return drawing(svg).pipe(turns.withPermit, Effect.ensuring(Effect.sync(() => (queue -= 1))))
    })
  const kept = yield* Cache.makeWith(drawn, {
    capacity: maxKept,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? keptFor : Duration.zero)
  })
  return Pictures.of({ png: (picture) => Cache.get(kept, svgOf(picture)) })
})

export const layer = Layer.effect(Pictures, makePictures())
