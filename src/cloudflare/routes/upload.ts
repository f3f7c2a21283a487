import * as v from 'valibot';
import { LineSplitter } from '../../core/base/text.ts';
import type { Bytes } from '../objects/reach.ts';
import { maxLine } from '../wire/import.ts';
import { bodyTooLarge } from '../wire/limits.ts';

/** How many bytes are read at most from a refused body. */
const mostDrained = 268_435_456;

/**
 * Streams the body of a request to a receiver, which counts the bytes. Reads the rest of the body before the answer,
 * because a client that is still sending would not read the answer. Throws `too_large` if `Content-Length` is above the
 * limit.
 */
export async function passBody<T>(request: Request, limit: number, send: (body: Bytes) => Promise<T>): Promise<T> {
	const isTooLarge = Number(request.headers.get('content-length') ?? 0) > limit;
	const { readable, writable } = new IdentityTransformStream();
	const writer = writable.getWriter();
	const sent = isTooLarge ? Promise.reject<T>(bodyTooLarge(limit)) : send(readable);
	// The receiver stops reading when it has answered.
	const answered = sent.then(
		() => writer.abort().catch(() => {}),
		() => writer.abort().catch(() => {}),
	);
	await pump(request.body, writer);
	await answered;
	return sent;
}

async function pump(body: Bytes | null, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
	const reader = body?.getReader();
	let isRead = true;
	let drained = 0;
	try {
		for (;;) {
			const { done, value } = (await reader?.read()) ?? { done: true };
			if (done || value === undefined) break;
			if (isRead)
				isRead = await writer.write(value).then(
					() => true,
					() => false,
				);
			else drained += value.length;
			if (drained > mostDrained) break;
		}
		if (isRead) await writer.close();
	} catch (cause) {
		await writer.abort(cause).catch(() => {});
	} finally {
		reader?.cancel().catch(() => {});
	}
}

const firstLine = v.object({ session: v.object({ agent: v.string() }) });

/** Reads the agent in the first line of an export. Returns all lines, and an empty name if the first line has none. */
export async function peekAgent(body: Bytes): Promise<{ readonly agent: string; readonly lines: Bytes }> {
	const [peeked, lines] = body.tee();
	const reader = peeked.getReader();
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	try {
		while (splitter.length <= maxLine) {
			const { done, value } = await reader.read();
			if (done) break;
			const [first] = splitter.push(decoder.decode(value, { stream: true }));
			if (first !== undefined) return { agent: v.parse(firstLine, JSON.parse(first)).session.agent, lines };
		}
	} catch {
		// The session refuses such lines, and says why.
	} finally {
		reader.cancel().catch(() => {});
	}
	return { agent: '', lines };
}
