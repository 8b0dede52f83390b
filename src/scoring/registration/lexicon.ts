/**
 * Words of the trade in English and Chinese, as `term` takes them: a Latin term matches the beginning of words ("inflation" is found
 * by `inflat`) or, with `$` at its end, whole words; a Chinese one matches anywhere. All are lower case and split as `read` splits.
 */
import type { EventKind } from "./model.ts"
import { term } from "./text.ts"
import type { Term } from "./text.ts"

const list = (terms: string): ReadonlyArray<Term> => terms.split(",").map(term)

/** The words that identify the kind of event of a text. */
export const termsOfKind: { readonly [Kind in EventKind]: ReadonlyArray<Term> } = {
  central_bank: list(
    "central bank,fed$,federal reserve,fomc,ecb,policy rate,interest rate,rate cut,rate hike,rate decision,monetary,hawk,dovish,tighten,easing,quantitative,balance sheet,央行,美联储,加息,降息,利率,货币政策,议息,缩表,宽松,紧缩"
  ),
  inflation: list(
    "inflat,disinflat,deflat,cpi,ppi,pce,consumer price,producer price,cost of living,shelter,通胀,通缩,物价,核心"
  ),
  labour: list(
    "nonfarm,revision,payroll,job,unemploy,labor,labour,nfp,hiring,layoff,wage,jolts,claims,employ,就业,失业,非农,工资,薪资,招聘"
  ),
  growth: list(
    "gdp,growth,recession,pmi,ism$,retail sales,industrial production,slowdown,econom,soft landing,stimulus,housing,衰退,经济,增长,制造业,零售,房地产"
  ),
  bonds: list(
    "tail$,cover,primary,dealer,bidder,coupon,curve,discount rate,supply of,treasur,auction,bond,yield,issuance,duration,term premium,bid to cover,refunding,国债,美债,拍卖,收益率,发债,债券"
  ),
  fiscal: list(
    "fiscal,budget,deficit,spending,tax,stimulus,shutdown,debt ceiling,infrastructure,borrow,财政,预算,赤字,减税,刺激,债务上限,基建"
  ),
  rating: list("downgrade,rating,moody,fitch,credit outlook,sovereign,评级,下调评级,主权信用"),
  currency: list(
    "foreign bank,borrow dollar,owe,hedg,differential,greenback,swap line,offshore,dollar,dxy,currency,currencies,exchange rate,fx$,yen$,euro$,yuan,intervention,devaluat,carry trade,reserve,美元,汇率,日元,欧元,人民币,干预,外汇"
  ),
  banking: list(
    "bank fail,bank stress,banking,deposit,liquidity,credit,lender,bank run,funding,银行,存款,流动性,信贷,挤兑"
  ),
  equities: list(
    "earning,guidance,equit,stock market,buyback,ipo,valuation,profit,revenue,margin,capex,财报,盈利,股市,业绩,回购,估值,资本开支"
  ),
  oil: list(
    "cushion,buffer,scarc,shortage,surplus,glut,oversuppl,brent,wti$,shale,pump,tanks$,curve,spread,backwardat,contango,opec,oil$,crude,barrel,refiner,inventor,petroleum,eia$,gasoline,rig count,production,output,strategic reserve,原油,石油,减产,增产,库存,炼油,炼厂,产量"
  ),
  gas: list(
    "cushion,buffer,scarc,shortage,surplus,glut,oversuppl,bcf,feedgas,injection,withdraw,thaw,burn,contango,backwardat,natural gas,gas$,lng,storage,heating,henry hub,pipeline,power demand,degree day,天然气,储气,液化,库存,取暖,管道,供暖"
  ),
  weather: list(
    "water,dry$,thaw,weather,drought,frost,hurricane,storm,cold$,cold snap,freeze,rain,heat,el nino,la nina,winter,temperature,forecast,天气,干旱,霜冻,飓风,寒潮,降雨,气温,厄尔尼诺,拉尼娜"
  ),
  crops: list(
    "importer,cushion,buffer,scarc,shortage,surplus,glut,oversuppl,carryout,basis,farmer,bushel,elevator,brazil,argentin,pile up,oilseed,usda,wasde,crop,harvest,soy,bean,corn$,planting,yield estimate,export sales,crush,acreage,grain,conab,大豆,作物,收成,收割,种植,农业部,压榨,玉米,单产"
  ),
  metals: list(
    "cushion,buffer,scarc,shortage,surplus,glut,oversuppl,scrap,cathode,tight,spread,union,settlement,negotiat,stockpile,mine$,mines$,miner,mining,copper,smelt,strike,concentrate,lme,metal,aluminium,aluminum,warehouse,treatment charge,铜,矿,罢工,冶炼,金属,精矿"
  ),
  gold: list(
    "gold,bullion,safe haven,precious,reserve,ounce,real yield,real rate,黄金,金价,避险,储备,实际利率"
  ),
  trade: list(
    "export,tariff,trade$,export ban,imports,importer,quota,sanction,retaliat,customs,levy,levies,wto$,supply chain,duties,duty,关税,贸易,出口,进口,制裁,报复,供应链,反制"
  ),
  geopolitics: list(
    "geopolit,war$,wars$,conflict,missile,attack,military,ceasefire,election,tension,escalat,border,sanction,diplomat,drone,truce,peace,地缘,战争,冲突,袭击,军事,停火,选举,局势,制裁,紧张,和谈"
  ),
  shipping: list(
    "shipping,canal,strait,freight,tanker,vessel,port$,ports$,container,insurance,transit,reroute,voyage,航运,运河,海峡,运费,油轮,港口,保险,绕行,航线"
  ),
  crypto: list(
    "custod,leverag,liquidat,float$,holder,flows$,coins$,crypto,bitcoin,btc,ethereum,ether,etf,token,stablecoin,exchange hack,halving,staking,blockchain,defi,wallet,on chain,fork,upgrade,加密,比特币,以太坊,稳定币,质押,链上,减半,钱包,升级,资金流"
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

/** Ordinary words of notes about markets. They are compared by their stems, so that one form stands for all. */
export const ordinaryWords = `
above absorb abundant accelerate accept according account accumulate acre act action activity actual add additional adequate adjust advantage affect afford aftermath against agency aggressive ago agreed agreement agriculture ahead alike allied allocate allow almost alone already alternative although always amid among amount ample anchor announce annual another anticipate anyone apparent appeal appetite appliance appreciate approach april arbitrage area argue around arrive aside ask assess asset assume attempt attention attribute august authority autumn available average avoid await away
backdrop backwardation bad bail bar barrier base basis bcf bearish beat become begin behind being believe below benchmark benefit bet better beyond bias bidders big bigger biggest billion bit blame board book bookings bottleneck bought bounce brazil break brief bring broad broke broken build burden burn bushel business buyer buyers
calculate called calm came canada cannot capacity capital car careful cargoes carrier case cash catch category caught caution ceasefire certain chance change channel cheap cheat china clear climb close closure coast coin collateral collect come comfortable commercial committee commodity company compete component concentrate conclude conditions confirm conflict consecutive considerable constitute consume contain continue contract convert cool coordinated correct counter country couple coupon covered crack crash create crisis critical crowded crucial cubic curtail curve cushion cycle
damage danger date deadline dealer debate decade decay december decide decisive decline deepen default defend delay deliver department depend depress derive describe desk despite deter deteriorate developer different difficult digest dip direct disappear disclosed disputes disrupt distribution diversify divide dominate doubled doubt downside downward drain dramatically drift drop dropped dry dump durable during
eager earlier early eat edge effect efficient eight either elastic element elevated else elsewhere embargo emerging encourage end energy enough ensure enter entire entry episode equal equivalent escalate especially essential europe event ever everyone evidence exactly example exceed exceeds excess exclude exemptions exhaust exit expand expect expensive expire explain explicit exposure extent extra
face facility fact factor fade fair fall fallen far farmers fast favour fear feature february fee feedgas feel fell few figure fill final finance find fire firm first five flat flatter flight float flood floor flow fluctuate follow food foreign former forward four fragile freely fresh friction friday front froze full fully fundamental further future
gain gap gauge gave general get give given glut goes going gone good got government gradual grew grid group grow guess guide gulf half handle happen hard harm hash head headline health heavier heavy hedge held here hesitate high highest hinges hit holder holders holdings home hope hot hotter hours household however huge hurt
illiquid imbalance immediate impact implication impose improving inability incentive includes income incremental independent india indicate indirect induce inevitable inflow influence information inherent initial inject input instead institution insurance intensify intervention investor involve isolate issue itself january japan join joint jointly july jump june just justify keen keep kept key kills know known korea
lack lag large largest last late latter launch leak lean least left legal length let level leverage licences lie light like line link liquefied listed little local locks logic logistics london longer looks loose loss losses lost lot lowest lure
macro made magnitude main maintain major makers managers mandate manufacturer many march marginal mark massive match materialise matter matters mature measure mechanism median medium meeting members merely method mexico middle mild million miners minimal minor minute miss missed mitigate mix model moderate modest momentum monday money monitors month morning mostly mount move multiple must name narrow natural naval near nearby need negative negotiations nervous net network neutral never news next nine nobody nominal norm normal notable notch nothing notice november now nowhere number numbers numerous
observe obtain obvious occur october odd offer offers office offshore often once ongoing onset open operator opportunity opposite option order orders ordinary origin otherwise outcome outflow outlet outperform outright outs outside outstripped overall overhang overnight oversupply owe own
pace package paid painful pair panic paper part partial partner pass passage path patient pattern pay payment payout peak peg pending pension people per percent perform perhaps period permanent permit persist perspective phase physical picture pile pipeline pivot place plan planned plausible plenty plunge plus pod point polled pool poor pop portfolio portion positive possible postponed potential practice precise predict preferred prepare present press prevent previous primary principal print prior private probability problem proceed process progress projects prolonged promised prone pronounced proper property proportion prospect protect protocols prove provide prudent pumping purchase pursue put
quantity quarter question queue quick quiet quit quote
rallies rally range rapid rare rather ratio raw reach reaction realise reason rebalance rebound receipts recent reckon record recover redeem redemption redirect refer refuse regime region regular reinforce relative release reliable relief reluctant rely remain remove renewed reopen repeat replace replenish report represent reprice request require reroute resilient resistance resolve resort respect response rest restart restore restrict resume retain retrace return reveals reverse revise reward right rip rise risen risk rival robust roll room rose rotate roughly round running rush
safety said same saturate saving say scale scarce scenario schedule scramble scrap season second sector secure see seek seem seen select seller sellers selloff sensitive sentiment separate september sequence series serious services session set settle seven several shale shanghai shape sharp shelter shift ship shock shortage show shown shrank shut side sign signal significant similar simple simply simultaneously single sit situation six size sizeable slack slashed slide slightly slip slope slow sluggish small smooth soak soften sold solid solution somebody something somewhat soon source south spare spec specific speculator speed spike split spot spread spring stabilise stage stance stands start state statement stay steady steep stem step sticky stolen stop stopped store straight stranded strategy stretch strict strip strong structural stuck subdued subsequent subside substitute sudden suffers sufficient suggest supplies suppose surge surpass surplus surprise suspended sustain swap swapped swell swing switch
tactical tail take talk tankers target technical tell temper temporary tends tension tentative terminal test testnet thaws them thin thing think third though thousand threat three throughout thursday tie tightness time today together told tomorrow tonne too took top total touch toward tracking traders traffic transfer treat trend trim trouble tuesday turnover twelve twice two typical
ultimate unable uncertain unchanged unclear underlying undo unexpected unit unless unlike unload unscheduled unusual unwind unwound update upside upward urgent usual value vary version very via view violent visible vol volatile volume vulnerable wait want warm watch water way weak weakness weather wednesday week welcome well went where whereas whether whole wholesale why wide widen wire withdraw within without work workers world worry worse worst worth yesterday yet zero
`

/** Ordinary characters of Chinese notes, beside those of the words of the trade. */
export const ordinaryHan =
  "一二三四五六七八九十百千万亿两几数多少大小高低强弱快慢长短新旧好坏差远近紧松上下左右中内外前后里间时年月日周天季度次个种项份条批轮元吨桶枚倍点的地得了着过在是和与及或而但也都就才又再还更最很太较颇略稍均皆已正将曾刚便即仍且则因此故所以由于为从自向往到至对把被让给使令跟按照同比等这那其该之者们我你他它谁什么怎样如若虽然可能会要需应想看说做用来去起出入进回转变化成得没不未无非只仅约近超共总计各每某另别全部整半双单首初末终始直接间接明显小幅大幅温和激烈有限足够充足缺乏继续持续保持维持难易并且以及关于根据随着面对除非一旦尽管只要只有或许也许似乎基本主要重要关键真正实际意外预期市场投资者交易者分析师机构公司企业国家政府部门面积水平价值幅度速度空间压力动力信心情绪观望谨慎乐观悲观恐慌资金头寸仓位杠杆对冲平仓买卖方盘抛售承接跟随消化修复企稳震荡反应兑现落地确认验证取决影响传导改变转向恢复正常几周内数月后今明昨早晚目前当前短期中期长期此前以来历史达当步移仅扩例示领够担付确改补告弹析型旦亿让追相决情辑抢吐偏隐含额外余何四宣布认报比率盗抛爆连环赔避险恐慌监管态度"

/** Words to or about the judge, in these forms; the plain ones hardly have another use. */
export const wordsOfJudging = {
  plain:
    "answer answers score scored scores scoring grader graders grading judge judges judging rubric criteria criterion instruction instructions instructed submission submissions solution evaluate evaluating evaluator evaluation examiner assessor reviewer verdict lenient applicant candidate registration checker author penalties mistakes",
  weak: "prompt you your please kindly dear ignore disregard forget override overrule bypass skip award grant deserve pass passed passes approve approved accept accepted point points mark marks full maximum perfect correct correctly excellent flawless valid verified verify requirement admit admitted enrol register agent agents system assistant user model human developer administrator operator mode command task message text response respond reply return challenge test check checking everything result results outcome status success successful"
}

/** Words to or about the judge in Chinese. */
export const judgingInChinese = {
  plain:
    /答案|回答|作答|本文|这段(?:文字|话|内容)|评分|打分|得分|分数|满分|扣分|评委|评审|评判|考官|阅卷|指令|提示词|及格|题目|出题|审核|审查|注册/g,
  weak: /请|你|您|我|帮|通过|要求|规则|忽略|无视|合格|批准|确认|正确|同意|拜托|无需|无误|管理员|系统/g
}
