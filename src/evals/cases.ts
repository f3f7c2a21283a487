import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import { check } from '../core/base/check.ts';
import { RunletError, toMessageText } from '../core/base/errors.ts';
import { readRecording } from '../testing/index.ts';
import type { CaseSource, EvalCase, EvalDefinition } from './define.ts';
import { toCase } from './recording.ts';

const turn = v.union(
	[
		v.string(),
		v.strictObject({ approve: v.string(), input: v.optional(v.record(v.string(), v.unknown())) }),
		v.strictObject({ deny: v.string(), reason: v.optional(v.string()) }),
		v.strictObject({ result: v.string(), output: v.unknown() }),
	],
	'expected a text, { approve }, { deny } or { result, output }',
);

const line = v.strictObject({
	name: v.optional(v.string()),
	input: v.union([v.string(), v.array(turn)], 'expected a text, or a list of turns'),
	expected: v.optional(v.string()),
	user: v.optional(v.string()),
	metadata: v.optional(v.record(v.string(), v.string())),
	state: v.optional(v.record(v.string(), v.unknown())),
	files: v.optional(v.record(v.string(), v.string())),
	memories: v.optional(v.record(v.string(), v.string())),
});

/** Reads the cases of a file with a JSON object on each line: `{ "input": "…", "name": "…", "expected": "…" }`. */
export function fromJsonl(file: string): CaseSource<string> {
	return async () => {
		const lines = (await readCaseFile(file)).split('\n').map((text, at) => ({ text, at: at + 1 }));
		return lines
			.filter(({ text }) => text.trim() !== '')
			.map(({ text, at }) => check(line, parseJson(text, `${file}:${at}`), `${file}:${at}`));
	};
}

/**
 * Makes a case of a recording: its messages and decisions are the input, and its last answer is `expected`. With
 * `tools: 'recorded'` the tools give their recorded results, and do not run.
 */
export function fromRecording(
	file: string,
	{ name, tools = 'live' }: { readonly name?: string; readonly tools?: 'recorded' | 'live' } = {},
): CaseSource<string> {
	return async () => {
		const recording = readRecording(parseJson(await readCaseFile(file), file));
		return [{ name: name ?? basename(file, '.json'), ...toCase(recording, tools) }];
	};
}

/** Reads a file of cases. Throws `invalid_request`, which names the file. */
async function readCaseFile(file: string): Promise<string> {
	try {
		return await readFile(file, 'utf8');
	} catch (error) {
		throw new RunletError('invalid_request', `${file}: cannot be read. ${toMessageText(error)}`);
	}
}

/** Parses JSON of a file. Throws `invalid_request`, which names the place. */
function parseJson(text: string, place: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		throw new RunletError('invalid_request', `${place}: no JSON. ${toMessageText(error)}`);
	}
}

/** A case with its name. */
export type NamedCase = EvalCase & { readonly name: string };

/** Reads all cases of an eval, or those of the given names. Throws `not_found` if there are none. */
export async function readCases(
	{ cases }: Pick<EvalDefinition, 'cases'>,
	only: readonly string[] = [],
): Promise<readonly NamedCase[]> {
	const read = await Promise.all(cases.map((one) => (typeof one === 'function' ? one() : [one])));
	const all = read.flat().map((one, at) => ({ ...one, name: one.name ?? `case ${at + 1}` }));
	const names = all.map(({ name }) => name);
	const double = names.find((name, at) => names.indexOf(name) !== at);
	if (double !== undefined) throw new RunletError('invalid_request', `cases: two have the name ${double}.`);
	const found = only.length === 0 ? all : all.filter(({ name }) => only.includes(name));
	if (found.length > 0) return found;
	const there = names.slice(0, 20).join(', ') || 'none';
	throw new RunletError('not_found', `cases: none has the name ${only.join(', ')}. There: ${there}.`);
}
