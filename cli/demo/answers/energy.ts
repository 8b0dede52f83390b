/** Crude oil, natural gas, and the ways by sea that carry them. */
import { prepared } from "./prepared.ts"
import type { Prepared } from "./prepared.ts"

export const energy: ReadonlyArray<Prepared> = [
  prepared(["OPEC and its partners agreed to cut output"], {
    summary:
      "OPEC and its partners surprised the market with an extra cut of 1.4 million barrels a day at an unscheduled meeting, while stocks are already low.",
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
  }),
  prepared(["largest exporter in OPEC left", "quota agreement"], {
    summary:
      "OPEC's largest exporter quit the quota agreement, announced a flood of extra output and slashed its official prices: a price war for market share.",
    assets: ["CL", "CPI"],
    direction: "bearish",
    magnitude: "high",
    reasoning:
      "An extra 1.8 million barrels a day meets flat refinery demand, so a glut builds and prices must fall until dearer producers stop. The deep discount forces rivals to follow, which drives crude oil lower still.",
    short: "Crude drops sharply as other members answer with increases of their own.",
    medium:
      "Storage fills and drilling is cut elsewhere; the slide ends when the exporters agree on quotas again.",
    confidence: 0.82,
    related: ["OPEC emergency meeting", "US rig count and oil production", "recession risk"]
  }),
  prepared(["crude inventories rose by 9.8 million"], {
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
  }),
  prepared(["Two tankers were hit by drones"], {
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
  }),
  prepared(["ceasefire", "pipeline", "oil-producing region"], {
    summary:
      "The warring sides of an oil region signed a ceasefire and will reopen a pipeline, so the war premium in crude oil and gold is being taken out.",
    assets: ["CL", "GC"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "Peace removes the risk premium of 8 to 10 dollars and the pipeline adds 0.9 million barrels a day, so crude falls. Gold loses its safe-haven buyers, although two earlier truces that collapsed mean that traders keep part of the premium.",
    short: "Oil and gold drift lower as long as the monitors arrive on time.",
    medium:
      "If the truce outlasts the first weeks, exports recover fully; renewed fighting would restore the premium at once.",
    confidence: 0.66,
    related: ["OPEC output decision", "peace talks", "pipeline and shipping flows"]
  }),
  prepared(["sharply colder", "heating demand"], {
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
  }),
  prepared(["natural gas in storage rose by 112"], {
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
  }),
  prepared(["liquefied natural gas export plant", "fire"], {
    summary:
      "A fire shut the largest US LNG export plant for three months or more, which strands about 2 % of national gas output at home.",
    assets: ["NG"],
    direction: "bearish",
    magnitude: "medium",
    reasoning:
      "Gas that used to leave as cargoes must now be stored or burned in the domestic market. As storage is above normal, the trapped surplus pushes US natural gas down even though Europe, which loses the supply, pays more.",
    short: "US futures fall and their discount to European gas widens at once.",
    medium:
      "Injections run heavy until the terminal restarts; any delay beyond 90 days prolongs the discount.",
    confidence: 0.76,
    related: ["gas storage report", "European gas supply and shipping", "hurricane season"]
  })
]
