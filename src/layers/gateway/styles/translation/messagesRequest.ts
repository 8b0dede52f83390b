/**
 * A request for chat completions as one for messages. Members that chat completions know are translated, refused where
 * the answer would not be what was asked for, or left out where they are a hint; all others travel on.
 */
import { isAbsent, isObject, present, textOf, members } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Admitted, Target } from "../types.ts"
import { conversation } from "./messagesConversation.ts"
import { untranslatable } from "./untranslatable.ts"

/** Members of chat completions; none of them travels on as it is. */
const known = members(`
  messages model stream stream_options max_tokens max_completion_tokens n stop tools tool_choice
  parallel_tool_calls functions function_call response_format reasoning_effort user safety_identifier
  metadata service_tier temperature top_p frequency_penalty presence_penalty logit_bias logprobs
  top_logprobs seed store modalities audio prediction verbosity web_search_options prompt_cache_key
  prompt_cache_options prompt_cache_retention moderation
`)

const toolOf = (tool: Json, index: number): JsonObject => {
  const path = `tools.${index}`
  if (!isObject(tool) || tool.type !== "function" || !isObject(tool.function)) {
    return untranslatable(path, "Expected a function: the provider takes no other tool")
  }
  const { description, name, parameters, strict } = tool.function
  return present({
    name: name ?? "",
    description: isAbsent(description) ? undefined : description,
    input_schema: isObject(parameters) ? parameters : { type: "object", properties: {} },
    strict: strict === true ? true : undefined,
    cache_control: tool.cache_control
  })
}

const toolChoice = (choice: Json | undefined): JsonObject => {
  if (isAbsent(choice) || choice === "auto") return { type: "auto" }
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any" }
  if (isObject(choice) && choice.type === "function" && isObject(choice.function)) {
    return { type: "tool", name: textOf(choice.function.name) }
  }
  return untranslatable("tool_choice", "Expected auto, none, required or a function by its name")
}

const toolsOf = ({ parallel_tool_calls, tool_choice, tools }: JsonObject): JsonObject => {
  if (!Array.isArray(tools) || tools.length === 0) return {}
  const choice = toolChoice(tool_choice)
  const oneAtATime = parallel_tool_calls === false && choice.type !== "none"
  const isChosen = oneAtATime || !isAbsent(tool_choice)
  return present({
    tools: tools.map(toolOf),
    tool_choice: isChosen
      ? present({ ...choice, disable_parallel_tool_use: oneAtATime ? true : undefined })
      : undefined
  })
}

/** `output_config`: how much effort, and by which schema. */
const outputConfig = ({ output_config, reasoning_effort, response_format }: JsonObject): JsonObject => {
  const config: Record<string, Json> = isObject(output_config) ? { ...output_config } : {}
  if (typeof reasoning_effort === "string" && reasoning_effort !== "none") {
    config.effort = reasoning_effort === "minimal" ? "low" : reasoning_effort
  }
  if (isObject(response_format) && response_format.type !== "text") {
    const { json_schema } = response_format
    const schema = isObject(json_schema) ? json_schema.schema : undefined
    if (response_format.type !== "json_schema" || !isObject(schema)) {
      return untranslatable("response_format", "Expected text or a json_schema: the provider knows no other")
    }
    config.format = { type: "json_schema", schema }
  }
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

/** Chat completions go up to 2, messages up to 1. */
const temperatureOf = ({ temperature }: JsonObject): Json | undefined => {
  if (isAbsent(temperature)) return undefined
  return typeof temperature === "number" ? Math.min(temperature, 1) : temperature
}

const stopSequences = ({ stop }: JsonObject): Json | undefined => {
  if (isAbsent(stop)) return undefined
  return typeof stop === "string" ? [stop] : stop
}

const metadataOf = ({ metadata, safety_identifier, user }: JsonObject): JsonObject | undefined => {
  const given = isObject(metadata) ? metadata.user_id : undefined
  const id = [user, safety_identifier, given].find((each) => typeof each === "string")
  return id === undefined ? undefined : { user_id: id }
}

const tiers: Readonly<Record<string, string>> = { auto: "auto", default: "standard_only" }

const refuseOthers = (body: JsonObject, choices: number) => {
  if (choices > 1) untranslatable("n", "Expected 1: the provider gives one answer a call")
  if (body.logprobs === true) untranslatable("logprobs", "The provider gives no log probabilities")
  if (Array.isArray(body.modalities) && body.modalities.includes("audio")) {
    untranslatable("modalities", "The provider answers in text only")
  }
  for (const param of ["functions", "web_search_options"]) {
    if (!isAbsent(body[param])) untranslatable(param, "The provider knows nothing like it; use tools")
  }
}

export const messagesRequest = (
  { body, choices, maxTokens, stream }: Admitted,
  { maxOutputTokens, model }: Target
): JsonObject => {
  refuseOthers(body, choices)
  const travelling = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !known.has(name) && value !== undefined)
  )
  return present({
    ...travelling,
    model,
    max_tokens: maxTokens ?? maxOutputTokens,
    ...conversation(body.messages),
    ...toolsOf(body),
    ...outputConfig(body),
    thinking: body.reasoning_effort === "none" ? { type: "disabled" } : body.thinking,
    stop_sequences: stopSequences(body),
    temperature: temperatureOf(body),
    top_p: isAbsent(body.top_p) ? undefined : body.top_p,
    metadata: metadataOf(body),
    service_tier: tiers[textOf(body.service_tier)],
    stream: stream ? true : undefined
  })
}
