// The AI SDK with its Google provider: generateText (generate) and streamText
// (stream), both with the SDK's own tool loop.
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { drive, manner, maxRounds, unknownManner } from './lib.mjs';

if (!['generate', 'stream'].includes(manner)) unknownManner();
globalThis.AI_SDK_LOG_WARNINGS = false;

await drive((c, run) => {
  const google = createGoogleGenerativeAI({ apiKey: c.key, baseURL: c.baseUrl + '/v1beta' });
  const tools = Object.fromEntries(
    c.tools.map((t) => [t.name, tool({ description: t.description, inputSchema: jsonSchema(t.parameters), execute: async (args) => run(t.name, args) })]),
  );
  const messages = [];
  return async (prompt) => {
    messages.push({ role: 'user', content: prompt });
    const options = { model: google(c.model), messages, tools, stopWhen: stepCountIs(maxRounds), maxRetries: 0, providerOptions: { google: { thinkingConfig: { includeThoughts: true } } } };
    if (manner === 'generate') {
      const r = await generateText(options);
      messages.push(...r.response.messages);
      return r.steps.map((s) => s.text).join('');
    }
    let failed;
    const r = streamText({ ...options, onError: ({ error }) => (failed = error) });
    let seen = '';
    for await (const text of r.textStream) seen += text;
    if (failed) throw failed;
    messages.push(...(await r.response).messages);
    return seen;
  };
});
