import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { agentTool, spawn } from '../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import { askUser, type chat, providers, tool } from '../../src/core/index.ts';
import { estimate, estimateShare } from '../../src/testing/candidate/figures.ts';
import {
	type CandidateOptions,
	callTool,
	callTools,
	compareCandidates,
	type Lane,
	readProviders,
	readRecording,
	redact,
	type Trial,
	writeComparison,
} from '../../src/testing/index.ts';
import { type WrittenTurn, writeRecording } from './recordings.ts';

const ran: string[] = [];

const findOrder = tool.define({
	name: 'find_order',
	description: 'Find an order.',
	inputSchema: v.object({ id: v.string() }),
	passInput: true,
	readOnly: true,
	fn: ({ id }, { askedBy }) => {
		ran.push(`find_order ${id}`);
		return { id, status: 'live', for: askedBy?.user };
	},
});
const refund = tool.define({
	name: 'refund',
	description: 'Pay money back.',
	inputSchema: v.object({ id: v.string(), euros: v.number(), why: v.optional(v.string()) }),
	passInput: true,
	needsApproval: true,
	fn: ({ id }) => void ran.push(`refund ${id}`),
});
const ask = tool.define({
	name: 'ask',
	description: 'Ask.',
	inputSchema: v.object({}),
	fn: () => askUser('Which color?'),
});
const packer = defineAgent({
	name: 'packer',
	description: 'Packs.',
	model: 'scripted-packer',
	tools: [findOrder, refund],
});
const desk = defineAgent({
	name: 'desk',
	description: 'Answers.',
	tools: [findOrder, refund, ask, agentTool(packer, { name: 'pack' })],
});

const user = (text: string, by = 'ada'): WrittenTurn => ({
	user: text,
	stored: { inbound: { sender: by, transport: 'http', by: { owner: 'test', user: by, via: 'account', id: by } } },
});
const find = (id: string, result: unknown) => ({ tool: 'find_order', input: { id }, result });

/** Plays turns as the candidate, one after another, and returns its one run and what it was sent. */
async function play(
	recording: object,
	turns: readonly providers.ScriptedTurn[],
	options: Partial<CandidateOptions> = {},
) {
	const provider = providers.scripted(turns);
	const comparison = await compareCandidates(recording, {
		...{ agents: [desk, packer], candidates: [{ model: 'scripted-new' }], providers: [provider] },
		...options,
	});
	const [lane] = comparison.candidates;
	const trial = lane?.trials[0];
	if (lane === undefined || trial === undefined) throw new Error('no run');
	const results = provider.requests.at(-1)?.messages.filter((message) => message.role === 'tool') ?? [];
	return { comparison, lane, trial, results, requests: provider.requests };
}

const said = (results: readonly chat.Message[]) => results.map(({ content }) => content);
const answered = ({ calls }: Trial) => calls.map(({ tool, answeredBy }) => `${tool}: ${answeredBy}`);

describe('the recording answers', () => {
	test('equal calls with the recorded results in their order, so that a poll changes', async () => {
		const recording = writeRecording({
			agent: 'desk',
			turns: [user('Wait for A-1.'), [find('A-1', 'packed')], [find('A-1', 'sent')], 'Sent.'],
		});
		const poll = callTool('find_order', { id: 'A-1' });
		const { results, trial } = await play(recording, [poll, poll, poll, 'Sent.']);
		expect(said(results)).toEqual(['packed', 'sent', expect.stringContaining('the recording has no answer')]);
		expect(trial.calls.at(-1)).toMatchObject({ answeredBy: 'nobody', nearest: { distance: 0 } });
	});

	test('a call with arguments in another order, or with an optional one that is null', async () => {
		const call = { tool: 'refund', input: { id: 'A-1', euros: 8 }, result: 'paid' };
		const recording = writeRecording({ agent: 'desk', turns: [user('Pay.'), [call], [call], 'Paid.'] });
		const { results } = await play(recording, [
			callTool('refund', { euros: 8, id: 'A-1' }),
			callTool('refund', { why: null, id: 'A-1', euros: 8 }),
			'Paid.',
		]);
		expect(said(results)).toEqual(['paid', 'paid']);
	});

	test('the same call of parent and child with the result of its own session', async () => {
		const child = writeRecording({
			agent: 'packer',
			turns: [user('Pack A-1.'), [find('A-1', 'of the child')], 'Packed.'],
		});
		const recording = writeRecording({
			agent: 'desk',
			turns: [
				user('Pack A-1.'),
				[find('A-1', 'of the parent')],
				[{ tool: 'pack', input: { task: 'Pack A-1.' }, result: 'Packed.' }],
				'Done.',
			],
			children: [child],
		});
		const { results, trial } = await play(recording, [
			callTool('pack', { task: 'Pack A-1, please.' }),
			callTool('find_order', { id: 'A-1' }),
			callTool('refund', { id: 'A-1', euros: 1 }),
			'Packed by the candidate.',
			callTool('find_order', { id: 'A-1' }),
			'Done.',
		]);
		expect(said(results)).toEqual(['Packed by the candidate.', 'of the parent']);
		expect(trial.calls.map(({ path, tool, answeredBy }) => [path.join(' > '), tool, answeredBy])).toEqual([
			['desk > packer', 'find_order', 'recording'],
			['desk > packer', 'refund', 'nobody'],
			['desk', 'pack', 'agent'],
			['desk', 'find_order', 'recording'],
		]);
		expect(trial.missed).toEqual([{ tool: 'pack', input: { task: 'Pack A-1.' } }]);
	});

	test('calls of an agent that the model chose, by its own recorded child with the most similar task', async () => {
		const child = (task: string, result: string) =>
			writeRecording({ agent: 'packer', turns: [user(task), [find('A-1', result)], 'Packed.'] });
		const chief = defineAgent({ name: 'chief', description: 'Leads.', tools: [spawn([packer])] });
		const recording = writeRecording({
			agent: 'chief',
			turns: [user('Pack.'), 'Packed.'],
			children: [child('Wrap the red box.', 'red'), child('Send the blue letter.', 'blue')],
		});
		const { trial, requests } = await play(
			recording,
			[
				callTool('spawn', { agent: 'packer', task: 'Please send that blue letter today.' }),
				callTool('find_order', { id: 'A-1' }),
				'Sent.',
				'Done.',
			],
			{ agents: [chief, packer] },
		);
		expect(said(requests[2]?.messages.filter(({ role }) => role === 'tool') ?? [])).toEqual(['blue']);
		expect(trial).toMatchObject({ end: 'done', text: 'Done.' });
	});

	test('no new call of an agent whose model has no provider', async () => {
		const lost = defineAgent({ ...packer, model: 'claude-x' });
		const recording = writeRecording({ agent: 'desk', turns: [user('Pack.'), 'Packed.'] });
		const turns = [callTool('pack', { task: 'Pack A-1.' }), 'No.'];
		const { results, trial } = await play(recording, turns, { agents: [desk, lost] });
		expect(said(results)).toEqual([expect.stringContaining('no answer')]);
		expect(answered(trial)).toEqual(['pack: nobody']);
	});

	test('a recorded call of another agent, and asks no model', async () => {
		const recording = writeRecording({
			agent: 'desk',
			turns: [user('Pack.'), [{ tool: 'pack', input: { task: 'Pack A-1.' }, result: 'Packed.' }], 'Done.'],
		});
		const { results, requests } = await play(recording, [callTool('pack', { task: 'Pack A-1.' }), 'Done.']);
		expect([said(results), requests.length]).toEqual([['Packed.'], 2]);
	});

	test('what a person decided: a denial, changed arguments, an answer to a question', async () => {
		const denied = 'A person did not allow this call: no.';
		const recording = writeRecording({
			agent: 'desk',
			turns: [
				user('Pay.'),
				[
					{
						tool: 'refund',
						input: { id: 'A-1', euros: 80 },
						result: denied,
						isError: true,
						stored: { isDenied: true },
					},
				],
				[{ tool: 'refund', input: { id: 'A-1', euros: 9 }, result: 'paid 8', ranWith: { id: 'A-1', euros: 8 } }],
				[{ tool: 'ask', input: {}, result: 'red' }],
				'Paid.',
			],
		});
		const { results, trial } = await play(recording, [
			callTools(['refund', { id: 'A-1', euros: 80 }], ['refund', { id: 'A-1', euros: 9 }], ['ask', {}]),
			callTool('refund', { id: 'A-2', euros: 9 }),
			'Paid.',
		]);
		expect(results[0]).toMatchObject({ content: denied, isError: true });
		expect(results[1]).toMatchObject({ content: expect.stringContaining('paid 8') });
		expect(results[1]).toMatchObject({ content: expect.stringContaining('{"id":"A-1","euros":8}') });
		expect(results[2]).toMatchObject({ content: 'red' });
		expect(results[3]).toMatchObject({ content: expect.stringContaining('no answer'), isError: true });
		expect(trial).toMatchObject({ end: 'done', missed: [] });
	});

	test('calls of tools from servers and from clients, with no request to the network', async () => {
		const inputSchema = { type: 'object', properties: { q: { type: 'string' } } };
		const recording = writeRecording({
			agent: 'desk',
			turns: [
				user('Look.'),
				[
					{ tool: 'wiki_search', input: { q: 'a' }, result: 'found' },
					{ tool: 'page_title', input: {}, result: 'Shop' },
				],
				'Found.',
			],
			loaded: [{ name: 'wiki_search', inputSchema }],
			clientTools: [{ name: 'page_title', inputSchema }],
		});
		const { results, trial } = await play(recording, [
			callTools(['wiki_search', { q: 'a' }], ['page_title', {}]),
			callTools(['wiki_search', { q: 'b' }], ['page_title', {}]),
			'Found.',
		]);
		const none = expect.stringContaining('no answer');
		expect(said(results)).toEqual(['found', 'Shop', none, none]);
		expect(trial.end).toBe('done');
	});

	test('a redacted call by its pseudonym, and a value of a live tool by its kind', async () => {
		const send = tool.define({
			name: 'send',
			description: 'Send.',
			inputSchema: v.object({ to: v.string() }),
			passInput: true,
			fn: () => 'sent',
		});
		const mail = (to: string, result: string) => ({ tool: 'send', input: { to }, result });
		const plain = writeRecording({
			agent: 'mailer',
			turns: [
				user('Write to ada@x.org and bo@x.org.'),
				[mail('ada@x.org', 'to ada'), mail('bo@x.org', 'to bo')],
				'Sent.',
			],
		});
		const agent = defineAgent({ name: 'mailer', description: 'Writes.', tools: [send] });
		const recording = redact(readRecording(plain));
		const script = [
			callTools(['send', { to: 'mail-2@redacted.invalid' }], ['send', { to: 'mail-3@redacted.invalid' }]),
			callTools(['send', { to: 'ada@x.org' }], ['send', { to: 'ada@x.org' }]),
			'Sent.',
		];
		const { results, requests } = await play(recording, script, { agents: [agent] });
		expect(JSON.stringify(requests[0]?.messages)).toContain('mail-1@redacted.invalid');
		const none = expect.stringContaining('no answer');
		expect(said(results)).toEqual(['to bo', none, 'to ada', none]);
	});
});

describe('a call without a recorded answer', () => {
	const recording = writeRecording({
		agent: 'desk',
		turns: [
			user('Pay 8 euros for A-1.'),
			[{ tool: 'refund', input: { id: 'A-1', euros: 8 }, result: 'paid' }],
			'Paid.',
		],
	});

	test('is told to the model, and the nearest recorded call with its distance only to the report', async () => {
		const { results, comparison } = await play(recording, [callTool('refund', { id: 'A-1', euros: 9 }), 'Sorry.']);
		expect(results[0]).toMatchObject({
			content: expect.stringMatching(/^refund did not run\. .* no answer/),
			isError: true,
		});
		expect(results[0]?.content).not.toContain('8');
		const report = writeComparison(comparison);
		expect(report).toContain('refund({"id":"A-1","euros":9}) has no recorded answer, and did not run. It may write.\n');
		expect(report).toContain('The nearest recorded call is 50 % different: {"id":"A-1","euros":8}\n');
		expect(report).toContain('did not make the recorded call refund({"id":"A-1","euros":8}).\n');
		expect(report).toContain('recorded: answered "Paid."\nscripted-new: answered "Sorry."\n');
		expect(report).toMatch(/A live model is a sample and no proof/);
	});

	test('runs a tool that only reads, where the options allow it', async () => {
		ran.length = 0;
		const turns = [callTool('find_order', { id: 'A-9' }), 'Found.'];
		expect((await play(recording, turns)).trial.calls).toMatchObject([{ answeredBy: 'nobody', isWrite: false }]);
		const { results, trial } = await play(recording, turns, { reads: 'live' });
		expect(said(results)).toEqual([{ id: 'A-9', status: 'live', for: 'ada' }]);
		expect(answered(trial)).toEqual(['find_order: tool']);
		expect(answered((await play(recording, turns, { tools: { find_order: 'live' } })).trial)).toEqual([
			'find_order: tool',
		]);
		expect(ran).toEqual(['find_order A-9', 'find_order A-9']);
	});

	test('runs no tool that needs an approval, and no tool that only is safe to repeat', async () => {
		ran.length = 0;
		const agent = defineAgent({
			...desk,
			tools: [
				{ ...findOrder, needsApproval: true },
				{ ...refund, needsApproval: false, retry: 'safe' },
			],
		});
		const turns = [callTools(['find_order', { id: 'A-9' }], ['refund', { id: 'A-9', euros: 1 }]), 'No.'];
		const { trial } = await play(recording, turns, { agents: [agent], reads: 'live' });
		expect([answered(trial), ran]).toEqual([['find_order: nobody', 'refund: nobody'], []]);
	});

	test('is answered by a function of the test', async () => {
		const tools = { refund: (input: unknown) => `would pay ${JSON.stringify(input)}` };
		const { results, trial } = await play(recording, [callTool('refund', { id: 'A-1', euros: 9 }), 'Paid.'], { tools });
		expect(said(results)).toEqual(['would pay {"id":"A-1","euros":9}']);
		expect(answered(trial)).toEqual(['refund: function']);
	});

	test('of a missing tool or with wrong arguments is refused by Runlet, and reported', async () => {
		const turns = [callTools(['destroy', {}], ['refund', { id: 7 }]), 'No.'];
		const { trial } = await play(recording, turns);
		expect(answered(trial)).toEqual(['destroy: runlet', 'refund: runlet']);
	});
});

describe('the people of the recording', () => {
	test('speak in their order, also those who steered, and tools see who asked', async () => {
		const recording = writeRecording({
			agent: 'desk',
			turns: [user('First.'), [find('A-1', 'sent')], user('Second.', 'bo'), 'Yes.', user('Third.'), 'Yes.'],
		});
		const turns = ['One.', callTool('find_order', { id: 'A-2' }), 'Two.', 'Three.'];
		const { requests, results, trial } = await play(recording, turns, { reads: 'live' });
		const heard = requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
		expect(heard).toEqual(['First.', 'Second.', 'Third.']);
		expect(results).toMatchObject([{ content: { for: 'bo' } }]);
		expect(trial.text).toBe('Three.');
	});

	test('say nothing where the recording ends in the middle', async () => {
		const recording = writeRecording({
			agent: 'desk',
			turns: [user('Pay.'), [{ tool: 'refund', input: { id: 'A-1', euros: 8 } }]],
			end: {
				...{ type: 'awaiting', status: 'awaiting_tools' },
				toolCalls: [{ id: 'recorded_1', name: 'refund', input: {}, kind: 'approval' }],
			},
		});
		const { trial, comparison } = await play(recording, [callTool('refund', { id: 'A-1', euros: 8 })]);
		expect(trial).toMatchObject({ end: 'awaiting', calls: [{ answeredBy: 'recording' }] });
		expect(comparison.recorded.end).toBe('awaiting');
	});

	test('speak at the recorded time, and the requests to the model have the real time', async () => {
		const seen: number[] = [];
		const agent = defineAgent({ ...desk, system: () => `It is ${new Date().toISOString()}.` });
		const recording = writeRecording({ agent: 'desk', turns: [user('Hello.'), 'Hello!'] });
		const turn = () => {
			seen.push(Date.now());
			return 'Hello.';
		};
		const begun = Date.now();
		const { requests } = await play(recording, [turn], { agents: [agent] });
		expect(requests[0]?.system).toBe('It is 2026-01-31T09:00:00.000Z.');
		expect(seen[0]).toBeGreaterThanOrEqual(begun);
	});

	test('go on after a run that took too many steps', async () => {
		const agent = defineAgent({ ...desk, maxIterations: 2 });
		const recording = writeRecording({ agent: 'desk', turns: [user('One.'), 'Yes.', user('Two.'), 'Yes.'] });
		const poll = callTool('find_order', { id: 'A-1' });
		const { trial } = await play(recording, [poll, poll, 'Two.'], { agents: [agent] });
		expect(trial).toMatchObject({ end: 'done', text: 'Two.' });
	});
});

describe('the lanes', () => {
	const recording = writeRecording({ agent: 'desk', turns: [user('Hello.'), 'Hello!'] });
	const reply = (inputTokens: number, costUsd?: number) => ({
		text: 'Hello.',
		usage: { inputTokens, outputTokens: 10, ...(costUsd !== undefined && { costUsd }) },
	});

	test('show the recording, its replay, the recorded model again and each candidate', async () => {
		const { comparison } = await play(recording, [reply(1, 0.5), reply(90, 0.002), reply(80)], {
			candidates: [{ model: 'scripted-a' }, { model: 'scripted-b' }],
			baseline: 'live',
		});
		const { recorded, baseline, candidates } = comparison;
		expect(recorded).toEqual({
			...{ model: 'scripted', end: 'done', text: 'Hello!' },
			figures: { steps: 1, calls: 0, tokens: 110, usd: 0.001, seconds: 2 },
		});
		expect(baseline).toMatchObject({ replay: { runs: 1, turns: 1 }, lane: { model: 'scripted' } });
		expect(baseline.replay?.divergence).toBeUndefined();
		const figures = candidates.map(({ figures }) => [figures.steps.mean, figures.tokens.mean, figures.usd?.mean]);
		expect(figures).toEqual([
			[1, 100, 0.002],
			[1, 90, undefined],
		]);
		const table = writeComparison(comparison).replaceAll(/ {2,}/g, ' | ').split('\n');
		expect(table.slice(0, 4)).toEqual([
			expect.stringMatching(/^ \| ended \| steps \| tokens \| dollars \| seconds \| calls \| unanswered \| writes$/),
			'recorded | done | 1 | 110 | $0.0010 | 2 | 0',
			'baseline | same',
			expect.stringMatching(/^scripted again \| done \| 1 \| 11 \| \$0\.50 \| /),
		]);
		expect(table[5]).toMatch(/^scripted-b \| done \| 1 \| 90 \| unknown \| /);
	});

	test('have the mean of several runs with its interval', async () => {
		const { lane, comparison } = await play(recording, [reply(90, 1), reply(100, 1), reply(110, 1)], { runs: 3 });
		expect(lane.trials.length).toBe(3);
		expect(lane.figures.tokens.mean).toBe(110);
		expect(lane.figures.tokens.low).toBeCloseTo(110 - (4.303 * 10) / Math.sqrt(3));
		expect(lane.done).toMatchObject({ count: 3, of: 3, high: 1 });
		expect(writeComparison(comparison)).toContain('3 of 3 (44 to 100 %)');
	});

	test('have no interval where both of its ends are written like the mean', async () => {
		const { comparison } = await play(
			recording,
			[0.1, 0.1000001, 0.1].map((usd) => reply(100, usd)),
			{ runs: 3 },
		);
		expect(writeComparison(comparison)).toMatch(/ \$0\.10 {2,}\d/);
	});

	test('take another agent under the recorded name, and its model', async () => {
		const agent = defineAgent({
			name: 'polite',
			description: 'Polite.',
			system: 'Be polite.',
			model: 'scripted-polite',
		});
		const { lane, requests } = await play(recording, ['Good day.'], { candidates: [{ agent }], agents: [] });
		expect(lane).toMatchObject({ model: 'scripted-polite', agent: 'polite', trials: [{ text: 'Good day.' }] });
		expect(requests[0]?.system).toBe('Be polite.');
	});

	test('show a run that the provider failed, and no later message is sent', async () => {
		const two = writeRecording({ agent: 'desk', turns: [user('One.'), 'Yes.', user('Two.'), 'Yes.'] });
		const { trial, comparison, requests } = await play(two, [new Error('The key is wrong.')]);
		expect([trial.end, requests.length]).toEqual(['error', 1]);
		expect(writeComparison(comparison)).toContain('scripted-new: ended with');
	});

	test('refuse a missing agent, a model without a provider, and a tool that may write', async () => {
		const refused = (options: Partial<CandidateOptions>) => expect(play(recording, [], options)).rejects;
		await refused({ agents: [packer] }).toMatchObject({ code: 'not_found', message: expect.stringContaining('desk') });
		await refused({ candidates: [{ model: 'claude-x' }], providers: readProviders({}) }).toMatchObject({
			...{ code: 'not_configured', message: expect.stringContaining('set ANTHROPIC_API_KEY') },
		});
		await refused({ tools: { refund: 'live' } }).toMatchObject({ code: 'invalid_request' });
		await refused({ tools: { ['constructor' as string]: 'live' } }).toMatchObject({ code: 'invalid_request' });
		await refused({ runs: 0 }).toMatchObject({ code: 'invalid_request' });
	});

	test('use no tool of the provider and no fallback', async () => {
		const agent = defineAgent({
			...desk,
			providerTools: ['web_search'],
			fallbacks: ['scripted-other'],
			tools: [{ ...findOrder, provider: { allowedCallers: ['code_execution_20250825'], strict: true } }],
		});
		const { requests } = await play(recording, [new Error('Down.')], { agents: [agent] });
		expect(requests.map(({ model }) => model)).toEqual(['scripted-new']);
		expect(requests[0]?.options?.providerTools).toBeUndefined();
		expect(requests[0]?.tools?.map(({ provider }) => provider)).toEqual([{ strict: true }]);
	});
});

test('intervals are those of Student and Wilson', () => {
	expect(estimate([5])).toEqual({ mean: 5 });
	const { mean, low = 0, high = 0 } = estimate([1, 2, 3, 4, 5]);
	expect([mean, low.toFixed(3), high.toFixed(3)]).toEqual([3, '1.037', '4.963']);
	const share = estimateShare(8, 10);
	expect([share.low.toFixed(3), share.high.toFixed(3)]).toEqual(['0.490', '0.943']);
	expect(estimateShare(0, 10)).toMatchObject({ low: 0 });
});

test('a lane is plain data', async () => {
	const recording = writeRecording({ agent: 'desk', turns: [user('Hello.'), 'Hello!'] });
	const { lane } = await play(recording, ['Hello.']);
	const copy: Lane = structuredClone(lane);
	expect(copy).toEqual(lane);
});
