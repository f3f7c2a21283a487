import { SELF } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import type { Agent } from '../../src/cloudflare/agent/define.ts';
import type { Tool } from '../../src/core/index.ts';
import { updateRecording } from '../../src/replay/update.ts';
import {
	callTool,
	compareReplay,
	type Divergence,
	type ReplayOptions,
	readRecording,
	redact,
	replay,
} from '../../src/testing/index.ts';
import { request } from '../client.ts';
import { play } from '../script.ts';
import { record } from './record.ts';
import { changeTool, createShop } from './shop.ts';
import { recordVisit, say } from './visit.ts';

const replayWith = async (agents: readonly Agent[], tools?: ReplayOptions['tools']) =>
	(await compareReplay(await visit(), { agents, tools })).divergence;

let visited: Promise<object> | undefined;
const visit = () => {
	visited ??= recordVisit();
	return visited;
};

test('a session replays without a difference, a model or a network', async () => {
	const recording = await visit();
	const fetch = vi.spyOn(globalThis, 'fetch');
	const { requests } = play();
	const { divergence, sessions, runs, turns } = await compareReplay(recording, { agents: createShop() });
	expect(divergence).toBeUndefined();
	expect({ sessions, runs, turns }).toEqual({ sessions: 2, runs: 10, turns: 20 });
	expect(requests).toEqual([]);
	expect(fetch).not.toHaveBeenCalled();
	fetch.mockRestore();
});

test('the tools of the agent replay live without a difference', async () => {
	expect(await replayWith(createShop(), 'live')).toBeUndefined();
});

test('a live tool finds the files that people gave before its run', async () => {
	const { id } = await (await request('/v1/sessions', { agent: 'replayed-shop' })).json<{ id: string }>();
	const load = (path: string) => play({ toolCalls: [{ id: 'c', name: 'load', input: { path } }] }, 'Read.');
	for (const text of ['First.', 'Second.']) {
		await SELF.fetch(`http://localhost/v1/sessions/${id}/files/${text}txt`, { method: 'PUT', body: text });
		load(`${text}txt`);
		await say(id, 'Read it.');
	}
	const recording = await record(id);
	expect((await compareReplay(recording, { agents: createShop(), tools: 'live' })).divergence).toBeUndefined();
	const agents = changeTool('load', (one) => ({ ...one, fn: () => 'Something else.' }));
	expect((await compareReplay(recording, { agents, tools: 'live' })).divergence).toMatchObject({ tool: 'load' });
});

test('a hundred replays of an unchanged session have no difference', async () => {
	const recording = await visit();
	const agents = createShop();
	const times: number[] = [];
	for (let n = 0; n < 100; n++) {
		const begun = performance.now();
		expect((await compareReplay(recording, { agents })).divergence).toBeUndefined();
		times.push(performance.now() - begun);
	}
	console.info('median of a replay, ms:', times.toSorted((a, b) => a - b)[50]);
});

const live = (name: string) => ({ [name]: 'live' as const });
const inShop = (change: object) => createShop(({ shop }) => ({ shop: { ...shop, ...change } }));
const retool = (name: string, change: Partial<Tool>) => changeTool(name, (one) => ({ ...one, ...change }));
const reschema = (name: string, change: (schema: Record<string, unknown>) => object) =>
	changeTool(name, (one) => ({
		...one,
		inputSchema: { ...one.inputSchema, ...change(structuredClone({ ...one.inputSchema })) },
	}));

/** A bug in the agents of today, and where the report must place it. */
type Bug = readonly [
	what: string,
	agents: () => readonly Agent[],
	place: Partial<Divergence>,
	tools?: ReplayOptions['tools'],
];

const bugs: readonly Bug[] = [
	['another prompt', () => inShop({ system: 'You serve Ada’s shop. Be long.' }), { kind: 'system' }],
	['a prompt without the metadata', () => inShop({ system: () => 'You serve a shop. Be brief.' }), { kind: 'system' }],
	['no prompt', () => inShop({ system: undefined }), { kind: 'system' }],
	[
		'another prompt of a child',
		() => createShop(({ packer }) => ({ packer: { ...packer, system: 'You unpack.' } })),
		{ kind: 'system', path: ['replayed-shop', 'replayed-packer'] },
	],
	['no skill', () => inShop({ skills: [] }), { kind: 'settings' }],
	['another description of a tool', () => retool('note', { description: 'Note it.' }), { kind: 'tools', tool: 'note' }],
	[
		'a loosened schema: an optional field',
		() => reschema('refund', () => ({ required: ['id'] })),
		{ kind: 'tools', tool: 'refund' },
	],
	[
		'a loosened schema: no maximum',
		() =>
			reschema('refund', ({ properties }) => ({ properties: { ...Object(properties), euros: { type: 'number' } } })),
		{ kind: 'tools', tool: 'refund' },
	],
	[
		'a tightened schema',
		() => reschema('refund', () => ({ required: ['id', 'euros', 'why'] })),
		{ kind: 'tools', tool: 'refund' },
	],
	[
		'another type in a schema',
		() => reschema('note', () => ({ properties: { text: { type: 'number' } } })),
		{ kind: 'tools', tool: 'note' },
	],
	[
		'another field in a schema',
		() => reschema('save', () => ({ properties: { file: { type: 'string' }, text: { type: 'string' } } })),
		{ kind: 'tools', tool: 'save' },
	],
	['a missing tool', () => changeTool('save', () => undefined), { kind: 'tools', tool: 'save' }],
	['a renamed tool', () => retool('save', { name: 'store' }), { kind: 'tools', tool: 'save' }],
	[
		'a new tool',
		() =>
			createShop(({ shop }) => ({
				shop: { ...shop, tools: [...shop.tools, { name: 'x', description: 'X.', inputSchema: {}, fn: () => 1 }] },
			})),
		{ kind: 'tools', tool: 'x' },
	],
	[
		'another order of the tools',
		() => createShop(({ shop }) => ({ shop: { ...shop, tools: shop.tools.toReversed() } })),
		{ kind: 'tools' },
	],
	['an unavailable tool', () => retool('save', { isAvailable: () => false }), { kind: 'tools', tool: 'save' }],
	[
		'a tool of a child that is missing',
		() => createShop(({ packer }) => ({ packer: { ...packer, tools: [] } })),
		{ kind: 'tools', tool: 'wrap', path: ['replayed-shop', 'replayed-packer'] },
	],
	['a skipped approval', () => retool('refund', { needsApproval: false }), { kind: 'call', tool: 'refund' }],
	['a new approval', () => retool('find_order', { needsApproval: true }), { kind: 'call', tool: 'find_order' }],
	[
		'an approval limit that is off by one',
		() => retool('refund', { needsApproval: ({ euros }) => Number(euros) >= 50 }),
		{ kind: 'call', tool: 'refund' },
	],
	[
		'an inverted approval',
		() => retool('refund', { needsApproval: ({ euros }) => Number(euros) <= 50 }),
		{ kind: 'call', tool: 'refund' },
	],
	[
		'a tool whose result comes from a client',
		() => retool('find_order', { manual: true }),
		{ kind: 'call', tool: 'find_order' },
	],
	[
		'readArgs that refuses',
		() =>
			retool('note', {
				readArgs: () => {
					throw new Error('no');
				},
			}),
		{ kind: 'result', tool: 'note' },
	],
	[
		'another note before a call',
		() => retool('refund', { onRequest: () => 'Paying back' }),
		{ kind: 'note', tool: 'refund' },
	],
	['another note after a call', () => retool('refund', { onResult: () => 'Paid' }), { kind: 'note', tool: 'refund' }],
	['one model turn less', () => inShop({ maxIterations: 7 }), { kind: 'settings', field: 'settings.maxIterations' }],
	['one tool call less', () => inShop({ maxToolCalls: 11 }), { kind: 'settings', field: 'settings.maxToolCalls' }],
	[
		'a budget that is off by one',
		() => inShop({ budget: { tokens: 999_999 } }),
		{ kind: 'settings', field: 'settings.budget.tokens' },
	],
	['another model', () => inShop({ model: 'scripted-2' }), { kind: 'settings', field: 'settings.model' }],
	['manual mode', () => inShop({ mode: 'manual' }), { kind: 'settings', field: 'settings.mode' }],
	[
		'another treatment of long conversations',
		() => inShop({ contextFull: 'truncate' }),
		{ kind: 'settings', field: 'settings.contextFull' },
	],
	['a shorter time limit', () => inShop({ timeouts: { toolMs: 5 } }), { kind: 'settings' }],
	['a missing agent', () => createShop().slice(0, 1), { kind: 'agent', path: ['replayed-shop', 'replayed-packer'] }],
	[
		'a wrong unit',
		() =>
			retool('refund', {
				fn: (input) => {
					const { id, euros } = Object(input);
					return `${id}: ${euros} cents`;
				},
			}),
		{ kind: 'result', tool: 'refund' },
		live('refund'),
	],
	[
		'a wrong number',
		() => retool('find_order', { fn: (input) => ({ id: Object(input).id, cents: 80, status: 'sent' }) }),
		{ kind: 'result', tool: 'find_order', field: 'content.cents' },
		live('find_order'),
	],
	[
		'a failure without its reason',
		() =>
			retool('find_order', {
				fn: (input) => {
					if (Object(input).id === 'none') throw new Error('?');
					return { id: 'A-1', cents: 8_000, status: 'sent' };
				},
			}),
		{ kind: 'result', tool: 'find_order' },
		live('find_order'),
	],
	[
		'no failure',
		() => retool('find_order', { fn: (input) => ({ id: Object(input).id, cents: 8_000, status: 'sent' }) }),
		{ kind: 'result', tool: 'find_order' },
		live('find_order'),
	],
	[
		'a tool that throws',
		() =>
			retool('save', {
				fn: () => {
					throw new Error('disk');
				},
			}),
		{ kind: 'result', tool: 'save' },
		live('save'),
	],
	[
		'a state that is not kept',
		() => retool('note', { fn: () => 1 }),
		{ kind: 'result', tool: 'read_notes' },
		{ ...live('note'), ...live('read_notes') },
	],
	[
		'a lost file',
		() => retool('save', { fn: () => 'saved' }),
		{ kind: 'result', tool: 'load' },
		{ ...live('save'), ...live('load') },
	],
	[
		'another question',
		() => retool('ask_color', { fn: () => 'red' }),
		{ kind: 'call', tool: 'ask_color' },
		live('ask_color'),
	],
	[
		'another end',
		() => retool('close', { fn: () => 'Good night.' }),
		{ kind: 'result', tool: 'close', field: 'haltedReason' },
		live('close'),
	],
];

const cases = bugs.map(([what, agents, place, tools]) => ({ what, agents, place, tools }));
test.each(cases)('a replay finds the bug: $what', async ({ agents, place, tools }) => {
	const found = await replayWith(agents(), tools);
	expect(found).toMatchObject(place);
});

test('an unchanged tool is found to be right by a function of one’s own', async () => {
	const asked: unknown[] = [];
	const found = await replayWith(createShop(), {
		find_order: (input) => {
			asked.push(input);
			if (Object(input).id === 'none') throw new Error('There is no such order.');
			return { id: 'A-1', cents: 8_000, status: 'sent' };
		},
	});
	expect(found).toBeUndefined();
	expect(asked).toEqual([{ id: 'A-1' }, { id: 'none' }]);
});

test('replay rejects with a report that names the place and both sides', async () => {
	const replaying = replay(await visit(), { agents: retool('note', { description: 'Note it.' }) });
	await expect(replaying).rejects.toThrow(
		/^The tools that the model is sent differ: tools\.note\.description\n {2}in {8}agent replayed-shop, tool note, run_\S+, message \d+\n {2}recorded {2}"Note a text\."\n {2}now {7}"Note it\."$/,
	);
	await expect(replaying).rejects.toMatchObject({ name: 'ReplayError', divergence: { kind: 'tools', tool: 'note' } });
});

test.each([
	['another version', { recording: 2 }, /^recording: this Runlet reads recordings of version 1/],
	['no messages', { messages: undefined }, /^messages: expected a list/],
	['a child that is none', { children: [{}] }, /^children\.0/],
] as const)('a recording with %s is refused, and the field is named', async (_, change, words) => {
	await expect(compareReplay({ ...(await visit()), ...change }, { agents: createShop() })).rejects.toThrow(words);
});

test('a recording is updated to another prompt and another result, and then replays without a difference', async () => {
	const agents = createShop(({ shop }) => ({ shop: { ...shop, system: 'You serve.', maxIterations: 9 } }));
	const updated = await updateRecording(await visit(), { agents });
	expect((await compareReplay(updated, { agents })).divergence).toBeUndefined();
	expect((await compareReplay(updated, { agents: createShop() })).divergence).toMatchObject({ kind: 'settings' });
	const tools = live('find_order');
	const cheap = retool('find_order', { fn: () => 'free' });
	const free = await updateRecording(await visit(), { agents: cheap, tools });
	expect((await compareReplay(free, { agents: cheap, tools })).divergence).toBeUndefined();
});

test('a recording is not updated to a run that takes another way', async () => {
	const agents = retool('refund', { needsApproval: false });
	const updated = await updateRecording(await visit(), { agents });
	expect((await compareReplay(updated, { agents })).divergence).toMatchObject({ kind: 'call', tool: 'refund' });
});

describe('a redacted recording', () => {
	const secrets = {
		mail: 'ada.l@example.com',
		card: '4242 4242 4242 4242',
		key: 'sk-live-0123456789abcdef',
		order: 'A-77',
	};

	/** Records a session whose texts, arguments, results and files have secrets. */
	const recordSecrets = async () => {
		const metadata = { shop: `the shop of ${secrets.mail}` };
		const made = await request('/v1/sessions', { agent: 'replayed-shop', metadata });
		const { id } = await made.json<{ id: string }>();
		const text = `${secrets.mail} pays ${secrets.order} with ${secrets.card} or 1234 5678 9012 3456, and ${secrets.key}`;
		play(callTool('save', { path: 'mail.txt', text }), callTool('load', { path: 'mail.txt' }), `Saved: ${text}`);
		await say(id, text);
		return readRecording(await record(id));
	};

	test('has none of the secrets, and equal pseudonyms for equal secrets', async () => {
		const recording = redact(await recordSecrets(), ['A-\\d+']);
		const text = JSON.stringify({ ...recording, files: recording.files.map(({ base64 }) => atob(base64)) });
		for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
		expect(new Set(text.match(/mail-\d+@redacted\.invalid/g))).toEqual(new Set(['mail-1@redacted.invalid']));
		// Not every long number is a card.
		expect(text).toContain('1234 5678 9012 3456');
	});

	test('replays without a difference, also with live tools, and still finds a bug', async () => {
		const recording = redact(await recordSecrets(), ['A-\\d+']);
		for (const tools of ['recorded', 'live'] as const)
			expect((await compareReplay(recording, { agents: createShop(), tools })).divergence).toBeUndefined();
		const agents = inShop({ system: 'You serve somebody else.' });
		expect((await compareReplay(recording, { agents })).divergence).toMatchObject({ kind: 'system' });
	});
});
