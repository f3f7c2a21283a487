import { RunletError } from '../../../ground/errors.ts';
import { isRecord } from '../../../ground/json.ts';
import { toInputText } from '../../../tool/input.ts';
import type { ModelRequest, ReplyReader } from '../../adapter/adapter.ts';
import { ProviderComplaint } from '../../adapter/failure.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import type { ReplyBuilder } from '../../adapter/reply.ts';
import { type PartialArgs, partialArgs } from './partial-args.ts';
import { wireName } from './request.ts';

/** A call on its way: where its part stands, and its arguments so far. */
interface OpenCall {
	readonly key: number;
	readonly at: number;
	readonly pieces: PartialArgs;
	args: Json | undefined;
}

type Room = undefined | Promise<void>;

/**
 * Reads answers of `generateContent`, streamed or whole. A stream has no end of its own: it is complete when a finish
 * reason came before the connection closed. What Gemini needs back is kept as `parts`, for `geminiBody`.
 */
export function geminiReader(reply: ReplyBuilder, { tools }: ModelRequest): ReplyReader {
	return new GeminiReader(reply, tools);
}

class GeminiReader implements ReplyReader {
	readonly #reply: ReplyBuilder;
	/** Own names by those on the wire. */
	readonly #names: ReadonlyMap<string, string>;
	// A list stands for pieces of a text; these are joined once.
	readonly #parts: (Json | string[])[] = [];
	#open: OpenCall | undefined;
	#calls = 0;
	#thinking = false;
	#answered = false;
	#about: Json = {};
	#ending: Json = {};

	constructor(reply: ReplyBuilder, tools: ModelRequest['tools']) {
		this.#reply = reply;
		this.#names = new Map(tools.map(({ name }) => [wireName(name), name]));
	}

	event(event: Json): Room {
		return this.#read(event);
	}

	async body(body: Json): Promise<void> {
		await this.#read(body);
		// Without a candidate there is no answer, not even an empty one.
		if (this.#answered || this.#ending.blockReason !== undefined) this.#finish();
	}

	// Usage may come behind the finish reason, so a stream goes on to its end.
	end(): void {
		if (this.#ending.finishReason !== undefined || this.#ending.blockReason !== undefined) this.#finish();
	}

	#closeCall(): Room {
		if (this.#open === undefined) return undefined;
		const { key, args, pieces } = this.#open;
		this.#open = undefined;
		const room = this.#reply.input(key, toInputText(args ?? pieces.value()));
		return this.#reply.endCall(key) ?? room;
	}

	#readCall(part: Json): Room {
		const { functionCall: _, ...rest } = part;
		const wire = getObject(part, 'functionCall');
		const name = getString(wire, 'name') ?? '';
		let room: Room;
		if (name !== '') {
			room = this.#closeCall();
			const key = this.#calls++;
			const given = getString(wire, 'id') || undefined;
			const begun = this.#reply.startCall(key, given, this.#names.get(name) ?? name);
			room = begun.room ?? room;
			this.#parts.push({ ...rest, functionCall: given === undefined ? {} : { id: given }, callId: begun.id });
			this.#open = { key, at: this.#parts.length - 1, pieces: partialArgs(), args: undefined };
		}
		if (this.#open === undefined) return room;
		const begun = this.#parts[this.#open.at];
		if (name === '' && isRecord(begun)) this.#parts[this.#open.at] = { ...begun, ...rest };
		this.#open.pieces.take(getObjects(wire, 'partialArgs'));
		if (isRecord(wire.args)) this.#open.args = wire.args;
		return wire.willContinue === true ? room : (this.#closeCall() ?? room);
	}

	#readPart(part: Json): Room {
		if (part.functionCall !== undefined) return this.#readCall(part);
		const text = getString(part, 'text') ?? '';
		const signed = getString(part, 'thoughtSignature') !== undefined;
		if (part.thought === true) {
			if (!this.#thinking) this.#reply.newThought();
			this.#thinking = true;
			if (signed) this.#parts.push(part);
			return this.#reply.reasoning(text);
		}
		this.#thinking = false;
		const last = this.#parts.at(-1);
		if (Object.keys(part).some((key) => key !== 'text')) this.#parts.push(part);
		else if (text !== '' && Array.isArray(last)) last.push(text);
		else if (text !== '') this.#parts.push([text]);
		return this.#reply.text(text);
	}

	#read(chunk: Json): Room {
		if (isRecord(chunk.error)) throw new ProviderComplaint({ body: chunk });
		this.#reply.setModel(getString(chunk, 'modelVersion'));
		addUsage(this.#reply, getObject(chunk, 'usageMetadata'));
		const { responseId = this.#about.responseId, modelVersion = this.#about.modelVersion } = chunk;
		this.#about = { responseId, modelVersion };
		const { blockReason } = getObject(chunk, 'promptFeedback');
		if (blockReason !== undefined)
			this.#ending = { ...this.#ending, promptFeedback: chunk.promptFeedback, blockReason };
		const candidate = getObjects(chunk, 'candidates').find((one) => (getNumber(one, 'index') ?? 0) === 0);
		if (candidate === undefined) return undefined;
		this.#answered = true;
		const { content: _, index: __, ...rest } = candidate;
		this.#ending = { ...this.#ending, ...rest };
		let room: Room;
		for (const part of getObjects(getObject(candidate, 'content'), 'parts')) room = this.#readPart(part) ?? room;
		return room;
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
		const whole = this.#parts.map((part) => (Array.isArray(part) ? { text: part.join('') } : part));
		this.#reply.finish({
			reason: toStopReason(finishReason, blockReason),
			raw: { ...this.#about, ...this.#ending },
			metadata: whole.every(isPlain) ? undefined : { parts: whole },
			lastCallCut: cut,
		});
	}
}

/** Usage as it is known by now. A count of zero is left out on the wire. */
function addUsage(reply: ReplyBuilder, usage: Json): void {
	if (getNumber(usage, 'promptTokenCount') !== undefined) reply.usage({ candidatesTokenCount: 0, ...usage });
}

/** Whether a part can be made again from a message's text and calls. */
function isPlain({ functionCall, callId: _, ...rest }: Json): boolean {
	const keys = Object.keys(rest);
	if (isRecord(functionCall)) return keys.length === 0 && functionCall.id === undefined;
	return keys.every((key) => key === 'text');
}

const refusals =
	/^(SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|MODEL_ARMOR|IMAGE_(SAFETY|PROHIBITED_CONTENT|RECITATION))$/;

/** A turn that the model wrote wrongly; it may get it right when it is asked again. */
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
	// Gemini itself says STOP where it calls; gateways have a word of their own.
	if (/^(STOP|FUNCTION_CALL|FINISH_REASON_UNSPECIFIED)$/.test(finishReason)) return 'end_turn';
	return finishReason.toLowerCase();
}
