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
	const names = new Map(tools.map(({ name }) => [wireName(name), name]));
	// A list stands for pieces of a text; these are joined once.
	const parts: (Json | string[])[] = [];
	let open: OpenCall | undefined;
	let calls = 0;
	let thinking = false;
	let answered = false;
	let about: Json = {};
	let ending: Json = {};

	const closeCall = (): Room => {
		if (open === undefined) return undefined;
		const { key, args, pieces } = open;
		open = undefined;
		const room = reply.input(key, toInputText(args ?? pieces.value()));
		return reply.endCall(key) ?? room;
	};
	const readCall = (part: Json): Room => {
		const { functionCall: _, ...rest } = part;
		const wire = getObject(part, 'functionCall');
		const name = getString(wire, 'name') ?? '';
		let room: Room;
		if (name !== '') {
			room = closeCall();
			const key = calls++;
			const given = getString(wire, 'id') || undefined;
			const begun = reply.startCall(key, given, names.get(name) ?? name);
			room = begun.room ?? room;
			parts.push({ ...rest, functionCall: given === undefined ? {} : { id: given }, callId: begun.id });
			open = { key, at: parts.length - 1, pieces: partialArgs(), args: undefined };
		}
		if (open === undefined) return room;
		const begun = parts[open.at];
		if (name === '' && isRecord(begun)) parts[open.at] = { ...begun, ...rest };
		open.pieces.take(getObjects(wire, 'partialArgs'));
		if (isRecord(wire.args)) open.args = wire.args;
		return wire.willContinue === true ? room : (closeCall() ?? room);
	};
	const readPart = (part: Json): Room => {
		if (part.functionCall !== undefined) return readCall(part);
		const text = getString(part, 'text') ?? '';
		const signed = getString(part, 'thoughtSignature') !== undefined;
		if (part.thought === true) {
			if (!thinking) reply.newThought();
			thinking = true;
			if (signed) parts.push(part);
			return reply.reasoning(text);
		}
		thinking = false;
		const last = parts.at(-1);
		if (Object.keys(part).some((key) => key !== 'text')) parts.push(part);
		else if (text !== '' && Array.isArray(last)) last.push(text);
		else if (text !== '') parts.push([text]);
		return reply.text(text);
	};
	const read = (chunk: Json): Room => {
		if (isRecord(chunk.error)) throw new ProviderComplaint({ body: chunk });
		reply.setModel(getString(chunk, 'modelVersion'));
		addUsage(reply, getObject(chunk, 'usageMetadata'));
		const { responseId = about.responseId, modelVersion = about.modelVersion } = chunk;
		about = { responseId, modelVersion };
		const { blockReason } = getObject(chunk, 'promptFeedback');
		if (blockReason !== undefined) ending = { ...ending, promptFeedback: chunk.promptFeedback, blockReason };
		const candidate = getObjects(chunk, 'candidates').find((one) => (getNumber(one, 'index') ?? 0) === 0);
		if (candidate === undefined) return undefined;
		answered = true;
		const { content: _, index: __, ...rest } = candidate;
		ending = { ...ending, ...rest };
		let room: Room;
		for (const part of getObjects(getObject(candidate, 'content'), 'parts')) room = readPart(part) ?? room;
		return room;
	};
	const finish = (): void => {
		const finishReason = getString(ending, 'finishReason');
		const blockReason = getString(ending, 'blockReason');
		if (blockReason !== undefined && !answered)
			throw new RunletError('content_filtered', `the message was blocked (${blockReason}). Change it.`, {
				blockReason,
			});
		const cut = open !== undefined && finishReason === 'MAX_TOKENS';
		if (!cut) closeCall();
		const whole = parts.map((part) => (Array.isArray(part) ? { text: part.join('') } : part));
		reply.finish({
			reason: toStopReason(finishReason, blockReason),
			raw: { ...about, ...ending },
			metadata: whole.every(isPlain) ? undefined : { parts: whole },
			lastCallCut: cut,
		});
	};

	return {
		event: read,
		body: async (body) => {
			await read(body);
			// Without a candidate there is no answer, not even an empty one.
			if (answered || ending.blockReason !== undefined) finish();
		},
		// Usage may come behind the finish reason, so a stream goes on to its end.
		end: () => {
			if (ending.finishReason !== undefined || ending.blockReason !== undefined) finish();
		},
	};
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
