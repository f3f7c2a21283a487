import { sign as octokitSign } from '@octokit/webhooks-methods';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { sourceNames, sources, verify } from '../../../../../src/cloudflare/wire/protocols/webhooks/index.ts';
import { isAuthentic } from '../../../../../src/cloudflare/wire/protocols/webhooks/signature.ts';
import { delivery, senders } from './senders.ts';

const at = 1_614_265_330;
const now = at * 1_000;
const id = 'msg_1';
const text = '{"id":"msg_1","event_id":"msg_1","type":"thing.done","text":"ü"}';
const refused = expect.objectContaining({
	code: 'auth',
	message: 'The signature of this delivery is missing, too old, or not right. Have sender and Worker the same secret?',
});

describe.each(sourceNames)('%s', (name) => {
	const source = sources[name];
	const { secret, otherSecret, isTimed, signedHeaders, headers } = senders[name];
	const signed = headers(text, { id, at, secrets: [secret] });

	test('returns the event of a signed delivery', async () => {
		const { event, reply } = await verify(source, delivery(text, signed), { secrets: [secret], now });
		expect(event).toMatchObject({ source: name, id, payload: { text: 'ü' } });
		expect(reply).toBeUndefined();
	});

	test('accepts any active secret, and any of several signatures', async () => {
		for (const secrets of [
			[otherSecret, secret],
			[secret, otherSecret],
		]) {
			await verify(source, delivery(text, signed), { secrets, now });
			if (name === 'standard' || name === 'stripe')
				await verify(source, delivery(text, headers(text, { id, at, secrets })), { secrets: [secret], now });
		}
		await expect(verify(source, delivery(text, signed), { secrets: [otherSecret], now })).rejects.toEqual(refused);
		await expect(verify(source, delivery(text, signed), { secrets: [], now })).rejects.toEqual(refused);
	});

	test(
		isTimed ? 'accepts only a time that was signed up to five minutes before or after now' : 'has no signed time',
		async () => {
			const later = (seconds: number) =>
				isAuthentic(source, delivery(text, signed), { secrets: [secret], now: now + seconds * 1_000 });
			for (const seconds of [-300, 0, 300]) expect(await later(seconds), String(seconds)).toBe(true);
			for (const seconds of [-301, 301, 86_400, -86_400]) expect(await later(seconds), String(seconds)).toBe(!isTimed);
		},
	);

	test('refuses a delivery whose signature headers are missing, empty or changed', async () => {
		for (const header of signedHeaders) {
			const { [header]: value = '', ...others } = signed;
			for (const wrong of [
				undefined,
				'',
				'x',
				`${value}x`,
				`${value}=`,
				`x${value}`,
				value.slice(0, -1),
				value.replace(/[0-9a-f]/, 'g'),
				'9'.repeat(400),
			]) {
				const given = wrong === undefined ? others : { ...others, [header]: wrong };
				const { body, headers } = delivery(text, given);
				await expect(
					verify(source, { body, headers }, { secrets: [secret], now }),
					`${header}: ${wrong}`,
				).rejects.toEqual(refused);
			}
		}
	});

	test('refuses a delivery with a changed, added or removed signed byte', async () => {
		const edit = fc.record({
			place: fc.constantFrom('body', ...signedHeaders),
			at: fc.nat({ max: 300 }),
			kind: fc.constantFrom('change', 'add', 'remove'),
			by: fc.integer({ min: 1, max: 255 }),
		});
		await fc.assert(
			fc.asyncProperty(edit, async ({ place, at, kind, by }) => {
				const original = place === 'body' ? new TextEncoder().encode(text) : Buffer.from(signed[place] ?? '', 'latin1');
				const bytes = [...original];
				const index = at % (bytes.length + (kind === 'add' ? 1 : 0));
				if (kind === 'change') bytes[index] = ((bytes[index] ?? 0) + by) % 256;
				else bytes.splice(index, kind === 'remove' ? 1 : 0, ...(kind === 'add' ? [by] : []));
				const tampered = Uint8Array.from(bytes);
				if (place === 'body') {
					const given = delivery(tampered, signed);
					expect(await isAuthentic(source, given, { secrets: [secret], now })).toBe(false);
					return;
				}
				const value = Buffer.from(tampered).toString('latin1');
				// Characters that a header cannot have or that are trimmed, and another spelling of the digits.
				fc.pre(/^[\x20-\x7e]*$/.test(value) && value.trim().toLowerCase() !== signed[place]?.toLowerCase());
				// Stripe sends several fields. Some may be wrong or unknown.
				const isSignedStill = name === 'stripe' && hasFieldsOf(signed[place] ?? '', value);
				expect(
					await isAuthentic(source, delivery(text, { ...signed, [place]: value }), { secrets: [secret], now }),
				).toBe(isSignedStill);
			}),
			{ numRuns: 300 },
		);
	});

	test('gives the same error for every refused delivery, and refuses an unreadable body', async () => {
		for (const body of [
			'',
			'[]',
			'"text"',
			'1',
			'null',
			'{',
			'\ufeff',
			`${'['.repeat(200)}${']'.repeat(200)}`,
			`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
		]) {
			const given = delivery(body, headers(body, { id, at, secrets: [secret] }));
			await expect(verify(source, given, { secrets: [secret], now }), body).rejects.toMatchObject({
				code: 'invalid_request',
			});
			await expect(verify(source, given, { secrets: [otherSecret], now }), body).rejects.toEqual(refused);
		}
	});
});

/** Whether a Stripe-Signature has the same single time and one of the same signatures. */
function hasFieldsOf(original: string, changed: string): boolean {
	const [had, has] = [original, changed].map((header) => header.split(',').map((field) => field.trim().toLowerCase()));
	const times = has?.filter((field) => /^t(=|$)/.test(field)) ?? [];
	return times.join() === had?.[0] && had.some((field) => field.startsWith('v1=') && has?.includes(field));
}

describe('the published examples of senders', () => {
	const check = (
		name: (typeof sourceNames)[number],
		body: string,
		headers: Record<string, string>,
		secret: string,
		seconds = at,
	) => isAuthentic(sources[name], delivery(body, headers), { secrets: [secret], now: seconds * 1_000 });

	test('Standard Webhooks’ reference vector is accepted', async () => {
		const headers = {
			'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
			'webhook-timestamp': String(at),
			'webhook-signature': 'v1a,hnO3f9T8Ytu9 v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
		};
		expect(await check('standard', '{"test": 2432232314}', headers, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toBe(
			true,
		);
	});

	test('the example in GitHub’s documentation is accepted', async () => {
		const headers = {
			'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
		};
		expect(await check('github', 'Hello, World!', headers, "It's a Secret to Everybody")).toBe(true);
	});

	test('the example in Slack’s documentation is accepted as a slash command', async () => {
		const body =
			'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
		const headers = {
			'x-slack-request-timestamp': '1531420618',
			'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
		};
		const options = { secrets: ['8f742231b10e8888abcd99yyyzzz85a5'], now: 1_531_420_618_000 };
		const { event } = await verify(sources.slack, delivery(body, headers), options);
		expect(event).toMatchObject({
			type: 'slash_command',
			id: '398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
			payload: { command: '/webhook-collect', user_name: 'roadrunner' },
		});
	});

	test('signatures of the packages of Standard Webhooks and Octokit are accepted', async () => {
		const { secret } = senders.standard;
		const signature = new Webhook(secret).sign(id, new Date(now), text);
		const headers = { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
		expect(await check('standard', text, headers, secret)).toBe(true);
		const byOctokit = { 'x-hub-signature-256': await octokitSign('secret', text) };
		expect(await check('github', text, byOctokit, 'secret')).toBe(true);
	});
});

describe('a signed delivery', () => {
	const read = (name: (typeof sourceNames)[number], body: string, more: Record<string, string> = {}) => {
		const { secret, headers } = senders[name];
		const given = delivery(body, { ...headers(body, { id, at, secrets: [secret] }), ...more });
		return verify(sources[name], given, { secrets: [secret], now });
	};

	test('has the event type that its source names', async () => {
		expect((await read('github', '{"action":"opened"}')).event.type).toBe('issues.opened');
		expect((await read('github', '{"ref":"main"}', { 'x-github-event': 'push' })).event.type).toBe('push');
		expect((await read('stripe', '{"id":"evt_1","type":"invoice.paid"}')).event).toMatchObject({
			type: 'invoice.paid',
			id: 'evt_1',
		});
		const mention = '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention"}}';
		expect((await read('slack', mention)).event).toMatchObject({ type: 'app_mention', id: 'Ev1' });
		expect((await read('standard', '{"type":"user.created"}')).event.type).toBe('user.created');
		for (const name of sourceNames)
			expect(typeof (await read(name, '{"type":1,"action":2}')).event.type).toBe('string');
	});

	test('of a ping or a challenge is answered without an event', async () => {
		expect((await read('github', '{"zen":"Keep it logically awesome."}', { 'x-github-event': 'ping' })).reply).toBe(
			'pong',
		);
		expect((await read('slack', '{"type":"url_verification","challenge":"3eZbrw1a"}')).reply).toBe('3eZbrw1a');
		expect((await read('slack', '{"type":"url_verification","challenge":1}')).reply).toBeUndefined();
	});

	test('is read as a form or as JSON, whatever its content type', async () => {
		const json = encodeURIComponent('{"action":"opened"}');
		expect((await read('github', `payload=${json}`)).event).toMatchObject({
			type: 'issues.opened',
			payload: { action: 'opened' },
		});
		const title = '{"title":"&payload={\\"action\\":\\"deleted\\"}","action":"opened"}';
		const form = { 'content-type': 'application/x-www-form-urlencoded' };
		expect((await read('github', title, form)).event.type).toBe('issues.opened');
	});

	test('is identified by its body or its Idempotency-Key if it has no valid id', async () => {
		const bare = await read('stripe', '{"a":1}');
		expect(bare.event.id).toMatch(/^sha256:[0-9a-f]{64}$/);
		expect((await read('stripe', '{"a":1}')).event.id).toBe(bare.event.id);
		expect((await read('stripe', '{"a":2}')).event.id).not.toBe(bare.event.id);
		expect((await read('hmac', '{"a":1}', { 'x-delivery-id': 'x'.repeat(256) })).event.id).toBe(bare.event.id);
		const { secret, headers } = senders.hmac;
		const { 'x-delivery-id': _, ...others } = headers('{}', { id, at, secrets: [secret] });
		const keyed = delivery('{}', { ...others, 'idempotency-key': 'k' });
		expect((await verify(sources.hmac, keyed, { secrets: [secret], now })).event.id).toBe('k');
	});

	test('is refused if its signature has another base64 spelling', async () => {
		const { secret, headers } = senders.standard;
		const signed = headers(text, { id, at, secrets: [secret] });
		const signature = signed['webhook-signature'] ?? '';
		const next = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 1);
		// The last letter but one has four significant bits and two unused ones.
		const other = signature.replace(/.=$/, ([letter = '']) => `${next(letter)}=`);
		expect(Buffer.from(other.slice(3), 'base64')).toEqual(Buffer.from(signature.slice(3), 'base64'));
		const given = delivery(text, { ...signed, 'webhook-signature': other });
		expect(await isAuthentic(sources.standard, given, { secrets: [secret], now })).toBe(false);
	});

	test('is refused if its Standard Webhooks id contains a full stop', async () => {
		const body = '1614265330.{"forged":true}';
		const { secret, headers } = senders.standard;
		const given = headers(body, { id: 'msg_1', at, secrets: [secret] });
		const shifted = { ...given, 'webhook-id': `msg_1.${at}` };
		expect(await isAuthentic(sources.standard, delivery('{"forged":true}', shifted), { secrets: [secret], now })).toBe(
			false,
		);
	});

	test.each(['', 'whsec_', 'whsec_%%%', 'whsec_a'])('cannot be verified with the invalid secret %j', async (secret) => {
		const { headers } = senders.standard;
		const given = delivery(text, headers(text, { id, at, secrets: [senders.standard.secret] }));
		await expect(verify(sources.standard, given, { secrets: [secret], now })).rejects.toMatchObject({
			code: 'not_configured',
		});
	});
});
