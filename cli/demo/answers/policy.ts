/** Central banks, inflation and jobs. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const monetary: ReadonlyArray<Prepared> = [
  prepared(
    ["policy rate", "none had expected more", "prepared to act further"],
    { of: ["peak of N %", "minus", "up from N %"], says: "percentage points on the expected peak" },
    {
      summary:
        "The Fed hiked by half a point, twice what nearly every economist had forecast, and its hawkish statement moved the expected peak up.",
      assets: ["ZN", "DXY", "GC"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "Because nobody had priced a 50 bp hike, front-end yields must reset higher, and ten-year notes fall with them. Wider rate differentials pull capital into the dollar, which in turn weighs on gold.",
      short:
        "Treasury futures stay under pressure for some sessions while positions adjust to the higher peak.",
      medium:
        "If tighter policy cools inflation, the curve inverts further and long notes can recover before the Fed turns.",
      confidence: 0.78,
      related: ["CPI release", "Nonfarm payrolls", "Fed minutes"]
    }
  ),
  prepared(
    ["Between two scheduled meetings", "policy rate", "restarted purchases of Treasuries"],
    { of: ["at N billion", "times", "for N months"], says: "billion dollars of purchases" },
    {
      summary:
        "In an emergency step outside its calendar the Fed cut by 75 basis points and is buying Treasuries again, because money-market funds had stopped redemptions.",
      assets: ["ZN", "GC"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "An unscheduled rate cut three times as large as was priced for the next meeting drags yields down, so note futures jump. Bond buying and falling real rates also support gold, while the funding panic behind it sends investors to safe assets.",
      short: "Treasuries and gold are bid while funds keep facing redemptions and funding stays tight.",
      medium:
        "Once the backstop calms the money market, some of the flight to safety unwinds, unless growth turns down.",
      confidence: 0.76,
      related: ["bank failures", "next FOMC meeting", "credit spreads and liquidity"]
    }
  ),
  prepared(
    ["left its policy rate unchanged", "projections", "three cuts"],
    { of: ["unchanged at N %", "minus", "Inflation is N %"], says: "percent of real policy rate" },
    {
      summary:
        "Rates were held as everybody expected, but the new dot plot has three cuts instead of one, and the chair sounded clearly dovish.",
      assets: ["ZN", "GC", "DXY"],
      direction: "bullish",
      magnitude: "medium",
      reasoning:
        "The median projection signals an earlier easing cycle, so traders lower the expected path of policy and yields fall, which lifts ten-year notes. Lower real rates weaken the dollar and support gold.",
      short: "Treasury futures should extend their gains as the press conference is digested.",
      medium:
        "The move lasts only if inflation data let the Fed deliver its cuts; hot prints would take the pivot back.",
      confidence: 0.72,
      related: ["PCE inflation", "jobs report", "Fed speeches"]
    }
  ),
  prepared(
    ["consumer prices rose by", "Services excluding housing"],
    {
      of: ["annualised N %", "minus", "by N % over twelve months"],
      says: "percentage points between such services and the core index"
    },
    {
      summary:
        "CPI came out at double the consensus with sticky services inflation, and within half an hour traders gave up on rate cuts this year.",
      assets: ["ZN", "DXY", "GC"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "Hot core services mean that the Fed stays on hold for longer, so the rate cuts that were priced vanish and yields rise. Ten-year notes fall, and higher real yields strengthen the dollar at the expense of gold.",
      short: "Notes remain offered for some days while the market reprices the policy path.",
      medium:
        "Wage and rent data decide: two softer prints would bring buyers back, another upside surprise revives talk of hikes.",
      confidence: 0.75,
      related: ["FOMC meeting", "nonfarm payrolls", "PCE price index"]
    }
  ),
  prepared(
    ["core consumer prices rose by", "Rents"],
    {
      of: ["% to N %.\n\nAnalyse", "minus", "futures have it, went from N %"],
      says: "percentage points more for a cut"
    },
    {
      summary:
        "Core inflation was far softer than forecast because rents finally slowed, and the odds of a rate cut at the next meeting became high.",
      assets: ["ZN", "GC", "DXY"],
      direction: "bullish",
      magnitude: "medium",
      reasoning:
        "Shelter had been what kept core CPI up, so its cooling makes the disinflation look lasting and lets the Fed cut sooner. Yields fall, which raises the price of ten-year notes, while a weaker dollar helps gold.",
      short: "Treasuries should keep rallying into the next policy meeting.",
      medium:
        "Another soft month would start the easing cycle, whereas a rebound in rent would give back much of the gain.",
      confidence: 0.74,
      related: ["FOMC decision", "jobs report", "housing data"]
    }
  ),
  prepared(
    ["producer prices", "energy and freight", "retailers"],
    { of: ["rose by N % in the month", "over", "consensus of N %"], says: "times the consensus" },
    {
      summary:
        "Producer prices rose four times as fast as expected because of energy and freight, and retailers say they will absorb the cost for now.",
      assets: ["ZN", "ES", "PPI"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Higher input costs that cannot be passed on squeeze the margins of retailers, which weighs on equities. The hot headline also lifts yields a little and so lowers ten-year notes, although the part that matters for the Fed came in as forecast.",
      short: "A modest dip in stocks and notes while analysts trim margin estimates.",
      medium:
        "If freight and energy stay dear, the upstream cost reaches consumer prices next season; otherwise it fades.",
      confidence: 0.65,
      related: ["CPI release", "retail earnings", "oil prices"]
    }
  ),
  prepared(
    ["two months before were revised up"],
    { of: ["added N 000", "minus", "consensus of N 000"], says: "thousand jobs above the consensus" },
    {
      summary:
        "Hiring was more than double the consensus with upward revisions, lower unemployment and faster wages, so the first rate cut was pushed back to autumn.",
      assets: ["ZN", "DXY", "GC"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "A tight labour market with rising hourly earnings keeps inflation alive, so the Fed has no reason to ease and yields rise. Treasury notes fall, and the higher rate path draws money into the dollar.",
      short: "Ten-year futures probably slide further as positions for early cuts are closed.",
      medium: "If payrolls cool and the gains are revised away, the delay in cuts is undone by summer.",
      confidence: 0.75,
      related: ["CPI release", "Fed meeting", "jobless claims"]
    }
  ),
  prepared(
    ["preferred price index", "saving rate"],
    {
      of: ["quarter from N %", "minus", "% to N %. Yields"],
      says: "percentage points off the estimate of growth"
    },
    {
      summary:
        "PCE inflation was exactly in line, but households spent less and saved more, and a growth nowcast was lowered sharply.",
      assets: ["ZN", "PCE", "GDP"],
      direction: "bullish",
      magnitude: "low",
      reasoning:
        "With inflation as expected the news is weaker consumption, which points to slower growth and so supports the case for rate cuts. That pulls yields down slightly and lifts ten-year notes, while stocks weigh lower rates against softer sales.",
      short: "Small gains for Treasuries, and little movement in equities, until the jobs report.",
      medium: "If spending stalls for another quarter the Fed eases earlier; a rebound would undo the move.",
      confidence: 0.62,
      related: ["GDP release", "retail sales", "Fed meeting"]
    }
  )
]

export const publicFinance: ReadonlyArray<Prepared> = [
  prepared(
    ["ten-year notes", "largest tail", "dealers were left"],
    { of: ["sold N billion", "times", "were N times"], says: "billion dollars of bids" },
    {
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
    }
  ),
  prepared(
    ["refunding statement", "bills of under one year"],
    {
      of: ["bonds by N billion", "plus", "increase of N billion"],
      says: "billion dollars less than dealers had expected"
    },
    {
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
    }
  ),
  prepared(
    ["rating agency", "AA+ to AA"],
    { of: ["to N % of output", "minus", "grow from N %"], says: "percentage points of output more debt" },
    {
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
    }
  ),
  prepared(
    ["debt limit", "billion dollars of cash left"],
    { of: ["has N billion", "over", "spends N billion"], says: "days until the cash is gone" },
    {
      summary:
        "Talks on the debt limit collapsed with eleven days of cash left; bills at risk and default insurance are at extremes, though past disputes ended in a deal.",
      assets: ["ES", "ZN", "GC"],
      direction: "mixed",
      magnitude: "medium",
      reasoning:
        "The nearer the deadline, the more investors cut risk against a technical default, which weighs on shares. Longer Treasuries and gold may even gain as money leaves the affected bills, and a last-minute deal would reverse the fall.",
      short:
        "Choppy trading on every headline from the negotiations, with stocks lower until there is a deal.",
      medium:
        "After an agreement bill yields normalise and equities rebound, but rating agencies may still act on the standoff.",
      confidence: 0.62,
      related: ["sovereign rating review", "Treasury bill auctions", "government shutdown"]
    }
  )
]
