import { createReplyTooLarge, usualReplyBytes } from '../../chat/reply-size.ts';

/** How long answers may be on the wire, in bytes, by the longest reply that they may hold. */
export interface WireBounds {
	readonly model: string;
	readonly maxReplyBytes: number;
	/** One event, or an answer that is no stream: a reply, its escapes and what stands around it. */
	readonly one: number;
	/** A whole stream, whose events say little each. */
	readonly all: number;
}

export function wireBounds(model: string, maxReplyBytes = usualReplyBytes): WireBounds {
	return { model, maxReplyBytes, one: 2 * maxReplyBytes + 1_048_576, all: 8 * maxReplyBytes + 1_048_576 };
}

/** Counts the bytes of an answer; throws `reply_too_large` where there are too many. */
export function wireMeter({ model, maxReplyBytes, one, all }: WireBounds) {
	let total = 0;
	let open = 0;
	return {
		add: (bytes: number): void => {
			total += bytes;
			open += bytes;
			if (open > one || total > all) throw createReplyTooLarge(model, maxReplyBytes);
		},
		/** An event has ended. */
		end: (): void => {
			open = 0;
		},
	};
}

/** The text of an answer; throws `reply_too_large` where it is too long. */
export async function readBody(response: Response, bounds: WireBounds): Promise<string> {
	const meter = wireMeter(bounds);
	return getText(response, (bytes) => {
		meter.add(bytes);
		return true;
	});
}

/** Bytes of an error that are read. */
const longestError = 65_536;

/** The beginning of an answer that is an error. */
export async function readError(response: Response): Promise<string> {
	let read = 0;
	return getText(response, (bytes) => {
		read += bytes;
		return read < longestError;
	});
}

/** The text of a body, as long as there is room for more; the rest is not fetched. */
async function getText(response: Response, hasRoom: (bytes: number) => boolean): Promise<string> {
	const reader = response.body?.getReader();
	if (reader === undefined) return '';
	const decoder = new TextDecoder();
	const pieces: string[] = [];
	try {
		for (;;) {
			const { value, done } = await reader.read();
			if (done) break;
			pieces.push(decoder.decode(value, { stream: true }));
			if (!hasRoom(value.byteLength)) break;
		}
	} finally {
		reader.cancel().catch(() => {});
	}
	return pieces.join('') + decoder.decode();
}
