import { env } from 'cloudflare:test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import { log, logThrown, toFailureFields } from '../../src/cloudflare/log.ts';
import { RunletError } from '../../src/core/base/errors.ts';
import { createSession, request, send } from '../client.ts';
import { play } from '../script.ts';
import worker from '../worker.ts';

const canary = 'sk-canary-1234567890abcdef';
/** The lines that were written since the last call of `watch`. */
const written: string[] = [];
const lines = (): Record<string, unknown>[] => written.map((line) => JSON.parse(line));
const watch = () => {
	written.length = 0;
	for (const level of ['info', 'warn', 'error'] as const)
		vi.spyOn(console, level).mockImplementation((line) => void written.push(String(line)));
};
afterEach(() => vi.restoreAllMocks());

describe('a line of the log', () => {
	test('is JSON with its defined fields', () => {
		watch();
		log('warn', 'here', { 'http.request.method': 'GET', 'http.response.status_code': 200, 'error.type': undefined });
		const line = { level: 'warn', event: 'here', 'http.request.method': 'GET', 'http.response.status_code': 200 };
		expect(written).toEqual([JSON.stringify(line)]);
	});

	test('has no unknown field, and redacts a value of an unexpected form', () => {
		watch();
		const outside: object = { body: canary, 'http.route': `/?key=${canary}`, 'runlet.duration_ms': canary };
		log('info', 'here', outside);
		expect(lines()).toEqual([
			{ level: 'info', event: 'here', 'http.route': 'redacted', 'runlet.duration_ms': 'redacted' },
		]);
	});

	test('redacts a secret even if the secret has the form that its field expects', () => {
		watch();
		for (const code of [`ghp_${'a1B2'.repeat(9)}`, `AKIA${'IOSFODNN7EXAMPLE'}`, `eyJhbGciOiJub25lIn0.e30.`])
			log('warn', 'here', { 'error.type': code, 'gen_ai.request.model': code });
		for (const line of lines())
			expect(line).toMatchObject({ 'error.type': 'redacted', 'gen_ai.request.model': 'redacted' });
	});
});

describe('the log of a failure', () => {
	test('has its code, and the file and line that threw the innermost cause', () => {
		const cause = new TypeError(canary);
		const fields = toFailureFields(
			new RunletError('internal', canary, { canary }, { cause: new Error(canary, { cause }) }),
		);
		expect(fields['error.type']).toBe('internal');
		expect(fields['exception.type']).toBe('TypeError');
		expect(fields['exception.stacktrace']).toMatch(/^at .*log\.worker\.test\.ts:\d+:\d+/);
		expect(JSON.stringify(fields)).not.toContain('canary');
	});

	test('has only its code if the caller can correct the failure', () => {
		expect(toFailureFields(new RunletError('conflict', canary))).toEqual({ 'error.type': 'conflict' });
	});

	test.each([
		['has lines like those of a stack', new Error(`a\n    at ${canary} (file.ts:1:1)\n    at ${canary}:1:1`)],
		['was changed after it was thrown', Object.assign(new Error(`a\n    at ${canary}:1:1`), { message: 'b' })],
		['is also the name of the error', Object.assign(new Error(canary), { name: canary })],
		[
			'is in a stack that was written by hand',
			Object.assign(new Error('a'), { stack: `Error: ${canary}\n    at ${canary}:1:1` }),
		],
		[
			'is only in a stack that was written by hand',
			Object.assign(new Error(''), { stack: `Error: a\n    at ${canary}:1:1` }),
		],
		['is a string instead of an error', canary],
		['is in an object that is not an error', { message: canary, stack: `Error\n    at ${canary}:1:1` }],
	])('contains no thrown text that %s', (_, thrown) => {
		watch();
		log('error', 'failure', toFailureFields(thrown));
		expect(JSON.stringify(lines())).not.toContain('canary');
	});
});

describe('the log of an error that a tool threw', () => {
	test('has the error’s class and stack lines, and has its message only in the local mode', () => {
		watch();
		const thrown = new TypeError(`no ${canary}`);
		logThrown('tool.threw', thrown, { tool: 'book_table', local: false });
		logThrown('tool.threw', thrown, { tool: 'book_table', local: true });
		const [deployed, local] = lines();
		expect(deployed).toMatchObject({
			event: 'tool.threw',
			'gen_ai.tool.name': 'book_table',
			'exception.type': 'TypeError',
		});
		expect(deployed?.['exception.stacktrace']).toMatch(/^at .*log\.worker\.test\.ts:\d+:\d+/);
		expect(deployed).not.toHaveProperty('exception.message');
		expect(local?.['exception.message']).toMatch(/^no /);
		expect(JSON.stringify(lines())).not.toContain('canary');
	});
});

describe('a request', () => {
	test('is one log line with method, route, status and time, and without the content of the request', async () => {
		watch();
		const id = await createSession();
		await request(`/v1/sessions/${id}?token=${canary}`);
		await request(`/v1/sessions/${id}`, undefined, { authorization: `Bearer ${canary}`, cookie: canary });
		await request(`/v1/${canary}`, { text: canary }, {}, 'POST');
		await request('/v1/sessions', { agent: canary });
		await request('/v1/agents', undefined, {}, 'PURGE');
		const told = lines().filter(({ event }) => event === 'http.request');
		expect(told).toMatchObject([
			{ 'http.request.method': 'POST', 'http.route': '/v1/sessions', 'http.response.status_code': 201 },
			{ 'http.request.method': 'GET', 'http.route': '/v1/sessions/:id', 'http.response.status_code': 400 },
			{ 'http.request.method': 'GET', 'http.route': '/v1/sessions/:id', 'http.response.status_code': 200 },
			{ 'http.request.method': 'POST', 'http.response.status_code': 404 },
			{ 'http.request.method': 'POST', 'http.route': '/v1/sessions', 'http.response.status_code': 404 },
			{ 'http.request.method': '_OTHER', 'http.route': '/v1/agents', 'http.response.status_code': 405 },
		]);
		for (const line of told) expect(line['runlet.duration_ms']).toBeGreaterThanOrEqual(0);
		expect(JSON.stringify(lines())).not.toContain('canary');
	});
});

describe('the log line of a request', () => {
	test('has the id of the API key, but neither the key itself nor the id of a refused key', async () => {
		const { key, id } = makeKey();
		const bindings = { ...env, LOCAL: 'false', API_KEYS: JSON.stringify([{ id, hash: await hashKey(key) }]) };
		const ask = (credential: string) =>
			worker.request(
				'https://runlet.example.com/v1/sessions',
				{ headers: { authorization: `Bearer ${credential}` } },
				bindings,
			);
		watch();
		await ask(key);
		await ask(`${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`);
		const [known, refused] = lines();
		expect(known).toMatchObject({ 'http.response.status_code': 200, 'runlet.key.id': id });
		expect(refused).toMatchObject({ 'http.response.status_code': 401, 'error.type': 'auth' });
		expect(refused).not.toHaveProperty('runlet.key.id');
		expect(written.join()).not.toContain(key.slice(-43, -1));
	});
});

describe('a run', () => {
	test('is one log line with OpenTelemetry names and without text of the conversation', async () => {
		watch();
		const id = await createSession();
		play({ toolCalls: [{ id: 'a', name: 'echo', input: { text: canary } }] }, `I say ${canary}.`);
		await (await send(id, canary)).text();
		const told = lines().filter(({ event }) => event === 'run');
		expect(told).toMatchObject([
			{
				'gen_ai.operation.name': 'invoke_agent',
				'gen_ai.agent.name': 'scripted',
				'gen_ai.conversation.id': id,
				'gen_ai.provider.name': 'scripted',
				'gen_ai.request.model': 'scripted',
				'runlet.run.status': 'completed',
				'runlet.run.turns': 2,
				'runlet.run.tool_calls': 1,
				'runlet.run.lives': 1,
				'runlet.owner': 'local',
			},
		]);
		expect(JSON.stringify(lines())).not.toContain('canary');
	});

	test('that fails has its error code in the log', async () => {
		watch();
		const id = await createSession();
		play(() => {
			throw new RunletError('auth', `The key ${canary} is not valid.`);
		});
		await (await send(id, 'Hi')).text();
		expect(lines()).toContainEqual(
			expect.objectContaining({ event: 'run', 'runlet.run.status': 'error', 'error.type': 'auth' }),
		);
		expect(JSON.stringify(lines())).not.toContain('canary');
	});
});
