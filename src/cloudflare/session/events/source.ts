import type { EventSource } from '../../agent/event-source.ts';
import { type EventId, formatEventId } from './event-id.ts';
import type { RunLog } from './log.ts';

/** Makes the source of a reader that has seen the events of a log up to an id. */
export function createSource(log: RunLog, from?: EventId): EventSource {
	const cursor = log.cursor(from);
	return {
		read: () => log.read(cursor).map(({ event, id }) => ({ event, id: id && formatEventId(id) })),
		isOver: () => log.settle(cursor),
		isLeft: () => log.isLeft,
		change: () => log.change(),
		leave: () => {},
	};
}
