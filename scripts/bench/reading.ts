import { Agent, type IncomingMessage, request } from 'node:http';
import * as v from 'valibot';
import { type Plan, readClock } from './plan.ts';

/** The times of a run as its reader saw them, in milliseconds. */
export interface Reading {
	/** From the request to the first text. */
	readonly firstMs: number;
	/** From the request to the end. */
	readonly ms: number;
	/** The time of each piece of text from the model to the reader. */
	readonly delaysMs: readonly number[];
	/** The path of the new session. */
	readonly location: string | undefined;
}

/** A request that starts a run. */
export interface Asking {
	readonly url: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body: string;
}

/**
 * Closes idle connections earlier than workerd, which closes them after five seconds, even if a request just
 * comes.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 1_000, timeout: 2_000 });
const event = v.looseObject({ type: v.string(), text: v.optional(v.string()) });

/** Sends a request, and resolves at the start of its answer. Throws if the answer is no success. */
function send({ url, headers, body }: Asking): Promise<IncomingMessage> {
	const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
	const sent = request(url, { method: 'POST', agent, headers });
	// The server may close an idle connection just when a request comes.
	sent.on('error', (error) => (sent.reusedSocket ? resolve(send({ url, headers, body })) : reject(error)));
	sent.on('response', (response) => {
		response.setEncoding('utf8');
		if (response.statusCode !== undefined && response.statusCode < 300) resolve(response);
		else
			response.toArray().then((parts) => reject(new Error(`${url}: ${response.statusCode} ${parts.join('')}`)), reject);
	});
	sent.end(body);
	return promise;
}

/** Starts a run and reads it to its end. Throws if a part of the plan is missing. */
export async function readRun(asking: Asking, { tools, deltas }: Plan): Promise<Reading> {
	const begun = readClock();
	const delays: number[] = [];
	let first: number | undefined;
	let results = 0;
	let [rest, text, last] = ['', '', ''];
	const response = await send(asking);
	for await (const chunk of response) {
		const now = readClock();
		const frames = `${rest}${chunk}`.split('\n\n');
		rest = frames.pop() ?? '';
		for (const frame of frames) {
			const read = readEvent(frame);
			last = read.type;
			if (last === 'tool_result') results++;
			if (last !== 'text') continue;
			first ??= now;
			const pieces = (text + read.text).split(' ');
			text = pieces.pop() ?? '';
			for (const piece of pieces) {
				const [, index, left] = /^(\d+)@(\d+)\.*$/.exec(piece) ?? [];
				if (Number(index) !== delays.length) throw new Error(`the text has ${piece} as its piece ${delays.length}`);
				delays.push((now - Number(left)) / 1_000);
			}
		}
	}
	const whole = (tools + 1) * deltas;
	if (last !== 'done' || delays.length !== whole || results !== tools || rest !== '' || text !== '')
		throw new Error(`a stream ended with ${last}, ${delays.length} of ${whole} pieces, ${results} of ${tools} results`);
	return {
		firstMs: ((first ?? begun) - begun) / 1_000,
		ms: (readClock() - begun) / 1_000,
		delaysMs: delays,
		location: response.headers.location,
	};
}

/** Parses an event of a stream. */
function readEvent(frame: string): v.InferOutput<typeof event> {
	const line = frame.split('\n').find((one) => one.startsWith('data: '));
	return line === undefined ? { type: 'comment' } : v.parse(event, JSON.parse(line.slice(6)));
}
