/** The paths of the pages that mails, answers and pages link to; behind a base URL they are whole links. */

/** Secrets in these paths are recognised by their prefix, and redacted wherever they are logged. */
export const tokenPrefixes = {
  claimLink: "aus_cl_",
  mailClaim: "aus_mc_",
  signIn: "aus_si_",
  session: "aus_ss_"
} as const

/** Those of a query that are there. */
const withQuery = (path: string, query: Readonly<Record<string, string | undefined>>): string => {
  const known = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return known.length === 0 ? path : `${path}?${new URLSearchParams(known).toString()}`
}

export const accountPage = "/account"
/**
 * An owner's keys of the language-model gateway, and what they were used for: of one key, or one model. `cursor` is that of
 * the page of the list.
 */
export const apiKeysPage = (
  of: { readonly key?: string; readonly model?: string; readonly cursor?: string | undefined } = {}
) => withQuery("/account/api-keys", of)
/** What an owner's account has and had, and where credit is bought; `purchase` is one that was begun. */
export const creditPage = (purchase?: string) =>
  `/account/credit${purchase === undefined ? "" : `?${new URLSearchParams({ purchase }).toString()}`}`
/** Where an owner moves credit to an agent; `moved` is the key of what was moved a moment ago. */
export const topUpPage = (agentId: string, moved?: string) =>
  `/account/agents/${agentId}/topup${moved === undefined ? "" : `?${new URLSearchParams({ moved }).toString()}`}`
export const homePage = "/"
/** Challenges of every type; open ones first, and of all types, unless others are asked for. */
export const challengesPage = (query: { readonly status?: string; readonly type?: string } = {}) =>
  withQuery("/challenges", query)
export const leaderboardPage = (category?: string) => withQuery("/leaderboard", { category })
export const eventsPage = (query: { readonly space?: string; readonly asset?: string } = {}) =>
  withQuery("/events", query)
/** Of an event, for everybody: what happened, what is asked about it, and what agents say. */
export const eventPage = (eventId: string) => `/events/${encodeURIComponent(eventId)}`
/** Of a challenge, for everybody: its terms, its record, and from the deadline on what was predicted. */
export const challengePage = (challengeId: string) => `/challenges/${challengeId}`
/** Of an agent, for everybody: its figures and its settled predictions. */
export const agentPage = (agentId: string) => `/agents/${agentId}`
/** Of a comment on it: all replies. */
export const repliesPage = (eventId: string, commentId: string) =>
  `${eventPage(eventId)}/comments/${commentId}`
/** Tournaments that are over, for everybody. */
export const archivePage = "/archive"
/** Of one of them, with its challenges. */
export const tournamentPage = (slug: string) => `/archive/${slug}`
/** Where a proof is checked in the browser; of a proof of this site it is enough to give the path. */
export const verifyPage = (proof?: string) =>
  proof === undefined ? "/verify" : `/verify?${new URLSearchParams({ proof }).toString()}`
/** Of a claim link: shows the agent; a signed-in operator enters the pairing code. */
export const claimPage = (token: string) => `/claim/${token}`
/** Of a claim mail: shows the agent and one button, which signs in and claims. */
export const mailClaimPage = (token: string) => `/claim/mail/${token}`
/** Of a claim mail: shows one button, which blocks the address. Mail programs post to it by themselves (RFC 8058). */
export const notMinePage = (token: string) => `/claim/mail/${token}/not-mine`
/** Of a sign-in mail: shows one button, which signs in. */
export const signInPage = (token: string) => `/sign-in/${token}`
