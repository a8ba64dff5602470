// @google/generative-ai, the SDK before @google/genai: a ChatSession with the
// caller's own tool loop, unary (chat) and streaming (chat-stream).
import { GoogleGenerativeAI } from '@google/generative-ai';
import { drive, manner, maxRounds, unknownManner } from './lib.mjs';

if (!['chat', 'chat-stream'].includes(manner)) unknownManner();

await drive((c, run) => {
  const functionDeclarations = c.tools.map((t) => ({ name: t.name, description: t.description, parameters: t.parameters }));
  const model = new GoogleGenerativeAI(c.key).getGenerativeModel({ model: c.model, tools: [{ functionDeclarations }] }, { baseUrl: c.baseUrl });
  const chat = model.startChat();

  const send = async (message) => {
    if (manner === 'chat') {
      const { response } = await chat.sendMessage(message);
      return { text: response.text(), calls: response.functionCalls() ?? [] };
    }
    const { stream } = await chat.sendMessageStream(message);
    let text = '';
    const calls = [];
    for await (const chunk of stream) {
      text += chunk.text();
      calls.push(...(chunk.functionCalls() ?? []));
    }
    return { text, calls };
  };

  return async (prompt) => {
    let seen = '';
    let message = prompt;
    for (let round = 0; round < maxRounds; round++) {
      const { text, calls } = await send(message);
      seen += text;
      if (calls.length === 0) return seen;
      message = calls.map((fc) => ({ functionResponse: { name: fc.name, response: { output: run(fc.name, fc.args) } } }));
    }
    throw new Error('the tool loop does not end');
  };
});
