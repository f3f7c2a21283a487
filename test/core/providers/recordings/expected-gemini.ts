import type { StopReason } from '../../../../src/core/index.ts';
import { type Expected, type ExpectedCall, type Reading, sum, withCalls } from './expected.ts';
import { at, count, list, text } from './json.ts';

/** Gemini's own API. */
export const gemini: Reading = {
	// Each event is a body with further parts. Its counts are running totals, so the last counts are valid.
	readStream: (events) => reply(events, at(events.at(-1), 'usageMetadata')),
	readBody: (body) => reply([body], at(body, 'usageMetadata')),
	ends: (event) => text(event, 'candidates', 0, 'finishReason') !== '',
};

const reasons: Readonly<Record<string, StopReason>> = { STOP: 'end_turn', MAX_TOKENS: 'max_tokens', SAFETY: 'refusal' };

function reply(events: readonly unknown[], usage: unknown): Expected {
	const parts = events.flatMap((event) => list(event, 'candidates', 0, 'content', 'parts'));
	const toolCalls = readCalls(parts.map((part) => at(part, 'functionCall')).filter((call) => call !== undefined));
	const reason = events.map((event) => text(event, 'candidates', 0, 'finishReason')).findLast(Boolean) ?? '';
	const thoughts = count(usage, 'thoughtsTokenCount');
	return {
		text: parts
			.filter((part) => at(part, 'thought') !== true)
			.map((part) => text(part, 'text'))
			.join(''),
		toolCalls,
		stopReason: withCalls(reasons[reason] ?? reason, toolCalls),
		usage: {
			inputTokens: sum(count(usage, 'promptTokenCount'), count(usage, 'toolUsePromptTokenCount')),
			outputTokens: sum(count(usage, 'candidatesTokenCount'), thoughts),
			cachedInputTokens: count(usage, 'cachedContentTokenCount'),
			reasoningTokens: thoughts,
		},
	};
}

/**
 * A piece with a name begins a call. A piece without a name sets values at paths of the last call. A text for the
 * same path is appended.
 */
function readCalls(pieces: readonly unknown[]): ExpectedCall[] {
	const calls: ExpectedCall[] = [];
	for (const piece of pieces) {
		if (text(piece, 'name') !== '') {
			calls.push({ id: text(piece, 'id'), name: text(piece, 'name'), input: at(piece, 'args') ?? {} });
		}
		for (const part of list(piece, 'partialArgs')) {
			const path = text(part, 'jsonPath').match(/[^$.[\]]+/g) ?? [];
			put(
				calls.at(-1)?.input,
				path.map(key),
				at(part, 'numberValue') ?? at(part, 'boolValue') ?? at(part, 'stringValue'),
			);
		}
	}
	return calls;
}

function key(step: string): string | number {
	return /^\d+$/.test(step) ? Number(step) : step;
}

function put(target: unknown, [first, second, ...rest]: readonly (string | number)[], value: unknown): void {
	if (typeof target !== 'object' || target === null || first === undefined) throw new Error('no place for the value');
	const before: unknown = Reflect.get(target, first);
	if (second === undefined) {
		Reflect.set(target, first, typeof before === 'string' && typeof value === 'string' ? before + value : value);
		return;
	}
	if (before === undefined) Reflect.set(target, first, typeof second === 'number' ? [] : {});
	put(Reflect.get(target, first), [second, ...rest], value);
}
