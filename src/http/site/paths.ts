/** The paths of the pages: as routes, with their methods, and as links. */
export const pagePaths = {
  claim: "/claim/:token",
  mailClaim: "/claim/mail/:token",
  notMine: "/claim/mail/:token/not-mine",
  signIn: "/sign-in",
  signInLink: "/sign-in/:token",
  provider: "/sign-in/oidc/begin",
  callback: "/sign-in/oidc/callback",
  signOut: "/sign-out",
  account: "/account",
  rotateSecret: "/account/agents/:agent_id/rotate-secret",
  spending: "/account/agents/:agent_id/spending",
  apiKeys: "/account/api-keys",
  revokeKey: "/account/api-keys/:key_id/revoke",
  notices: "/account/notices",
  mails: "/account/notices/mails",
  unsubscribe: "/unsubscribe/:mail/:token",
  webhook: "/account/notices/webhooks/:webhook_id",
  webhookAction: "/account/notices/webhooks/:webhook_id/:action",
  credit: "/account/credit",
  topUp: "/account/agents/:agent_id/topup",
  home: "/",
  leaderboard: "/leaderboard",
  compare: "/compare",
  methods: "/methods",
  howItWorks: "/how-it-works",
  scoring: "/scoring",
  start: "/start",
  log: "/log",
  status: "/status",
  legal: "/legal/:name",
  challenges: "/challenges",
  challenge: "/challenges/:challenge_id",
  asset: "/assets/:asset",
  search: "/search",
  events: "/events",
  event: "/events/:event_id",
  replies: "/events/:event_id/comments/:comment_id",
  agent: "/agents/:agent_id",
  predictionsOfAgent: "/agents/:agent_id/predictions",
  archive: "/archive",
  tournament: "/archive/:slug",
  verify: "/verify",
  picture: "/picture.png",
  pictureOfChallenge: "/challenges/:challenge_id/picture.png",
  pictureOfAgent: "/agents/:agent_id/picture.png",
  pictureOfAsset: "/assets/:asset/picture.png",
  badge: "/agents/:agent_id/badge.svg",
  embed: "/embed/challenges/:challenge_id",
  sitemap: "/sitemap.xml",
  robots: "/robots.txt",
  feedOfEvents: "/feeds/events/:format",
  feedOfSettlements: "/feeds/settlements/:format",
  feedOfAgent: "/feeds/agents/:agent_id/:format"
} as const

/** The content type of a feed, by the last segment of its path. */
export const feedFormats = { atom: "application/atom+xml", json: "application/feed+json" } as const
export type FeedFormat = keyof typeof feedFormats

/** A feed; the path lacks the format. */
export interface FeedLink {
  readonly title: string
  readonly path: string
}

export const eventFeed: FeedLink = { title: "Auspex: events", path: "/feeds/events" }
export const settlementFeed: FeedLink = { title: "Auspex: settlements", path: "/feeds/settlements" }
export const agentFeed = (agentId: string, name: string): FeedLink => ({
  title: `Auspex: predictions of ${name}`,
  path: `/feeds/agents/${agentId}`
})

export const pageMethods: Readonly<
  Record<(typeof pagePaths)[keyof typeof pagePaths], ReadonlyArray<string>>
> = {
  [pagePaths.claim]: ["GET", "POST"],
  [pagePaths.mailClaim]: ["GET", "POST"],
  [pagePaths.notMine]: ["GET", "POST"],
  [pagePaths.signIn]: ["GET", "POST"],
  [pagePaths.signInLink]: ["GET", "POST"],
  [pagePaths.provider]: ["GET"],
  [pagePaths.callback]: ["GET"],
  [pagePaths.signOut]: ["POST"],
  [pagePaths.account]: ["GET"],
  [pagePaths.rotateSecret]: ["POST"],
  [pagePaths.spending]: ["POST"],
  [pagePaths.apiKeys]: ["GET", "POST"],
  [pagePaths.revokeKey]: ["POST"],
  [pagePaths.notices]: ["GET", "POST"],
  [pagePaths.mails]: ["POST"],
  [pagePaths.unsubscribe]: ["GET", "POST"],
  [pagePaths.webhook]: ["GET"],
  [pagePaths.webhookAction]: ["POST"],
  [pagePaths.credit]: ["GET", "POST"],
  [pagePaths.topUp]: ["GET", "POST"],
  [pagePaths.home]: ["GET"],
  [pagePaths.leaderboard]: ["GET"],
  [pagePaths.compare]: ["GET"],
  [pagePaths.methods]: ["GET"],
  [pagePaths.howItWorks]: ["GET"],
  [pagePaths.scoring]: ["GET"],
  [pagePaths.start]: ["GET"],
  [pagePaths.log]: ["GET"],
  [pagePaths.status]: ["GET"],
  [pagePaths.legal]: ["GET"],
  [pagePaths.challenges]: ["GET"],
  [pagePaths.challenge]: ["GET"],
  [pagePaths.asset]: ["GET"],
  [pagePaths.search]: ["GET"],
  [pagePaths.events]: ["GET"],
  [pagePaths.event]: ["GET"],
  [pagePaths.replies]: ["GET"],
  [pagePaths.agent]: ["GET"],
  [pagePaths.predictionsOfAgent]: ["GET"],
  [pagePaths.archive]: ["GET"],
  [pagePaths.tournament]: ["GET"],
  [pagePaths.verify]: ["GET"],
  [pagePaths.picture]: ["GET"],
  [pagePaths.pictureOfChallenge]: ["GET"],
  [pagePaths.pictureOfAgent]: ["GET"],
  [pagePaths.pictureOfAsset]: ["GET"],
  [pagePaths.badge]: ["GET"],
  [pagePaths.embed]: ["GET"],
  [pagePaths.sitemap]: ["GET"],
  [pagePaths.robots]: ["GET"],
  [pagePaths.feedOfEvents]: ["GET"],
  [pagePaths.feedOfSettlements]: ["GET"],
  [pagePaths.feedOfAgent]: ["GET"]
}

const belowPages =
  /^\/($|picture\.png$|sitemap\.xml$|robots\.txt$|log$|(claim|sign-in|sign-out|account|leaderboard|compare|methods|how-it-works|scoring|start|status|legal|challenges|assets|search|agents|events|archive|verify|embed|unsubscribe|feeds)(\/|$))/

/** True for paths of the site, known or not: their errors are shown as pages. */
export const isPage = (path: string): boolean => belowPages.test(path)

const translated: ReadonlySet<string> = new Set<string>([
  pagePaths.home,
  pagePaths.challenges,
  pagePaths.leaderboard,
  pagePaths.compare,
  pagePaths.events,
  pagePaths.archive,
  pagePaths.search,
  pagePaths.methods,
  pagePaths.howItWorks,
  pagePaths.scoring,
  pagePaths.start,
  pagePaths.log,
  pagePaths.status,
  pagePaths.verify,
  pagePaths.account
])

/** Paths of single assets, challenges, agents and so on that are translated, without their pictures. */
const translatedOne =
  /^\/((assets|challenges|embed\/challenges|legal)\/[^/.]+|agents\/[^/]+(\/predictions)?|events\/[^/]+(\/comments\/[^/]+)?|archive\/[^/]+)$/

/** True for links to a translated page that do not name a language. */
export const isTranslated = (path: string): boolean =>
  (translated.has(path.split("?")[0] ?? "") || translatedOne.test(path.split("?")[0] ?? "")) &&
  !path.includes("lang=")

export const withLanguage = (path: string, language: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}lang=${language}`

/** Leaves out parameters that are undefined. */
export const withQuery = (path: string, query: Readonly<Record<string, string | undefined>>): string => {
  const known = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return known.length === 0 ? path : `${path}?${new URLSearchParams(known).toString()}`
}
/** The API keys page; `key`, `model` and `days` filter the usage, `cursor` belongs to the list. */
export const apiKeysPage = (
  of: {
    readonly key?: string | undefined
    readonly model?: string | undefined
    readonly days?: string | undefined
    readonly cursor?: string | undefined
  } = {}
) => withQuery("/account/api-keys", of)
export const noticesPage = "/account/notices"
export const webhookPage = (webhookId: string) => `${noticesPage}/webhooks/${webhookId}`
/** `moved` is the idempotency key of the transfer to confirm. */
export const topUpPage = (agentId: string, moved?: string) =>
  `/account/agents/${agentId}/topup${moved === undefined ? "" : `?${new URLSearchParams({ moved }).toString()}`}`
/** The sign-in page, which leads back to a page of the account. */
export const signInWith = (returnTo: string) =>
  returnTo === "/account" ? "/sign-in" : withQuery("/sign-in", { return_to: returnTo })
export const homePage = "/"
/** Open challenges of all types by default. */
export const challengesPage = (
  query: {
    readonly status?: string | undefined
    readonly type?: string | undefined
    readonly asset?: string | undefined
    readonly category?: string | undefined
  } = {}
) => withQuery("/challenges", query)
/** `range` is the time span of the chart. */
export const assetPage = (key: string, range?: string) =>
  withQuery(`/assets/${encodeURIComponent(key)}`, { range })
export const searchPage = (text?: string) => withQuery("/search", { q: text })
/** The order is by skill by default. */
export const leaderboardPage = (
  query: {
    readonly category?: string | undefined
    readonly order?: string | undefined
    readonly horizon?: string | undefined
    readonly since?: string | undefined
    readonly provider?: string | undefined
  } = {}
) => withQuery("/leaderboard", query)
export const comparePage = (query: { readonly a?: string; readonly b?: string } = {}) =>
  withQuery("/compare", query)
export const methodsPage = "/methods"
export const legalPage = (name: string) => `/legal/${name}`
export const eventsPage = (query: { readonly space?: string; readonly asset?: string } = {}) =>
  withQuery("/events", query)
export const eventPage = (eventId: string) => `/events/${encodeURIComponent(eventId)}`
export const challengePage = (challengeId: string) => `/challenges/${challengeId}`
export const agentPage = (agentId: string) => `/agents/${agentId}`
export const predictionsPage = (agentId: string) => `${agentPage(agentId)}/predictions`
export const repliesPage = (eventId: string, commentId: string) =>
  `${eventPage(eventId)}/comments/${commentId}`
/** The Open Graph image of a page. */
export const pictureOf = (page: string) => `${page === "/" ? "" : page}/picture.png`
export const badgeOf = (agentId: string) => `${agentPage(agentId)}/badge.svg`
export const embedOf = (challengeId: string) => `/embed${challengePage(challengeId)}`
export const archivePage = "/archive"
export const tournamentPage = (slug: string) => `/archive/${slug}`
/** `proof` is the path of a proof of this site. */
export const verifyPage = (proof?: string) =>
  proof === undefined ? "/verify" : `/verify?${new URLSearchParams({ proof }).toString()}`
