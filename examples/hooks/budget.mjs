// Denies tool calls once a session has had its share. A persistent hook: one line
// of JSON in, one line out, and what it counts lives as long as the process.
import { createInterface } from 'node:readline';

const budget = Number(process.argv[2] ?? 50);
const used = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const { session_id: session } = JSON.parse(line);
  const n = (used.get(session) ?? 0) + 1;
  used.set(session, n);
  const answer = n <= budget ? {} : { decision: 'deny', reason: `${budget} tool calls are enough: answer with what you have` };
  console.log(JSON.stringify(answer));
}
