import { describe, expect, test } from 'vitest';
import { createSession, readHistory, request } from '../../client.ts';
import { play } from '../../script.ts';

const good = { name: 'a.txt', type: 'text/plain', size: 2, contentText: 'é' };
const url = { name: 'a.png', type: 'image/png', size: 7, contentUrl: 'https://a.example/a.png' };

async function refusedWith(attachments: unknown, more: object = { text: 'Hi' }): Promise<string> {
	const id = await createSession();
	const response = await request(`/v1/sessions/${id}/messages`, { ...more, attachments });
	const { error } = await response.json<{ error: { code: string; message: string } }>();
	expect([response.status, error.code]).toEqual([400, 'invalid_request']);
	expect(await readHistory(id)).toEqual([]);
	return error.message;
}

describe('an attachment', () => {
	test.for<[what: string, change: object, says: RegExp]>([
		['without a name', { name: undefined }, /^attachments\.0\.name: missing/],
		['with an empty name', { name: '' }, /^attachments\.0\.name: must not be empty/],
		['with a path', { name: '../a.txt' }, /^attachments\.0\.name: a file name, without a path/],
		['with a Windows path', { name: 'c:\\a.txt' }, /^attachments\.0\.name: a file name/],
		['with a folder as its name', { name: '..' }, /^attachments\.0\.name: a file name/],
		['with a line break in its name', { name: 'a\nb' }, /^attachments\.0\.name: .*control/],
		['with NUL in its name', { name: 'a\0' }, /^attachments\.0\.name: .*control/],
		['with a name that reverses its letters', { name: 'gpj\u202Eexe' }, /^attachments\.0\.name: .*control/],
		['with a long name', { name: 'a'.repeat(256) }, /^attachments\.0\.name: at most 255/],
		['without a type', { type: undefined }, /^attachments\.0\.type: missing/],
		['with an invalid type', { type: 'text' }, /^attachments\.0\.type: Expected a media type/],
		['without a size', { size: undefined }, /^attachments\.0\.size: missing/],
		['with a negative size', { size: -1 }, /^attachments\.0\.size: /],
		['with a fractional size', { size: 1.5 }, /^attachments\.0\.size: /],
		['with a size that differs from its text', { size: 1 }, /^attachments\.0\.size: the content has 2 bytes/],
		[
			'with a size that differs from its bytes',
			{ contentText: undefined, contentBase64: 'iVBO', size: 4 },
			/^attachments\.0\.size: the content has 3 bytes/,
		],
		['without a content', { contentText: undefined }, /^attachments\.0\.contentText: give one of/],
		['with two contents', { contentBase64: 'w6k=' }, /^attachments\.0\.contentText: give one of/],
		[
			'with bytes that are not base64',
			{ contentText: undefined, contentBase64: 'i-VB' },
			/^attachments\.0\.contentBase64: Expected base64/,
		],
		['with an unknown field', { path: '/a' }, /^attachments\.0\.path: no such field/],
		...[
			'http://a.example/a',
			'file:///a',
			'data:text/plain,a',
			'https://u:p@a.example/a',
			'a.example',
			'https://127.1/a',
			'https://nas.local/a',
		].map((contentUrl): [string, object, RegExp] => [
			`at ${contentUrl}`,
			{ contentText: undefined, contentUrl },
			/^attachments\.0\.contentUrl: Expected an https URL/,
		]),
	])('%s is refused with the name of the field', async ([_, change, says]) => {
		expect(await refusedWith([{ ...good, ...change }])).toMatch(says);
	});

	test('is refused if the message already has sixteen attachments', async () => {
		expect(await refusedWith(Array(17).fill(good))).toMatch(/^attachments: at most 16/);
	});

	test('is refused in a message that has the field sender or transport', async () => {
		expect(await refusedWith([good], { text: 'Hi', sender: 'root' })).toMatch(/^sender: no such field/);
		expect(await refusedWith([good], { text: 'Hi', transport: 'console' })).toMatch(/^transport: no such field/);
	});

	test('that is refused creates no session', async () => {
		const response = await request('/v1/sessions', { agent: 'scripted', attachments: [{ ...good, size: 1 }] });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { data: { field: 'attachments.0.size' } } });
	});
});

test('sixteen attachments of every kind are accepted, with and without a text', async () => {
	const id = await createSession();
	const bytes = ['', 'iQ==', 'iVA=', 'iVBO'].map((contentBase64, size) => ({
		...good,
		contentText: undefined,
		size,
		contentBase64,
	}));
	const all = [good, url, ...bytes, ...Array(10).fill({ ...good, name: 'Übersicht 2026 (1).txt' })];
	play('Fine.');
	const response = await request(`/v1/sessions/${id}/messages`, { attachments: all });
	expect(response.status).toBe(200);
	expect((await readHistory(id))[0]).toMatchObject({
		attachments: all.map(({ name, type, size }) => ({ name, type, size })),
	});
});

test('a message needs a text or an attachment', async () => {
	expect(await refusedWith([], {})).toMatch(/^text: missing\. Give text, parts or attachments/);
});

test('a request that is repeated with the same Idempotency-Key adds one message', async () => {
	const id = await createSession();
	play('Fine.', 'Never.');
	const sent = (attachments: unknown) =>
		request(`/v1/sessions/${id}/messages`, { text: 'Hi', attachments }, { 'idempotency-key': 'k' });
	await sent([good]);
	expect((await sent([good])).status).toBe(200);
	expect((await sent([{ ...good, name: 'b.txt' }])).status).toBe(409);
	expect(await readHistory(id)).toHaveLength(2);
});
