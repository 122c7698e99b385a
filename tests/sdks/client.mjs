// The vendors' own clients, as an agent that this daemon starts: it reaches its model
// where it is told to, with the token it is given, and writes down what it got. Run under
// the name of an agent CLI by tests/models_sdks.rs.

import { createRequire } from "node:module";
import { writeFileSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { modules, output } = JSON.parse(readFileSync(process.env.SDK_TEST, "utf8"));
const require = createRequire(modules + "/");
const load = async (name) => import(pathToFileURL(require.resolve(name)));

const tool = {
  name: "weather",
  description: "tells the weather",
  schema: { type: "object", properties: { city: { type: "string" } } },
};

const caught = async (work) => {
  try {
    await work();
    return "nothing was thrown";
  } catch (error) {
    return `${error.status ?? error.code} ${error.message}`;
  }
};

async function anthropic() {
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const client = new Anthropic({
    baseURL: process.env.ANTHROPIC_BASE_URL,
    authToken: process.env.ANTHROPIC_AUTH_TOKEN,
    apiKey: null,
    maxRetries: 0,
  });
  const tools = [{ name: tool.name, description: tool.description, input_schema: tool.schema }];
  const ask = (content) => ({
    model: "claude-sonnet-4-5", max_tokens: 100, tools, messages: [{ role: "user", content }],
  });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1n" } };
  const stream = client.messages.stream(ask([{ type: "text", text: "look" }, image]));
  const pieces = [];
  stream.on("text", (text) => pieces.push(text));
  const first = await stream.finalMessage();
  const second = await client.messages.stream(ask("call")).finalMessage();
  const call = second.content.find((block) => block.type === "tool_use");
  return {
    text: pieces.join(""), pieces: pieces.length, stop: first.stop_reason,
    output: first.usage.output_tokens, tool: call.name, arguments: call.input,
    error: await caught(() => client.messages.stream(ask("fail")).finalMessage()),
    counted: (await client.messages.countTokens({ model: "m", messages: [{ role: "user", content: "x" }] })).input_tokens,
  };
}

async function openai() {
  const { default: OpenAI } = await load("openai");
  const provider = process.argv.find((word) => word.startsWith("model_providers.mission="));
  const baseURL = provider.match(/base_url="([^"]*)"/)[1];
  const client = new OpenAI({ baseURL, apiKey: process.env.MISSION_MODEL_TOKEN, maxRetries: 0 });
  const tools = [{ type: "function", name: tool.name, parameters: tool.schema, strict: false }];
  const ask = (content) => ({
    model: "gpt-5.5", stream: true, tools, input: [{ role: "user", content }],
  });
  const image = { type: "input_image", image_url: "data:image/png;base64,aW1n", detail: "auto" };
  const pieces = [];
  let last;
  for await (const event of await client.responses.create(ask([{ type: "input_text", text: "look" }, image]))) {
    if (event.type === "response.output_text.delta") pieces.push(event.delta);
    if (event.type === "response.completed") last = event.response;
  }
  let call;
  for await (const event of await client.responses.create(ask("call"))) {
    if (event.type === "response.output_item.done" && event.item.type === "function_call") call = event.item;
  }
  return {
    text: pieces.join(""), pieces: pieces.length, stop: last.status,
    output: last.usage.output_tokens, tool: call.name, arguments: JSON.parse(call.arguments),
    error: await caught(async () => {
      for await (const event of await client.responses.create(ask("fail"))) void event;
    }),
  };
}

async function gemini() {
  const { GoogleGenAI } = await load("@google/genai");
  const client = new GoogleGenAI({
    apiKey: process.env.GEMINI_API_KEY,
    httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL },
  });
  const config = {
    tools: [{ functionDeclarations: [{ name: tool.name, parametersJsonSchema: tool.schema }] }],
  };
  const ask = (parts) => client.models.generateContentStream({
    model: "gemini-2.5-flash", contents: [{ role: "user", parts }], config,
  });
  const image = { inlineData: { mimeType: "image/png", data: "aW1n" } };
  const pieces = [];
  let last;
  for await (const chunk of await ask([{ text: "look" }, image])) {
    if (chunk.text) pieces.push(chunk.text);
    last = chunk;
  }
  let call;
  for await (const chunk of await ask([{ text: "call" }])) call ??= chunk.functionCalls?.[0];
  return {
    text: pieces.join(""), pieces: pieces.length, stop: last.candidates[0].finishReason,
    output: last.usageMetadata.candidatesTokenCount, tool: call.name, arguments: call.args,
    error: await caught(async () => {
      for await (const chunk of await ask([{ text: "fail" }])) void chunk;
    }),
  };
}

const clients = { anthropic, openai, gemini };
const which = process.env.ANTHROPIC_BASE_URL ? "anthropic" : process.env.GEMINI_API_KEY ? "gemini" : "openai";
let result;
try {
  result = await clients[which]();
} catch (error) {
  result = { crashed: String(error?.stack ?? error) };
}
writeFileSync(output, JSON.stringify(result));
