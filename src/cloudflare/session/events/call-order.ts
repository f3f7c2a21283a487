import type { RunEvent } from '../../../core/chat/index.ts';

/**
 * Creates a filter that passes the pieces of one tool call until it has ended, then those of the next. Some models stream
 * several calls at once, and an event id counts the characters of one.
 */
export function createCallSorter(): (events: readonly RunEvent[]) => readonly RunEvent[] {
	let open: string | undefined;
	const waiting = new Map<string, RunEvent[]>();

	const pass = (event: RunEvent, out: RunEvent[]): void => {
		out.push(event);
		if (event.type === 'tool_use_start') open = event.id;
		if (event.type !== 'tool_use_end' || event.id !== open) return;
		open = undefined;
		const next = waiting.entries().next().value;
		if (next === undefined) return;
		waiting.delete(next[0]);
		for (const held of next[1]) pass(held, out);
	};
	const flush = (out: RunEvent[]): void => {
		open = undefined;
		for (const held of waiting.values()) for (const event of held) out.push(event);
		waiting.clear();
	};

	return (events) => {
		if (open === undefined && !events.some(({ type }) => type === 'tool_use_start')) return events;
		const out: RunEvent[] = [];
		for (const event of events) {
			const piece = isPiece(event);
			if (piece && open !== undefined && event.id !== open) {
				const held = waiting.get(event.id);
				if (held === undefined) waiting.set(event.id, [event]);
				else held.push(event);
			} else {
				// A call is over with its turn, even without its own end.
				if (event.type === 'stop') flush(out);
				if (event.type === 'turn.restarted') {
					open = undefined;
					waiting.clear();
				}
				pass(event, out);
			}
		}
		return out;
	};
}

function isPiece(event: RunEvent): event is RunEvent & { readonly id: string } {
	return event.type === 'tool_use_start' || event.type === 'tool_use_input' || event.type === 'tool_use_end';
}
