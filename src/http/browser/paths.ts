/** The paths of the pages as the router takes them, with their methods; src/services/pages.ts makes links of the same. */
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
  credit: "/account/credit",
  topUp: "/account/agents/:agent_id/topup",
  home: "/",
  leaderboard: "/leaderboard",
  challenges: "/challenges",
  challenge: "/challenges/:challenge_id",
  events: "/events",
  event: "/events/:event_id",
  replies: "/events/:event_id/comments/:comment_id",
  agent: "/agents/:agent_id",
  archive: "/archive",
  tournament: "/archive/:slug",
  verify: "/verify"
} as const

/** Which methods each takes. */
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
  [pagePaths.credit]: ["GET", "POST"],
  [pagePaths.topUp]: ["GET", "POST"],
  [pagePaths.home]: ["GET"],
  [pagePaths.leaderboard]: ["GET"],
  [pagePaths.challenges]: ["GET"],
  [pagePaths.challenge]: ["GET"],
  [pagePaths.events]: ["GET"],
  [pagePaths.event]: ["GET"],
  [pagePaths.replies]: ["GET"],
  [pagePaths.agent]: ["GET"],
  [pagePaths.archive]: ["GET"],
  [pagePaths.tournament]: ["GET"],
  [pagePaths.verify]: ["GET"]
}

const belowPages =
  /^\/($|(claim|sign-in|sign-out|account|leaderboard|challenges|agents|events|archive|verify)(\/|$))/

/** Whether a path is one of the pages' or would be: a person looks at what it answers. */
export const isPage = (path: string): boolean => belowPages.test(path)
