/** Crude oil, natural gas, and the ways by sea that carry them. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const energy: ReadonlyArray<Prepared> = [
  prepared(
    ["OPEC and its partners agreed to cut output"],
    {
      of: ["cut output by N million", "plus", "on top of the N million"],
      says: "million barrels a day of cuts in all"
    },
    {
      summary:
        "OPEC and its partners surprised the market with a large extra cut of output at an unscheduled meeting, while stocks are already low.",
      assets: ["CL", "CPI"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "Most of the new quota cut falls to members that comply, so actual supply shrinks by nearly the full amount. With little spare capacity elsewhere the deficit forces buyers to bid crude oil up, which later feeds into inflation.",
      short: "Crude should gap higher, with near contracts gaining on later ones.",
      medium:
        "High prices curb demand and tempt members to produce above quota, so part of the gain erodes within quarters.",
      confidence: 0.8,
      related: ["next OPEC meeting", "crude inventories", "geopolitical tension"]
    }
  ),
  prepared(
    ["largest exporter in OPEC left", "quota agreement"],
    {
      of: ["raise output by N million", "plus", "increases of N million"],
      says: "million barrels a day more in all"
    },
    {
      summary:
        "OPEC's largest exporter quit the quota agreement, announced a flood of extra output and slashed its official prices: a price war for market share.",
      assets: ["CL", "CPI"],
      direction: "bearish",
      magnitude: "high",
      reasoning:
        "All that extra crude meets flat refinery demand, so a glut builds and prices must fall until dearer producers stop. The deep discount forces rivals to follow, which drives crude oil lower still.",
      short: "Crude drops sharply as other members answer with increases of their own.",
      medium:
        "Storage fills and drilling is cut elsewhere; the slide ends when the exporters agree on quotas again.",
      confidence: 0.82,
      related: ["OPEC emergency meeting", "US rig count and oil production", "recession risk"]
    }
  ),
  prepared(
    ["commercial crude inventories rose by"],
    {
      of: ["inventories rose by N million", "plus", "a fall of N million"],
      says: "million barrels more than expected"
    },
    {
      summary:
        "US crude stocks rose by almost ten million barrels against an expected fall, because two big refineries on the Gulf are shut for repairs.",
      assets: ["CL"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Refinery outages leave crude oil without a buyer, so barrels pile up in storage and the price falls. Since gasoline stocks drop at the same time, refining margins widen and the weakness is one of crude alone.",
      short: "Front-month crude slips against gasoline until the plants are back.",
      medium: "In two to three weeks runs recover and draw the inventory down, so the effect should fade.",
      confidence: 0.68,
      related: ["next EIA inventory report", "OPEC output", "hurricane season"]
    }
  ),
  prepared(
    ["Two tankers were hit by drones"],
    { of: ["to N dollars.", "over", "rose from N to"], says: "times the former cost of shipping" },
    {
      summary:
        "Drone attacks on tankers have all but closed a strait that carries 17 million barrels a day; insurers withdrew cover and an escort is nine days away.",
      assets: ["CL", "NG", "GC"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "Without war risk insurance tankers wait outside the strait, so crude oil and liquefied gas do not reach their buyers. The lost supply and the tripled freight push oil prices up, and the danger lifts gold as well.",
      short: "Crude jumps and stays bid for the days until the naval escort is assembled.",
      medium:
        "If the passage reopens, the war premium fades; further attacks would turn it into a lasting supply shock.",
      confidence: 0.78,
      related: ["OPEC meeting", "strategic oil reserve release", "military escalation"]
    }
  ),
  prepared(
    ["ceasefire", "pipeline", "oil-producing region"],
    {
      of: ["put down N dollars", "as percent of", "crude oil of N dollars"],
      says: "percent of the price that went with the risk"
    },
    {
      summary:
        "The warring sides of an oil region signed a ceasefire and will reopen a pipeline, so the war premium in crude oil and gold is being taken out.",
      assets: ["CL", "GC"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Peace removes the risk premium from the price and the pipeline adds 0.9 million barrels a day, so crude falls. Gold loses its safe-haven buyers, although two earlier truces that collapsed mean that traders keep part of the premium.",
      short: "Oil and gold drift lower as long as the monitors arrive on time.",
      medium:
        "If the truce outlasts the first weeks, exports recover fully; renewed fighting would restore the premium at once.",
      confidence: 0.66,
      related: ["OPEC output decision", "peace talks", "pipeline and shipping flows"]
    }
  ),
  prepared(
    ["sharply colder", "heating demand"],
    {
      of: ["to be N % above", "minus", "models had N %"],
      says: "percentage points more heating demand than the models had before"
    },
    {
      summary:
        "Forecasts turned severely cold for the eastern US while frozen wells take 8 % off gas production and storage is already below normal.",
      assets: ["NG"],
      direction: "bullish",
      magnitude: "high",
      reasoning:
        "Heating demand jumps just when freezing wells reduce supply, so storage has to cover the gap. Power plants bid for prompt natural gas, which forces Henry Hub to spike.",
      short: "Front-month gas gaps higher and stays volatile until the weather models warm up.",
      medium:
        "Wells thaw within weeks and the spike fades, but depleted storage keeps later contracts supported.",
      confidence: 0.84,
      related: ["EIA gas storage report", "weather forecasts", "LNG exports"]
    }
  ),
  prepared(
    ["natural gas in storage rose by", "may be full"],
    {
      of: ["rose by N billion cubic feet in the week", "minus", "against N billion"],
      says: "billion cubic feet more than expected"
    },
    {
      summary:
        "US gas storage grew more than expected to 19 % above average with record output and a mild autumn ahead, so storage may soon be full.",
      assets: ["NG"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Record production meets weak demand in mild weather, so the surplus must go into storage that has little room left. Producers have to lower prices of natural gas until power plants burn more of it, which shows in the steep contango.",
      short: "The front contract stays under pressure as injections continue.",
      medium:
        "Only an early cold spell or cut production would clear the glut before the heating season is well under way.",
      confidence: 0.76,
      related: ["weekly gas storage", "weather forecast", "LNG export demand"]
    }
  ),
  prepared(
    ["liquefied natural gas export plant", "fire"],
    { of: ["takes N billion", "times", "at least N days"], says: "billion cubic feet that stay at home" },
    {
      summary:
        "A fire shut the largest US LNG export plant for three months or more, which strands about 2 % of national gas output at home.",
      assets: ["NG"],
      direction: "bearish",
      magnitude: "medium",
      reasoning:
        "Gas that used to leave as cargoes must now be stored or burned in the domestic market. As storage is above normal, the trapped surplus pushes US natural gas down even though Europe, which loses the supply, pays more.",
      short: "US futures fall and their discount to European gas widens at once.",
      medium: "Injections run heavy until the terminal restarts; any further delay prolongs the discount.",
      confidence: 0.76,
      related: ["gas storage report", "European gas supply and shipping", "hurricane season"]
    }
  )
]

export const materials: ReadonlyArray<Prepared> = [
  prepared(
    ["second-largest copper mine", "walked out"],
    {
      of: ["took N 000 tonnes", "over", "lasted N days"],
      says: "thousand tonnes lost on each day of the last strike"
    },
    {
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
    }
  ),
  prepared(
    ["housing starts", "half of the world's copper"],
    { of: ["to N dollars a tonne", "in percent above", "fell from N to"], says: "percent off the premiums" },
    {
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
    }
  ),
  prepared(
    ["state grid", "investment plan"],
    { of: ["equivalent of N billion", "over", 3], says: "billion dollars a year" },
    {
      summary:
        "China's grid operator raised its investment sharply and the central bank cut reserve requirements, which turns a balanced copper market into a deficit.",
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
    }
  ),
  prepared(
    ["Central banks bought", "the most on record"],
    {
      of: ["bought N tonnes of gold in the quarter,", "minus", "had expected N."],
      says: "tonnes more than expected"
    },
    {
      summary:
        "Central banks bought a record amount of gold in a quarter, far more than expected, among them new buyers that sold Treasuries.",
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
    }
  ),
  prepared(
    ["inflation-protected Treasuries", "2.45 %"],
    {
      of: ["outflows of N tonnes", "as percent of", "equal to N tonnes"],
      says: "percent of the futures positions that left the funds"
    },
    {
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
    }
  ),
  prepared(
    ["not rained for 26 days", "soybean area of Brazil"],
    { of: ["to N million tonnes", "in percent above", "from N to"], says: "percent off the estimate" },
    {
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
    }
  ),
  prepared(
    ["Department of Agriculture raised", "soybean yield"],
    {
      of: ["seen at N million", "in percent above", "after N million"],
      says: "percent more stocks than a month ago"
    },
    {
      summary:
        "USDA raised the soybean yield to a record above every private estimate, so ending stocks come out far higher while exports lag.",
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
    }
  ),
  prepared(
    ["buyer of US soybeans", "suspended the licences"],
    { of: ["ships with N 000", "over", "Altogether N ships"], says: "thousand tonnes a ship on average" },
    {
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
    }
  )
]
