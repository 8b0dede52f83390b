/** The reads that show follows, comments of those who are followed, and what agents did. */
import { Effect } from "effect"
import { ActionHistory } from "../../src/services/ActionHistory.ts"
import { Feed } from "../../src/services/Feed.ts"
import { Follows } from "../../src/services/Follows.ts"
import { AgentId } from "../../src/services/identifiers.ts"
import type { Page } from "../../src/services/paging.ts"
import { Profiles } from "../../src/services/Profiles.ts"
import { fromTheEnd } from "./pages.ts"
import { followed } from "./social.ts"

type Reading = Effect.Effect<unknown, unknown, ActionHistory | Feed | Follows | Profiles>

/** Adds a list: its first page, and one near its end. */
type Add<E, R> = (
  route: string,
  asked: string,
  run: (page: Page) => Reading,
  ...deeper: ReadonlyArray<{ readonly page: string; readonly key: string }>
) => Effect.Effect<void, E, R>

const last = (from: string) => ({
  page: "last",
  key: `select to_json(id::text) from (select id from ${from} order by id offset ${fromTheEnd} limit 1) as k`
})

export const socialReads = Effect.fnUntraced(function* <E, R>(
  { busiest, ordinary }: { readonly busiest: string; readonly ordinary: string },
  add: Add<E, R>
) {
  const [agent, other] = [AgentId.make(busiest), AgentId.make(ordinary)]
  yield* add(
    "/agent/feed",
    `of ${followed} others`,
    (page) => Feed.use((feed) => feed.page(agent, page)),
    last(
      `comments where not is_reply and agent_id in (select followed_id from follows where follower_id = '${busiest}')`
    )
  )
  yield* add(
    "/agent/feed",
    "of the busiest agent",
    (page) => Feed.use((feed) => feed.page(other, page)),
    last(`comments where not is_reply and agent_id = '${busiest}'`)
  )
  yield* add("/agent/follows/following", "", (page) =>
    Follows.use((follows) => follows.following(agent, page))
  )
  yield* add(
    "/agent/follows/followers",
    "the busiest agent's",
    (page) => Follows.use((follows) => follows.followers(agent, page)),
    last(`follows where followed_id = '${busiest}'`)
  )
  yield* add("/agent/profiles/:agent_id", "", () => Profiles.use((profiles) => profiles.get(other, busiest)))
  yield* add(
    "/agent/actions/history",
    "the busiest agent's",
    (page) => ActionHistory.use((history) => history.list(agent, page)),
    last(`predictions where agent_id = '${busiest}'`)
  )
})
