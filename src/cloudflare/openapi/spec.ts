import * as v from 'valibot';
import { findTokenScope, isRight, rights } from '../auth/rights.ts';
import type { Access } from '../wire/endpoint.ts';
import { type FailureStatus, failures } from '../wire/error.ts';
import {
	type Answer,
	answerHeaders,
	type Operation,
	type OtherMedia,
	pathParameters,
	type RequestHeader,
} from '../wire/operation.ts';
import { type JsonSchema, toDocumentSchema } from './json-schema.ts';

/** Converts an operation to OpenAPI 3.1: https://spec.openapis.org/oas/v3.1.1#operation-object */
export interface Spec {
	readonly operationId: string;
	readonly tags: readonly string[];
	readonly summary: string;
	readonly description?: string;
	readonly security: readonly Readonly<Record<string, readonly string[]>>[];
	readonly parameters: readonly JsonSchema[];
	readonly requestBody?: { readonly required: boolean; readonly content: Content };
	readonly responses: Readonly<Record<string, JsonSchema>>;
}

type Content = Readonly<Record<string, JsonSchema>>;

export function toSpec(operationId: string, operation: Operation): Spec {
	const { tag, summary, access, adminToo, failure, ownErrors = {} } = operation;
	const description = [operation.description, findRole(access), adminToo && forAdmins].filter(Boolean).join(' ');
	const content = describeBody(operation);
	const toFailure = (status: FailureStatus | 'default') => describeFailure(status, failure);
	return {
		operationId,
		tags: [tag],
		summary,
		...(description !== '' && { description }),
		security: adminToo ? [...findSecurity(access), { apiKey: ['admin'] }] : findSecurity(access),
		parameters: describeParameters(operation),
		...(content !== undefined && { requestBody: { required: needsBody(operation), content } }),
		responses: {
			...Object.fromEntries(
				Object.entries(operation.answers).map(([status, answer]) => [status, describeResponse(answer)]),
			),
			...Object.fromEntries(listErrors(operation).map((status) => [status, toFailure(status)])),
			...mapValues(ownErrors, (says) => describeResponse({ says, ...failure })),
			default: toFailure('default'),
		},
	};
}

const forAdmins = 'With a key that has the scope `admin` also for sessions of other owners.';

function describeFailure(status: FailureStatus | 'default', form: Operation['failure']): JsonSchema {
	if (form === undefined) return toRef('responses', nameFailure(status));
	return describeResponse({ says: status === 'default' ? anyError : failures[status].says, ...form });
}

export const anyError = 'Any other error.';

export function nameFailure(status: number | string): string {
	return status === 'default' ? 'AnyError' : `Error${status}`;
}

export function parameterName(header: RequestHeader): string {
	return header.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function toRef(kind: 'responses' | 'parameters' | 'schemas', name: string): JsonSchema {
	return { $ref: `#/components/${kind}/${name}` };
}

export function toExamples(examples: Readonly<Record<string, unknown>>): JsonSchema {
	return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
}

function findSecurity(access: Access): Spec['security'] {
	if (access === 'anybody' || access === 'sender') return [];
	if (access === 'admin' || access === 'keys') return [{ apiKey: [access] }];
	if (access === 'seeAgents' || access === 'seeSkills') return [{ apiKey: [] }];
	if (access === 'caller') return [{ apiKey: [] }, { sessionToken: [] }];
	return [{ apiKey: ['run'] }, ...(findTokenScope(access) === undefined ? [] : [{ sessionToken: [] }])];
}

function findRole(access: Access): string | undefined {
	const role = isRight(access) ? rights[access].role : 'customer';
	return role === 'customer' ? undefined : `Needs the role \`${role}\`.`;
}

function findAccessErrors(access: Access): readonly FailureStatus[] {
	if (access === 'anybody') return [];
	return access === 'sender' ? [401, 503] : [401, 403, 429, 503];
}

const ofBodies: readonly FailureStatus[] = [400, 413, 415];
const ofRuns: readonly FailureStatus[] = [402, 408, 413, 422, 500, 502];

/** Adds the errors that follow from the input. A path parameter adds 404, except in a `PUT` or for a user. */
function listErrors({ method, path, access, query, ignoresQuery, json, runs, errors = [] }: Operation) {
	const needsExisting = method !== 'put' && /:(?!user\b)/.test(path);
	const all = new Set<FailureStatus>([
		...errors,
		...findAccessErrors(access),
		...(needsExisting ? [404 as const] : []),
		...(query === undefined && ignoresQuery ? [] : [400 as const]),
		...(json === undefined ? [] : ofBodies),
		...(runs === undefined ? [] : ofRuns),
	]);
	return [...all].sort((a, b) => a - b);
}

function describeParameters({ path, query, headers = [] }: Operation): JsonSchema[] {
	const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
		const { says, example } = pathParameters[name] ?? { says: name, example: name };
		return { name, in: 'path', required: true, description: says, schema: { type: 'string' }, example };
	});
	const inQuery = Object.entries<JsonSchema>(query === undefined ? {} : Object(toDocumentSchema(query).properties));
	return [
		...inPath,
		...inQuery.map(([name, { description, ...schema }]) => ({
			name,
			in: 'query',
			description,
			schema,
		})),
		...headers.map((header) => toRef('parameters', parameterName(header))),
	];
}

function describeBody({ json, examples, body }: Operation): Content | undefined {
	if (body !== undefined) return mapValues(body, describeMedia);
	if (json === undefined) return undefined;
	return {
		'application/json': { schema: toDocumentSchema(json), ...(examples && { examples: toExamples(examples) }) },
	};
}

function needsBody({ json }: Operation): boolean {
	return json === undefined || !v.safeParse(json, {}).success;
}

function describeResponse({ says, json, examples, also = {}, headers }: Answer): JsonSchema {
	const content = {
		...(json && {
			'application/json': { schema: toDocumentSchema(json), ...(examples && { examples: toExamples(examples) }) },
		}),
		...mapValues(also, describeMedia),
	};
	return {
		description: says,
		...(headers && {
			headers: Object.fromEntries(
				headers.map((name) => [name, { description: answerHeaders[name], schema: { type: 'string' } }]),
			),
		}),
		...(Object.keys(content).length > 0 && { content }),
	};
}

/** OpenAPI 3.1 cannot describe the events of a stream, so an extension names their schema. */
function describeMedia({ example, says: description, events }: OtherMedia): JsonSchema {
	return {
		schema: {
			type: typeof example === 'string' ? 'string' : 'object',
			description,
		},
		example,
		...(events !== undefined && { 'x-item-schema': toDocumentSchema(events) }),
	};
}

function mapValues<T, U>(values: Readonly<Record<string, T>>, to: (value: T) => U): Record<string, U> {
	return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, to(value)]));
}
