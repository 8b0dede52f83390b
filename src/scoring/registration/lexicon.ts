/**
 * Words of the trade in English and Chinese, as `term` takes them: a Latin term matches the beginning of words
 * ("inflation" is found by `inflat`) or, with `$` at its end, whole words; a Chinese one matches anywhere. All are
 * lower case and split as `read` splits.
 */
import type { EventKind } from "./model.ts"
import { term } from "./text.ts"
import type { Term } from "./text.ts"

const list = (terms: string): ReadonlyArray<Term> => terms.split(",").map(term)

/** The words that tell what kind of event a text speaks of. */
export const termsOfKind: { readonly [Kind in EventKind]: ReadonlyArray<Term> } = {
  central_bank: list(
    "central bank,fed$,federal reserve,fomc,ecb,policy rate,interest rate,rate cut,rate hike,rate decision,monetary,hawk,dovish,tighten,easing,quantitative,balance sheet,央行,美联储,加息,降息,利率,货币政策,议息,缩表,宽松,紧缩"
  ),
  inflation: list(
    "inflat,disinflat,deflat,cpi,ppi,pce,consumer price,producer price,cost of living,shelter,通胀,通缩,物价,核心"
  ),
  labour: list(
    "payroll,job,unemploy,labor,labour,nfp,hiring,layoff,wage,jolts,claims,employ,就业,失业,非农,工资,薪资,招聘"
  ),
  growth: list(
    "gdp,growth,recession,pmi,ism$,retail sales,industrial production,slowdown,econom,soft landing,stimulus,housing,衰退,经济,增长,制造业,零售,房地产"
  ),
  bonds: list(
    "treasur,auction,bond,yield,issuance,duration,term premium,bid to cover,refunding,国债,美债,拍卖,收益率,发债,债券"
  ),
  fiscal: list(
    "fiscal,budget,deficit,spending,tax,stimulus,shutdown,debt ceiling,infrastructure,borrow,财政,预算,赤字,减税,刺激,债务上限,基建"
  ),
  rating: list("downgrade,rating,moody,fitch,credit outlook,sovereign,评级,下调评级,主权信用"),
  currency: list(
    "dollar,dxy,currency,currencies,exchange rate,fx$,yen$,euro$,yuan,intervention,devaluat,carry trade,reserve,美元,汇率,日元,欧元,人民币,干预,外汇"
  ),
  banking: list(
    "bank fail,bank stress,banking,deposit,liquidity,credit,lender,bank run,funding,银行,存款,流动性,信贷,挤兑"
  ),
  equities: list(
    "earning,guidance,equit,stock market,buyback,ipo,valuation,profit,revenue,margin,capex,财报,盈利,股市,业绩,回购,估值,资本开支"
  ),
  oil: list(
    "opec,oil$,crude,barrel,refiner,inventor,petroleum,eia$,gasoline,rig count,production,output,strategic reserve,原油,石油,减产,增产,库存,炼油,炼厂,产量"
  ),
  gas: list(
    "natural gas,gas$,lng,storage,heating,henry hub,pipeline,power demand,degree day,天然气,储气,液化,库存,取暖,管道,供暖"
  ),
  weather: list(
    "weather,drought,frost,hurricane,storm,cold$,cold snap,freeze,rain,heat,el nino,la nina,winter,temperature,forecast,天气,干旱,霜冻,飓风,寒潮,降雨,气温,厄尔尼诺,拉尼娜"
  ),
  crops: list(
    "usda,wasde,crop,harvest,soy,bean,corn$,planting,yield estimate,export sales,crush,acreage,grain,conab,大豆,作物,收成,收割,种植,农业部,压榨,玉米,单产"
  ),
  metals: list(
    "mine$,mines$,miner,mining,copper,smelt,strike,concentrate,lme,metal,aluminium,aluminum,warehouse,treatment charge,铜,矿,罢工,冶炼,金属,精矿"
  ),
  gold: list(
    "gold,bullion,safe haven,precious,reserve,ounce,real yield,real rate,黄金,金价,避险,储备,实际利率"
  ),
  trade: list(
    "tariff,trade$,export ban,imports,importer,quota,sanction,retaliat,customs,levy,levies,wto$,supply chain,duties,duty,关税,贸易,出口,进口,制裁,报复,供应链,反制"
  ),
  geopolitics: list(
    "geopolit,war$,wars$,conflict,missile,attack,military,ceasefire,election,tension,escalat,border,sanction,diplomat,drone,truce,peace,地缘,战争,冲突,袭击,军事,停火,选举,局势,制裁,紧张,和谈"
  ),
  shipping: list(
    "shipping,canal,strait,freight,tanker,vessel,port$,ports$,container,insurance,transit,reroute,voyage,航运,运河,海峡,运费,油轮,港口,保险,绕行,航线"
  ),
  crypto: list(
    "crypto,bitcoin,btc,ethereum,ether,etf,token,stablecoin,exchange hack,halving,staking,blockchain,defi,wallet,on chain,fork,upgrade,加密,比特币,以太坊,稳定币,质押,链上,减半,钱包,升级,资金流"
  ),
  regulation: list(
    "regulat,sec$,securities,lawsuit,approval,enforcement,legislation,court,ban$,antitrust,compliance,rule,bill$,监管,诉讼,批准,立法,法案,合规,禁令"
  ),
  technology: list(
    "tech,ai$,artificial intelligence,chip,semiconductor,data cent,cloud,software,cyber,hack,exploit,bug$,科技,芯片,人工智能,半导体,数据中心,黑客,漏洞,网络攻击"
  )
}

/** Words that join a cause with its effect. */
export const causal: ReadonlyArray<Term> = list(
  "because,since$,as a result,therefore,thus$,hence,consequent,lead to,leads$,leading$,led to,due to,owing to,driven by,drive$,drives$,driving,drove,cause,causing,push,lift,raise,raising,lower$,lowers$,lowering,reduce,reducing,weigh,support,boost,imply,implies,implying,so$,means$,meaning$,translat,in turn,feed$,feeds$,feeding,force,forcing,trigger,spur,pressure,pull,squeez,erode,eroding,curb,hurt,help,attract,encourag,discourag,result in,results in,resulting,reflect,thereby,making,makes$,leaves$,leaving,increase,increasing,decreas,tightens,tightening,ease,easing,strengthen,weaken,undermin,draw,dampen,caps$,capping,limits$,limiting,amplif,offset,depress,bid up,prompt,deter,remove,removing,shrink,cut$,cuts$,cutting,因为,由于,因此,所以,导致,使得,从而,进而,推动,推高,推升,压低,拖累,支撑,意味着,带动,促使,引发,提振,打压,利好,利空,令,致使,抬升,抬高,削弱,增强,刺激,抑制,迫使,减少,增加,提高,降低,于是,鉴于,压制,加剧,缓解"
)

/** The little words that any English prose has, and a list of keywords has not. */
export const functionWords: ReadonlySet<string> = new Set(
  "the a an of to in on for and or but with by from as at is are was be will would should could may might can it its this that these those than more less not into over while if which their has have had there if then when so such also both up down out off again back after before until unless about under through still only any all some no we they you i what who how between because since do does did been were each other even much most".split(
    " "
  )
)
