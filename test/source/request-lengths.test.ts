import * as v from 'valibot';
import { expect, test } from 'vitest';
import type { Operation } from '../../src/cloudflare/wire/operation.ts';
import * as messages from '../../src/cloudflare/wire/operations/messages.ts';
import * as service from '../../src/cloudflare/wire/operations/service.ts';
import * as sessions from '../../src/cloudflare/wire/operations/sessions.ts';
import * as skills from '../../src/cloudflare/wire/operations/skills.ts';
import * as ui from '../../src/cloudflare/wire/operations/ui.ts';
import * as webhooks from '../../src/cloudflare/wire/operations/webhooks.ts';
import { createCompletion } from '../../src/cloudflare/wire/protocols/openai/operations.ts';
import { answeredPart, filePart, textPart } from '../../src/cloudflare/wire/protocols/ui/request.ts';
import { postedMessage } from '../../src/cloudflare/wire/ui.ts';

const modules = [service, messages, sessions, skills, ui, webhooks, { createCompletion }];
const operations = modules.flatMap((one) => Object.entries<Operation>(one));
const schemas: [string, unknown][] = [
	...operations.flatMap(([name, { json, query }]): [string, unknown][] => [
		[`the body of ${name}`, json],
		[`the query of ${name}`, query],
	]),
	['a message of a page', postedMessage],
	['a text of a page', textPart],
	['a file of a page', filePart],
	['an answer of a page', answeredPart],
];
const checked = schemas.filter(([, schema]) => schema !== undefined);

test('all that a request may hold is looked at', () => {
	expect(checked.length).toBeGreaterThanOrEqual(15);
});

test.each(checked)('%s has a greatest length for each text, list and record', (_, schema) => {
	expect(unbounded(schema, '', new Set())).toEqual([]);
});

/** The arguments that a person gives to a call: their JSON has a greatest length. */
const measured = '[].input';

/** Places in a schema where something may be as long as it likes. What is `unknown` is bounded by what reads it. */
function unbounded(schema: unknown, path: string, known: Set<unknown>): string[] {
	if (!isRecord(schema) || known.has(schema) || path === measured) return [];
	known.add(schema);
	const kinds = readPieces(schema);
	const has = (type: string) => kinds.some((one) => one.type === type);
	const isLimited =
		has('max_length') || kinds.some((one) => one.requirement instanceof RegExp && isShort(one.requirement));
	const own = kinds.some(({ type }) => type === 'string' || type === 'array') && !isLimited ? [path || 'itself'] : [];
	if (
		has('record') &&
		!has('max_entries') &&
		path !== 'tools[].function.parameters' &&
		!path.endsWith('json_schema.schema')
	)
		own.push(path);
	return [...own, ...kinds.flatMap((one) => within(one, path)).flatMap(([at, inner]) => unbounded(inner, at, known))];
}

/** A schema and the actions behind it, those of schemas that begin with another one, too. */
function readPieces(schema: Record<string, unknown>): Record<string, unknown>[] {
	if (!Array.isArray(schema.pipe)) return [schema];
	return schema.pipe.flatMap((one) => (isRecord(one) ? (one === schema ? [one] : readPieces(one)) : []));
}

function within(schema: Record<string, unknown>, path: string): [string, unknown][] {
	const { entries, item, wrapped, options, value, key } = schema;
	const fields = isRecord(entries)
		? Object.entries(entries).map(([name, one]): [string, unknown] => [path === '' ? name : `${path}.${name}`, one])
		: [];
	const inner = Array.isArray(options) ? options.map((one): [string, unknown] => [path, one]) : [];
	return [...fields, ...inner, [`${path}[]`, item], [path, wrapped], [`${path}{}`, value], [`${path}{}`, key]];
}

/** Whether a regular expression fits short texts only: anchored, and nothing in it repeats without end. */
function isShort({ source }: RegExp): boolean {
	return source.startsWith('^') && source.endsWith('$') && !/[*+]|,\}/.test(source.replace(/\[[^\]]*\]|\\./g, 'x'));
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null;
}

test('a pattern that has no end is no limit', () => {
	expect(unbounded(v.pipe(v.string(), v.regex(/^a+$/)), '', new Set())).toEqual(['itself']);
	expect(unbounded(v.object({ a: v.array(v.pipe(v.string(), v.maxLength(1))) }), '', new Set())).toEqual(['a']);
});
