import { providers, RunletError } from 'runlet';
import { calledTool, costBelow, judge, neverCalled, output, runEval, type Scorer, stepsBelow } from 'runlet/evals';
import { callTool } from 'runlet/testing';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { createModel, desk } from './desk.ts';

/** Runs one case, and returns its trial. */
async function runOne(more: Partial<Parameters<typeof runEval>[0]> & { readonly input?: string } = {}) {
	const { input = 'Where is my order?', ...definition } = more;
	const result = await runEval({ agent: desk, providers: [createModel()], cases: [{ input }], ...definition });
	const [trial] = result.trials;
	if (trial === undefined) throw new Error('There is no trial.');
	return { result, trial };
}

const args = (more: object = {}) => ({
	input: '',
	output: '',
	session: {
		...{ model: 'm', status: 'completed', messages: [], calls: [], steps: 1, tokens: 0, ms: 0 },
		...more,
	},
});

describe('expectations', () => {
	test('calledTool passes for a call with at least the arguments, or with arguments that a function accepts', async () => {
		const { trial } = await runOne({
			expect: [
				calledTool('find_order'),
				calledTool('find_order', { id: 'A-1042' }),
				calledTool('find_order', (input: unknown) => v.is(v.object({ id: v.literal('A-1042') }), input)),
			],
		});
		expect(trial).toMatchObject({ passed: true, steps: 2, tokens: 240, costUsd: 0.002, status: 'completed' });
	});

	test('calledTool says what was called instead', async () => {
		const { trial } = await runOne({ expect: [calledTool('find_order', { id: 'B-1' }), calledTool('refund')] });
		expect(trial.expectations).toMatchObject([
			{ name: 'calledTool(find_order, {"id":"B-1"})', score: 0, reason: 'called with {"id":"A-1042"}.' },
			{ name: 'calledTool(refund)', score: 0, reason: 'not called. Calls: find_order.' },
		]);
	});

	test('calledTool compares nested values, and the length of lists', async () => {
		const calls = [{ name: 'a.b', input: { lines: [{ id: 1, more: true }], x: null } }];
		const check = async (input: unknown) => (await calledTool('a.b', input)(args({ calls }))).score;
		expect(await check({ lines: [{ id: 1 }] })).toBe(1);
		expect(await check({ x: null })).toBe(1);
		expect(await check({ lines: [] })).toBe(0);
		expect(await check({ lines: [{ id: 2 }] })).toBe(0);
		expect(await check({ x: {} })).toBe(0);
	});

	test('neverCalled fails for a call that nobody allowed', async () => {
		const { trial } = await runOne({ input: 'I want a refund.', expect: [neverCalled('refund')] });
		expect(trial).toMatchObject({ passed: false, status: 'awaiting_tools', calls: [{ name: 'refund' }] });
	});

	test('costBelow and stepsBelow compare what the whole trial took', async () => {
		const { trial } = await runOne({ expect: [costBelow(0.0021), costBelow(0.002), stepsBelow(3), stepsBelow(2)] });
		expect(trial.expectations.map(({ score }) => score)).toEqual([1, 0, 1, 0]);
	});

	test('costBelow fails for a model without a price, and names it', async () => {
		const { trial, result } = await runOne({
			providers: [providers.scripted(['Hello.'])],
			expect: [costBelow(1)],
		});
		expect(trial.costUsd).toBeUndefined();
		expect(trial.expectations).toMatchObject([
			{ score: 0, reason: 'the cost is unknown, because scripted has no price. PRICES gives it one.' },
		]);
		expect(result.models[0]?.costUsd).toBeUndefined();
	});

	test('output takes a text, an expression, a function and a schema', async () => {
		const decide = async (wanted: Parameters<typeof output>[0], said: string) =>
			(await output(wanted)({ ...args(), output: said })).score;
		expect(await decide('day', 'today')).toBe(1);
		expect(await decide('Day', 'today')).toBe(0);
		const everywhere = /day/g;
		expect([await decide(everywhere, 'today'), await decide(everywhere, 'today')]).toEqual([1, 1]);
		expect(await decide((said) => said.length > 3, 'today')).toBe(1);
		expect(await decide(v.object({ when: v.string() }), '{"when":"today"}')).toBe(1);
		expect(await decide(v.object({ when: v.string() }), 'today')).toBe(0);
		expect(await decide(v.pipe(v.string(), v.maxLength(2)), 'today')).toBe(0);
	});
});

/** A scorer in the shape of autoevals: a named function of `{ output, expected }` that gives a `Score`. */
function Levenshtein(given: { readonly output: string; readonly expected?: string }): {
	name: string;
	score: number | null;
	metadata?: Record<string, unknown>;
} {
	if (given.expected === undefined) throw new Error('LevenshteinScorer requires an expected value');
	return { name: 'Levenshtein', score: given.output === given.expected ? 1 : 0.25, metadata: { rationale: 'near' } };
}

describe('functions', () => {
	const say = { agent: desk, providers: [createModel()] };

	test('a scorer of autoevals works as it is', async () => {
		const { models, trials } = await runEval({
			...say,
			cases: [
				{ input: 'Hi', expected: 'You said: Hi' },
				{ input: 'Ho', expected: 'You said: Hi' },
			],
			scores: [Levenshtein],
			gates: { scores: { Levenshtein: 0.625 } },
		});
		expect(models[0]?.scores.get('Levenshtein')).toEqual({ mean: 0.625, count: 2, errors: 0 });
		expect(trials[1]?.scores).toEqual([
			{ name: 'Levenshtein', score: 0.25, reason: 'near', metadata: { rationale: 'near' } },
		]);
	});

	test('a scorer of autoevals that asks a model keeps its own settings', async () => {
		const given: object[] = [];
		interface Settings {
			readonly model?: string;
			readonly client?: object;
			readonly maxTokens?: number;
			readonly temperature?: number;
		}
		const Factuality = async (all: { input?: string; output: string; expected?: string } & Settings) => {
			given.push(all);
			return { name: 'Factuality', score: 0.6, metadata: { choice: 'B', rationale: 'A superset.' }, error: undefined };
		};
		const { trials } = await runEval({ ...say, cases: [{ input: 'Hi', expected: 'Ho' }], scores: [Factuality] });
		expect(given.map((one) => Object.keys(one).sort())).toEqual([['expected', 'input', 'output', 'session']]);
		expect(trials[0]?.scores).toMatchObject([{ name: 'Factuality', score: 0.6, reason: 'A superset.' }]);
	});

	test('a function may return nothing, a boolean, a number, a score, or throw', async () => {
		const scorers: readonly Scorer[] = [
			() => undefined,
			() => true,
			async () => 0.5,
			() => ({ score: null }),
			() => false,
			() => 7,
			() => {
				throw new Error('Not good.');
			},
		];
		const { trials } = await runEval({ ...say, cases: [{ input: 'Hi' }], expect: scorers });
		expect(trials[0]?.expectations).toEqual([
			{ name: 'expectation 1', score: 1 },
			{ name: 'expectation 2', score: 1 },
			{ name: 'expectation 3', score: 0.5 },
			{ name: 'expectation 4', score: null },
			{ name: 'expectation 5', score: 0 },
			{ name: 'expectation 6', score: null, error: 'It gave 7, and no score from 0 to 1.' },
			{ name: 'expectation 7', score: null, error: 'Not good.' },
		]);
	});

	test('a scorer gets the input, the answer, what was expected, and the session', async () => {
		let given: unknown;
		const look: Scorer<string> = (all) => {
			given = all;
		};
		await runEval({ ...say, cases: [{ input: ['Hi', 'Where is my order?'], expected: 'x' }], expect: [look] });
		expect(given).toMatchObject({
			input: 'Hi\nWhere is my order?',
			output: expect.stringContaining('scripted: {"id":"A-1042"'),
			expected: 'x',
			session: { calls: [{ name: 'find_order', output: { arrives: 'today' } }], steps: 3, status: 'completed' },
		});
	});

	test('a score that does not apply is in no mean, and an error keeps a gate from holding', async () => {
		const definition = { ...say, cases: [{ input: 'Hi' }, { input: 'Ho' }] };
		const half: Scorer = ({ input }) => ({ name: 'half', score: input === 'Hi' ? null : 0.5 });
		const one = await runEval({ ...definition, scores: [half], gates: { scores: { half: 0.5 } } });
		expect([one.passed, one.models[0]?.scores.get('half')]).toEqual([true, { mean: 0.5, count: 1, errors: 0 }]);
		const other = await runEval({ ...definition, scores: [Levenshtein], gates: { scores: { Levenshtein: 0 } } });
		expect(other.gates).toContainEqual({
			...{ model: 'scripted', name: 'Levenshtein', passed: false, reason: '2 of 2 scores are errors.' },
		});
	});
});

describe('cases', () => {
	const base = { agent: desk, providers: [createModel()] };

	test('turns send messages, allow and deny calls, and give results', async () => {
		const { trials, passed } = await runEval({
			...base,
			cases: [
				{
					name: 'allowed',
					input: ['A refund, please.', { approve: 'refund', input: { amount: 3 } }],
					expect: [output('paid 3')],
				},
				{
					name: 'denied',
					input: ['A refund, please.', { deny: 'refund', reason: 'too much' }],
					expect: [output('too much')],
				},
				{ name: 'by hand', input: ['By hand.', { result: 'by_hand', output: 'done' }], expect: [output('done')] },
				{ name: 'parts', input: [{ parts: [{ kind: 'text', text: 'Hi' }] }], expect: [output('You said: Hi')] },
			],
		});
		expect(trials.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
		expect(passed).toBe(true);
	});

	test('a decision about a call that does not wait fails the trial, and says what waits', async () => {
		const { trials } = await runEval({
			...base,
			cases: [
				{ input: ['A refund, please.', { approve: 'pay' }] },
				{ input: ['A refund, please.', 'And?'] },
				{ input: ['Hi', { deny: 'refund' }] },
			],
		});
		expect(trials.map(({ error }) => error)).toEqual([
			'turn 2: no call of pay waits for a decision. Waiting: refund (approval).',
			expect.stringMatching(/^turn 2: .*Waiting: refund \(approval\)\.$/),
			'turn 2: no call of refund waits for a decision. Nothing waits.',
		]);
	});

	test('a case that fails does not stop the others', async () => {
		const { trials, passed } = await runEval({
			...base,
			cases: [
				{ name: 'broken', input: 'Hi', script: [new RunletError('content_filtered', 'Refused.')] },
				{ name: 'good', input: 'Hi', expect: [output('Hi')] },
			],
		});
		expect(trials.map(({ name, error, passed: isGood }) => [name, error, isGood])).toEqual([
			['broken', 'Refused.', false],
			['good', undefined, true],
		]);
		expect(passed).toBe(false);
	});

	test('a trial and its scorers end at the time limit', async () => {
		const stuck: providers.ScriptedFn = () => new Promise(() => {});
		const { trials } = await runEval({
			...{ ...base, timeoutMs: 500, scores: [() => new Promise(() => {})] },
			cases: [{ input: 'Hi', script: [stuck] }, { input: 'Hi' }],
		});
		expect(trials[0]?.error).toBe('It took longer than 500 ms.');
		expect(trials[1]?.scores).toMatchObject([{ error: 'It took longer than 500 ms.' }]);
	});

	test('a scorer of a failed trial is an error, so that a mean of the others is no pass', async () => {
		const { gates } = await runEval({
			...base,
			cases: [{ input: 'Hi' }, { input: 'Hi', script: [] }],
			scores: [Object.defineProperty(() => 1, 'name', { value: 'good' })],
			gates: { passRate: 0, scores: { good: 0.5 } },
		});
		expect(gates.map(({ passed, reason }) => [passed, reason])).toEqual([
			[true, undefined],
			[false, '1 of 2 scores are errors.'],
		]);
	});

	test('tools see the variables, and those of the definition come first', async () => {
		const { trials } = await runEval(
			{ ...base, cases: [{ input: 'Where is my order?' }] },
			{ env: { SHOP_TOKEN: 'from-file' } },
		);
		expect(trials[0]?.output).toContain('"token":"from-file"');
	});
});

describe('runs', () => {
	test('several models have a column each, and each has to hold the gates', async () => {
		const result = await runEval({
			agent: desk,
			providers: [createModel()],
			models: ['scripted-a', 'scripted-b'],
			cases: [{ name: 'order', input: 'Where is my order?', expect: [output(/^a: /)] }],
		});
		expect(result.models.map(({ model, pass }) => [model, pass.rate])).toEqual([
			['scripted-a', 1],
			['scripted-b', 0],
		]);
		expect(result.gates).toEqual([
			{ model: 'scripted-a', name: 'passRate', passed: true },
			{ model: 'scripted-b', name: 'passRate', passed: false, reason: '0 is below 1.' },
		]);
	});

	test('a fallback of the agent does not answer for the model of a column', async () => {
		const { requests, ...broken } = providers.scripted([Object.assign(new Error('Refused.'), { status: 503 })]);
		const { trials } = await runEval({
			agent: { ...desk, fallbacks: ['scripted'], maxRetries: 0 },
			providers: [createModel(), { ...broken, detect: (model) => model === 'scripted-broken' }],
			models: ['scripted-broken'],
			cases: [{ input: 'Hi' }],
		});
		expect(requests).toHaveLength(1);
		expect(trials).toMatchObject([{ model: 'scripted-broken', passed: false, output: '' }]);
	});

	test('trialCount repeats each case, and gives rates an interval', async () => {
		let asked = 0;
		const { models, passed, trials } = await runEval({
			agent: desk,
			providers: [createModel()],
			cases: [{ name: 'hi', input: 'Hi' }],
			expect: [() => ++asked % 3 > 0],
			trialCount: 6,
			gates: { passRate: 0.6 },
		});
		expect(trials.map(({ trial }) => trial)).toEqual([1, 2, 3, 4, 5, 6]);
		expect(models[0]?.cases.get('hi')).toEqual(models[0]?.pass);
		expect(models[0]?.pass).toMatchObject({ passed: 4, count: 6 });
		expect(models[0]?.pass.interval.map((bound) => bound.toFixed(3))).toEqual(['0.300', '0.903']);
		expect(passed).toBe(true);
	});

	test('at most maxConcurrency trials run at the same time', async () => {
		let [now, most] = [0, 0];
		const wait: providers.ScriptedFn = async () => {
			most = Math.max(most, ++now);
			await new Promise((resolve) => setImmediate(resolve));
			now -= 1;
			return 'Hi.';
		};
		await runEval({ agent: desk, script: [wait], cases: [{ input: 'Hi' }], trialCount: 12, maxConcurrency: 3 });
		expect(most).toBe(3);
	});

	test('the options name other models, and the only cases', async () => {
		const { trials } = await runEval(
			{
				agent: desk,
				providers: [createModel()],
				cases: [
					{ name: 'a', input: 'A' },
					{ name: 'b', input: 'B' },
				],
			},
			{ models: ['scripted-x'], cases: ['b'] },
		);
		expect(trials.map(({ name, model }) => [name, model])).toEqual([['b', 'scripted-x']]);
	});

	test('a model without its key is refused before the first request, and the error names the variable', async () => {
		const definition = { agent: desk, cases: [{ input: 'Hi' }], models: ['demo', 'claude-sonnet-4-6'] };
		await expect(runEval(definition, { env: { ANTHROPIC_API_KEY: '' } })).rejects.toMatchObject({
			code: 'not_configured',
			message: expect.stringContaining('set ANTHROPIC_API_KEY'),
		});
	});

	test('an eval with a script needs no key', async () => {
		const { passed, models } = await runEval({
			agent: desk,
			script: [callTool('find_order', { id: 'A-1' }), 'Today.'],
			cases: [{ input: 'Where is it?', expect: [output('Today')] }],
		});
		expect([passed, models[0]?.model]).toEqual([true, 'scripted']);
	});

	test.each([
		[{ cases: [] }, 'not_found'],
		[
			{
				cases: [
					{ name: 'a', input: 'A' },
					{ name: 'a', input: 'B' },
				],
			},
			'invalid_request',
		],
		[{ scores: [judge({ rubric: 'A', model: 'demo' }), judge({ rubric: 'B', model: 'demo' })] }, 'invalid_request'],
		[{ trialCount: 0 }, 'invalid_request'],
		[{ maxConcurrency: 0.5 }, 'invalid_request'],
		[{ timeoutMs: Number.NaN }, 'invalid_request'],
	])('a wrong definition is refused: %j', async (wrong, code) => {
		const definition = { agent: desk, script: ['Hi'], cases: [{ input: 'Hi' }], ...wrong };
		await expect(runEval(definition)).rejects.toMatchObject({ code });
	});
});
