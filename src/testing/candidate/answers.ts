/** The answers that a recorded session has for the calls of a candidate. */

import { readResultName } from '../../core/chat/old-results.ts';
import { type NearestCall, RecordedCalls } from '../../core/chat/recorded-calls.ts';
import { searchName } from '../../core/chat/tool-search.ts';
import type { Tool } from '../../core/index.ts';
import { builtinNames } from '../../core/skill/builtins.ts';
import { providerName } from '../../core/tool/index.ts';
import { checkInput } from '../../core/tool/schema.ts';
import { copyData } from '../../core/tool/state.ts';
import { hideReplaced, type RecordedResult } from '../../replay/history.ts';
import type { Recording } from '../../replay/recording.ts';
import { createMask, hasPseudonym } from '../../replay/redact.ts';
import { findTurn, toKey } from '../../replay/tape.ts';

/** A recorded call that has an answer. */
export interface RecordedAnswer {
	readonly tool: string;
	readonly input: unknown;
	/** Missing if the recording ends while the call waits for a person. */
	readonly result?: RecordedResult;
	/** The question that the call waits with. */
	readonly question?: { readonly question: string; readonly options?: Readonly<Record<string, unknown>> };
}

/** Matches the calls of a candidate with those of one recorded session. Each recorded answer is given once. */
export class SessionAnswers {
	readonly #exact: RecordedCalls<RecordedAnswer>;
	/** The same without the texts that a redacted recording replaced. */
	readonly #masked: RecordedCalls<RecordedAnswer> | undefined;
	readonly #left: Set<RecordedAnswer>;
	readonly #mask: (value: unknown) => unknown;
	readonly #tools: ReadonlyMap<string, Tool>;
	readonly #edited: ReadonlySet<string>;

	/** @param tools the tools whose schemas read the arguments: a default that is left out is equal to one that is given */
	constructor(recording: Recording, tools: readonly Tool[]) {
		this.#tools = new Map(tools.map((tool) => [providerName(tool.name), tool]));
		this.#mask = createMask(recording);
		const answers = listAnswers(recording);
		this.#left = new Set(answers);
		this.#edited = new Set(answers.flatMap(({ tool, result }) => (result?.ranWith ? [tool] : [])));
		const all = answers.map((result) => ({ ...result, input: this.#read(result.tool, result.input), result }));
		this.#exact = new RecordedCalls(all);
		const masked = all.map((call) => ({ ...call, input: this.#mask(call.input) }));
		this.#masked = recording.redacted && new RecordedCalls(masked);
	}

	/** The recorded calls that nobody made again. */
	get left(): readonly RecordedAnswer[] {
		return [...this.#left];
	}

	/** Whether a person changed the arguments of a recorded call of the tool. */
	hasEdits(tool: string): boolean {
		return this.#edited.has(providerName(tool));
	}

	/** Takes the answer of the next recorded call that matches. Returns `undefined` if there is none. */
	take(tool: string, given: unknown): RecordedAnswer | undefined {
		const name = providerName(tool);
		const input = this.#read(name, given);
		const exact = this.#takeFrom(this.#exact, name, input);
		// A pseudonym stands for one text. Any other text may be what a pseudonym stands for.
		if (exact !== undefined || this.#masked === undefined || hasPseudonym(input)) return exact;
		return this.#takeFrom(this.#masked, name, this.#mask(input));
	}

	findNearest(tool: string, input: unknown): NearestCall | undefined {
		const name = providerName(tool);
		return this.#exact.findNearest(name, this.#read(name, input));
	}

	#takeFrom(calls: RecordedCalls<RecordedAnswer>, tool: string, input: unknown): RecordedAnswer | undefined {
		for (let found = calls.take(tool, input); found !== undefined; found = calls.take(tool, input))
			if (this.#left.delete(found.result)) return found.result;
		return undefined;
	}

	/** Reads arguments with the schema of the tool. Arguments that do not fit stay as they are. */
	#read(name: string, input: unknown): unknown {
		const tool = this.#tools.get(name);
		if (tool === undefined) return input;
		const checked = checkInput(tool.inputSchema, copyData(input ?? {}));
		if (checked instanceof Promise) checked.catch(() => {});
		return 'value' in checked ? checked.value : input;
	}
}

/** Whether a name is that of a tool that the loop brings: for skills, for tools and for long results. They only read. */
export function isBuiltin(name: string): boolean {
	return builtinNames.includes(name) || name === searchName || name === readResultName;
}

function listAnswers(recording: Recording): readonly RecordedAnswer[] {
	const messages = hideReplaced(recording.messages);
	const results = new Map<string, RecordedResult>();
	for (const message of messages)
		if (message.role === 'tool') results.set(toKey(findTurn(message), message.toolCallId), message);
	const end = recording.runs.at(-1)?.stored.end?.event;
	const { question, toolCalls = [] } = end?.type === 'awaiting' ? end : {};
	const open = new Set([...toolCalls.map(({ id }) => id), ...(question === undefined ? [] : [question.callId])]);
	const last = messages.findLast(({ role }) => role === 'assistant');
	return messages.flatMap((message) => {
		if (message.role !== 'assistant') return [];
		return (message.toolCalls ?? []).flatMap(({ id, name, input }): RecordedAnswer[] => {
			if (isBuiltin(name)) return [];
			const call = { tool: providerName(name), input };
			const result = results.get(toKey(findTurn(message), id));
			if (result !== undefined) return [{ ...call, result }];
			if (message !== last || !open.has(id)) return [];
			return [{ ...call, ...(question?.callId === id && { question }) }];
		});
	});
}
