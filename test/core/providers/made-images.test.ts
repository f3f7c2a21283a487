import { describe, expect, test } from 'vitest';
import { startRun } from '../../../src/core/chat/run.ts';
import { chat, type Message, type ProviderRegistration, providers, workspace } from '../../../src/core/index.ts';

/** A PNG as base64, large enough to be found in any data. */
const png = `iVBORw0KGgo${'A'.repeat(400_001)}`;
const hello = [chat.userMessage('Draw a cat.')];

const drawn = { type: 'image_generation_call', id: 'ig_1', status: 'completed', revised_prompt: 'A cat.', result: png };
const said = {
	type: 'message',
	id: 'msg_1',
	role: 'assistant',
	status: 'completed',
	phase: 'final_answer',
	content: [{ type: 'output_text', text: 'Here it is.', annotations: [] }],
};
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'secret' };
const responded = { id: 'resp_1', model: 'gpt-5.4', status: 'completed', output: [thought, drawn, said] };
const generated = {
	candidates: [
		{
			content: {
				role: 'model',
				parts: [
					{ thought: true, inlineData: { mimeType: 'image/png', data: png }, thoughtSignature: 'draft' },
					{ text: 'Here it is.', thoughtSignature: 'sign' },
					{ inlineData: { mimeType: 'image/png', data: png }, thoughtSignature: 'sign too' },
				],
			},
			finishReason: 'STOP',
		},
	],
};

const makers = {
	OpenAI: {
		make: providers.openai,
		model: 'gpt-5.4',
		whole: responded,
		events: [
			{ type: 'response.created', response: { ...responded, status: 'in_progress', output: [] } },
			...responded.output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
			{ type: 'response.completed', response: responded },
		],
	},
	Gemini: {
		make: providers.gemini,
		model: 'gemini-2.5-flash-image',
		whole: generated,
		events: generated.candidates[0]?.content.parts.map((part, at) => ({
			candidates: [{ content: { role: 'model', parts: [part] }, ...(at === 2 && { finishReason: 'STOP' }) }],
		})),
	},
};

/** A provider that makes images, and its requests. */
function drawing(name: keyof typeof makers) {
	const { make, whole, events = [], model } = makers[name];
	const sent: string[] = [];
	const provider = make({
		apiKey: 'key',
		fetch: async (url, init = {}) => {
			sent.push(`${init.body}`);
			if (!/alt=sse/.test(`${url}`) && !/"stream":true/.test(`${init.body}`)) return Response.json(whole);
			const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
			return new Response(lines, { headers: { 'content-type': 'text/event-stream' } });
		},
	});
	return { provider, sent, model };
}

const path = expect.stringMatching(/^images\/[a-z0-9]{11}\.png$/);

function nameOf(messages: readonly Message[]): string {
	const [part] = messages.flatMap((message) => ('parts' in message ? (message.parts ?? []) : [])).slice(-1);
	return part?.name ?? '';
}

describe.each(['OpenAI', 'Gemini'] as const)('an image that a model of %s makes', (name) => {
	test.each([true, false])('becomes a file of the workspace (streaming: %s)', async (stream) => {
		const { provider, model } = drawing(name);
		const files = workspace.inMemory();
		const options = { model, providers: [provider], context: { workspace: files } };
		const events: chat.RunEvent[] = [];
		const run = startRun(options, hello, { stream });
		const read = run.read();
		for (let some = await read(); some !== undefined; some = await read()) events.push(...some);
		const { messages } = await run.result;
		const answer = messages.at(-1);
		const file = nameOf(messages);
		expect(answer).toMatchObject({
			role: 'assistant',
			content: 'Here it is.',
			parts: [
				{ kind: 'text', text: 'Here it is.' },
				{ kind: 'image', name: path, mime: 'image/png', meta: { file } },
			],
			providerCalls: [{ name: 'image_generation', output: { file } }],
		});
		expect(JSON.stringify(messages)).not.toContain('AAAAAAAA');
		expect(JSON.stringify(events)).not.toContain('AAAAAAAA');
		expect(await files.stat(file)).toMatchObject({ size: 300_009, mime: 'image/png' });
	});

	test('is replaced by its name in later requests to all providers', async () => {
		const { provider, model, sent } = drawing(name);
		const options = { providers: [provider], context: { workspace: workspace.inMemory() } };
		const { messages } = await chat.run({ ...options, model }, hello).result;
		await chat.run({ ...options, model }, [...messages, chat.userMessage('Thanks.')]).result;
		const said = `[image:${nameOf(messages)}]`;
		expect(sent[1]?.length).toBeLessThan(2_000);
		expect(sent[1]).toContain(said);
		expect(sent[1]?.split('Here it is.').length).toBe(2);
		for (const other of others) {
			const bodies: string[] = [];
			const asked = [...messages, chat.userMessage('Thanks.')];
			await startRun({ model: other.model, providers: [other.make(bodies)] }, asked, { stream: false }).result;
			expect(bodies[0]).toContain(said);
			expect(bodies[0]?.length).toBeLessThan(2_000);
		}
	});

	test('is a part of the message if the run has no workspace', async () => {
		const { provider, model } = drawing(name);
		const { messages } = await chat.run({ model, providers: [provider] }, hello).result;
		expect(messages.at(-1)).toMatchObject({
			parts: [{ kind: 'text' }, { kind: 'image', name: path, mime: 'image/png', data: png }],
		});
	});

	test('becomes only a name in the message if it exceeds the quota, and a warning reports that', async () => {
		const { provider, model } = drawing(name);
		const files = workspace.inMemory({}, { quota: { fileBytes: 1_000 } });
		const run = chat.run({ model, providers: [provider], context: { workspace: files } }, hello);
		const warnings: unknown[] = [];
		for await (const event of run.events) if (event.type === 'warning') warnings.push(event);
		const { messages, status } = await run.result;
		expect(status).toBe('completed');
		expect(warnings).toEqual([
			{
				type: 'warning',
				code: 'image_not_kept',
				message: expect.stringMatching(/^images\/\w+\.png: the image that the model made could not be kept\. ./),
			},
		]);
		expect(messages.at(-1)).toMatchObject({ parts: [{ kind: 'text' }, { kind: 'image', name: path }] });
		expect(JSON.stringify(messages)).not.toContain('AAAAAAAA');
	});
});

test('OpenAI gets back the other items of the turn, but neither the image nor the reasoning before the image', async () => {
	const { provider, model, sent } = drawing('OpenAI');
	const { messages } = await chat.run({ model, providers: [provider] }, hello).result;
	await chat.run({ model, providers: [provider] }, [...messages, chat.userMessage('Thanks.')]).result;
	const { input } = JSON.parse(`${sent[1]}`);
	const { id: _, ...message } = said;
	expect(input.slice(1, -1)).toEqual([
		{ role: 'assistant', content: expect.stringMatching(/^\[image:images/) },
		message,
	]);
});

test('the original text of a turn is not sent back if the text was changed', async () => {
	const { provider, model, sent } = drawing('OpenAI');
	const { messages } = await chat.run({ model, providers: [provider] }, hello).result;
	const changed = messages.map((message) =>
		message.role === 'assistant'
			? { ...message, content: '[…]', parts: [{ kind: 'text', text: '[…]' } as const] }
			: message,
	);
	await chat.run({ model, providers: [provider] }, [...changed, chat.userMessage('Thanks.')]).result;
	expect(sent[1]).not.toContain('Here it is.');
});

const spoken = { choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }] };
const message = {
	type: 'message',
	role: 'assistant',
	content: [{ type: 'text', text: 'Hi.' }],
	stop_reason: 'end_turn',
};

type Other = { readonly model: string; readonly make: (bodies: string[]) => ProviderRegistration };
const take = (bodies: string[], answer: unknown) => ({
	apiKey: 'key',
	fetch: async (_: unknown, init: RequestInit = {}) => {
		bodies.push(`${init.body}`);
		return Response.json(answer);
	},
});
const others: readonly Other[] = [
	{ model: 'claude-sonnet-4-5', make: (bodies) => providers.anthropic(take(bodies, message)) },
	{ model: 'groq/openai/gpt-oss-20b', make: (bodies) => providers.groq(take(bodies, spoken)) },
];
