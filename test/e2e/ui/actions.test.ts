import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AnyChat, type ChatMessage, chats, shown } from './chats.ts';
import { call, type Sent, type Stage, type StagedTurn, startStage, text } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

/** An action of a person, and the model's answer to it. */
const action = fc.record({
	act: fc.constantFrom('send', 'send', 'edit', 'regenerate', 'answer', 'deny', 'reload', 'repeat'),
	/** The number of messages after the message of the action. */
	back: fc.nat(3),
	turn: fc.constantFrom('text', 'text', 'add', 'pay', 'locate', 'ask', 'stop', 'fail'),
});

type Turn = 'text' | 'add' | 'pay' | 'locate' | 'ask' | 'stop' | 'fail';

/** A conversation on one page, one action after another. */
class Conversation {
	readonly #version: 6 | 7;
	readonly #id: string;
	#chat: AnyChat;
	#said = 0;
	sent: readonly (readonly Sent[])[] = [];

	constructor(version: 6 | 7, id: string) {
		this.#version = version;
		this.#id = id;
		this.#chat = this.#open([]);
	}

	async does(act: string, back: number, turn: Turn): Promise<void> {
		const n = ++this.#said;
		this.sent = stage.play(...readTurns(turn, n));
		const chat = this.#chat;
		const users = chat.messages.filter(({ role }) => role === 'user');
		const named = users.at(-1 - back);
		const open = chat.messages
			.at(-1)
			?.parts.filter(({ state }) => state === 'approval-requested' || state === 'input-available');
		switch (act) {
			case 'send':
				if (open?.length === 0 || open === undefined) await chat.sendMessage({ text: `said ${n}` });
				break;
			case 'edit':
				if (named !== undefined) await chat.sendMessage({ text: `edited ${n}`, messageId: named.id });
				break;
			case 'regenerate':
				if (named !== undefined) await chat.regenerate({ messageId: named.id });
				break;
			case 'answer':
			case 'deny':
				for (const { state, toolCallId, approval } of open ?? []) {
					const { id = '' } = (approval ?? {}) as { readonly id?: string };
					if (state === 'approval-requested') await chat.addToolApprovalResponse?.({ id, approved: act === 'answer' });
					else await chat.addToolOutput({ toolCallId: String(toolCallId), output: `result ${n}` });
				}
				if (open !== undefined && open.length > 0) await chat.sendMessage();
				break;
			case 'repeat':
				// The chat posts by itself, without a new message.
				if (chat.messages.at(-1)?.role === 'assistant' && open?.length === 0) {
					const body = JSON.stringify({ id: this.#id, messages: chat.messages, trigger: 'submit-message' });
					await (
						await fetch(stage.api, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
					).text();
					expect(this.sent).toHaveLength(0);
				}
				break;
		}
		if (act === 'reload') this.#chat = this.#open(await this.listed());
	}

	/** Checks that the page shows the same after a reload, and that the model got the messages of the page. */
	async holds(): Promise<void> {
		const again = this.#open(await this.listed());
		const chat = this.#chat;
		expect(chat.status).not.toBe('streaming');
		const list = ({ messages }: AnyChat) =>
			messages.filter(({ parts }) => parts.some(({ type }) => type !== 'step-start'));
		expect(list(again).map(({ id }) => id)).toEqual(list(chat).map(({ id }) => id));
		expect(list(again).map(readText)).toEqual(list(chat).map(readText));
		if (chat.status === 'ready') expect(readStates(again)).toEqual(readStates(chat));
		const asked = this.sent.at(-1);
		if (asked === undefined) return;
		const said = asked.flatMap(({ content }) => (/^(said|edited) \d+$/.test(String(content)) ? [content] : []));
		expect(said).toEqual(chat.messages.flatMap((message) => (message.role === 'user' ? [readText(message)] : [])));
	}

	async listed(): Promise<readonly ChatMessage[]> {
		const { messages } = await (await fetch(`${stage.api}/${this.#id}/messages`)).json();
		return messages;
	}

	#open(messages: readonly ChatMessage[]): AnyChat {
		return chats[this.#version]({ api: stage.api, id: this.#id, messages });
	}
}

function readTurns(turn: Turn, n: number): StagedTurn[] {
	const rest = Array.from({ length: 3 }, (_, index) => [text(`reply ${n}.${index}`)]);
	if (turn === 'text') return rest;
	if (turn === 'fail') return [[text('half'), { type: 'fail', message: 'broken' }]];
	const inputs = { add: { x: n, y: 1 }, pay: { amount: n }, locate: {}, ask: { question: `which ${n}?` }, stop: {} };
	return [[text(`first ${n}`), call(`call-${n}`, turn, inputs[turn])], ...rest];
}

function readText({ parts }: ChatMessage): string {
	return parts.flatMap(({ type, text: said }) => (type === 'text' ? [said] : [])).join('|');
}

/** The parts of the last message, in the form of JSON. */
function readStates(chat: AnyChat): unknown[] {
	return shown(chat).map((part) => JSON.parse(JSON.stringify(part)));
}

let conversations = 0;

test.each([6, 7] as const)(
	'for any actions, a reload does not change the page of AI SDK %i, and the model gets the messages of the page',
	async (version) => {
		await fc.assert(
			fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 8 }), async (actions) => {
				const conversation = new Conversation(version, `actions-${version}-${++conversations}`);
				for (const { act, back, turn } of actions) {
					await conversation.does(act, back, turn);
					await conversation.holds();
				}
			}),
			{ numRuns: 40 },
		);
	},
);
