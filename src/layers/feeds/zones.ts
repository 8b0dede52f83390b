/** Time zones by the names that occur in the dates of feeds. */

/** Offsets of RFC 822, 5.1, in minutes east of UTC. */
const rfc822: ReadonlyArray<readonly [name: string, minutes: number]> = [
  ["UT", 0],
  ["GMT", 0],
  ["EST", -300],
  ["EDT", -240],
  ["CST", -360],
  ["CDT", -300],
  ["MST", -420],
  ["MDT", -360],
  ["PST", -480],
  ["PDT", -420]
]

/**
 * The names to which PostgreSQL 18 gives one offset only (src/timezone/tznames/*.txt), in minutes east of UTC. A name in use takes
 * precedence over one marked there as obsolete; a name of a zone rather than an offset has that zone's offset of 2026. Names with
 * several offsets (IST, AMT, GST, WST and others) are left out.
 */
const others = `
  ACDT 630, ACSST 630, ACST 570, ACT -300, ACWST 525, ADT -180, AEDT 660, AESST 660, AEST 600, AFT 270, AKDT -480,
  AKST -540, ALMST 420, ALMT 360, ANAT 720, AQTT 300, ART -180, AST -240, AWSST 540, AWST 480, AZOST 0, AZOT -60, AZT
  240, BDST 120, BDT 360, BNT 480, BORT 480, BOT -240, BRA -180, BRST -120, BRT -180, BST 60, BTT 360, CADT 630, CAST
  570, CAT 120, CEST 120, CET 60, CETDST 120, CHADT 825, CHAST 765, CHOT 480, CHST 600, CHUT 600, CIT 480, CKT -600,
  CLST -180, COT -300, CVT -60, CWST 525, CXT 420, DAVT 420, DDUT 600, EAST 600, EAT 180, ECT -300, EEST 180, EET 120,
  EETDST 180, EGST 0, EGT -60, EIT 540, FET 180, FJST 780, FJT 720, FKT -180, FNST -60, FNT -120, GALT -360, GAMT
  -540, GET 240, GFT -180, GILT 720, GYT -240, HADT -540, HAST -600, HDT -540, HKT 480, HOVST 480, HOVT 420, HST -600,
  ICT 420, IDT 180, IOT 360, IRKT 480, IRST 210, IRT 210, JAYT 540, JST 540, KDT 600, KGST 360, KGT 360, KOST 660,
  KRAT 420, KST 540, LHST 630, LIGT 600, LINT 840, LKT 330, MAGT 660, MART -570, MAWT 300, MEST 120, MESZ 120, MET 60,
  METDST 120, MEZ 60, MHT 720, MIST 660, MMT 390, MPT 600, MSD 240, MSK 180, MUST 300, MUT 240, MVT 300, MYT 480, NCT
  660, NDT -150, NFT -210, NOVT 420, NPT 345, NRT 720, NST -210, NUT -660, NZDT 780, NZST 720, NZT 720, OMST 360, ORAT
  300, PET -300, PETT 720, PGT 600, PHOT 780, PHT 480, PKST 360, PKT 300, PMDT -120, PMST -180, PONT 660, PWT 540,
  PYST -180, PYT -180, QYZT 360, RET 240, ROTT -180, SADT 630, SAKT 660, SAMT 240, SAST 120, SAT 570, SBT 660, SCT
  240, SGT 480, SRET 660, SRT -180, SST -660, SYOT 180, TAHT -600, TFT 300, TJT 300, TKT 780, TLT 540, TMT 300, TOT
  780, TRUT 600, TVT 720, UCT 0, ULAST 540, ULAT 480, UTC 0, UYST -120, UYT -180, UZST 360, UZT 300, VET -240, VLAT
  600, VOLT 180, VOST 360, VUT 660, WADT 480, WAKT 720, WAT 60, WDT 540, WEST 60, WET 0, WETDST 60, WFT 720, WGST
  -120, WGT -180, WIB 420, WIT 540, WITA 480, WSDT 840, WSST 780, XJT 360, YAKT 540, YAPT 600, YEKST 360, YEKT 300,
  ZULU 0`

const minutesOf: ReadonlyMap<string, number> = new Map([
  ...others.split(",").map((entry): readonly [string, number] => {
    const [name = "", minutes] = entry.trim().split(" ")
    return [name, Number(minutes)]
  }),
  ...rfc822
])

/** An offset, alone or after a name of UTC, and perhaps followed by a name, which repeats it. */
const numeric = /^(?:utc?|gmt|z)? ?([+-])(\d{1,2})(?::?(\d{2}))?(?: [a-z]{1,6})?$/i
const maxHours = 14

/**
 * Minutes east of UTC; undefined if a name has no offset or several. A single letter counts as UTC (RFC 5322, 4.3): RFC 822 defined
 * the military zones the wrong way round.
 */
export const zoneMinutes = (zone: string): number | undefined => {
  const [, sign, hours, minutes = "0"] = numeric.exec(zone) ?? []
  if (sign === undefined) return /^[a-ik-z]$/i.test(zone) ? 0 : minutesOf.get(zone.toUpperCase())
  if (Number(hours) > maxHours || Number(minutes) > 59) return undefined
  return (sign === "-" ? -1 : 1) * (60 * Number(hours) + Number(minutes))
}
