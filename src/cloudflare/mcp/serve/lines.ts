import { raceAbort } from '../../../core/chat/signal.ts';
import type { Bytes } from '../../objects/result.ts';

/** Reads lines of JSON that a session's object writes. An abort leaves them, of which the object is told. */
export async function* readLines<Line>(bytes: Bytes, signal: AbortSignal): AsyncGenerator<Line, undefined> {
	const reader = bytes.getReader();
	const decoder = new TextDecoder();
	const leave = (): void => void reader.cancel().catch(() => {});
	// At once: where the client has left, nothing of its request runs any more behind an await.
	signal.addEventListener('abort', leave, { once: true });
	let rest = '';
	try {
		for (;;) {
			const { done, value } = await raceAbort(reader.read(), signal);
			if (done) return;
			const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
			rest = lines.pop() ?? '';
			for (const line of lines) if (line !== '') yield JSON.parse(line);
		}
	} finally {
		signal.removeEventListener('abort', leave);
		leave();
	}
}
