/** A person with a browser, as far as HTTP goes: it keeps cookies, finds forms in pages and sends them as browsers do. */
import { Effect } from "effect"
import { send } from "./requests.ts"
import type { Answer, RequestOptions } from "./requests.ts"

export interface Form {
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
  readonly button: string
}

/** Replaces `<` and the other entities of a page. */
export const unescaped = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&")

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescaped(value)
}

/** The forms of a page, with the values of their fields. */
export const formsOf = ({ text }: Answer): ReadonlyArray<Form> =>
  [...text.matchAll(/<form[^>]* method="post"[^>]*>.*?<\/form>/gs)].map(([form]) => {
    const inputs = [...form.matchAll(/<input[^>]*>/g)].map(([input]) => input)
    return {
      action: attribute(form, "action") ?? "",
      fields: Object.fromEntries(
        inputs.map((input) => [attribute(input, "name") ?? "", attribute(input, "value") ?? ""])
      ),
      button: (/<button[^>]*>(.*?)<\/button>/s.exec(form)?.[1] ?? "").trim()
    }
  })

/** The text of a page, without its markup. */
export const textOf = ({ text }: Pick<Answer, "text">): string =>
  unescaped(
    text
      .replaceAll(/<title>.*?<\/title>|<svg.*?<\/svg>|<script.*?<\/script>/gs, " ")
      .replaceAll(/<[^>]+>/g, " ")
      .replaceAll(/\s+/g, " ")
  )

/** The headers that browsers send with a form of their present page. */
export const sameOrigin = { "sec-fetch-site": "same-origin", origin: "null" }

export const makeVisitor = () => {
  const cookies = new Map<string, string>()

  const ask = Effect.fnUntraced(function* (method: string, path: string, options: RequestOptions = {}) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const answer = yield* send(method, path, {
      ...options,
      headers: { ...(cookie !== "" && { cookie }), ...options.headers }
    })
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (/max-age=0/i.test(set)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return answer
  })

  const open = (path: string) => ask("GET", path)

  const submit = (
    form: Form | undefined,
    fields: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = sameOrigin
  ) =>
    form === undefined
      ? Effect.die(new Error("the page has no such form"))
      : ask("POST", form.action, { headers, body: new URLSearchParams({ ...form.fields, ...fields }) })

  /** Sends the form that has a field, or a button of this name, on a page. */
  const fill = Effect.fnUntraced(function* (
    page: Answer,
    what: string,
    fields: Readonly<Record<string, string>> = {}
  ) {
    const form = formsOf(page).find((each) => what in each.fields || each.button.startsWith(what))
    return yield* submit(form, fields)
  })

  /** Opens the page that an answer leads to. */
  const follow = (answer: Answer) => open(new URL(answer.headers.get("location") ?? "/", "http://x").pathname)

  return { cookies, ask, open, submit, fill, follow }
}

export type Visitor = ReturnType<typeof makeVisitor>
