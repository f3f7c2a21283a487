import { raceAbort } from '../../core/chat/signal.ts';
import { LineSplitter } from '../../core/ground/text.ts';
import type { Bytes } from './result.ts';

/**
 * Reads lines of JSON that a session's object writes; not the comments by which it keeps the connection open. An abort
 * leaves them, of which the object is told.
 */
export async function* readLines<Line>(bytes: Bytes, signal: AbortSignal): AsyncGenerator<Line, undefined> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder();
	const splitter = new LineSplitter();
	const leave = (): void => void reader.cancel().catch(() => {});
	// At once: where the client has left, nothing of its request runs any more behind an await.
	signal.addEventListener('abort', leave, { once: true });
	try {
		for (;;) {
			const { done, value } = await raceAbort(reader.read(), signal);
			if (done) return;
			for (const line of splitter.push(decoder.decode(value, { stream: true })))
				if (!line.startsWith(':')) yield JSON.parse(line);
		}
	} finally {
		signal.removeEventListener('abort', leave);
		leave();
	}
}
