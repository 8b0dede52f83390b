/** Government debt, budgets, ratings and growth. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const publicFinance: ReadonlyArray<Prepared> = [
  prepared(["ten-year notes", "largest tail", "dealers were left"], {
    summary:
      "A ten-year auction had its widest tail in six years: coverage was thin, foreign bidders stayed away and dealers were stuck with a quarter of it.",
    assets: ["ZN", "DXY"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "Weak demand leaves dealers with inventory that they must hedge or sell, so note prices fall until higher yields attract buyers. More issuance next week raises the term premium that investors ask for.",
    short: "Dealers will press for a concession before next week's sales, which keeps notes soft.",
    medium:
      "Higher yields bring pension funds and insurers back unless deficits force the size of auctions up again.",
    confidence: 0.68,
    related: ["refunding announcement", "budget deficit", "inflation data"]
  }),
  prepared(["refunding statement", "bills of under one year"], {
    summary:
      "The Treasury surprised dealers by cutting sales of notes and bonds and shifting to short bills, helped by tax receipts above plan.",
    assets: ["ZN", "ES"],
    direction: "bullish",
    magnitude: "medium",
    reasoning:
      "Less supply of duration means that investors compete for fewer notes, so prices rise and the curve flattens. Lower long yields reduce the term premium and support equity valuations too.",
    short: "Ten-year notes keep outperforming as dealers cover positions set up for larger issuance.",
    medium:
      "The relief lasts as long as receipts do; a wider deficit would bring coupon issuance back within quarters.",
    confidence: 0.7,
    related: ["next refunding", "Fed balance sheet", "tax receipts and budget"]
  }),
  prepared(["Senate passed a package", "infrastructure spending"], {
    summary:
      "The Senate passed a largely unfunded package of tax cuts and infrastructure spending that few had expected, adding to growth and to the deficit.",
    assets: ["ZN", "ES", "HG"],
    direction: "mixed",
    magnitude: "high",
    reasoning:
      "Stimulus lifts expected sales of builders and steel makers, which supports equities and copper. But the government must borrow nearly all of it, so heavier issuance pushes yields up and lowers ten-year notes.",
    short: "Cyclical stocks gain while Treasuries sell off on the prospect of more supply.",
    medium:
      "If growth brings inflation, the Fed tightens against it and higher yields begin to weigh on shares as well.",
    confidence: 0.66,
    related: ["Treasury refunding", "CPI release", "rating agencies' reviews"]
  }),
  prepared(["rating agency", "AA+ to AA"], {
    summary:
      "A large agency unexpectedly took the US rating down a notch for governance and a rising debt burden, and stocks and bonds opened weaker.",
    assets: ["ZN", "ES", "GC"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "A lower sovereign rating raises the risk premium on government debt, so yields rise and note prices fall. The scare also makes investors cut risk, which weighs on equities and sends some of them into gold.",
    short: "A nervous session or two, with notes and stock futures lower and gold bid.",
    medium:
      "Mechanical selling is small, so what decides is whether Congress does something about the fiscal path.",
    confidence: 0.62,
    related: ["debt ceiling talks", "Treasury auctions", "bank credit downgrades"]
  }),
  prepared(["debt limit", "cash will last"], {
    summary:
      "Talks on the debt limit collapsed with eleven days of cash left; bills at risk and default insurance are at extremes, though past disputes ended in a deal.",
    assets: ["ES", "ZN", "GC"],
    direction: "mixed",
    magnitude: "medium",
    reasoning:
      "The nearer the deadline, the more investors cut risk against a technical default, which weighs on shares. Longer Treasuries and gold may even gain as money leaves the affected bills, and a last-minute deal would reverse the fall.",
    short: "Choppy trading on every headline from the negotiations, with stocks lower until there is a deal.",
    medium:
      "After an agreement bill yields normalise and equities rebound, but rating agencies may still act on the standoff.",
    confidence: 0.62,
    related: ["sovereign rating review", "Treasury bill auctions", "government shutdown"]
  }),
  prepared(["output shrank at an annual rate", "Final sales"], {
    summary:
      "GDP contracted where growth was expected, mostly by inventories and weak business investment, while private demand still grew and inflation slowed.",
    assets: ["ZN", "ES", "HG"],
    direction: "mixed",
    magnitude: "medium",
    reasoning:
      "A negative quarter with softer prices brings rate cuts closer, so yields fall and ten-year notes rise. Falling capital spending lowers earnings prospects, which weighs on equities, copper and crude oil, although final sales say that it is no recession yet.",
    short: "Notes gain and cyclical assets slip while traders argue how much of it is inventories.",
    medium:
      "If domestic demand holds, output rebounds next quarter; if investment keeps falling, layoffs follow.",
    confidence: 0.64,
    related: ["jobs report", "Fed decision", "ISM survey"]
  })
]
