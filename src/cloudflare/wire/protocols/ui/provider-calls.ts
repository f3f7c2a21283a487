import type { TerminalEvent } from '../../../../core/chat/index.ts';
import { hasEnded, isWebUrl, type ProviderCall, type Source } from '../../../../core/chat/provider-tool.ts';
import { toText } from './calls.ts';
import type { UiChunk } from './chunk.ts';

interface UiProviderCall {
	readonly toolCallId: string;
	/** The first name of the tool. Clients keep this name for the whole call. */
	readonly toolName: string;
	hasInput: boolean;
	isSettled: boolean;
	/** Whether the call began in the current turn. */
	isNew: boolean;
}

/** Writes the provider's part of a UI message as chunks: the tools that it ran, and the sources of the text. */
export class UiProviderCalls {
	/** The calls that a later event can name, keyed by the provider's ids. */
	readonly #calls = new Map<string, UiProviderCall>();
	/** How often each id was used. Some providers reuse ids in each turn, but a message needs unique ids. */
	readonly #uses = new Map<string, number>();
	/** The ids of the sources, and whether each source is of the current turn. */
	readonly #sources = new Map<string, boolean>();
	readonly #say: (chunk: UiChunk) => void;

	constructor(say: (chunk: UiChunk) => void) {
		this.#say = say;
	}

	isNew(id: string): boolean {
		return !this.#calls.has(id);
	}

	call({ id, name, input, ...result }: ProviderCall): void {
		const call = this.#calls.get(id) ?? this.#start(id, name);
		const { toolCallId, toolName } = call;
		const isOver = hasEnded(result);
		if (!call.hasInput && (input !== undefined || isOver)) {
			call.hasInput = true;
			this.#say({ type: 'tool-input-available', toolCallId, toolName, input: input ?? {}, providerExecuted });
		}
		if (isOver) this.#settle(call, result);
	}

	source({ id: sourceId, url, title, quote }: Source): void {
		if (this.#sources.has(sourceId)) return;
		this.#sources.set(sourceId, true);
		const about = quote === undefined ? {} : { providerMetadata: { runlet: { quote } } };
		if (isWebUrl(url)) this.#say({ type: 'source-url', sourceId, url, ...(title && { title }), ...about });
		else {
			const named = title ?? url ?? 'Document';
			this.#say({ type: 'source-document', sourceId, mediaType: 'text/plain', title: named, ...about });
		}
	}

	/** Ends the turn. A call without a result may get its result in a later turn. */
	endTurn(): void {
		for (const [id, call] of this.#calls) {
			if (call.isSettled) this.#calls.delete(id);
			call.isNew = false;
		}
		for (const id of this.#sources.keys()) this.#sources.set(id, false);
	}

	restartTurn(): void {
		for (const [id, call] of this.#calls) {
			if (!call.isNew) continue;
			if (!call.isSettled) this.#fail(call, 'The turn was cut off and is asked again.');
			this.#calls.delete(id);
		}
		for (const [id, isNew] of this.#sources) if (isNew) this.#sources.delete(id);
	}

	/** Settles the open calls, because some providers report no result. */
	end({ type }: TerminalEvent): void {
		for (const call of this.#calls.values()) {
			if (call.isSettled) continue;
			if (type === 'error' || type === 'cancelled') this.#fail(call, 'The run ended before this call had a result.');
			else this.#settle(call, {});
		}
		this.#calls.clear();
		this.endTurn();
	}

	#start(id: string, toolName: string): UiProviderCall {
		const uses = (this.#uses.get(id) ?? 0) + 1;
		this.#uses.set(id, uses);
		const toolCallId = uses === 1 ? id : `${id}_${uses}`;
		const call = { toolCallId, toolName, hasInput: false, isSettled: false, isNew: true };
		this.#calls.set(id, call);
		this.#say({ type: 'tool-input-start', toolCallId, toolName, providerExecuted });
		return call;
	}

	#settle(call: UiProviderCall, { output, isError }: Pick<ProviderCall, 'output' | 'isError'>): void {
		if (isError === true) {
			this.#fail(call, output === undefined ? 'The tool failed.' : toText(output));
			return;
		}
		call.isSettled = true;
		const { toolCallId } = call;
		this.#say({ type: 'tool-output-available', toolCallId, output: output ?? null, providerExecuted });
	}

	#fail(call: UiProviderCall, errorText: string): void {
		call.isSettled = true;
		this.#say({ type: 'tool-output-error', toolCallId: call.toolCallId, errorText, providerExecuted });
	}
}

const providerExecuted = true;
