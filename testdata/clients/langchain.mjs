// LangChain's chat model: invoke and stream, with the loop of its tool calling
// guide.
import { AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';
import { drive, manner, maxRounds, unknownManner } from './lib.mjs';

if (!['invoke', 'stream'].includes(manner)) unknownManner();

const textOf = (m) => (typeof m.content === 'string' ? m.content : m.content.filter((b) => b.type === 'text').map((b) => b.text).join(''));

await drive((c, run) => {
  const model = new ChatGoogleGenerativeAI({ model: c.model, apiKey: c.key, baseUrl: c.baseUrl, maxRetries: 0, thinkingConfig: { includeThoughts: true } }).bindTools(
    c.tools.map((t) => ({ type: 'function', function: { name: t.name, description: t.description, parameters: t.parameters } })),
  );
  const messages = [];

  const next = async () => {
    if (manner === 'invoke') return model.invoke(messages);
    let whole;
    for await (const chunk of await model.stream(messages)) whole = whole === undefined ? chunk : whole.concat(chunk);
    return whole ?? new AIMessageChunk('');
  };

  return async (prompt) => {
    messages.push(new HumanMessage(prompt));
    let seen = '';
    for (let round = 0; round < maxRounds; round++) {
      const message = await next();
      messages.push(message);
      seen += textOf(message);
      if (!message.tool_calls?.length) return seen;
      for (const call of message.tool_calls) {
        messages.push(new ToolMessage({ tool_call_id: call.id, name: call.name, content: run(call.name, call.args) }));
      }
    }
    throw new Error('the tool loop does not end');
  };
});
