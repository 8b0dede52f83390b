/** Central banks, inflation and jobs. */
import type { EventTemplate } from "../../../scoring/registration/template.ts"
import { words } from "./words.ts"

export const monetary: ReadonlyArray<EventTemplate> = [
  {
    slug: "fed-surprise-hike",
    prompt:
      'The Federal Reserve raised its policy rate by 50 basis points, to a range of 4.50-4.75 %. Of 62 economists polled, 55 had expected 25 basis points and none had expected more. The statement drops the phrase "ongoing assessment" and says that the committee is "prepared to act further". Futures now price a peak of {peak} %, up from {before} % an hour before, and the two-year yield has risen by 21 basis points.',
    numbers: { peak: [5.4, 5.2, 5.8, 0.02], before: [4.9, 4.6, 5, 0.02] },
    figure: {
      by: "difference",
      of: ["peak", "before"],
      ask: "by how many percentage points the expected peak has moved",
      unit: "points"
    },
    assets: { core: ["ZN", "DXY"], plausible: ["GC", "ES", "FOMC", "BTC", "ETH", "HG", "UNRATE"] },
    directions: { bearish: 1, mixed: 0.7, bullish: 0.3 },
    magnitudes: { high: 1, medium: 0.6 },
    kinds: ["central_bank", "bonds", "currency"],
    terms: words(
      "policy rate,rate hike,more hikes,front end,two year,act further,50 basis,50 bp,50bp,half a point,half point,double,bigger,larger than,jumbo,terminal,peak,hike,raised its,raised rates,tighter,tightening,hawkish",
      "50个基点,50基点,加息,鹰派,峰值,终点利率,终端利率,紧缩,半个百分点"
    ),
    related: ["central_bank", "inflation", "labour", "bonds", "currency", "banking", "growth"]
  },
  {
    slug: "fed-emergency-cut",
    prompt:
      'Between two scheduled meetings the Federal Reserve cut its policy rate by 75 basis points, from 3.75 % to 3.00 %, and restarted purchases of Treasuries at {buys} billion dollars a month for {months} months. It gave as its reason "a rapid tightening of funding conditions" after three money-market funds suspended redemptions. Before the announcement, markets had priced 25 basis points for the next regular meeting. Overnight funding rates fell by 90 basis points within the hour.',
    numbers: { buys: [60, 40, 80, 5], months: [6, 4, 11, 1] },
    figure: {
      by: "product",
      of: ["buys", "months"],
      ask: "how many billion dollars of Treasuries it means to buy in all",
      unit: "billion"
    },
    assets: { core: ["ZN", "GC"], plausible: ["DXY", "ES", "BTC", "ETH", "FOMC", "GDP", "CL"] },
    directions: { bullish: 1, mixed: 0.7, bearish: 0.2 },
    magnitudes: { high: 1, medium: 0.4 },
    kinds: ["central_bank", "bonds", "banking"],
    terms: words(
      "emergency,unscheduled,inter meeting,intermeeting,between meetings,surprise cut,75 basis,75 bp,money market fund,money fund,redemption,suspend,funding,purchases,buying treasur,buy treasur,bond buying,quantitative easing,qe$,backstop,panic,rate cut",
      "紧急,降息,货币市场基金,赎回,购债,量化宽松,购买国债,流动性,融资,恐慌,75个基点"
    ),
    related: [
      "central_bank",
      "banking",
      "bonds",
      "growth",
      "currency",
      "inflation",
      "gold",
      "labour",
      "equities"
    ]
  },
  {
    slug: "fed-hold-dovish-shift",
    prompt:
      'The Federal Reserve left its policy rate unchanged at {rate} %, as all 70 polled economists had expected. Its new projections, however, show three cuts over the next twelve months where the last ones had shown one. At the press conference the chair called policy "well into restrictive territory" and said that waiting for inflation of 2 % before the first cut would be "waiting too long". Inflation is {inflation} % now. The ten-year yield fell by 14 basis points during the press conference.',
    numbers: { rate: [5.25, 4.25, 5.75, 0.25], inflation: [2.8, 2.2, 3.4, 0.1] },
    figure: {
      by: "difference",
      of: ["rate", "inflation"],
      ask: "the real policy rate that follows from these numbers, in percent",
      unit: "points"
    },
    assets: { core: ["ZN"], plausible: ["GC", "ES", "DXY", "BTC", "ETH", "FOMC", "CPI", "PCE"] },
    directions: { bullish: 1, mixed: 0.5 },
    magnitudes: { medium: 1, high: 0.7, low: 0.3 },
    kinds: ["central_bank", "bonds", "inflation"],
    terms: words(
      "unchanged,held,hold,projection,dot plot,dots,median,press conference,restrictive,three cuts,three rate cuts,chair,pivot,dovish,easing path,easing cycle,signal",
      "按兵不动,维持,点阵图,预测,记者会,新闻发布会,限制性,三次降息,主席,鸽派,转向,信号"
    ),
    related: ["central_bank", "inflation", "labour", "bonds", "growth", "currency", "gold"]
  },
  {
    slug: "cpi-hot-services",
    prompt:
      "US consumer prices rose by 0.6 % in the month, twice the consensus of 0.3 %. The core index, without food and energy, rose by 0.5 % against 0.3 % expected, and by {core} % over twelve months. Services excluding housing rose at an annualised {services} %. Before the release, futures priced two rate cuts within the year; within thirty minutes they priced none.",
    numbers: { core: [4.1, 3.6, 4.4, 0.1], services: [6.8, 5.9, 7.8, 0.1] },
    figure: {
      by: "difference",
      of: ["services", "core"],
      ask: "by how many percentage points such services outpace the core index over twelve months",
      unit: "points"
    },
    assets: {
      core: ["ZN"],
      plausible: ["DXY", "GC", "ES", "CPI", "CORE_CPI", "FOMC", "PCE", "BTC"]
    },
    directions: { bearish: 1, mixed: 0.6, bullish: 0.2 },
    magnitudes: { high: 1, medium: 0.7 },
    kinds: ["inflation", "central_bank", "bonds"],
    terms: words(
      "monthly,annualised,annualized,rate cuts,repric,services,hot$,hotter,sticky,cpi,consumer price,double,twice,core inflation,no cuts,priced out,pricing out,gave up,higher for longer,on hold,upside",
      "服务,通胀,粘性,核心,降息预期,翻倍,两倍,高于预期,超预期,推迟降息"
    ),
    related: ["inflation", "central_bank", "labour", "bonds", "currency", "growth"]
  },
  {
    slug: "core-cpi-soft",
    prompt:
      "US core consumer prices rose by 0.1 % in the month against a consensus of 0.3 %, the smallest rise in more than three years. Rents, which had kept the index up, slowed from 0.5 % to 0.2 %. Over twelve months core inflation fell from 3.4 % to 3.0 %. The probability of a rate cut at the next meeting, as futures have it, went from {before} % to {after} %.",
    numbers: { before: [28, 17, 34, 1], after: [71, 62, 84, 1] },
    figure: {
      by: "difference",
      of: ["after", "before"],
      ask: "by how many percentage points the probability of a cut rose",
      unit: "points"
    },
    assets: {
      core: ["ZN"],
      plausible: ["GC", "ES", "DXY", "CORE_CPI", "CPI", "PCE", "FOMC", "BTC"]
    },
    directions: { bullish: 1, mixed: 0.5, bearish: 0.15 },
    magnitudes: { medium: 1, high: 0.9, low: 0.2 },
    kinds: ["inflation", "central_bank", "bonds"],
    terms: words(
      "rent,shelter,housing,soft,cooler,cooling,cooled,slow,disinflat,below expect,below forecast,below consensus,downside,core inflation,core cpi,core consumer,smallest",
      "房租,租金,住房,放缓,降温,回落,低于预期,核心通胀,核心cpi,降息"
    ),
    related: ["inflation", "central_bank", "labour", "bonds", "currency", "growth", "gold"]
  },
  {
    slug: "producer-prices-margins",
    prompt:
      "US producer prices for final demand rose by {actual} % in the month, against a consensus of {consensus} %. Two thirds of the rise came from energy and freight; prices without food, energy and trade services rose by 0.3 %, as expected. Several retailers told investors the same morning that they would not pass the cost on to customers before the next season. The ten-year yield rose by 5 basis points and equity futures lost 0.4 %.",
    numbers: { actual: [0.8, 0.62, 1.1, 0.02], consensus: [0.2, 0.16, 0.26, 0.02] },
    figure: { by: "quotient", of: ["actual", "consensus"], ask: "how many times the consensus the rise was" },
    assets: { core: ["ZN", "ES"], plausible: ["PPI", "CPI", "PCE", "CL", "DXY", "GC", "FOMC"] },
    directions: { bearish: 1, mixed: 0.9 },
    magnitudes: { low: 1, medium: 1 },
    kinds: ["inflation", "equities", "bonds"],
    terms: words(
      "producer,ppi,freight,energy,retailer,margin,pass on,pass through,pass the cost,absorb,upstream,input cost,wholesale,pipeline,cost",
      "生产者,ppi,运费,能源,零售商,利润率,转嫁,成本,上游,投入"
    ),
    related: ["inflation", "central_bank", "equities", "oil", "bonds", "growth", "shipping"]
  },
  {
    slug: "payrolls-blowout",
    prompt:
      "US employers added {jobs} 000 jobs in the month, against a consensus of {consensus} 000, and the two months before were revised up by {revised} 000 together. The unemployment rate fell from 4.1 % to 3.8 %. Average hourly earnings rose by 0.5 %, against 0.3 % expected. Futures moved the first full rate cut back from the spring to the autumn.",
    numbers: { jobs: [385, 331, 431, 2], consensus: [160, 140, 190, 5], revised: [72, 44, 92, 2] },
    figure: {
      by: "difference",
      of: ["jobs", "consensus"],
      ask: "by how many thousand jobs the month beat the consensus",
      unit: "thousand"
    },
    assets: {
      core: ["ZN"],
      plausible: ["DXY", "ES", "GC", "NFP", "UNRATE", "FOMC", "PCE", "GDP"]
    },
    directions: { bearish: 1, mixed: 0.7, bullish: 0.3 },
    magnitudes: { high: 1, medium: 0.8 },
    kinds: ["labour", "central_bank", "bonds"],
    terms: words(
      "385,payroll,jobs,hiring,employ,labor market,labour market,wage,earnings growth,hourly earnings,average earnings,revis,overheat,delay",
      "就业,非农,时薪,工资,薪资,失业率,上修,修正,强劲,劳动力"
    ),
    related: ["labour", "central_bank", "inflation", "growth", "bonds", "currency"]
  },
  {
    slug: "payrolls-contraction",
    retired: true,
    prompt:
      "US payrolls fell by 48 000 in the month; the consensus had been a gain of 110 000. The unemployment rate rose from 4.3 % to 4.7 %, its third rise in a row, and temporary jobs, which often lead, fell for the eighth month. Wages rose by 0.1 %. Markets now price a cut of 50 basis points at the next meeting with a probability of 64 %, and small-company shares are down by 2.3 %.",
    assets: {
      core: ["ZN", "ES"],
      plausible: ["GC", "DXY", "NFP", "UNRATE", "FOMC", "GDP", "CL"]
    },
    directions: { bullish: 1, mixed: 0.9, bearish: 0.7 },
    magnitudes: { high: 1, medium: 0.7 },
    kinds: ["labour", "central_bank", "growth"],
    terms: words(
      "payroll,jobs,labor market,labour market,unemploy,layoff,temporary,shrank,shrink,contract,losing,recession,small cap,jumbo,workforce",
      "就业,非农,失业率,裁员,临时工,萎缩,减少,衰退,疲软,小盘"
    ),
    related: ["labour", "central_bank", "growth", "inflation", "bonds", "equities", "fiscal"]
  },
  {
    slug: "pce-in-line-spending-weak",
    prompt:
      "The Federal Reserve's preferred price index rose by 0.2 % in the month, exactly as expected, and by 2.6 % over twelve months. Real consumer spending, however, fell by 0.3 %, its first fall in ten months, and the saving rate went up from 3.9 % to 4.6 %. A regional Fed bank lowered its running estimate of growth for the quarter from {before} % to {after} %. Yields slipped by 3 basis points; equity futures hardly moved.",
    numbers: { before: [1.9, 1.6, 2.4, 0.05], after: [1.1, 0.7, 1.3, 0.05] },
    figure: {
      by: "difference",
      of: ["before", "after"],
      ask: "by how many percentage points the estimate of growth was lowered",
      unit: "points"
    },
    assets: { core: ["ZN"], plausible: ["PCE", "GDP", "ES", "DXY", "GC", "FOMC", "UNRATE", "CL"] },
    directions: { bullish: 1, mixed: 1, bearish: 0.3 },
    magnitudes: { low: 1, medium: 0.6 },
    kinds: ["inflation", "growth", "central_bank", "bonds"],
    terms: words(
      "pce,spending,saving,consum,in line,as expected,household,slowdown,slowing,weaker demand,growth estimate,nowcast,retail,stall",
      "消费,支出,储蓄,符合预期,居民,放缓,增长预估,疲弱"
    ),
    related: ["inflation", "growth", "central_bank", "labour", "bonds", "equities"]
  }
]
