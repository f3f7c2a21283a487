import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import * as v from 'valibot';
import { chatCompletions, readEvents } from '../core/providers/wire/chat.ts';

/** US dollars for a million tokens, as the variable PRICES has them, and the tokens of a call and of an answer. */
const models: Readonly<Record<string, Model>> = {
	large: { price: { input: 3, output: 15 }, call: { input: 400, output: 20 }, answer: { input: 450, output: 15 } },
	small: { price: { input: 0.75, output: 4.5 }, call: { input: 420, output: 18 }, answer: { input: 470, output: 12 } },
};

interface Model {
	readonly price: Tokens;
	readonly call: Tokens;
	readonly answer: Tokens;
}

interface Tokens {
	readonly input: number;
	readonly output: number;
}

const order = v.object({ arrives: v.string() });

/**
 * Serves two models, `large` and `small`, by Chat Completions. They look up the order of a message, and say when it arrives.
 * Each request is billed.
 */
export async function startChatEndpoint() {
	const bill: { readonly model: string; readonly usd: number }[] = [];
	const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
		const { model: name = '', turns } = chatCompletions.readRequest(await json(request), request.url ?? '');
		const model = models[name];
		if (model === undefined) throw new Error(`no model ${name}`);
		const last = turns.at(-1)?.parts.at(-1);
		const usage = last?.kind === 'result' ? model.answer : model.call;
		const reply =
			last?.kind === 'result'
				? { text: `It arrives ${v.parse(order, JSON.parse(last.text)).arrives}.`, stop: 'end_turn' as const }
				: { calls: [toCall(last?.kind === 'text' ? last.text : '')], stop: 'tool_use' as const };
		bill.push({ model: name, usd: (usage.input * model.price.input + usage.output * model.price.output) / 1e6 });
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.end(readEvents({ ...reply, usage }).join(''));
	};
	const server = createServer((request, response) => {
		answer(request, response).catch((error) => response.writeHead(400).end(String(error)));
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return {
		/** The variables of a Worker that asks `large`, and may ask `small`. */
		variables: {
			...{
				CHAT_BASE_URL: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`,
				CHAT_API_KEY: 'secret',
			},
			...{ CHAT_MODELS: Object.keys(models).join(','), MODEL: 'large' },
			PRICES: JSON.stringify(Object.fromEntries(Object.entries(models).map(([name, { price }]) => [name, price]))),
		},
		/** Returns what was billed since the last time, by model, and for how many requests. */
		takeBill: (): Readonly<Record<string, { readonly requests: number; readonly usd: number }>> => {
			const taken = Map.groupBy(bill.splice(0), ({ model }) => model);
			return Object.fromEntries(
				[...taken].map(([model, all]) => [
					model,
					{ requests: all.length, usd: all.reduce((sum, { usd }) => sum + usd, 0) },
				]),
			);
		},
		close: (): void => {
			server.closeAllConnections();
			server.close();
		},
	};
}

function toCall(text: string) {
	const [id = ''] = /A-\d+/.exec(text) ?? [];
	return { id: 'call_1', name: 'find_order', argumentsJson: JSON.stringify({ id }) };
}
