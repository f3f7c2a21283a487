import type { Shown } from '../../operation.ts';
import type { uiChunk } from '../../ui.ts';

/** A chunk of the UI message stream. AI SDK 5, 6 and 7 read it; the two approval kinds need 6 or 7. */
export type UiChunk = Shown<typeof uiChunk>;

export type UiFinishReason = Extract<UiChunk, { type: 'finish' }>['finishReason'];

/** Whether a turn with this stop reason drops its calls. */
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
