import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';

/** A language server, which shows what an author sees in an editor. */
const server = spawn(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--lsp', '--stdio'], {
	cwd: root,
	stdio: ['pipe', 'pipe', 'ignore'],
});

const header = /Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n/i;
const answer = v.object({ id: v.number(), result: v.unknown() });
const request = v.object({ id: v.union([v.number(), v.string()]), method: v.string() });
const shown = v.object({ contents: v.object({ value: v.string() }) });
const waiting = new Map<number, (result: unknown) => void>();
let bytes = Buffer.alloc(0);
let asked = 0;

function send(message: object): void {
	const text = JSON.stringify({ jsonrpc: '2.0', ...message });
	server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

function ask(method: string, params: object): Promise<unknown> {
	asked += 1;
	send({ id: asked, method, params });
	return new Promise((resolve) => waiting.set(asked, resolve));
}

function receive(message: unknown): void {
	// The server asks for settings, and the test has no settings.
	if (v.is(request, message)) send({ id: message.id, result: null });
	else if (v.is(answer, message)) waiting.get(message.id)?.(message.result);
}

server.stdout.on('data', (more: Buffer) => {
	bytes = Buffer.concat([bytes, more]);
	for (let found = header.exec(bytes.toString('latin1')); found; found = header.exec(bytes.toString('latin1'))) {
		const begin = found.index + found[0].length;
		const end = begin + Number(found[1]);
		if (bytes.length < end) return;
		receive(JSON.parse(bytes.toString('utf8', begin, end)));
		bytes = bytes.subarray(end);
	}
});

beforeAll(async () => {
	const capabilities = { textDocument: { hover: { contentFormat: ['plaintext'] } } };
	await ask('initialize', { processId: process.pid, rootUri: pathToFileURL(root).href, capabilities });
	send({ method: 'initialized', params: {} });
});

afterAll(async () => {
	server.kill();
	await once(server, 'exit');
});

/** Returns what an editor shows for the first occurrence of a text in a file. */
async function hover(file: string, place: string): Promise<string> {
	const text = readFileSync(join(root, file), 'utf8');
	const uri = pathToFileURL(join(root, file)).href;
	send({
		method: 'textDocument/didOpen',
		params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
	});
	const before = text.slice(0, text.indexOf(place)).split('\n');
	const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
	return v.parse(shown, await ask('textDocument/hover', { textDocument: { uri }, position })).contents.value;
}

test.each([
	[
		'src/worker.ts',
		'createRunlet({',
		'(alias) function createRunlet(options: RunletOptions): Runlet',
		'Creates a Runlet',
	],
	[
		'src/agents/support.ts',
		'defineAgent({',
		'(alias) function defineAgent(agent: AgentDefinition): Agent',
		'Defines an',
	],
	['src/agents/triage.ts', 'fn: (issue', '(property) fn: (issue: number, title: string) => string', ''],
	['src/agents/triage.ts', 'payload })', '(parameter) payload: Readonly<Record<string, unknown>>', 'The payload'],
	['src/agents/assistant.ts', 'basic()', 'function basic(context?: InvokeContext): toolbox.Toolbox', 'The tools that'],
])('in %s, an editor shows the type of %s on one line, with its description', async (file, place, type, promise) => {
	const beginning = `${type}${promise}`;
	expect((await hover(file, place)).slice(0, beginning.length)).toBe(beginning);
});
