import { isRecord, sortNames } from '../base/json.ts';

/** A call of a recording, with its result. */
export interface RecordedCall<Result> {
	readonly tool: string;
	readonly input: unknown;
	readonly result: Result;
}

/** The recorded call of a tool that is most like a new call. */
export interface NearestCall {
	readonly input: unknown;
	/** The share of the arguments that differ, from 0 to 1. With 0, equal calls have used up the recorded results. */
	readonly distance: number;
}

/**
 * Answers new calls with the results of recorded calls (docs/testing.md, "Try another model"). A new call matches a
 * recorded call of the same tool with equal arguments. The order of their names does not matter. The second of
 * several equal calls gets the second recorded result. Each result is given once.
 */
export class RecordedCalls<Result> {
	readonly #inputs = new Map<string, unknown[]>();
	readonly #results = new Map<string, { readonly result: Result }[]>();

	/** @param calls the calls of one session, in their order */
	constructor(calls: Iterable<RecordedCall<Result>>) {
		for (const { tool, input, result } of calls) {
			add(this.#inputs, tool, input);
			add(this.#results, toKey(tool, input), { result });
		}
	}

	/** Takes the next result of the recorded calls that match. Returns `undefined` if there is none. */
	take(tool: string, input: unknown): { readonly result: Result } | undefined {
		return this.#results.get(toKey(tool, input))?.shift();
	}

	/** Finds the recorded call of the tool that has the most arguments in common with a new call. */
	findNearest(tool: string, input: unknown): NearestCall | undefined {
		const all = (this.#inputs.get(tool) ?? []).map((recorded) => ({
			input: recorded,
			distance: measureDistance(recorded, input),
		}));
		return all.toSorted((one, other) => one.distance - other.distance)[0];
	}
}

function add<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
	const list = lists.get(key);
	if (list === undefined) lists.set(key, [value]);
	else list.push(value);
}

function toKey(tool: string, input: unknown): string {
	return JSON.stringify([tool, sortNames(input)]);
}

/** Measures which share of the values at all paths differs. */
function measureDistance(one: unknown, other: unknown): number {
	const [here, there] = [new Map(listValues(one)), new Map(listValues(other))];
	const paths = new Set([...here.keys(), ...there.keys()]);
	const different = [...paths].filter((path) => here.get(path) !== there.get(path));
	return paths.size === 0 ? 0 : different.length / paths.size;
}

/** Lists the values that are no objects and no lists, and the empty ones, as JSON, by their paths. */
function* listValues(value: unknown, path = ''): Generator<readonly [path: string, json: string]> {
	const isList = Array.isArray(value);
	const inner = isList || isRecord(value) ? Object.entries(value) : [];
	if (inner.length === 0) yield [path, JSON.stringify(value) ?? ''];
	for (const [name, one] of inner) yield* listValues(one, isList ? `${path}[${name}]` : `${path}/${name}`);
}
