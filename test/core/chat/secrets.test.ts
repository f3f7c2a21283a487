import * as v from 'valibot';
import { expect, test } from 'vitest';
import { chat, providers, tool } from '../../../src/core/index.ts';

const key = 'sk-0123456789/abc';
const ran: unknown[] = [];
const send = tool.define({
	name: 'send',
	description: 'Sends.',
	inputSchema: v.object({ text: v.string() }),
	passInput: true,
	needsApproval: true,
	fn: (input) => {
		ran.push(input);
		return 'sent';
	},
});
const call = (text: string) => ({ toolCalls: [{ id: 'a', name: 'send', input: { text } }] });
const needles = chat.prepareSecrets([{ name: 'KEY', value: key }]);

async function run(
	turns: Parameters<typeof providers.scripted>[0],
	more: Partial<chat.ChatOptions> = {},
	before: readonly chat.Message[] = [],
) {
	ran.length = 0;
	const found: (readonly [string, string])[] = [];
	const onFound = ({ name }: { readonly name: string }, secret: string) => void found.push([name, secret]);
	const { chatFn, chatStreamFn, requests } = providers.scripted(turns);
	const secrets = { list: () => needles, onFound };
	const started = chat.run({ model: 'scripted', chatFn, chatStreamFn, tools: [send], secrets, ...more }, [
		chat.userMessage('Go.'),
		...before,
	]);
	const events = await Array.fromAsync(started.events);
	return { result: await started.result, events, requests, found };
}

test('a call with a secret is refused and masked, also if the reply is not streamed', async () => {
	const { result, events, found } = await run([call(`It is ${key}.`), 'No.'], { chatStreamFn: undefined });
	expect([result.status, ran, found]).toEqual(['completed', [], [['send', 'KEY']]]);
	expect(JSON.stringify([result, events])).not.toContain(key);
	expect(result.messages.at(-2)).toMatchObject({
		content: 'Not run: its arguments contain a secret of this deployment (KEY).',
	});
});

test('a reply with a secret loses its provider metadata', async () => {
	const reply = { ...call(key), providerMetadata: { gemini: { parts: [{ args: key }] } } };
	const { result } = await run([reply, 'No.']);
	expect(JSON.stringify(result.messages)).not.toContain(key);
});

test('the arguments that a person wrote for an approved call are checked, too', async () => {
	const before = { role: 'assistant', content: '', ...call('hello') } as const;
	const edited = new Map([['a', { isApproved: true, input: { text: key } }]]);
	const { result, found } = await run(['No.'], { openCalls: edited }, [before]);
	expect([ran, found]).toEqual([[], [['send', 'KEY']]]);
	expect(JSON.stringify(result.messages)).not.toContain(key);
});

test('a streamed secret that is escaped in every character is shown, but neither stored nor run', async () => {
	const escaped = key.replaceAll(/./g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
	const stored: chat.Message[] = [];
	const turns: unknown[] = [];
	const deltas = [
		{ type: 'tool_use_start', id: 'a', name: 'send' },
		{ type: 'tool_use_input', id: 'a', partialInputJson: `{"text":"${escaped}"}` },
		{ type: 'tool_use_end', id: 'a' },
	] as const;
	await run([{ ...call(key), deltas }, 'No.'], {
		onMessage: (message, { turn }) => {
			stored.push(message);
			turns.push(turn);
		},
	});
	expect(ran).toEqual([]);
	expect(JSON.stringify([stored, turns])).not.toContain(key);
	expect(JSON.stringify([stored, turns])).not.toContain(JSON.stringify(escaped).slice(1, -1));
	expect(turns[0]).toMatchObject({ streamedInputs: { a: '*'.repeat(escaped.length + 11) } });
});
