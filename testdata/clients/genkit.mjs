// Genkit with its Google plugin: generate and generateStream, with Genkit's own
// tool loop; the history is handed on as messages.
import { googleAI } from '@genkit-ai/google-genai';
import { genkit } from 'genkit';
import { logger } from 'genkit/logging';
import { drive, manner, maxRounds, unknownManner } from './lib.mjs';

if (!['generate', 'stream'].includes(manner)) unknownManner();
logger.setLogLevel('error');

await drive((c, run) => {
  const ai = genkit({ plugins: [googleAI({ apiKey: c.key, baseUrl: c.baseUrl })] });
  const tools = c.tools.map((t) =>
    ai.defineTool({ name: t.name, description: t.description, inputJsonSchema: t.parameters }, async (args) => run(t.name, args)),
  );
  let messages = [];
  return async (prompt) => {
    const options = { model: googleAI.model(c.model), messages, prompt, tools, maxTurns: maxRounds, config: { thinkingConfig: { includeThoughts: true } } };
    if (manner === 'generate') {
      const r = await ai.generate(options);
      const seen = r.messages.slice(messages.length).filter((m) => m.role === 'model');
      messages = r.messages;
      return seen.flatMap((m) => m.content).map((p) => p.text ?? '').join('');
    }
    const { stream, response } = ai.generateStream(options);
    let seen = '';
    for await (const chunk of stream) if (chunk.role === 'model') seen += chunk.text;
    messages = (await response).messages;
    return seen;
  };
});
