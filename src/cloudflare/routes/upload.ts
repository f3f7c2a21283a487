import type { Bytes } from '../objects/reach.ts';
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
