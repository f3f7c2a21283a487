import type { UiFinishReason } from './chunk.ts';

/** Whether the calls of a turn with this stop reason are dropped. */
export function keepsNoCalls(reason: string): boolean {
	return reason === 'max_tokens' || reason === 'refusal';
}

export function toFinishReason(reason: string): UiFinishReason {
	switch (reason) {
		case 'end_turn':
		case 'stop_sequence':
			return 'stop';
		case 'max_tokens':
			return 'length';
		case 'refusal':
			return 'content-filter';
		case 'tool_use':
			return 'tool-calls';
		default:
			return 'other';
	}
}
