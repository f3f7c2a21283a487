/**
 * The model of the bench, in a separate process: Anthropic's Messages API on 127.0.0.1, which follows the plan in the
 * user's message. Sends its address to its parent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { type Plan, parsePlan, writePiece } from './plan.ts';

const block = v.looseObject({ type: v.string(), text: v.optional(v.string()) });
const body = v.looseObject({
	stream: v.literal(true),
	messages: v.array(v.looseObject({ role: v.string(), content: v.union([v.string(), v.array(block)]) })),
});
type Messages = v.InferOutput<typeof body>['messages'];

const server = createServer({ keepAliveTimeout: 120_000 }, async (request, response) => {
	try {
		await answer(request, response);
	} catch (error) {
		console.error(error);
		response.destroy();
	}
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
	const address = server.address();
	if (typeof address === 'object') process.send?.(`http://127.0.0.1:${address?.port}`);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { messages } = v.parse(body, JSON.parse(await text(request)));
	const { plan, turn } = findPlan(messages);
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	const usage = { input_tokens: 10, output_tokens: 1 };
	const message = { id: 'msg', type: 'message', role: 'assistant', model: 'claude-sonnet-4-6', content: [], usage };
	response.write(toFrame({ type: 'message_start', message }));
	await sendText(response, plan, turn);
	const calls = turn < plan.tools;
	if (calls) response.write(toCall(turn));
	const delta = { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null };
	const end = { type: 'message_delta', delta, usage: { output_tokens: plan.deltas } };
	response.end(toFrame(end) + toFrame({ type: 'message_stop' }));
}

/** Finds the newest plan, and counts the turns since it. */
function findPlan(messages: Messages): { readonly plan: Plan; readonly turn: number } {
	let turn = 0;
	for (const { role, content } of messages.toReversed()) {
		if (role === 'assistant') turn++;
		const texts = typeof content === 'string' ? [content] : content.map((one) => one.text ?? '');
		const plan = texts.map(parsePlan).find((found) => found !== undefined);
		if (role === 'user' && plan !== undefined) return { plan, turn };
	}
	throw new Error('the model was asked without a plan');
}

async function sendText(response: ServerResponse, { deltas, perWrite, paceMs, padding }: Plan, turn: number) {
	response.write(toFrame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }));
	for (let sent = 0; sent < deltas; sent += perWrite) {
		if (sent > 0 && paceMs > 0) await pause(paceMs);
		if (response.destroyed) return;
		let frames = '';
		for (let at = sent; at < Math.min(deltas, sent + perWrite); at++) {
			const piece = writePiece(turn * deltas + at, padding);
			frames += toFrame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } });
		}
		response.write(frames);
	}
	response.write(toFrame({ type: 'content_block_stop', index: 0 }));
}

function toCall(turn: number): string {
	const call = { type: 'tool_use', id: `call_${turn}`, name: 'look', input: {} };
	const delta = { type: 'input_json_delta', partial_json: `{"at":${turn}}` };
	return (
		toFrame({ type: 'content_block_start', index: 1, content_block: call }) +
		toFrame({ type: 'content_block_delta', index: 1, delta }) +
		toFrame({ type: 'content_block_stop', index: 1 })
	);
}

function toFrame(event: { readonly type: string; readonly [field: string]: unknown }): string {
	return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
