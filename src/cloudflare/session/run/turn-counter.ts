import type { RunEvent } from '../../../core/chat/index.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';

/** Counts what the model writes of a turn. */
export function createTurnCounter(now: () => number = Date.now) {
	let counter = createTokenCounter();
	let begunAt: number | undefined;
	return {
		add: (events: readonly RunEvent[]): void => {
			for (const event of events) {
				if (event.type === 'stop' || event.type === 'turn.restarted') {
					counter = createTokenCounter();
					begunAt = undefined;
					continue;
				}
				const text = getText(event);
				if (text === '') continue;
				begunAt ??= now();
				counter.add(text);
			}
		},
		/** Tokens of the turn, and the milliseconds since its first. */
		read: () => ({ tokens: Math.ceil(counter.total()), ms: begunAt === undefined ? 0 : now() - begunAt }),
	};
}

function getText(event: RunEvent): string {
	if (event.type === 'text' || event.type === 'reasoning') return event.text;
	if (event.type === 'tool_use_start') return event.name;
	return event.type === 'tool_use_input' ? event.partialInputJson : '';
}
