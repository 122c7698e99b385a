// An editor in miniature, made of the public SDK of the Agent Client Protocol, which holds
// every message to the protocol's schema. It starts the agent named by its arguments, sends
// two prompts in this folder, allows what it is asked, and prints what it was told.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const told = { updates: [], asked: [], stops: [] };

const editor = client({ name: "editor in miniature" })
  .onNotification(methods.client.session.update, ({ params }) => void told.updates.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    told.asked.push(params);
    const { optionId } = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  });

await editor.connectWith(stream, async (context) => {
  told.agent = await context.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  told.session = await context.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
  const { sessionId } = told.session;
  for (const text of ["look around", "and again"]) {
    const prompt = [{ type: "text", text }];
    told.stops.push((await context.request(methods.agent.session.prompt, { sessionId, prompt })).stopReason);
  }
  told.listed = await context.request(methods.agent.session.list, { cwd: process.cwd() });
  await context.request(methods.agent.session.close, { sessionId });
});
console.log(JSON.stringify(told));
agent.stdin.end();
