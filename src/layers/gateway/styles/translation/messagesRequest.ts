/**
 * A request for chat completions as one for messages. Members that chat completions know are translated, refused where
 * the answer would not be what was asked for, or left out where they are a hint; all others travel on.
 */
import { isAbsent, isObject, present, textOf, members } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Admitted, Target } from "../types.ts"
import { expectedFlag, expectedList, expectedObject, expectedText } from "./expected.ts"
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
    input_schema: expectedObject(parameters, `${path}.function.parameters`, "Expected a JSON schema") ?? {
      type: "object",
      properties: {}
    },
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

const toolsOf = (body: JsonObject): JsonObject => {
  const { parallel_tool_calls, tool_choice } = body
  const tools = expectedList(body.tools, "tools", "Expected a list of tools")
  const choice = toolChoice(tool_choice)
  if (tools.length === 0) return {}
  const isParallel = expectedFlag(parallel_tool_calls, "parallel_tool_calls") ?? true
  const oneAtATime = !isParallel && choice.type !== "none"
  const isChosen = oneAtATime || !isAbsent(tool_choice)
  return present({
    tools: tools.map(toolOf),
    tool_choice: isChosen
      ? present({ ...choice, disable_parallel_tool_use: oneAtATime ? true : undefined })
      : undefined
  })
}

const effortOf = ({ reasoning_effort }: JsonObject): string | undefined => {
  if (isAbsent(reasoning_effort) || reasoning_effort === "none") return undefined
  return reasoning_effort === "minimal" ? "low" : expectedText(reasoning_effort, "reasoning_effort")
}

const formatExpected = "Expected text or a json_schema: the provider knows no other"

const formatOf = ({ response_format }: JsonObject): JsonObject | undefined => {
  const format = expectedObject(response_format, "response_format", formatExpected)
  if (format === undefined || format.type === "text") return undefined
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined
  if (format.type !== "json_schema" || !isObject(schema)) {
    return untranslatable("response_format", formatExpected)
  }
  return { type: "json_schema", schema }
}

/** `output_config`: how much effort, and by which schema. */
const outputConfig = (body: JsonObject): JsonObject => {
  const asked = present({ effort: effortOf(body), format: formatOf(body) })
  if (Object.keys(asked).length === 0) return {}
  const given = expectedObject(body.output_config, "output_config", "Expected an object")
  return { output_config: { ...given, ...asked } }
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
  if (!isAbsent(body.logprobs) && body.logprobs !== false) {
    untranslatable("logprobs", "The provider gives no log probabilities")
  }
  if (expectedList(body.modalities, "modalities", "Expected a list").includes("audio")) {
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
