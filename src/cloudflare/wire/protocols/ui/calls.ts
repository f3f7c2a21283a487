import { toDataUrl, toMedia } from '../../../../core/base/part.ts';
import { parseToolInput } from '../../../../core/tool/call.ts';
import type { ToolResult } from '../../../../core/tool/index.ts';
import type { UiChunk } from './chunk.ts';

interface UiCall {
	readonly name: string;
	readonly pieces: string[];
	state: 'streaming' | 'open' | 'settled' | 'dropped';
}

/** Writes the tool calls of a UI message as chunks. Writes no output without its call. */
export class UiCalls {
	readonly #calls = new Map<string, UiCall>();
	readonly #say: (chunk: UiChunk) => void;

	constructor(say: (chunk: UiChunk) => void) {
		this.#say = say;
	}

	start(toolCallId: string, toolName: string): void {
		this.#calls.set(toolCallId, { name: toolName, pieces: [], state: 'streaming' });
		this.#say({ type: 'tool-input-start', toolCallId, toolName });
	}

	addInput(toolCallId: string, inputTextDelta: string): void {
		const call = this.#calls.get(toolCallId);
		if (call?.state !== 'streaming') return;
		call.pieces.push(inputTextDelta);
		this.#say({ type: 'tool-input-delta', toolCallId, inputTextDelta });
	}

	completeInputs(): void {
		for (const [toolCallId, call] of this.#listStreaming()) {
			call.state = 'open';
			const input = parseToolInput(call.pieces.join(''));
			this.#say({ type: 'tool-input-available', toolCallId, toolName: call.name, input });
		}
	}

	dropInputs(errorText: string): void {
		for (const [toolCallId, call] of this.#listStreaming()) {
			call.state = 'dropped';
			const input = parseToolInput(call.pieces.join(''));
			this.#say({ type: 'tool-input-error', toolCallId, toolName: call.name, input, errorText });
		}
	}

	/** Writes the output of a call. Its images, audio and files become file parts of the message. */
	settle({ id: toolCallId, output, isError, parts = [] }: ToolResult): void {
		if (!this.trySettle(toolCallId)) return;
		if (isError) this.#say({ type: 'tool-output-error', toolCallId, errorText: toText(output) });
		else this.#say({ type: 'tool-output-available', toolCallId, output: output ?? null });
		for (const part of parts) {
			const media = toMedia(part);
			if (media !== undefined) this.#say({ type: 'file', url: toDataUrl(media), mediaType: media.mime });
		}
	}

	/** Marks a call as settled, but writes no output. Returns false if the input of the call is not complete. */
	trySettle(toolCallId: string): boolean {
		const call = this.#calls.get(toolCallId);
		if (call?.state !== 'open' && call?.state !== 'settled') return false;
		call.state = 'settled';
		return true;
	}

	settleAll(why: string): void {
		for (const [id, { state }] of this.#calls) if (state === 'open') this.settle({ id, output: why, isError: true });
	}

	isOpen(toolCallId: string): boolean {
		return this.#calls.get(toolCallId)?.state === 'open';
	}

	isUnanswered(toolCallId: string): boolean {
		const state = this.#calls.get(toolCallId)?.state;
		return state === 'streaming' || state === 'open';
	}

	#listStreaming(): readonly [string, UiCall][] {
		return [...this.#calls].filter(([, { state }]) => state === 'streaming');
	}
}

export function toText(output: unknown): string {
	return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}
