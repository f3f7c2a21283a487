import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Schema, Validator } from '@cfworker/json-schema';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { a2a } from '../../../src/cloudflare/a2a/index.ts';
import { agui } from '../../../src/cloudflare/agui/index.ts';
import { embeddings } from '../../../src/cloudflare/embeddings/index.ts';
import { files } from '../../../src/cloudflare/files/index.ts';
import { links } from '../../../src/cloudflare/links/index.ts';
import { mcp } from '../../../src/cloudflare/mcp/index.ts';
import { memory } from '../../../src/cloudflare/memory/index.ts';
import { messages } from '../../../src/cloudflare/messages/index.ts';
import { createDocument } from '../../../src/cloudflare/openapi/document.ts';
import { operations } from '../../../src/cloudflare/openapi/operations.ts';
import { responses } from '../../../src/cloudflare/responses/index.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { pagePaths } from '../../../src/cloudflare/routes/page.ts';
import { schedules } from '../../../src/cloudflare/schedules/index.ts';
import { failures } from '../../../src/cloudflare/wire/error.ts';
import { runEvent } from '../../../src/cloudflare/wire/event.ts';
import type { Operation, Shown } from '../../../src/cloudflare/wire/operation.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import type { KnownDelta, LoopEvent } from '../../../src/core/chat/index.ts';

const app = createApp({ agents: [], providers: () => [] }, [
	mcp,
	memory,
	schedules,
	links,
	messages,
	a2a,
	agui,
	responses,
	files,
	embeddings,
]);
const document = createDocument();
const listed = Object.entries<Operation>(operations);
const methods = ['get', 'post', 'put', 'patch', 'delete'];

function* walk(value: unknown, path = '#'): Generator<readonly [path: string, value: Record<string, unknown>]> {
	if (typeof value !== 'object' || value === null) return;
	if (!Array.isArray(value)) yield [path, Object.fromEntries(Object.entries(value))];
	for (const [key, child] of Object.entries(value)) yield* walk(child, `${path}/${key}`);
}

const at = (ref: string): unknown =>
	ref
		.slice(2)
		.split('/')
		.reduce<unknown>((value, key) => Object(value)[key], document);

function mistakes(schema: unknown, value: unknown): string[] {
	const rooted: Schema = { ...Object(schema), components: document.components };
	return new Validator(rooted, '2020-12', false).validate(value).errors.map(({ error }) => error);
}

const specs = Object.entries(document.paths).flatMap(([path, item]) =>
	Object.entries(item).map(([method, spec]) => ({ path, method, spec })),
);
const inOrder = (lines: readonly string[]) => [...lines].sort();

describe('the document', () => {
	test('has exactly the routes of a Worker with all plugins', () => {
		const routes = app.routes.filter(
			({ method, path }) => !pagePaths.includes(path) && method !== 'ALL' && path !== '/*',
		);
		const mounted = routes.map(
			({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)(\{.*\})?/g, '{$1}')}`,
		);
		expect(inOrder(specs.map(({ path, method }) => `${method} ${path}`))).toEqual(inOrder([...new Set(mounted)]));
	});

	test('has every operation at its path and method, under its name', () => {
		const places = new Map(specs.map(({ path, method, spec }) => [spec.operationId, `${method} ${path}`]));
		expect(places.size).toBe(specs.length);
		for (const [id, { method, path }] of listed) {
			expect(places.get(id), id).toBe(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
		}
	});

	test('has no broken references and no unused components', () => {
		const refs = [...walk(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : []));
		for (const ref of refs) expect(at(ref), ref).toBeTypeOf('object');
		for (const [kind, entries] of Object.entries(document.components)) {
			if (kind === 'securitySchemes') continue;
			for (const name of Object.keys(entries)) expect(refs, name).toContain(`#/components/${kind}/${name}`);
		}
	});

	test('describes every operation with its access and its answers', () => {
		const tags = document.tags.map(({ name }) => name);
		for (const { path, method, spec } of specs) {
			const place = `${method} ${path}`;
			expect(methods, place).toContain(method);
			expect(tags, place).toEqual(expect.arrayContaining([...spec.tags]));
			expect(spec.summary, place).toMatch(/^[A-Z][^.]+$/);
			for (const scheme of spec.security.flatMap(Object.keys))
				expect(document.components.securitySchemes, place).toHaveProperty(scheme);
			const inPath = spec.parameters.flatMap(({ in: where, name }) => (where === 'path' ? [name] : []));
			expect(inPath, place).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
			const statuses = Object.keys(spec.responses);
			expect(statuses, place).toContain('default');
			expect(
				statuses.some((status) => status.startsWith('2') || status === '101'),
				place,
			).toBe(true);
			for (const [status, response] of Object.entries(spec.responses)) {
				expect('$ref' in response || typeof response.description === 'string', `${place} ${status}`).toBe(true);
			}
		}
	});

	test('is well-formed OpenAPI 3.1', () => {
		expect(document.openapi).toMatch(/^3\.1\.\d$/);
		const manifest: unknown = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../../package.json'), 'utf8'));
		expect(document.info.version).toBe(v.parse(v.object({ version: v.string() }), manifest).version);
		const known: readonly (readonly [place: RegExp, fields: readonly string[]])[] = [
			[
				/^#\/paths\/[^#]+?\/(?:get|post|put|patch|delete)$/,
				['operationId', 'tags', 'summary', 'description', 'security', 'parameters', 'requestBody', 'responses'],
			],
			[/\/parameters\/\w+$/, ['name', 'in', 'description', 'required', 'schema', 'example', '$ref']],
			[/\/requestBody$/, ['required', 'content']],
			[/\/(?:get|post|put|patch|delete|components)\/responses\/\w+$/, ['description', 'headers', 'content', '$ref']],
			[/\/(?:requestBody|responses\/\w+)\/content\/\w+\/[\w.+-]+$/, ['schema', 'example', 'examples', 'x-item-schema']],
			[/\/content\/\w+\/[\w.+-]+\/examples\/\w+$/, ['value']],
		];
		for (const [path, value] of walk(document)) {
			if (/\/(?:schema|schemas|x-item-schema|example|value)\//.test(path)) continue;
			for (const [place, fields] of known) {
				if (!place.test(path)) continue;
				expect(fields, path).toEqual(expect.arrayContaining(Object.keys(value)));
				expect('example' in value && 'examples' in value, path).toBe(false);
				if (place.source.endsWith('[\\w.+-]+$')) expect(value, path).toHaveProperty('schema');
			}
		}
	});

	test('has no empty schema for a parameter or a body', () => {
		const empty = [...walk(document)].filter(
			([path, value]) => /\/schema$/.test(path) && Object.keys(value).length === 0,
		);
		expect(empty.map(([path]) => path)).toEqual([]);
	});
});

describe('every example', () => {
	test('fits its schema', () => {
		let seen = 0;
		for (const [path, { schema, example, examples }] of walk(document)) {
			if (schema === undefined) continue;
			const values = example === undefined ? [] : [example];
			for (const one of Object.values(Object(examples))) values.push(Object(one).value);
			for (const value of values) expect(mistakes(schema, value), `${path}: ${JSON.stringify(value)}`).toEqual([]);
			seen += values.length;
		}
		expect(seen).toBeGreaterThan(50);
	});

	test('passes the validation of its route, and has no field that the schema of the answer lacks', () => {
		for (const [name, { json, examples = {}, answers }] of listed) {
			for (const example of Object.values(examples))
				if (json !== undefined) expect(v.is(json, example), name).toBe(true);
			for (const [status, answer] of Object.entries(answers)) {
				for (const example of Object.values(answer.examples ?? {})) {
					if (answer.json === undefined) throw new Error(`${name} ${status}: an example of what is no JSON`);
					expect(v.parse(answer.json, example), `${name} ${status}`).toEqual(example);
				}
			}
		}
	});

	test('is present: every JSON body and every JSON answer has an example', () => {
		for (const [name, { json, examples, answers }] of listed) {
			if (json !== undefined) expect(Object.keys(examples ?? {}), name).not.toEqual([]);
			for (const [status, answer] of Object.entries(answers)) {
				if (answer.json !== undefined && name !== 'getDocument')
					expect(Object.keys(answer.examples ?? {}), `${name} ${status}`).not.toEqual([]);
			}
		}
	});

	test('of a stream consists of valid events', () => {
		const data = [
			...operations.followRun.answers[200].also['text/event-stream'].example.matchAll(/^event: (.+)\ndata: (.+)$/gm),
		];
		expect(data.length).toBeGreaterThan(2);
		for (const [, type, json = ''] of data) {
			const event: unknown = JSON.parse(json);
			expect(v.parse(runEvent, event)).toEqual(event);
			expect(event).toHaveProperty('type', type);
		}
	});

	test('of an error has a code that fits its status', () => {
		for (const [status, { example }] of Object.entries(failures)) {
			const { status: own } = new RunletError(example.code, example.message);
			expect(String(own)).toBe(status);
		}
	});
});

test('a value with several possible schemas lists all of these schemas in the document', () => {
	const body = document.paths['/v1/sessions/{id}/tool-results']?.post?.requestBody?.content['application/json'];
	const anyOf = [{ $ref: '#/components/schemas/Approval' }, { $ref: '#/components/schemas/ToolResult' }];
	expect(body).toHaveProperty('schema.items', { anyOf });
});

test('the document describes a numeric query parameter as an integer', () => {
	const limit = document.paths['/v1/sessions']?.get?.parameters.find(({ name }) => name === 'limit');
	expect(limit).toMatchObject({ schema: { type: 'integer', minimum: 1, maximum: 100 }, description: 'Default: 20.' });
});

test('the document describes the default limit of a list, and describes the cursor as a string', () => {
	const find = (path: string, wanted: string) =>
		document.paths[path]?.get?.parameters.find(({ name }) => name === wanted);
	for (const name of ['messages', 'files', 'changes']) {
		const path = `/v1/sessions/{id}/${name}`;
		expect(find(path, 'limit'), name).toMatchObject({ description: 'Default: 100.' });
		expect(find(path, 'cursor'), name).toMatchObject({ schema: { type: 'string' } });
	}
});

test('a body is required if the route refuses a request without one', () => {
	expect(document.paths['/v1/sessions/{id}/fork']?.post?.requestBody?.required).toBe(false);
	expect(document.paths['/v1/sessions/{id}/messages']?.post?.requestBody?.required).toBe(true);
});

test('no schema has a default, because client generators treat a field with a default as required', () => {
	const schemas = [...walk(document)].filter(([path]) => !/\/(?:example|examples|properties|responses)$/.test(path));
	expect(schemas.filter(([, value]) => Object.hasOwn(value, 'default')).map(([path]) => path)).toEqual([]);
});

test('an optional field of a request is not required', () => {
	expect(document.components.schemas?.CompletionInput).toHaveProperty('required', ['model', 'messages']);
});

test('the loop streams only event types of the document', () => {
	expectTypeOf<KnownDelta | LoopEvent>().toExtend<Shown<typeof runEvent>>();
});
