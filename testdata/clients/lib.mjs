// What all drivers share. A driver gets one conversation a line on stdin:
//   {"baseUrl", "key", "model", "prompts": [...], "tools": [{"name", "description", "parameters", "result"}]}
// and prints one line for each: {"turns": [{"text"} or {"error"}], "ran": [{"name", "args"}]}.
// A conversation is held the way the SDK's own documentation shows it; the SDK
// is as published, only its base URL is set.
import { createInterface } from 'node:readline';

export const manner = process.argv[2] ?? '';

// drive runs one conversation after the other. open(conversation, run) makes a
// function that takes a prompt to the text that the user sees; run(name, args)
// executes a tool.
export async function drive(open) {
  for await (const line of createInterface({ input: process.stdin })) {
    const conversation = JSON.parse(line);
    const ran = [];
    const results = new Map(conversation.tools.map((t) => [t.name, t.result]));
    const run = (name, args) => {
      ran.push({ name, args: args ?? {} });
      if (!results.has(name)) throw new Error(`no such tool: ${name}`);
      return results.get(name);
    };
    const turns = [];
    try {
      const send = await open(conversation, run);
      for (const prompt of conversation.prompts) {
        try {
          turns.push({ text: await send(prompt) });
        } catch (e) {
          turns.push({ error: String(e?.message ?? e) });
        }
      }
    } catch (e) {
      turns.push({ error: 'open: ' + String(e?.stack ?? e) });
    }
    process.stdout.write(JSON.stringify({ turns, ran }) + '\n');
  }
}

// A tool loop that goes on for ever is an error, too.
export const maxRounds = 12;

export function unknownManner() {
  throw new Error(`unknown manner ${JSON.stringify(manner)}`);
}
