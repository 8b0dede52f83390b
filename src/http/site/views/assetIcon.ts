/** Icons of assets and series for lists: lines in a square of 16, in the colour of the text. */
import { html } from "./html.ts"
import type { Html } from "./html.ts"

const price = "M2.5 2.5h5l6 6-5 5-6-6zM5.5 5.4v.2"
const person = "M8 2.5a2.5 2.5 0 1 0 .01 0M3.5 14c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5"

const paths: Readonly<Record<string, string>> = {
  BTC: "M5 3v10M7 1.5V3m0 10v1.5M5 3h4a2.5 2.5 0 0 1 0 5H5m4 0a2.5 2.5 0 0 1 0 5H5",
  ETH: "M8 1.5 12.5 8 8 10.5 3.5 8zM3.5 10.5 8 14.5l4.5-4",
  GC: "M5 4.5h6l2.5 7.5h-11zM6 8h4",
  HG: "M8 2a6 6 0 1 0 .01 0M8 5.5a2.5 2.5 0 1 0 .01 0",
  CL: "M8 2c3 3.8 4.5 6 4.5 8a4.5 4.5 0 0 1-9 0C3.5 8 5 5.8 8 2z",
  NG: "M8 2c.5 3 4 4.5 4 8a4 4 0 0 1-8 0c0-2 1.2-3 2-4 .3 1 1 1.5 1.5 1.5C8 6 7.5 4 8 2z",
  ZS: "M3 13C3 6 7 3 13 3c0 6-3 10-10 10zM3 13l6-6",
  ES: "M3 13V9m3.5 4V6m3.5 7V8m3.5 5V3",
  ZN: "M13 3 3 13M4.5 3a1.5 1.5 0 1 0 .01 0M11.5 10a1.5 1.5 0 1 0 .01 0",
  DXY: "M11 5c-.5-1.3-1.6-2-3-2-1.7 0-3 .9-3 2.4 0 3.4 6 1.7 6 5.2 0 1.5-1.3 2.4-3 2.4-1.5 0-2.6-.7-3-2M8 1.5v13",
  CPI: price,
  CORE_CPI: price,
  PPI: price,
  PCE: price,
  NFP: person,
  UNRATE: person,
  GDP: "M2 13h12M3 10.5 6.5 7 9 9.5 13 4m-3 0h3v3",
  FOMC: "M2 6 8 2.5 14 6zM4 6v6m4-6v6m4-6v6M2 13.5h12"
}

/** Renders nothing for a target without an icon. */
export const assetIcon = (key: string): Html => {
  const path = paths[key]
  return path === undefined
    ? null
    : html`<svg class="asset-mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        <path d=${path} />
      </svg>`
}
