import { expect, test } from 'vitest';
import { aguiDecision, aguiMessage } from '../../src/cloudflare/wire/agui.ts';
import type { Operation } from '../../src/cloudflare/wire/operation.ts';
import * as agui from '../../src/cloudflare/wire/operations/agui.ts';
import * as messages from '../../src/cloudflare/wire/operations/messages.ts';
import * as service from '../../src/cloudflare/wire/operations/service.ts';
import * as sessions from '../../src/cloudflare/wire/operations/sessions.ts';
import * as skills from '../../src/cloudflare/wire/operations/skills.ts';
import * as ui from '../../src/cloudflare/wire/operations/ui.ts';
import * as webhooks from '../../src/cloudflare/wire/operations/webhooks.ts';
import * as a2a from '../../src/cloudflare/wire/protocols/a2a/operations.ts';
import * as params from '../../src/cloudflare/wire/protocols/a2a/params.ts';
import * as anthropic from '../../src/cloudflare/wire/protocols/anthropic/operations.ts';
import * as embeddings from '../../src/cloudflare/wire/protocols/embeddings/operations.ts';
import * as files from '../../src/cloudflare/wire/protocols/files/operations.ts';
import { createCompletion } from '../../src/cloudflare/wire/protocols/openai/operations.ts';
import * as responses from '../../src/cloudflare/wire/protocols/responses/operations.ts';
import { answeredPart, filePart, textPart } from '../../src/cloudflare/wire/protocols/ui/request.ts';
import { postedMessage } from '../../src/cloudflare/wire/ui.ts';

const modules = [
	a2a,
	agui,
	service,
	messages,
	sessions,
	skills,
	ui,
	webhooks,
	anthropic,
	responses,
	files,
	embeddings,
	{ createCompletion },
];
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
	...Object.entries(params).map(([name, schema]): [string, unknown] => [`${name} of A2A`, schema]),
	['a message of AG-UI', aguiMessage],
	['a decision of AG-UI', aguiDecision],
];
const checked = schemas.filter(([, schema]) => schema !== undefined);

test.each(checked)('%s limits the length of each text, list and record', (_, schema) => {
	expect(unbounded(schema, '', new Set())).toEqual([]);
});

/** The arguments of a call that a person changes. The length of their JSON is limited. */
const measured = '[].input';

/** Lists the places without a limit in a schema. An `unknown` value is left out, because its reader limits it. */
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
		!/^tools\[\](\.function)?\.parameters$/.test(path) &&
		path !== 'tools[].input_schema' &&
		!/(json_schema|format)\.schema$/.test(path)
	)
		own.push(path);
	return [...own, ...kinds.flatMap((one) => within(one, path)).flatMap(([at, inner]) => unbounded(inner, at, known))];
}

/** Lists a schema and the actions of its pipe, at any depth. */
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

/** Whether a regular expression matches only short texts: it is anchored, and repeats nothing without a limit. */
function isShort({ source }: RegExp): boolean {
	return source.startsWith('^') && source.endsWith('$') && !/[*+]|,\}/.test(source.replace(/\[[^\]]*\]|\\./g, 'x'));
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null;
}
