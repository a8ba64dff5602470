// Gemini CLI itself: one process with a conversation over its agent client
// protocol (acp), or one headless process for each prompt (headless), which
// sees its own prompt only. Its tools are its own; a conversation brings
// "files" for them instead, "settings" beside those of the tests, and "env".
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { manner, unknownManner } from './lib.mjs';

if (!['acp', 'headless'].includes(manner)) unknownManner();
const cli = fileURLToPath(new URL('node_modules/.bin/gemini', import.meta.url));

const settings = {
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
};

// start runs the CLI in a home and a workspace of its own.
function start(place, c, args) {
  return spawn(cli, ['-y', '-m', c.model, ...args], {
    cwd: place.workspace,
    env: {
      PATH: process.env.PATH,
      HOME: place.home,
      TMPDIR: place.tmp,
      GEMINI_API_KEY: c.key,
      GOOGLE_GEMINI_BASE_URL: c.baseUrl,
      GEMINI_CLI_NO_RELAUNCH: 'true',
      ...c.env,
    },
  });
}

// finished collects what a process writes until it ends.
async function finished(child) {
  const out = { stdout: '', stderr: '' };
  for (const s of ['stdout', 'stderr']) child[s].setEncoding('utf8').on('data', (d) => (out[s] += d));
  out.code = await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject));
  return out;
}

async function headless(place, c) {
  const turns = [];
  for (const prompt of c.prompts) {
    const child = start(place, c, ['-p', prompt]);
    child.stdin.end();
    const { stdout, stderr, code } = await finished(child);
    turns.push(code === 0 ? { text: stdout.trim() } : { error: `exit ${code}: ${stderr.slice(-2000)}` });
  }
  return turns;
}

// acp speaks JSON-RPC, a message a line.
async function acp(place, c) {
  const child = start(place, c, ['--acp']);
  const done = finished(child);
  const waiting = new Map();
  let id = 0;
  let said = '';
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++id, { resolve, reject });
      child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
    });
  createInterface({ input: child.stdout }).on('line', (line) => {
    let m;
    try {
      m = JSON.parse(line);
    } catch {
      return; // the CLI also logs to stdout
    }
    if (m.method === 'session/update' && m.params.update.sessionUpdate === 'agent_message_chunk') said += m.params.update.content.text ?? '';
    const w = m.method === undefined && waiting.get(m.id);
    if (!w) return;
    waiting.delete(m.id);
    if (m.error) w.reject(new Error(JSON.stringify(m.error)));
    else w.resolve(m.result);
  });
  done.then(({ code, stderr }) => {
    for (const w of waiting.values()) w.reject(new Error(`the CLI ended with ${code}: ${stderr.slice(-2000)}`));
  });

  const turns = [];
  try {
    await call('initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } } });
    const { sessionId } = await call('session/new', { cwd: place.workspace, mcpServers: [] });
    for (const text of c.prompts) {
      said = '';
      try {
        await call('session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
        turns.push({ text: said });
      } catch (e) {
        turns.push({ text: said, error: String(e.message) });
      }
    }
  } catch (e) {
    turns.push({ error: 'open: ' + String(e.message) });
  }
  child.stdin.end();
  child.kill();
  await done;
  return turns;
}

async function hold(c) {
  const root = await mkdtemp(join(tmpdir(), 'gemini-cli-'));
  const place = { home: join(root, 'home'), workspace: c.workspace ?? join(root, 'workspace'), tmp: join(root, 'tmp') };
  await mkdir(join(place.home, '.gemini'), { recursive: true });
  await mkdir(place.tmp);
  await writeFile(join(place.home, '.gemini', 'settings.json'), JSON.stringify({ ...settings, ...c.settings }));
  for (const [name, text] of Object.entries({ ...c.files, '.keep': '' })) {
    await mkdir(dirname(join(place.workspace, name)), { recursive: true });
    await writeFile(join(place.workspace, name), text);
  }
  const turns = await (manner === 'acp' ? acp : headless)(place, c);
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
  return { turns, ran: [], workspace: place.workspace };
}

// The CLI waits more than it works: a few run at a time. Outcomes are printed in
// the order of the conversations.
const atOnce = 3;
const running = [];
for await (const line of createInterface({ input: process.stdin })) {
  if (running.length >= atOnce) await running[running.length - atOnce];
  running.push(hold(JSON.parse(line)));
}
for (const r of running) process.stdout.write(JSON.stringify(await r) + '\n');
