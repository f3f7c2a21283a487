import { close, toSse } from '../chat/sse.ts';
import type { RunLog } from './log.ts';
import { formatPosition, type Position } from './position.ts';

/** A silent connection gets a comment this often, in milliseconds, so that no proxy closes it. */
const keepAliveMs = 15_000;

/**
 * A run's events behind a position as `text/event-stream` bytes, until its last one. Each reader pulls at its own pace:
 * what piled up meanwhile comes in few large events. Cancelling the stream ends the reader, never the run.
 */
export function follow(log: RunLog, from?: Position): ReadableStream<Uint8Array> {
	const cursor = log.cursor(from);
	const encoder = new TextEncoder();
	let gone: (() => void) | undefined;
	return new ReadableStream({
		type: 'bytes',
		pull: async (controller) => {
			for (;;) {
				const events = log.read(cursor);
				if (events.length > 0) {
					const text = events.map(({ event, at }) => toSse(event, at && formatPosition(at))).join('');
					controller.enqueue(encoder.encode(text));
				}
				if (log.done(cursor)) close(controller);
				if (events.length > 0 || log.done(cursor)) return;
				const why = await next(log, (leave) => {
					gone = leave;
				});
				if (why === 'gone') return;
				if (why === 'silence') {
					controller.enqueue(encoder.encode(': keep-alive\n\n'));
					return;
				}
			}
		},
		cancel: () => gone?.(),
	});
}

async function next(log: RunLog, onLeave: (leave: () => void) => void): Promise<'change' | 'silence' | 'gone'> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		return await Promise.race([
			log.changed().then(() => 'change' as const),
			new Promise<'silence' | 'gone'>((resolve) => {
				timer = setTimeout(() => resolve('silence'), keepAliveMs);
				onLeave(() => resolve('gone'));
			}),
		]);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}
