import type { Bytes } from '../objects/result.ts';
import { bodyTooLarge } from '../wire/limits.ts';

/** Bytes of a refused body that are read all the same. */
const mostDrained = 268_435_456;

/**
 * Passes the body of a request on as it comes. Whatever is answered, the rest of the body is read first: a client that is
 * still sending does not see an answer, and a server may take it for a broken connection. Throws `too_large` for a body
 * that says that it has more than the limit; who gets the bytes has to count them.
 */
export async function passBody<T>(request: Request, limit: number, send: (body: Bytes) => Promise<T>): Promise<T> {
	const isTooLarge = Number(request.headers.get('content-length') ?? 0) > limit;
	const { readable, writable } = new IdentityTransformStream();
	const writer = writable.getWriter();
	const sent = isTooLarge ? Promise.reject<T>(bodyTooLarge(limit)) : send(readable);
	// Who has answered reads no further.
	const answered = sent.then(
		() => writer.abort().catch(() => {}),
		() => writer.abort().catch(() => {}),
	);
	await pump(request.body, writer);
	await answered;
	return sent;
}

/** Writes a body as far as somebody reads it, and reads the rest. */
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
