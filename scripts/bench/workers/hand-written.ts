/**
 * A loop written by hand: it parses the provider's stream, runs the tool, and writes events. It trusts the provider, checks
 * nothing and retries nothing. Its cost is the minimum of a run.
 */

/** The environment of the hand-written Workers. */
export interface HandEnv {
	readonly MODEL_URL: string;
}

interface Call {
	readonly type: 'tool_use';
	readonly id: string;
	readonly name: string;
	readonly input: unknown;
}
export interface HandMessage {
	readonly role: 'user' | 'assistant';
	readonly content: string | readonly object[];
}
/** The fields of the provider's events that the loop reads. */
interface ModelEvent {
	readonly type: string;
	readonly content_block?: { readonly type: string; readonly id: string; readonly name: string };
	readonly delta?: { readonly text?: string; readonly partial_json?: string };
}

const tools = [
	{
		name: 'look',
		description: 'Looks at a place.',
		input_schema: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
	},
];

/** The conversation so far, and a function that stores its continuation. */
export interface HandOptions {
	readonly env: HandEnv;
	readonly messages: HandMessage[];
	/** Stores the messages that a request to the model added. */
	readonly keep?: (added: readonly HandMessage[]) => void;
}

/** Starts the loop, and returns its events as a stream. */
export function streamRun(options: HandOptions): Response {
	const { readable, writable } = new IdentityTransformStream();
	const writer = writable.getWriter();
	const encoder = new TextEncoder();
	runLoop(options, (frames) => writer.write(encoder.encode(frames))).then(
		() => writer.close(),
		(error) => writer.abort(error),
	);
	return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
}

async function runLoop(
	{ env, messages, keep = () => {} }: HandOptions,
	write: (frames: string) => Promise<void>,
): Promise<void> {
	for (;;) {
		const { text, call } = await askModel(env, messages, write);
		const reply: HandMessage = { role: 'assistant', content: [{ type: 'text', text }, ...(call ? [call] : [])] };
		const output = `seen ${JSON.stringify(call?.input)}`;
		const result = { type: 'tool_result', tool_use_id: call?.id, content: output };
		const added: HandMessage[] = call ? [reply, { role: 'user', content: [result] }] : [reply];
		messages.push(...added);
		keep(added);
		if (call === undefined) return write(toFrame({ type: 'done', text }));
		await write(toFrame({ type: 'tool_result', id: call.id, output }));
	}
}

/** Sends one request to the model. All pieces of one read go to the reader in one write. */
async function askModel(
	env: HandEnv,
	messages: readonly HandMessage[],
	write: (frames: string) => Promise<void>,
): Promise<{ readonly text: string; readonly call: Call | undefined }> {
	const response = await fetch(`${env.MODEL_URL}/v1/messages`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'x-api-key': 'bench' },
		body: JSON.stringify({ model: 'claude-sonnet-4-6', max_tokens: 1_000, stream: true, tools, messages }),
	});
	const reader = response.body?.getReader();
	const decoder = new TextDecoder();
	let [rest, text, json] = ['', '', ''];
	let begun: ModelEvent['content_block'];
	for (;;) {
		const { value, done } = (await reader?.read()) ?? { done: true };
		if (done) break;
		const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
		rest = lines.pop() ?? '';
		let frames = '';
		for (const line of lines) {
			if (!line.startsWith('data: ')) continue;
			const { content_block: block, delta }: ModelEvent = JSON.parse(line.slice(6));
			if (block?.type === 'tool_use') begun = block;
			if (delta?.partial_json !== undefined) json += delta.partial_json;
			if (delta?.text === undefined) continue;
			text += delta.text;
			frames += toFrame({ type: 'text', text: delta.text });
		}
		if (frames !== '') await write(frames);
	}
	const call = begun && ({ type: 'tool_use', id: begun.id, name: begun.name, input: JSON.parse(json) } as const);
	return { text, call };
}

function toFrame(event: { readonly type: string; readonly [field: string]: unknown }): string {
	return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
