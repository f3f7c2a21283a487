/** A part of the UI message stream that AI SDK 5, 6 and 7 read; the two approval kinds from 6 on. */
export type UiChunk =
	| { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: object }
	| { readonly type: 'message-metadata'; readonly messageMetadata: object }
	| { readonly type: 'start-step' | 'finish-step' | 'abort' }
	| { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
	| { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
	| { readonly type: 'tool-input-start'; readonly toolCallId: string; readonly toolName: string }
	| { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
	| {
			readonly type: 'tool-input-available';
			readonly toolCallId: string;
			readonly toolName: string;
			readonly input: unknown;
	  }
	| {
			readonly type: 'tool-input-error';
			readonly toolCallId: string;
			readonly toolName: string;
			readonly input: unknown;
			readonly errorText: string;
	  }
	| { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: unknown }
	| { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
	| { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
	| { readonly type: 'tool-output-denied'; readonly toolCallId: string }
	| UiDataChunk
	| { readonly type: 'finish'; readonly finishReason: UiFinishReason; readonly messageMetadata?: object }
	| { readonly type: 'error'; readonly errorText: string };

/** Data of Runlet's own, for pages that want it: a transient one is told to `onData` and enters no message. */
export interface UiDataChunk {
	readonly type: 'data-note' | 'data-warning' | 'data-restarted';
	readonly data: object;
	readonly transient?: true;
}

/** Why an answer ended, in the words that every version knows. */
export type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'other';
