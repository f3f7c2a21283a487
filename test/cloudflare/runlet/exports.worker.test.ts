import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import {
	createKey,
	createRunlet,
	defineAgent,
	findKey,
	formatKeys,
	parseKeys,
	publishSkills,
	toCompletionResponse,
	toUiResponse,
	verifyWebhook,
} from '../../../src/cloudflare/runlet/index.ts';
import { sourceNames } from '../../../src/cloudflare/wire/protocols/webhooks/index.ts';
import { chat, providers } from '../../../src/core/index.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

/** A signed delivery of a source. */
function sign(source: (typeof sourceNames)[number], body = JSON.stringify({ type: 'paid', action: 'opened' })) {
	const { secret, headers: create } = senders[source];
	const headers = create(body, { id: 'delivery-1', at: Math.floor(Date.now() / 1_000), secrets: [secret] });
	return {
		secret,
		request: new Request('https://example.com/hook', { method: 'POST', body, headers: { ...headers } }),
	};
}

test.each(sourceNames)('verifies a delivery of %s in a custom route only with the right secret', async (source) => {
	const { secret, request } = sign(source);
	const { event } = await verifyWebhook(source, request.clone(), { secrets: secret });
	expect(event).toMatchObject({ source, payload: { type: 'paid' } });
	const wrong = source === 'standard' ? `whsec_${btoa('another secret of 24 b.')}` : 'another secret';
	await expect(verifyWebhook(source, request, { secrets: wrong })).rejects.toMatchObject({ code: 'auth' });
});

test('refuses a delivery without a secret, from an unknown source, or with a body over the limit', async () => {
	const { secret, request } = sign('github');
	await expect(verifyWebhook('github', request.clone(), { secrets: '' })).rejects.toMatchObject({
		code: 'not_configured',
		message: expect.stringContaining('secrets: missing'),
	});
	await expect(
		Reflect.apply(verifyWebhook, undefined, ['nobody', request.clone(), { secrets: secret }]),
	).rejects.toMatchObject({
		message: expect.stringContaining('Known: standard, github'),
	});
	await expect(verifyWebhook('github', request, { secrets: secret, maxBytes: 5 })).rejects.toMatchObject({
		code: 'too_large',
	});
});

test('createKey makes a key that a Worker with the record of the key accepts', async () => {
	const { key, record } = await createKey({ owner: 'shop', scopes: ['run', 'admin'] });
	expect(JSON.stringify(record)).not.toContain(key);
	const stored = formatKeys([record]);
	expect(await findKey(key, parseKeys(stored))).toMatchObject({ owner: 'shop', scopes: ['run', 'admin'] });
	expect(await findKey(`${key.slice(0, -1)}x`, [record])).toBeUndefined();
	expect(await findKey('rl_nothing', [record])).toBeUndefined();
	expect(await findKey(key, [{ ...record, expiresAt: '2020-01-01T00:00:00Z' }])).toBeUndefined();
	const runlet = createRunlet({ agents: [defineAgent({ name: 'plain', description: 'Plain.' })] });
	const request = new Request('https://example.com/v1/agents', { headers: { authorization: `Bearer ${key}` } });
	expect((await runlet.fetch(request, { ...env, LOCAL: 'false', API_KEYS: stored })).status).toBe(200);
	await expect(createKey({ owner: 'Not A Name' })).rejects.toMatchObject({ code: 'not_configured' });
});

test('publishes only valid skills to KV, and a Worker serves them', async () => {
	const tone = '---\nname: tone\ndescription: How we write.\n---\nBe warm.';
	const first = await publishSkills(env.SKILLS, {
		tone,
		books: { 'SKILL.md': tone.replace('name: tone', 'name: books'), 'references/all.md': 'All books.' },
		broken: 'no front matter',
	});
	expect(first).toMatchObject({ published: ['books', 'tone'], problems: [{ skill: 'broken' }] });
	const runlet = createRunlet({ agents: [defineAgent({ name: 'plain', description: 'Plain.', skills: ['tone'] })] });
	const listed = await runlet.fetch(new Request('http://127.0.0.1/v1/skills'), { ...env, LOCAL: 'true' });
	const { skills }: { skills: { name: string }[] } = await listed.json();
	expect(skills.map(({ name }) => name)).toEqual(['books', 'tone']);
	expect(await publishSkills(env.SKILLS, { tone })).toMatchObject({ unchanged: ['tone'], removed: ['books'] });
});

const run = (turns: Parameters<typeof providers.scripted>[0]) =>
	chat.run({ model: 'scripted', providers: [providers.scripted(turns)] }, [chat.userMessage('Hi')]);

test('a run of the library answers a page of the AI SDK in a custom route', async () => {
	const response = toUiResponse(run(['Hello there.']), { messageId: 'm1' });
	expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
	const lines = (await response.text()).split('\n\n').filter((line) => line !== '');
	expect(lines.at(-1)).toBe('data: [DONE]');
	const chunks: { type: string }[] = lines.slice(0, -1).map((line) => JSON.parse(line.slice('data: '.length)));
	expect(chunks[0]).toMatchObject({ type: 'start', messageId: 'm1' });
	expect(chunks).toContainEqual(expect.objectContaining({ type: 'text-delta', delta: 'Hello there.' }));
	expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
});

test('a run of the library answers an OpenAI client in a custom route, whole and streamed', async () => {
	const whole = await toCompletionResponse(run(['Hello.']), { model: 'mine' });
	expect(await whole.json()).toMatchObject({
		object: 'chat.completion',
		model: 'mine',
		choices: [{ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
	});
	const streamed = await (await toCompletionResponse(run(['Hello.']), { model: 'mine', stream: true })).text();
	expect(streamed).toContain('"content":"Hello."');
	expect(streamed.trimEnd().endsWith('data: [DONE]')).toBe(true);
	const failed = await toCompletionResponse(run([new Error('down')]), { model: 'mine' });
	expect([failed.status, await failed.json()]).toMatchObject([406, { error: { message: expect.any(String) } }]);
});

test('a run ends when its page disconnects', async () => {
	const started = run([() => new Promise(() => {})]);
	const response = toUiResponse(started);
	await response.body?.cancel();
	await expect(started.result).rejects.toMatchObject({ code: 'cancelled' });
});
