import type { Shown } from '../../operation.ts';
import type { uiChunk } from '../../ui.ts';

/** A chunk of the UI message stream. AI SDK 5, 6 and 7 read it, but only 6 and 7 read the two approval kinds. */
export type UiChunk = Shown<typeof uiChunk>;

export type UiFinishReason = Extract<UiChunk, { type: 'finish' }>['finishReason'];

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
