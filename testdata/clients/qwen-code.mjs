// Qwen Code itself: one headless process for each prompt, which sees its own
// prompt only. Its tools are its own; a conversation brings "files" for them
// instead, "settings" beside those of the tests (hooks, too), and "env". {ws} in a prompt stands for the workspace.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('node_modules/.bin/qwen', import.meta.url));
const settings = {
  security: { auth: { selectedType: 'gemini' } },
  privacy: { usageStatisticsEnabled: false },
  general: { disableAutoUpdate: true, disableUpdateNag: true },
};

async function ask(place, c, prompt) {
  const child = spawn(cli, ['--auth-type', 'gemini', '-m', c.model, '-y', '-p', prompt], {
    cwd: place.workspace,
    env: {
      PATH: process.env.PATH,
      HOME: place.home,
      TMPDIR: place.tmp,
      GEMINI_API_KEY: c.key,
      GOOGLE_GEMINI_BASE_URL: c.baseUrl,
      QWEN_CODE_SUPPRESS_YOLO_WARNING: '1',
      ...c.env,
    },
  });
  child.stdin.end();
  const out = { stdout: '', stderr: '' };
  for (const s of ['stdout', 'stderr']) child[s].setEncoding('utf8').on('data', (d) => (out[s] += d));
  const code = await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  return code === 0 ? { text: out.stdout.trim() } : { error: `exit ${code}: ${out.stderr.slice(-2000)}` };
}

async function hold(c) {
  const root = await mkdtemp(join(tmpdir(), 'qwen-code-'));
  const place = { home: join(root, 'home'), workspace: c.workspace ?? join(root, 'workspace'), tmp: join(root, 'tmp') };
  await mkdir(join(place.home, '.qwen'), { recursive: true });
  await mkdir(place.tmp);
  await writeFile(join(place.home, '.qwen', 'settings.json'), JSON.stringify({ ...settings, ...c.settings }));
  for (const [name, text] of Object.entries({ ...c.files, '.keep': '' })) {
    await mkdir(dirname(join(place.workspace, name)), { recursive: true });
    await writeFile(join(place.workspace, name), text);
  }
  const turns = [];
  for (const prompt of c.prompts) turns.push(await ask(place, c, prompt.replaceAll('{ws}', place.workspace)));
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
  return { turns, ran: [], workspace: place.workspace };
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await hold(JSON.parse(line))) + '\n');
}
