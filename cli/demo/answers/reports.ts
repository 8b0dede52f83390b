/** Reports that may come out on either side of what was expected. */
import { preparedReport } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const reports: ReadonlyArray<Prepared> = [
  preparedReport(
    ["consumer prices changed by", "Rents and car insurance"],
    {
      of: ["changed by N %", "minus", "forecasts had been N %"],
      says: "percentage points off the median forecast"
    },
    {
      above: {
        summary:
          "Consumer prices rose more than the median forecast because of rents and car insurance, weeks before the Fed decides.",
        assets: ["ZN", "DXY"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Hot inflation in rents and insurance is the sticky kind, so a rate cut at the next meeting becomes unlikely. Therefore yields reset higher and ten-year note futures fall, while the dollar gains.",
        short: "Treasury futures stay under pressure until the meeting is priced anew.",
        medium:
          "If the next reports on inflation are cooler, buyers of notes come back before the Fed itself moves.",
        confidence: 0.7,
        related: ["Fed meeting", "payrolls report"]
      },
      below: {
        summary:
          "Consumer prices rose less than the median forecast because rents and car insurance cooled, weeks before the Fed decides.",
        assets: ["ZN", "GC"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Soft inflation in rents and insurance is the part that lasts, so a rate cut at the next meeting becomes likely. Therefore yields decline and ten-year note futures rise, which helps gold as well.",
        short: "Treasury futures should extend their gains while the meeting is priced anew.",
        medium:
          "If jobs data stay strong, part of the gain in notes is given back even with lower inflation.",
        confidence: 0.7,
        related: ["Fed meeting", "payrolls report"]
      }
    }
  ),
  preparedReport(
    ["US employers added", "health care, restaurants and local government"],
    {
      of: ["added N 000", "minus", "had expected N 000"],
      says: "thousand jobs off what economists expected"
    },
    {
      above: {
        summary:
          "Payrolls grew much faster than economists expected, with hiring in health care, restaurants and government behind it.",
        assets: ["ZN", "DXY"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Because hiring is strong without help from the weather, the Fed has no hurry to cut rates. Yields climb as that cut is priced out, so ten-year note futures drop and the dollar firms.",
        short: "Notes stay heavy for some days while the next meeting is priced without a cut.",
        medium: "Wages decide: as long as they rise slowly, strong jobs alone do not keep Treasuries down.",
        confidence: 0.7,
        related: ["CPI release", "Fed meeting"]
      },
      below: {
        summary:
          "Payrolls grew much less than economists expected, with hiring in health care, restaurants and government behind it.",
        assets: ["ZN", "GC"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Because hiring slowed without a strike or bad weather, the labour market is cooling in earnest and the Fed can cut rates. Yields drop as that cut is priced in, so ten-year note futures rally.",
        short: "Notes keep their bid while the next meeting is priced with a cut.",
        medium:
          "Should unemployment stay where it is, the fear of a slump fades and Treasuries give some of it back.",
        confidence: 0.7,
        related: ["CPI release", "Fed meeting"]
      }
    }
  ),
  preparedReport(
    ["commercial crude inventories stood at"],
    {
      of: ["stood at N million", "minus", "had expected N million"],
      says: "million barrels off what analysts expected"
    },
    {
      above: {
        summary:
          "Crude inventories came out well above what analysts expected, although trade and refineries ran as usual.",
        assets: ["CL"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Since imports, exports and refinery runs were normal, the extra barrels mean that supply exceeds demand. Fuller tanks at the hub weigh on crude oil, so prices fall, the near contract most.",
        short: "Near contracts of crude slip against later ones in the days after the report.",
        medium: "If the build goes on, producers cut output; if it was one week's noise, the price recovers.",
        confidence: 0.65,
        related: ["next OPEC meeting", "refinery runs", "hurricane season"]
      },
      below: {
        summary:
          "Crude inventories came out well below what analysts expected, although trade and refineries ran as usual.",
        assets: ["CL"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Since imports, exports and refinery runs were normal, the missing barrels mean that demand exceeds supply. Emptier tanks at the hub support crude oil, so prices rise, the near contract most.",
        short: "Near contracts of crude gain on later ones in the days after the report.",
        medium:
          "If the draw goes on, OPEC has room to add output; if it was one week's noise, the price gives way.",
        confidence: 0.65,
        related: ["next OPEC meeting", "refinery runs", "hurricane season"]
      }
    }
  ),
  preparedReport(
    ["natural gas in storage rose by", "one of demand from power plants"],
    {
      of: ["storage rose by N billion", "minus", "forecast was N billion"],
      says: "billion cubic feet off the average forecast"
    },
    {
      above: {
        summary: "More gas went into storage than forecast because power plants burned less of it.",
        assets: ["NG"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Weak demand from power plants leaves more gas for storage, so the market looks better supplied for the heating season. With output steady, sellers have to accept less and natural gas falls.",
        short: "The next contracts of natural gas drift down unless the weather turns hot.",
        medium: "Cheap gas wins power demand back from coal, and a cold start of winter would undo the rest.",
        confidence: 0.65,
        related: ["weather forecasts", "LNG exports"]
      },
      below: {
        summary: "Less gas went into storage than forecast because power plants burned more of it.",
        assets: ["NG"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Strong demand from power plants leaves less gas for storage, so the market enters the heating season with a thinner cushion. With output steady, buyers have to pay more and natural gas rises.",
        short: "The next contracts of natural gas stay bid while power burn is high.",
        medium:
          "Higher prices send power plants back to coal, and a mild start of winter would undo the rest.",
        confidence: 0.65,
        related: ["weather forecasts", "LNG exports"]
      }
    }
  ),
  preparedReport(
    ["put the soybean yield at"],
    {
      of: ["yield at N bushels", "minus", "estimates had been N."],
      says: "bushels an acre off the average estimate"
    },
    {
      above: {
        summary:
          "The Department of Agriculture put the soybean yield above private estimates, so stocks at the end of the season grow.",
        assets: ["ZS"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "A better yield on the same area means a bigger crop, and with exports unchanged all of it goes into ending stocks. Farmers who have sold little add to the pressure, so soybeans fall.",
        short: "Soybean futures drop while funds adjust and harvest sales come in.",
        medium: "Low prices draw export demand; from winter on the weather in Brazil decides.",
        confidence: 0.7,
        related: ["South American weather", "export sales", "next USDA report"]
      },
      below: {
        summary:
          "The Department of Agriculture put the soybean yield below private estimates, so stocks at the end of the season shrink.",
        assets: ["ZS"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "A poorer yield on the same area means a smaller crop, and with exports unchanged all of the loss comes out of ending stocks. Buyers who need beans have to bid, so soybeans rise.",
        short: "Soybean futures gain while short positions are covered and farmers hold back.",
        medium: "High prices ration exports; from winter on a good crop in Brazil can end the rally.",
        confidence: 0.7,
        related: ["South American weather", "export sales", "next USDA report"]
      }
    }
  ),
  preparedReport(
    ["Copper in the warehouses of the three large exchanges"],
    { of: ["amounted to N 000", "in percent above", "against N 000"], says: "percent of change in stocks" },
    {
      above: {
        summary:
          "Copper stocks at the exchanges grew in a month when traders expected none of it, as makers of wire and appliances ordered less.",
        assets: ["HG"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Because mines and smelters kept to their plans, metal piles up in warehouses for want of orders. That demand is weak lets buyers wait, so copper falls and near contracts go cheap against later ones.",
        short: "Copper slips over the next weeks as brokers report more arrivals at the exchanges.",
        medium: "Smelters may cut output; new building programmes would be needed for demand to recover.",
        confidence: 0.65,
        related: ["Chinese PMI", "housing starts", "smelter output"]
      },
      below: {
        summary:
          "Copper stocks at the exchanges shrank in a month when traders expected none of it, as makers of wire and appliances ordered more.",
        assets: ["HG"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Because mines and smelters kept to their plans, the new orders are met out of warehouses. Strong demand and a thinner cushion force buyers to pay up, so copper rises, near contracts most.",
        short: "Copper gains over the next weeks as brokers report more withdrawals from the exchanges.",
        medium: "Scrap and higher smelter output can refill stocks; otherwise the market stays tight.",
        confidence: 0.65,
        related: ["Chinese PMI", "housing starts", "smelter output"]
      }
    }
  ),
  preparedReport(
    ["just before the bids closed the notes had traded at"],
    {
      of: ["at a yield of N %", "minus", "had traded at N %"],
      says: "percentage points between the sale and the market"
    },
    {
      above: {
        summary:
          "The Treasury had to pay more yield than the market for its ten-year notes: the auction met weak demand.",
        assets: ["ZN"],
        direction: "bearish",
        magnitude: "low",
        reasoning:
          "A sale above the market yield means that bidders wanted a concession, and dealers are left with notes that they must sell on. That supply pushes yields up, so ten-year note futures fall.",
        short: "Notes stay heavy until the sale of long bonds in two days is over.",
        medium: "Weak auctions in a row would raise the term premium; a single one is soon forgotten.",
        confidence: 0.65,
        related: ["next Treasury auction", "budget deficit"]
      },
      below: {
        summary:
          "The Treasury sold its ten-year notes at less yield than the market: the auction met strong demand.",
        assets: ["ZN"],
        direction: "bullish",
        magnitude: "low",
        reasoning:
          "A sale below the market yield means that bidders competed for the notes, and dealers are left short of them. Their buying pulls yields down, so ten-year note futures rise.",
        short: "Notes keep a bid into the sale of long bonds in two days.",
        medium: "Good auctions in a row would shrink the term premium; a single one is soon forgotten.",
        confidence: 0.65,
        related: ["next Treasury auction", "budget deficit"]
      }
    }
  ),
  preparedReport(
    ["tonnes of gold on balance in the quarter"],
    { of: ["banks bought N tonnes", "minus", "had been N tonnes"], says: "tonnes off the average forecast" },
    {
      above: {
        summary:
          "Central banks bought more gold in the quarter than forecast, while all other demand and supply stayed as it was.",
        assets: ["GC"],
        direction: "bullish",
        magnitude: "medium",
        reasoning:
          "Official purchases are not sensitive to price, so the extra tonnes leave less metal for everybody else. As mines cannot add supply at once, gold has to rise until other buyers step back.",
        short: "Gold gains for some days as funds that had stood aside follow the central banks.",
        medium:
          "If reserve managers keep diversifying, dips are bought; a pause would take the support away.",
        confidence: 0.65,
        related: ["central bank reserves", "real yields", "geopolitical tension"]
      },
      below: {
        summary:
          "Central banks bought less gold in the quarter than forecast, while all other demand and supply stayed as it was.",
        assets: ["GC"],
        direction: "bearish",
        magnitude: "medium",
        reasoning:
          "Official purchases had taken up what mines produce, so the missing tonnes have to find other buyers. Jewellers and funds buy more only at a lower price, therefore gold falls.",
        short: "Gold slips for some days as traders who had counted on the central banks sell.",
        medium: "If reserve managers come back in the next quarter, the price recovers what it lost.",
        confidence: 0.6,
        related: ["central bank reserves", "real yields", "geopolitical tension"]
      }
    }
  )
]
