// @google/genai: chats with the caller's own tool loop (chat, chat-stream) and
// with automatic function calling (afc, afc-stream).
import { GoogleGenAI } from '@google/genai';
import { drive, manner, maxRounds, unknownManner } from './lib.mjs';

const streamed = manner.endsWith('-stream');
const automatic = manner.startsWith('afc');
if (!['chat', 'chat-stream', 'afc', 'afc-stream'].includes(manner)) unknownManner();

await drive((c, run) => {
  const ai = new GoogleGenAI({ apiKey: c.key, httpOptions: { baseUrl: c.baseUrl } });
  const functionDeclarations = c.tools.map((t) => ({ name: t.name, description: t.description, parametersJsonSchema: t.parameters }));
  const answer = (fc) => ({ functionResponse: { id: fc.id, name: fc.name, response: { output: run(fc.name, fc.args) } } });
  const callable = {
    tool: async () => ({ functionDeclarations }),
    callTool: async (calls) => calls.map(answer),
  };
  const chat = ai.chats.create({ model: c.model, config: { tools: [automatic ? callable : { functionDeclarations }], thinkingConfig: { includeThoughts: true } } });

  const send = async (message) => {
    if (!streamed) {
      const r = await chat.sendMessage({ message });
      return { text: r.text ?? '', calls: r.functionCalls ?? [] };
    }
    let text = '';
    const calls = [];
    for await (const chunk of await chat.sendMessageStream({ message })) {
      text += (chunk.candidates?.[0]?.content?.parts ?? []).filter((p) => p.text && !p.thought).map((p) => p.text).join('');
      calls.push(...(chunk.functionCalls ?? []));
    }
    return { text, calls };
  };

  return async (prompt) => {
    let seen = '';
    let message = prompt;
    for (let round = 0; round < maxRounds; round++) {
      const { text, calls } = await send(message);
      seen += text;
      if (automatic || calls.length === 0) return seen;
      message = calls.map(answer);
    }
    throw new Error('the tool loop does not end');
  };
});
