/** Copper, gold and crops. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const materials: ReadonlyArray<Prepared> = [
  prepared(["second-largest copper mine", "walked out"], {
    summary:
      "A strike stopped a mine with a twentieth of the world's copper while warehouses hold only four days of use.",
    assets: ["HG"],
    direction: "bullish",
    magnitude: "high",
    reasoning:
      "The walkout takes concentrate from smelters that were already short of it, as their collapsed treatment charges show. Because stocks are tiny, even a brief stoppage forces consumers to bid copper up.",
    short: "Copper and its near spreads tighten as long as the union and the mine do not talk.",
    medium:
      "A settlement after some weeks gives part of the gain back, though the lost tonnes keep the year in deficit.",
    confidence: 0.8,
    related: ["Chinese PMI and growth", "other mine wage talks", "LME warehouse stocks"]
  }),
  prepared(["housing starts", "half of the world's copper"], {
    summary:
      "China's property slump deepened, its largest private developer missed a bond payment, and unwanted copper is piling up in bonded warehouses.",
    assets: ["HG", "CL"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "Fewer new homes need less wiring and plumbing, so copper demand drops. Rising bonded stocks and falling premiums confirm that buyers have stepped back, which pushes the price lower.",
    short: "Copper tests its lows unless the government gives details of its support measures.",
    medium:
      "Credible stimulus could turn the market quickly, while a wave of developer defaults would deepen it.",
    confidence: 0.72,
    related: ["Chinese PMI", "central bank easing", "fiscal stimulus"]
  }),
  prepared(["state grid", "investment plan"], {
    summary:
      "China's grid operator raised its investment by 35 % and the central bank cut reserve requirements, which turns a balanced copper market into a deficit.",
    assets: ["HG", "ES"],
    direction: "bullish",
    magnitude: "medium",
    reasoning:
      "Power networks need a great deal of copper, so 400 000 extra tonnes a year push a balanced market into shortage. With Shanghai stocks falling already, consumers must bid prices up, and easier money supports it.",
    short: "Copper rises as contracts are awarded and short positions are closed.",
    medium:
      "The gain lasts if the infrastructure orders come through; weak housing could take part of it away.",
    confidence: 0.75,
    related: ["Chinese growth data", "PBoC monetary easing", "copper mine supply"]
  }),
  prepared(["Central banks bought 387 tonnes"], {
    summary:
      "Central banks bought a record 387 tonnes of gold in a quarter, far more than expected, among them new buyers that sold Treasuries.",
    assets: ["GC", "ZN"],
    direction: "bullish",
    magnitude: "medium",
    reasoning:
      "Official buyers diversify their reserves whatever the price, so their demand puts a floor under gold. Mine supply hardly grows, which means that other holders must be paid more to sell.",
    short: "Dips in gold should be shallow in the coming weeks.",
    medium:
      "Diversification out of the dollar takes years and should carry gold higher, even against high real yields.",
    confidence: 0.75,
    related: ["Fed policy", "sanctions and geopolitical tension", "dollar reserves data"]
  }),
  prepared(["inflation-protected Treasuries", "2.45 %"], {
    summary:
      "Real yields jumped to a sixteen-year high while gold funds saw heavy outflows and speculators are still very long.",
    assets: ["GC", "ZN"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "Gold pays no income, so a higher real yield on safe bonds raises the opportunity cost of holding it. With futures traders crowded on the long side, further fund outflows could force liquidation and a faster fall.",
    short: "Gold is vulnerable to a squeeze of long positions in the next fortnight.",
    medium: "Once real yields peak, probably as growth slows, gold should find its floor.",
    confidence: 0.73,
    related: ["FOMC decision", "CPI release", "Treasury auctions"]
  }),
  prepared(["not rained for 26 days", "soybean area of Brazil"], {
    summary:
      "Drought while pods fill has cut a forecast of Brazil's soybean crop by a tenth, and no rain is in sight.",
    assets: ["ZS"],
    direction: "bullish",
    magnitude: "high",
    reasoning:
      "Dry fields in the largest exporter cost yield that cannot be made up, so world stocks shrink to a nine-year low. Farmers hold back what they have, which forces buyers to bid soybeans up.",
    short: "Soybean futures rise with every dry forecast, and fall hard on rain.",
    medium:
      "The harvest decides: a small crop moves demand to US beans, and dear meal reaches food prices later.",
    confidence: 0.78,
    related: ["South American weather", "USDA crop report", "export sales"]
  }),
  prepared(["Department of Agriculture raised", "soybean yield"], {
    summary:
      "USDA raised the soybean yield to a record above every private estimate, so ending stocks come out 40 % higher while exports lag.",
    assets: ["ZS"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "A bumper harvest meets slow exports, so the surplus must go into storage. Prices of soybeans fall until crushers and foreign buyers take more.",
    short: "Harvest selling on top of the report probably sends soybeans to new lows.",
    medium:
      "Cheap beans win export business back by winter, and South American weather becomes the next thing to watch.",
    confidence: 0.8,
    related: ["export sales", "South American weather", "next WASDE report"]
  }),
  prepared(["buyer of US soybeans", "suspended the licences"], {
    summary:
      "The buyer of half of US soybean exports shut out nearly all American suppliers, officially over pests but as an answer to duties.",
    assets: ["ZS"],
    direction: "bearish",
    magnitude: "high",
    reasoning:
      "Half of US exports lose their importer at once, so soybeans back up at the ports and Chicago must fall until others buy. Brazil takes over the business, which is why its premium rises instead.",
    short: "Futures gap down and cargoes afloat are resold at a loss.",
    medium: "The talks next month decide: an end of the trade dispute would bring a sharp rally.",
    confidence: 0.8,
    related: ["tariff negotiations", "Brazil's soy harvest", "USDA export sales"]
  })
]
