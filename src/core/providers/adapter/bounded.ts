import { createReplyTooLarge, usualReplyBytes } from '../../chat/model-call.ts';

/** The limits of an answer in bytes. They follow from the longest allowed reply. */
export interface WireBounds {
	readonly model: string;
	readonly maxReplyBytes: number;
	/** The limit of an event, or of an answer without a stream: the reply with its escapes and the JSON around it. */
	readonly perEvent: number;
	/** The limit of a whole stream, whose events each contain little text. */
	readonly total: number;
}

export function createWireBounds(model: string, maxReplyBytes = usualReplyBytes): WireBounds {
	return { model, maxReplyBytes, perEvent: 2 * maxReplyBytes + 1_048_576, total: 8 * maxReplyBytes + 1_048_576 };
}

/** Counts the bytes of an answer. Throws `reply_too_large` over the limit. */
export function createWireMeter({ model, maxReplyBytes, perEvent, total }: WireBounds) {
	let all = 0;
	let open = 0;
	return {
		add: (bytes: number): void => {
			all += bytes;
			open += bytes;
			if (open > perEvent || all > total) throw createReplyTooLarge(model, maxReplyBytes);
		},
		/** Called at the end of an event. */
		end: (): void => {
			open = 0;
		},
	};
}

/** Reads a body. Throws `reply_too_large` if it is over the limit. */
export async function readBody(response: Response, bounds: WireBounds): Promise<string> {
	const meter = createWireMeter(bounds);
	return getText(response, (bytes) => {
		meter.add(bytes);
		return true;
	});
}

const longestError = 65_536;

/** Reads the beginning of an error's body. */
export async function readError(response: Response): Promise<string> {
	let read = 0;
	return getText(response, (bytes) => {
		read += bytes;
		return read < longestError;
	});
}

/** Reads the text of a body up to the limit. The rest is not fetched. */
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
