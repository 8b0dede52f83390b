/** The public bank, and its events as agents get them: with drawn numbers. */
import { readFileSync } from "node:fs"
import { Result } from "effect"
import { parseBank, publicBank } from "../../src/layers/registration/bank.ts"
import type { RegistrationEvent } from "../../src/scoring/registration.ts"
import { drawEvent, eventOfSlug, usualEvent } from "../../src/scoring/registration/template.ts"
import type { EventTemplate } from "../../src/scoring/registration/template.ts"

export const templates = Result.getOrThrow(parseBank(readFileSync(publicBank, "utf8")))

/** Every event with the numbers that it had before any were drawn. */
export const bank = templates.map(usualEvent)

export const inUse = templates.filter(({ retired }) => retired !== true)

/** Whole numbers in an order that the seed determines (mulberry32). */
export const seeded = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A draw of the event; the same for the same seed. */
export const drawn = (template: EventTemplate, seed = 1): RegistrationEvent => {
  const event = drawEvent(template, seeded(seed))
  if (event === undefined) throw new Error(`${template.slug} has no draw`)
  return event
}

const bySlug = new Map(templates.map((template) => [template.slug, template]))

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/** The numbers of a prompt that was made of this template, as its slug has them: "430.0" is 430 there. */
const numbersOf = (template: EventTemplate, prompt: string): string | undefined => {
  const names: Array<string> = []
  const pattern = template.prompt
    .split(/(\{\w+\})/)
    .map((part) => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1]
      if (name === undefined) return escaped(part)
      names.push(name)
      return "([\\d .]+?)"
    })
    .join("")
  const found = new RegExp(`^${pattern}\n`).exec(prompt)
  return found === null
    ? undefined
    : names.map((name, index) => `${name}=${Number((found[index + 1] ?? "").replaceAll(" ", ""))}`).join("&")
}

/** The event of a prompt. */
export const eventOfPrompt = (prompt: string): RegistrationEvent => {
  for (const template of templates) {
    if (usualEvent(template).prompt === prompt) return usualEvent(template)
    const numbers = numbersOf(template, prompt)
    const event = numbers === undefined ? undefined : eventOfSlug(bySlug, `${template.slug}?${numbers}`)
    if (event !== undefined) return event
  }
  throw new Error(`no event of the bank has this prompt: ${prompt.slice(0, 80)}`)
}
