import * as v from 'valibot';
import { expect, test, vi } from 'vitest';
import { agentTool } from '../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import { askUser, providers, skill, type Tool, tool, toolbox } from '../../src/core/index.ts';
import { startClock } from '../../src/replay/clock.ts';
import { openSession } from '../../src/replay/session.ts';
import { SessionAnswers } from '../../src/testing/candidate/answers.ts';
import { CandidateTools } from '../../src/testing/candidate/tools.ts';
import { callTool, callTools, compareCandidates, readRecording } from '../../src/testing/index.ts';
import { writeRecording } from './recordings.ts';

/** How often each function of a tool ran that may write. */
let executed = 0;

/** Makes a tool whose functions all count. */
function count(name: string, more: Partial<Tool> = {}): Tool {
	const run = (): undefined => {
		executed++;
	};
	return {
		...tool.define({
			name,
			description: 'Writes.',
			inputSchema: v.looseObject({ id: v.optional(v.string()) }),
			fn: () => {
				executed++;
				return askUser('Sure?');
			},
		}),
		onAnswer: run,
		onRequest: run,
		onResult: run,
		onError: () => {
			executed++;
			return 'ignore';
		},
		...more,
	};
}

/** Names of tools, among them those of the prototypes of objects. */
const names = ['refund', '__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'päy', 'pay.out'];
const writes = [
	...names.map((name) => count(name)),
	count('approved', { needsApproval: true }),
	count('asked', { needsApproval: () => true }),
	count('edited', { needsApproval: true }),
	count('repeated', { retry: 'safe' }),
	count('read_approved', { readOnly: true, needsApproval: true }),
	count('by_hand', { manual: true }),
	count('read_by_hand', { readOnly: true, manual: true }),
	count('alone', { sequential: true }),
];
const worker = defineAgent({ name: 'worker', description: 'Works.', model: 'scripted-worker', tools: writes });
const guide = {
	...skill.fromMarkdown('---\nname: guide\ndescription: How to pay.\nallowed-tools: by_skill\n---\nPay.'),
};
const agent = defineAgent({
	name: 'till',
	description: 'Pays.',
	tools: [
		...writes,
		...Object.values(toolbox.withShell(toolbox.withWakeups(toolbox.withCoding(toolbox.withFiles(toolbox.withTask()))))),
		agentTool(worker, { name: 'delegate', maxDepth: 3 }),
	],
	skillTools: [count('by_skill')],
	skills: [{ ...guide, tools: [count('of_skill')] }],
	mcp: [{ name: 'bank', url: 'https://bank.example.com/mcp' }],
	maxIterations: 40,
	maxToolCalls: 100_000,
});

/** A generator of numbers from 0 to 1 that repeats (mulberry32). */
function createRandom(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

const known = [...writes.map(({ name }) => name), 'by_skill', 'of_skill', 'bank_transfer'];
/** Calls of ready-made tools that write: files, plans, lists of tasks, wake-ups and commands. */
const readyMade: readonly (readonly [string, unknown])[] = [
	['write_file', { path: 'a.txt', content: 'x' }],
	['edit_file', { path: 'a.txt', oldText: 'x', newText: 'y' }],
	['delete_file', { path: 'a.txt' }],
	['move_file', { from: 'a.txt', to: 'b.txt' }],
	['plan_changes', { summary: 'Pay.', edits: [{ path: 'a.txt', newText: 'x' }] }],
	['apply_plan', { plan: 'p' }],
	['create_task_list', { name: 'pay', tasks: ['refund'] }],
	['push_task', { list: 'pay', task: 'refund' }],
	['schedule_wakeup', { name: 'pay', text: 'Pay.', every: '1d' }],
	['run_shell', { command: 'refund A-1' }],
];

/** Changes recorded arguments, so that no recorded call is equal. */
const changes: readonly ((input: Record<string, unknown>, n: number) => unknown)[] = [
	(input, n) => ({ ...input, id: `A-${n}` }),
	(input) => ({ ...input, id: String(input.id).toLowerCase() }),
	(input) => ({ ...input, id: ` ${String(input.id)}` }),
	(input) => ({ ...input, id: `${String(input.id)}\u00a0` }),
	(input, n) => ({ ...input, further: n }),
	(input) => ({ ...input, euros: 8.000001 }),
	(input) => ({ ...input, euros: '8' }),
	(input) => ({ id: input.id }),
	() => ({}),
	() => JSON.parse('{"__proto__":{"id":"A-1"},"constructor":{"prototype":{}}}'),
	(input) => JSON.parse(`{"__proto__":${JSON.stringify(input)}}`),
	(input) => [input],
	(input) => JSON.stringify(input),
	() => null,
];

const recorded = { id: 'A-1', euros: 8 };

test('none of 10,000 unknown or altered write calls runs', async () => {
	executed = 0;
	const fetch = vi.spyOn(globalThis, 'fetch');
	const random = createRandom(18);
	const pick = <T>(list: readonly T[]): T => {
		const found = list[Math.floor(random() * list.length)];
		if (found === undefined) throw new Error('an empty list');
		return found;
	};
	let made = 0;
	/** The call that the model makes, and how often the recording can answer it. */
	const makeCall = (): readonly [string, unknown] => {
		made++;
		const kind = random();
		if (kind < 0.02) return ['delegate', { task: `Pay ${made}.` }];
		if (kind < 0.12) return pick(readyMade);
		if (kind < 0.2)
			return [pick(['Refund', 'refund ', 'REFUND', 're_fund', 'isPrototypeOf', 'run_shell', '']), recorded];
		if (kind < 0.25) return [pick(known), recorded];
		return [pick(known), pick(changes)(recorded, made)];
	};
	const results = writes.map(({ name }) => ({ tool: name, input: recorded, result: 'recorded' }));
	const edited = { tool: 'edited', input: { id: 'A-2' }, result: 'recorded', ranWith: { id: 'A-3' } };
	const recording = writeRecording({
		agent: 'till',
		turns: [{ user: 'Pay.' }, [...results, edited], 'Paid.', { user: 'Again.' }, 'No.'],
		children: [writeRecording({ agent: 'worker', turns: [{ user: 'Pay 1.' }, results, 'Paid.'] })],
		loaded: [{ name: 'bank_transfer', inputSchema: { type: 'object' } }],
	});
	const turn = (request: providers.ScriptedRequest) => {
		const turns = request.messages.filter(({ role }) => role === 'assistant').length;
		const isChild = request.model === 'scripted-worker';
		if (turns === 0 && !isChild) return callTool('read_skill', { name: 'guide' });
		if (turns > (isChild ? 2 : 12)) return 'Done.';
		return callTools(...Array.from({ length: isChild ? 5 : 20 }, makeCall));
	};
	const counts = { calls: 0, nobody: 0, recording: 0, ran: 0 };
	for (let session = 0; made < 10_500; session++) {
		const { candidates } = await compareCandidates(recording, {
			...{ agents: [agent, worker], candidates: [{ model: 'scripted-new' }] },
			providers: [providers.scripted(Array(400).fill(turn))],
			...(session % 2 === 0 && { reads: 'live' as const }),
		});
		const calls = candidates.flatMap(({ trials }) => trials).flatMap((trial) => trial.calls);
		const own = calls.filter(({ path, answeredBy }) => path.length === 1 && answeredBy === 'recording');
		// Each recorded call answers once.
		expect(own.length).toBeLessThanOrEqual(results.length + 1);
		counts.calls += calls.length;
		counts.nobody += calls.filter(({ answeredBy }) => answeredBy === 'nobody' || answeredBy === 'runlet').length;
		counts.recording += calls.filter(({ answeredBy }) => answeredBy === 'recording').length;
		counts.ran += calls.filter(({ answeredBy }) => answeredBy === 'tool').length;
	}
	console.info('calls of candidates:', counts);
	expect({ executed, ran: counts.ran }).toEqual({ executed: 0, ran: 0 });
	expect(counts.nobody).toBeGreaterThan(10_000);
	expect(counts.recording).toBeGreaterThan(100);
	expect(fetch).not.toHaveBeenCalled();
	fetch.mockRestore();
});

test('a tool that came in on another way ends the run before it runs', () => {
	const recording = readRecording(writeRecording({ agent: 'till', turns: [{ user: 'Pay.' }, 'Paid.'] }));
	const clock = startClock();
	clock.stop();
	const session = openSession(recording, { agents: [agent] }, clock);
	if (session === undefined) throw new Error('no session');
	const answers = new SessionAnswers(recording, []);
	const about = {
		session,
		answers,
		path: ['till'],
		readsLive: true,
		report: () => {},
		runAgent: async () => undefined,
	};
	const { onToolCall } = new CandidateTools(about).offer(undefined);
	const call = { id: 'c', name: 'refund', input: {} };
	expect(() => onToolCall?.(call, count('refund'))).toThrow('may not run');
	expect(() => onToolCall?.({ ...call, name: 'read_skill' }, count('read_skill'))).not.toThrow();
});
