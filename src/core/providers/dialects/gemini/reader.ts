import { RunletError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json.ts';
import { renderMadeImage } from '../../../chat/reply.ts';
import { toInputText } from '../../../tool/call.ts';
import type { ModelRequest, ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { ReplyBuilder } from '../../adapter/reply.ts';
import { createPartialArgs, type PartialArgs } from './partial-args.ts';
import { listPages, listWebCalls, readCodeCall } from './provider-tools.ts';
import { toWireName } from './request.ts';

interface OpenCall {
	readonly key: number;
	/** The index of the part. */
	readonly at: number;
	readonly pieces: PartialArgs;
	args: Json | undefined;
}

/**
 * Reads answers of `generateContent`, streamed or whole. A stream has no terminal event: it is complete if a finish
 * reason came before the connection closed. Keeps what Gemini wants back as `parts` for `toGeminiBody`.
 */
export class GeminiReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	readonly #model: string;
	/** The tools' own names by their names for Gemini. */
	readonly #names: ReadonlyMap<string, string>;
	/** The parts to send back. A list holds the pieces of a text. */
	readonly #parts: (Json | string[])[] = [];
	#open: OpenCall | undefined;
	#calls = 0;
	#codes = 0;
	#images = 0;
	#thinking = false;
	#answered = false;
	#about: Json = {};
	#ending: Json = {};

	constructor(reply: ReplyBuilder, { tools, model }: ModelRequest) {
		this.#model = model;
		this.#reply = reply;
		this.#names = new Map(tools.map(({ name }) => [toWireName(name), name]));
	}

	body(body: Json): void {
		this.event(body);
		// Without a candidate there is no answer.
		if (this.#answered || this.#ending.blockReason !== undefined) this.#finish();
	}

	// Usage may follow the finish reason, so the stream is read to its end.
	end(): void {
		if (this.#ending.finishReason !== undefined || this.#ending.blockReason !== undefined) this.#finish();
	}

	#closeCall(): void {
		if (this.#open === undefined) return;
		const { key, args, pieces } = this.#open;
		this.#open = undefined;
		this.#reply.input(key, toInputText(args ?? pieces.value()));
		this.#reply.endCall(key);
	}

	#readCall(part: Json): void {
		const { functionCall: _, ...rest } = part;
		const wire = getObject(part, 'functionCall');
		const name = getString(wire, 'name') ?? '';
		if (name !== '') {
			this.#closeCall();
			const key = this.#calls++;
			const id = getString(wire, 'id') || undefined;
			const callId = this.#reply.startCall(key, id, this.#names.get(name) ?? name);
			this.#parts.push({ ...rest, functionCall: id === undefined ? {} : { id }, callId });
			this.#open = { key, at: this.#parts.length - 1, pieces: createPartialArgs(), args: undefined };
		}
		if (this.#open === undefined) return;
		const begun = this.#parts[this.#open.at];
		if (name === '' && isRecord(begun)) this.#parts[this.#open.at] = { ...begun, ...rest };
		this.#open.pieces.take(getObjects(wire, 'partialArgs'));
		if (isRecord(wire.args)) this.#open.args = wire.args;
		if (wire.willContinue !== true) this.#closeCall();
	}

	#readPart(part: Json): void {
		if (part.functionCall !== undefined) {
			this.#readCall(part);
			return;
		}
		const isThought = part.thought === true;
		if (isThought && !this.#thinking) this.#reply.newThought();
		this.#thinking = isThought;
		const image = getObject(part, 'inlineData');
		const mime = getString(image, 'mimeType') ?? '';
		const data = getString(image, 'data') ?? '';
		if (isThought) this.#readThought(part);
		else if (mime.startsWith('image/') && data !== '') this.#readImage(mime, data);
		else this.#readText(part);
	}

	#readThought({ inlineData: _, ...part }: Json): void {
		if (getString(part, 'thoughtSignature') !== undefined) this.#parts.push(part);
		this.#reply.reasoning(getString(part, 'text') ?? '');
	}

	#readText(part: Json): void {
		const text = getString(part, 'text') ?? '';
		if (part.executableCode !== undefined) this.#codes++;
		const codeCall = readCodeCall(part, this.#codes);
		if (codeCall !== undefined) this.#reply.providerCall(codeCall);
		const last = this.#parts.at(-1);
		if (Object.keys(part).some((key) => key !== 'text')) this.#parts.push(part);
		else if (text !== '' && Array.isArray(last)) last.push(text);
		else if (text !== '') this.#parts.push([text]);
		this.#reply.text(text);
	}

	/** Reads an image. Later requests contain only the name of the image. */
	#readImage(mime: string, data: string): void {
		const file = this.#reply.image(mime, data);
		this.#parts.push({ text: renderMadeImage(file) });
		this.#reply.providerCall({ id: `image_${++this.#images}`, name: 'image_generation', output: { file } });
	}

	event(chunk: Json): void {
		if (isRecord(chunk.error)) throw new ProviderComplaint({ body: chunk });
		this.#reply.setModel(getString(chunk, 'modelVersion'));
		const usage = getObject(chunk, 'usageMetadata');
		// The API leaves out a count of zero.
		if (getNumber(usage, 'promptTokenCount') !== undefined) this.#reply.usage({ candidatesTokenCount: 0, ...usage });
		const tier = getString(usage, 'serviceTier')?.toLowerCase();
		if (tier !== undefined && !/standard|unspecified/.test(tier)) this.#reply.bill({ serviceTier: tier });
		const { responseId = this.#about.responseId, modelVersion = this.#about.modelVersion } = chunk;
		this.#about = { responseId, modelVersion };
		const { blockReason } = getObject(chunk, 'promptFeedback');
		if (blockReason !== undefined)
			this.#ending = { ...this.#ending, promptFeedback: chunk.promptFeedback, blockReason };
		const candidate = getObjects(chunk, 'candidates').find((entry) => (getNumber(entry, 'index') ?? 0) === 0);
		if (candidate === undefined) return;
		this.#answered = true;
		const { content: _, index: __, ...rest } = candidate;
		this.#ending = { ...this.#ending, ...rest };
		for (const part of getObjects(getObject(candidate, 'content'), 'parts')) this.#readPart(part);
	}

	/** Counts the billed searches: older models bill one for each prompt, and newer models bill one for each query. */
	#count(): void {
		const grounding = getObject(this.#ending, 'groundingMetadata');
		const called = this.#parts.flatMap((part) => (Array.isArray(part) ? [] : [getObject(part, 'toolCall')]));
		const queriesOf = (tool: RegExp): number =>
			called
				.filter((call) => tool.test(getString(call, 'toolType') ?? ''))
				.reduce((sum, call) => sum + countQueries(getObject(call, 'args').queries), 0);
		const chunks = getObjects(grounding, 'groundingChunks');
		// Chunks of files, and of pages that the prompt names, are free.
		const hasPages = this.#ending.urlContextMetadata === undefined && chunks.some(({ web }) => web !== undefined);
		const hasMaps = chunks.some(({ maps }) => maps !== undefined);
		const named = countQueries(grounding.webSearchQueries) + countQueries(grounding.imageSearchQueries);
		const searches = Math.max(named, queriesOf(/SEARCH/), hasPages ? 1 : 0);
		const places = Math.max(queriesOf(/MAPS/), hasMaps ? 1 : 0);
		if (/gemini-[3-9]/.test(`${this.#about.modelVersion ?? this.#model}`)) {
			this.#reply.count('web_searches', searches);
			this.#reply.count('maps_queries', places);
		} else {
			this.#reply.count('searched_prompts', Math.min(searches, 1));
			this.#reply.count('maps_prompts', Math.min(places, 1));
		}
	}

	#finish(): void {
		const finishReason = getString(this.#ending, 'finishReason');
		const blockReason = getString(this.#ending, 'blockReason');
		if (blockReason !== undefined && !this.#answered)
			throw new RunletError('content_filtered', `the message was blocked (${blockReason}). Change it.`, {
				blockReason,
			});
		const cut = this.#open !== undefined && finishReason === 'MAX_TOKENS';
		if (!cut) this.#closeCall();
		this.#count();
		for (const call of listWebCalls(this.#ending)) this.#reply.providerCall(call);
		for (const page of listPages(this.#ending)) this.#reply.source(page);
		const whole = this.#parts.map((part) => (Array.isArray(part) ? { text: part.join('') } : part));
		this.#reply.finish({
			reason: toStopReason(finishReason, blockReason),
			raw: { ...this.#about, ...this.#ending },
			metadata: whole.every(isPlain) ? undefined : { parts: whole },
			lastCallCut: cut,
		});
	}
}

function countQueries(list: unknown): number {
	return Array.isArray(list) ? list.filter((query) => query !== '').length : 0;
}

/** Whether the part can be rebuilt from a message's text and calls. */
function isPlain({ functionCall, callId: _, ...rest }: Json): boolean {
	const keys = Object.keys(rest);
	if (isRecord(functionCall)) return keys.length === 0 && functionCall.id === undefined;
	return keys.every((key) => key === 'text');
}

const refusals =
	/^(SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|MODEL_ARMOR|IMAGE_(SAFETY|PROHIBITED_CONTENT|RECITATION))$/;

/** The finish reasons of a malformed turn. Another attempt may succeed. */
const malformed = /^(MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL)$/;

function toStopReason(finishReason: string | undefined, blockReason: string | undefined): string {
	if (finishReason === undefined) return blockReason === undefined ? 'end_turn' : 'refusal';
	if (finishReason === 'MISSING_THOUGHT_SIGNATURE')
		throw new RunletError('invalid_request', `the history lacks a thought signature (${finishReason}).`, {
			finishReason,
		});
	if (malformed.test(finishReason))
		throw new RunletError('interrupted', `the reply could not be used (${finishReason}).`, { finishReason });
	if (refusals.test(finishReason)) return 'refusal';
	// Gemini sends STOP after calls. Gateways use other names.
	if (/^(STOP|FUNCTION_CALL|FINISH_REASON_UNSPECIFIED)$/.test(finishReason)) return 'end_turn';
	return finishReason.toLowerCase();
}
