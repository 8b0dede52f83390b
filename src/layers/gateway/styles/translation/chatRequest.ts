/**
 * A request for messages as one for chat completions. Members that messages know are translated, refused where the
 * answer would not be what was asked for, or left out where they are a hint; all others travel on.
 */
import { isAbsent, isObject, present, textOf, members } from "../json.ts"
import type { Json, JsonObject } from "../json.ts"
import type { Admitted, Target } from "../types.ts"
import { chatMessages } from "./chatConversation.ts"
import { expectedFlag, expectedList, expectedObject, expectedText } from "./expected.ts"
import { untranslatable } from "./untranslatable.ts"

/** Members of messages; none of them travels on as it is. */
const known = members(`
  messages system model stream max_tokens n stop_sequences temperature top_p top_k tools tool_choice
  thinking output_config metadata service_tier cache_control diagnostics inference_geo speed
  context_management container mcp_servers
`)

const toolOf = (tool: Json, index: number): JsonObject => {
  if (!isObject(tool) || (!isAbsent(tool.type) && tool.type !== "custom")) {
    return untranslatable(
      `tools.${index}`,
      "Expected a tool with an input_schema: the provider has none of its own"
    )
  }
  const { description, input_schema, name, strict } = tool
  return {
    type: "function",
    function: present({
      name: name ?? "",
      description: isAbsent(description) ? undefined : description,
      parameters: input_schema ?? { type: "object", properties: {} },
      strict: strict === true ? true : undefined
    })
  }
}

const choiceExpected = "Expected the type auto, any, tool or none"

const toolChoice = (choice: JsonObject): Json => {
  switch (choice.type) {
    case "auto":
    case "none":
      return choice.type
    case "any":
      return "required"
    case "tool":
      return { type: "function", function: { name: textOf(choice.name) } }
    default:
      return untranslatable("tool_choice", choiceExpected)
  }
}

const toolsOf = (body: JsonObject): JsonObject => {
  const tools = expectedList(body.tools, "tools", "Expected a list of tools")
  const choice = expectedObject(body.tool_choice, "tool_choice", choiceExpected)
  if (tools.length === 0) return {}
  const path = "tool_choice.disable_parallel_tool_use"
  const isOneAtATime = expectedFlag(choice?.disable_parallel_tool_use, path) === true
  return present({
    tools: tools.map(toolOf),
    tool_choice: choice === undefined ? undefined : toolChoice(choice),
    parallel_tool_calls: isOneAtATime ? false : undefined
  })
}

const effortOfBudget = (budget: Json | undefined): string => {
  if (isAbsent(budget)) return "high"
  if (typeof budget !== "number") return untranslatable("thinking.budget_tokens", "Expected a number")
  if (budget >= 8192) return "high"
  return budget >= 2048 ? "medium" : "low"
}

const thinkingExpected = "Expected the type enabled, disabled, adaptive or between_tools"

const effortOfThinking = (body: JsonObject): string | undefined => {
  const thinking = expectedObject(body.thinking, "thinking", thinkingExpected)
  switch (thinking?.type) {
    case "enabled":
      return effortOfBudget(thinking.budget_tokens)
    // how much is the provider's to decide
    case "adaptive":
    case "between_tools":
    case "disabled":
      return undefined
    default:
      return thinking === undefined ? undefined : untranslatable("thinking", thinkingExpected)
  }
}

const outputConfig = ({ output_config }: JsonObject): JsonObject =>
  expectedObject(output_config, "output_config", "Expected an object") ?? {}

/** Effort that was asked for by its name, or else by a budget of thinking. */
const reasoningEffort = (body: JsonObject): string | undefined => {
  const ofThinking = effortOfThinking(body)
  const { effort } = outputConfig(body)
  if (isAbsent(effort)) return ofThinking
  return effort === "max" ? "xhigh" : expectedText(effort, "output_config.effort")
}

const responseFormat = (body: JsonObject): JsonObject | undefined => {
  const path = "output_config.format"
  const format = expectedObject(outputConfig(body).format, path, "Expected a json_schema")
  if (format === undefined) return undefined
  const { schema, type } = format
  if (type !== "json_schema" || !isObject(schema)) return untranslatable(path, "Expected a json_schema")
  return { type: "json_schema", json_schema: { name: "answer", schema, strict: true } }
}

export const chatRequest = ({ body, maxTokens, stream }: Admitted, { model }: Target): JsonObject => {
  for (const param of ["container", "mcp_servers"]) {
    if (!isAbsent(body[param])) untranslatable(param, "The provider knows nothing like it")
  }
  // One answer is reserved for: messages know no more of them.
  if (!isAbsent(body.n) && body.n !== 1) untranslatable("n", "Expected 1: messages give one answer a call")
  const travelling = Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !known.has(name) && value !== undefined)
  )
  const { metadata, stop_sequences, temperature, top_p } = body
  const user = isObject(metadata) && typeof metadata.user_id === "string" ? metadata.user_id : undefined
  return present({
    ...travelling,
    model,
    messages: chatMessages(body),
    max_completion_tokens: maxTokens,
    ...toolsOf(body),
    stop: isAbsent(stop_sequences) ? undefined : stop_sequences,
    temperature: isAbsent(temperature) ? undefined : temperature,
    top_p: isAbsent(top_p) ? undefined : top_p,
    reasoning_effort: reasoningEffort(body),
    response_format: responseFormat(body),
    user,
    stream: stream ? true : undefined,
    stream_options: stream ? { include_usage: true } : undefined
  })
}
