/**
 * The part `page` of `npm run bench`: opens the page in headless Chromium (CHROMIUM, its path) and measures the tasks of
 * its main thread. A task is one turn of the event loop. No animation runs meanwhile.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { CDPSession, Page } from 'playwright-core';
import * as v from 'valibot';
import { rights } from '../../src/cloudflare/auth/rights.ts';
import { startBrowser } from '../../test/page/browser.ts';
import { startSite } from '../../test/page/site.ts';
import { buildPage } from '../page.ts';
import { root } from '../root.ts';
import { type Bar, toBarTable } from './table.ts';

const deltaCount = 10_000;
const messageCounts = [2_000, 10_000];
/** How often a stored answer of 5 MB repeats the pieces of the kind `mixed`. */
const largeCount = 270_000;

/** Pieces of answers, one piece for each delta: an answer with all kinds of Markdown, and answers of one long block. */
const answers: Readonly<Record<string, { readonly head?: string; readonly pieces: readonly string[] }>> = {
	mixed: {
		pieces: [
			...['Some **bold** text ', 'with `code` and more words, ', 'which go on. ', '\n\n', '- one\n', '- two\n\n'],
			...[
				'| a | b |\n|---|---|\n',
				'| 1 | 2 |\n\n',
				'```js\nconst a = 1;\n',
				'call(a);\n```\n\n',
				'Plain words ',
				'go on. ',
			],
		],
	},
	list: { pieces: ['- an item with **bold** ', 'words and `code`\n'] },
	table: { head: '| a | b |\n|---|---|\n', pieces: ['| some **bold** ', '| words |\n'] },
	code: { head: '```js\n', pieces: ['const one = ', 'call(1);\n'] },
	paragraph: { pieces: ['Plain words, ', 'some **bold**, and `code` '] },
};

/** The session `stored_KIND` has an answer of that kind in its history, and the session `large` one of 5 MB. */
const stored = 'stored_';

const session = {
	id: 'long',
	agent: 'assistant',
	status: 'completed',
	run: { id: 'newest', status: 'completed' },
	budget: { spent: { tokens: 0, usd: 0 }, limit: {} },
};
const agent = {
	name: 'assistant',
	description: 'Answers.',
	model: 'demo',
	models: [],
	tools: [],
	skills: [],
	examples: [],
};
/** Everything is allowed, as on a laptop. */
const me = { kind: 'local', name: 'local', role: 'admin', owner: 'local', rights: Object.keys(rights) };
const usage = { inputTokens: 3, outputTokens: 2 };

function* listEvents(kind: string): Generator<object> {
	const { head = '', pieces = [] } = answers[kind] ?? {};
	yield { type: 'run.started', runId: 'newest', attempt: 1 };
	yield { type: 'text', text: `A ${kind}:\n\n${head}` };
	for (let at = 0; at < deltaCount; at += 1) yield { type: 'text', text: pieces[at % pieces.length] };
	yield { type: 'stop', reason: 'end_turn' };
	yield { type: 'done', text: '', usage };
}

const createHistory = (count: number) =>
	Array.from({ length: count }, (_, at) => {
		const about = { id: String((at + 1) * 65_536), runId: `run-${at >> 1}`, createdAt: '2026-11-23T00:00:00.000Z' };
		if (at % 2 === 0) return { ...about, role: 'user', isInput: true, content: `What is question ${at}?` };
		const content = `Answer **${at}**:\n\n- one\n- two \`x\`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`js\nconst a = ${at};\n\`\`\`\n\nThe end.`;
		return { ...about, role: 'assistant', content };
	});

const histories = new Map(messageCounts.map((count) => [`long${count}`, createHistory(count)]));

/** Returns an answer of one kind as stored messages. */
function toStored(kind: string, count = deltaCount): object[] {
	const history = createHistory(2);
	const { head = '', pieces = [] } = answers[kind] ?? {};
	const text = Array.from({ length: count }, (_, at) => pieces[at % pieces.length]).join('');
	const content = `A ${kind}:\n\n${head}${text}\n\nThe end.`;
	return [
		{ ...history[0], content: `What is a ${kind}?` },
		{ ...history[1], content },
	];
}

/** Answers like the API, at full speed, because all events and messages are ready. */
function answer(path: string, query: URLSearchParams, response: ServerResponse): void {
	const [, id = '', rest = ''] = /^\/v1\/sessions\/(\w+)\/?(\w*)/.exec(path) ?? [];
	if (rest !== 'events') {
		response.writeHead(200, { 'content-type': 'application/json' });
		response.end(JSON.stringify(toBody(path, id, rest, query)));
	} else if (!(id in answers)) response.writeHead(204).end();
	else {
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		let at = 0;
		for (const event of listEvents(id)) response.write(`id: 1.${at++}\ndata: ${JSON.stringify(event)}\n\n`);
		response.end();
	}
}

function toBody(path: string, id: string, rest: string, query: URLSearchParams): object {
	if (path === '/v1/me') return me;
	if (path === '/v1/agents') return { agents: [agent] };
	if (path === '/v1/approvals') return { approvals: [] };
	if (id === '') return { sessions: [] };
	if (rest === 'messages') return toPage(findHistory(id), query);
	// Only the events of a run that goes on are followed.
	const run = id in answers ? { run: { id: 'newest', status: 'running' }, status: 'running' } : {};
	return { ...session, ...run, id, lists: [], files: [] };
}

function findHistory(id: string): readonly object[] {
	if (id.startsWith(stored)) return toStored(id.slice(stored.length));
	return id === 'large' ? toStored('mixed', largeCount) : (histories.get(id) ?? []);
}

/** Returns a page of messages, the newest first. */
function toPage(messages: readonly object[], query: URLSearchParams): object {
	const to = Number(query.get('cursor') ?? messages.length);
	const from = Math.max(0, to - Number(query.get('limit') ?? 100));
	return { messages: messages.slice(from, to).reverse(), cursor: from > 0 ? String(from) : undefined };
}

async function startApi() {
	const server = createServer(({ url = '' }, response) => {
		const { pathname, searchParams } = new URL(url, 'http://api');
		answer(pathname, searchParams, response);
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, close: () => server.close() };
}

const trace = v.object({
	traceEvents: v.array(
		v.object({
			ph: v.string(),
			pid: v.number(),
			tid: v.number(),
			name: v.string(),
			ts: v.number(),
			dur: v.optional(v.number()),
			tdur: v.optional(v.number()),
			args: v.optional(v.looseObject({ name: v.optional(v.unknown()) })),
		}),
	),
});

/** The tasks of a page's main thread, in milliseconds of elapsed and of processor time. */
function readTasks(bytes: Buffer): { readonly ms: number; readonly cpuMs: number }[] {
	const { traceEvents } = v.parse(trace, JSON.parse(bytes.toString()));
	const mains = new Set(
		traceEvents.flatMap(({ name, args, pid, tid }) =>
			name === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid}.${tid}`] : [],
		),
	);
	const tasks: { ms: number; cpuMs: number }[] = [];
	let end = 0;
	const parts = traceEvents.filter(
		({ ph, name, pid, tid }) => ph === 'X' && mains.has(`${pid}.${tid}`) && /RunTask$|MicrotaskCheckpoint$/.test(name),
	);
	for (const { name, ts, dur = 0, tdur = 0 } of parts.toSorted((one, other) => one.ts - other.ts)) {
		const last = tasks.at(-1);
		// A task includes its nested parts, and the microtasks right after its end.
		if (ts < end) continue;
		end = ts + dur;
		if (last !== undefined && !name.endsWith('RunTask')) {
			last.ms += dur / 1_000;
			last.cpuMs += tdur / 1_000;
		} else tasks.push({ ms: dur / 1_000, cpuMs: tdur / 1_000 });
	}
	return tasks;
}

async function readHeap(cdp: CDPSession): Promise<{ readonly mb: number; readonly nodes: number }> {
	await cdp.send('HeapProfiler.collectGarbage');
	const { metrics } = await cdp.send('Performance.getMetrics');
	const find = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? 0;
	return { mb: find('JSHeapUsedSize') / 1e6, nodes: find('Nodes') };
}

/** The bars of all cases: tasks by the processor, because a busy machine stretches them, and the time until histories are shown. */
const bars: Bar[] = [];

const print = (what: string, value: string) => console.log(`  ${what.padEnd(44)}${value}`);

/** Opens a session, waits until it is shown, and prints the tasks of the main thread. */
async function measure(title: string, page: Page, address: string, shown: string): Promise<void> {
	const cdp = await page.context().newCDPSession(page);
	await cdp.send('Performance.enable');
	await page.goto(address.replace(/#.*/, '#/'));
	await page.locator('#welcome').waitFor();
	const before = await readHeap(cdp);
	const browser = page.context().browser();
	await browser?.startTracing(page, { categories: ['toplevel', '__metadata'] });
	const ms = await page.evaluate(
		async ({ hash, shown }) => {
			const began = performance.now();
			const isShown = () =>
				[...document.querySelectorAll('#transcript > .run:last-of-type')].some(
					(node) =>
						!node.hasAttribute('aria-busy') &&
						node.textContent?.includes(shown) &&
						// Of a long answer, the parts that are in view are drawn.
						!node.querySelector('.section:last-child')?.matches('.waiting'),
				);
			location.hash = hash;
			for (;;) {
				await new Promise(requestAnimationFrame);
				if (!isShown()) continue;
				const ms = performance.now() - began;
				// What is drawn after that counts, too.
				await new Promise((resolve) => requestIdleCallback(resolve));
				return ms;
			}
		},
		{ hash: new URL(address).hash, shown },
	);
	const tasks = readTasks((await browser?.stopTracing()) ?? Buffer.from('{}'));
	const after = await readHeap(cdp);
	await page.click('#new');
	await page.locator('#welcome').waitFor();
	const left = await readHeap(cdp);
	const longest = (key: 'ms' | 'cpuMs') => Math.max(0, ...tasks.map((task) => task[key])).toFixed(0);
	console.log(title);
	print('until it is shown', `${ms.toFixed(0)} ms`);
	print('the longest task', `${longest('ms')} ms, of the processor ${longest('cpuMs')} ms`);
	const long = (key: 'ms' | 'cpuMs') => tasks.filter((task) => task[key] > 50).length;
	print('tasks over 50 ms', `${long('ms')}, by the processor ${long('cpuMs')}, of ${tasks.length}`);
	print('the processor in all', `${tasks.reduce((sum, { cpuMs }) => sum + cpuMs, 0).toFixed(0)} ms`);
	bars.push({
		what: `${title}: the longest task`,
		value: Number(longest('cpuMs')),
		unit: 'ms of the processor',
		most: 50,
	});
	bars.push({ what: `${title}: the heap that is left`, value: left.mb - before.mb, unit: 'MB', most: 3 });
	if (title.startsWith('a history'))
		bars.push({ what: `${title}: until it is shown`, value: ms, unit: 'ms', most: 1_000 });
	print('heap before, shown, left', [before, after, left].map(({ mb }) => `${mb.toFixed(1)} MB`).join(', '));
	print('nodes before, shown, left', [before, after, left].map(({ nodes }) => nodes).join(', '));
}

buildPage();
const api = await startApi();
const site = await startSite(api.url);
const page = await (await startBrowser()).openPage();
try {
	const open = (id: string) => `${site.url}/#/sessions/${id}`;
	for (const kind of Object.keys(answers))
		await measure(`${deltaCount} deltas at full speed: ${kind}`, page, open(kind), `A ${kind}`);
	for (const kind of Object.keys(answers))
		await measure(`a history of one answer: ${kind}`, page, open(`${stored}${kind}`), 'The end.');
	await measure('a history of one answer of 5 MB', page, open('large'), 'The end.');
	for (const count of messageCounts)
		await measure(`a history of ${count} messages`, page, open(`long${count}`), 'The end.');
	const script = readFileSync(join(root, 'build/page/app.js'));
	bars.push({
		what: 'the script of the first load',
		value: gzipSync(script).length / 1_000,
		unit: 'KB gzip',
		most: 110,
	});
	console.log(`\n${toBarTable(bars)}`);
} finally {
	await page.context().browser()?.close();
	site.close();
	api.close();
}
