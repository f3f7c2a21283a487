import { inputRequired } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { createConnection } from '../../../src/core/mcp/index.ts';
import { type AskUser, type InvokeContext, isAskUser, type ToolResult } from '../../../src/core/tool/index.ts';
import { type Served, serveSessions, serveStateless } from './serve.ts';
import { call, connect, createServer, keep, text, type Work } from './support.ts';

const schema = {
	type: 'object' as const,
	properties: {
		name: { type: 'string' as const, minLength: 2 },
		age: { type: 'integer' as const },
		size: { type: 'string' as const, enum: ['small', 'large'], default: 'small' },
	},
	required: ['name'],
};
type Asked = Parameters<typeof inputRequired.elicit>[0];

/** For each revision, a tool that asks the person and returns the answer as JSON. */
const asking: Readonly<Record<string, (asked: Asked) => Work>> = {
	'2026-07-28': (asked) => {
		return (_, { mcpReq }) => {
			const { inputResponses } = mcpReq;
			if (inputResponses !== undefined) return text(JSON.stringify(inputResponses.who));
			return inputRequired({ inputRequests: { who: inputRequired.elicit(asked) }, requestState: 'my-state' });
		};
	},
	'2025-11-25': (asked) => {
		return async (_, { mcpReq }) => {
			return text(JSON.stringify(await mcpReq.elicitInput({ mode: 'form', ...asked } as never)));
		};
	},
};
const start: Readonly<Record<string, (create: ReturnType<typeof createServer>) => Promise<Served>>> = {
	'2026-07-28': serveStateless,
	'2025-11-25': serveSessions,
};

function readQuestion({ output, isError }: ToolResult): AskUser {
	if (isError || !isAskUser(output)) throw new Error(`not a question: ${JSON.stringify(output)}`);
	return output;
}

describe.each(['2026-07-28', '2025-11-25'])('a server of revision %s that asks in a call', (revision) => {
	const begin = async (asked: Asked = { message: 'Who are you?', requestedSchema: schema }) => {
		const work = asking[revision]?.(asked) ?? (() => text('no such revision'));
		const served = keep(await (start[revision] ?? serveStateless)(createServer({ ask: work })));
		const connection = await connect(served);
		const { tools } = connection;
		const question = readQuestion(await call(tools, 'ask'));
		const answer = (words: string, resume: unknown = question.resume, more: InvokeContext = {}) =>
			call(tools, 'ask', {}, { answer: { text: words, resume }, ...more });
		return { question, answer, served, connection };
	};

	it('creates a question with a form', async () => {
		const { question } = await begin();
		expect(question.question).toContain('The server fixture asks: Who are you?');
		expect(question.question).toContain('- size (one of small, large)');
		expect(question.options).toMatchObject({ kind: 'form', server: 'fixture', schema: { required: ['name'] } });
	});

	it("gets the person's answer with defaults for missing fields, and then returns the result of the call", async () => {
		const { answer } = await begin();
		const result = await answer('{"name": "Ada", "age": "36"}');
		expect(JSON.parse(String(result.output))).toEqual({
			action: 'accept',
			content: { name: 'Ada', age: 36, size: 'small' },
		});
	});

	it('asks again and gives the reason if an answer does not fit the form', async () => {
		const { answer } = await begin();
		const again = readQuestion(await answer('{"name": "A"}'));
		expect(again.question).toMatch(/^That does not fit: name: /);
		expect(JSON.parse(String((await answer('{"name": "Ada"}', again.resume)).output))).toMatchObject({
			action: 'accept',
		});
	});

	it.each(['decline', 'Cancel.', '{"action": "decline"}'])('gets no content for the answer %s', async (words) => {
		const { answer } = await begin();
		const action = /cancel/i.test(words) ? 'cancel' : 'decline';
		expect(JSON.parse(String((await answer(words)).output))).toEqual({ action });
	});

	it.each([
		[{ type: 'string' as const }, 'Ada Lovelace', 'Ada Lovelace'],
		[{ type: 'boolean' as const }, 'Yes', true],
		[{ type: 'number' as const }, '2.5', 2.5],
		[
			{
				type: 'string' as const,
				oneOf: [
					{ const: '#f00', title: 'Red' },
					{ const: '#0f0', title: 'Green' },
				],
			},
			'red',
			'#f00',
		],
		[{ type: 'array' as const, items: { type: 'string' as const, enum: ['a', 'b'] } }, 'A, b', ['a', 'b']],
	])('gets plain words converted to the type of the only form field: %j', async (field, words, value) => {
		const { answer } = await begin({
			message: 'Well?',
			requestedSchema: { type: 'object', properties: { it: field } },
		} as Asked);
		expect(JSON.parse(String((await answer(words)).output))).toEqual({ action: 'accept', content: { it: value } });
	});
});

describe('a server of revision 2026-07-28', () => {
	it('can ask several questions, and then gets the call once more with all answers', async () => {
		let calls = 0;
		const served = keep(
			await serveStateless(
				createServer({
					two: (_, { mcpReq }) => {
						calls++;
						const { inputResponses } = mcpReq;
						if (inputResponses !== undefined) return text(JSON.stringify(inputResponses));
						const ask = (message: string) =>
							inputRequired.elicit({
								message,
								requestedSchema: { type: 'object', properties: { it: { type: 'string' } } },
							});
						return inputRequired({ inputRequests: { a: ask('First?'), b: ask('Second?') } });
					},
				}),
			),
		);
		const { tools } = await connect(served);
		const first = readQuestion(await call(tools, 'two'));
		expect(first.question).toContain('First?');
		const second = readQuestion(await call(tools, 'two', {}, { answer: { text: 'one', resume: first.resume } }));
		expect(second.question).toContain('Second?');
		expect(calls).toBe(1);
		const result = await call(tools, 'two', {}, { answer: { text: 'decline', resume: second.resume } });
		expect(JSON.parse(String(result.output))).toEqual({
			a: { action: 'accept', content: { it: 'one' } },
			b: { action: 'decline' },
		});
		expect(calls).toBe(2);
	});

	it('can ask the person to open a link', async () => {
		const served = keep(
			await serveStateless(
				createServer({
					pay: (_, { mcpReq }) =>
						mcpReq.inputResponses === undefined
							? inputRequired({
									inputRequests: {
										link: inputRequired.elicitUrl({ message: 'Pay here', url: 'https://pay.example/1' }),
									},
								})
							: text(JSON.stringify(mcpReq.inputResponses)),
				}),
			),
		);
		const { tools } = await connect(served);
		const question = readQuestion(await call(tools, 'pay'));
		expect(question.options).toEqual({ kind: 'url', server: 'fixture', url: 'https://pay.example/1' });
		const result = await call(tools, 'pay', {}, { answer: { text: 'done', resume: question.resume } });
		expect(JSON.parse(String(result.output))).toEqual({ link: { action: 'accept' } });
	});

	it('cannot request a reply from the model, and is called at most ten more times if it asks no question', async () => {
		let calls = 0;
		const served = keep(
			await serveStateless(
				createServer({
					sample: () =>
						inputRequired({ inputRequests: { s: inputRequired.createMessage({ messages: [], maxTokens: 1 }) } }),
					again: () => {
						calls++;
						return inputRequired({ requestState: 'more' });
					},
				}),
			),
		);
		const { tools } = await connect(served);
		const sampled = await call(tools, 'sample');
		expect(sampled).toMatchObject({ isError: true });
		expect(await call(tools, 'again')).toMatchObject({
			isError: true,
			output: expect.stringContaining('again and again'),
		});
		expect(calls).toBe(11);
	});
});

describe('a server of revision 2025-11-25 that loses the connection during a question', () => {
	it('is not called again, and the model learns that the call may have had effects', async () => {
		let calls = 0;
		const work: Work = async (_, { mcpReq }) => {
			calls++;
			return text(JSON.stringify(await mcpReq.elicitInput({ mode: 'form', message: '?', requestedSchema: schema })));
		};
		const served = keep(await serveSessions(createServer({ ask: work })));
		const first = await connect(served);
		const question = readQuestion(await call(first.tools, 'ask'));
		const second = keep(createConnection({ name: 'fixture', url: served.url }, { allowLoopback: true }));
		const answer = { text: '{"name":"Ada"}', resume: question.resume };
		const result = await call(await second.loadTools(), 'ask', {}, { answer });
		expect(result).toMatchObject({ isError: true, output: expect.stringContaining('may have had effects') });
		expect(calls).toBe(1);
	});
});

it.each(['javascript:alert(1)', 'data:text/html,hi', 'file:///etc/passwd', 'no address'])(
	'a server cannot ask a person to open this link: %s',
	async (url) => {
		const ask: Work = () =>
			// SAFETY: a hostile server violates its types.
			({
				resultType: 'input_required',
				inputRequests: {
					who: { method: 'elicitation/create', params: { mode: 'url', message: 'Open.', url, elicitationId: '1' } },
				},
			}) as never;
		const served = keep(await serveStateless(createServer({ ask })));
		const { tools } = await connect(served);
		const { output, isError } = await call(tools, 'ask');
		expect([isError, isAskUser(output)]).toEqual([true, false]);
	},
);
