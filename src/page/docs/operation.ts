/** What a request to an operation is made of, from the document of the API. */

import { isRecord } from '../../client/record.ts';

export interface Parameter {
	readonly name: string;
	readonly in: 'path' | 'query' | 'header';
	readonly isRequired: boolean;
}

export interface Operation {
	readonly parameters: readonly Parameter[];
	/** The media type of the body, and an example of it. */
	readonly body?: { readonly type: string; readonly example: string };
	readonly wantsKey: boolean;
}

/** The document, which is read once, when the first form is opened. */
let reading: Promise<unknown> | undefined;

export async function readOperation(base: URL, method: string, path: string): Promise<Operation> {
	reading ??= fetch(new URL('openapi.json', base)).then((answer) => answer.json());
	const document = await reading.catch((error: unknown) => {
		reading = undefined;
		throw error;
	});
	const operation = get(document, 'paths', path, method);
	const parameters = toList(get(operation, 'parameters')).map((one) => toParameter(document, one));
	const [type, media] = toEntries(get(operation, 'requestBody', 'content'))[0] ?? [];
	return {
		parameters: parameters.filter((one) => one !== undefined),
		body: type === undefined ? undefined : { type, example: findExample(media) },
		wantsKey: toList(get(operation, 'security')).length > 0,
	};
}

function toParameter(document: unknown, given: unknown): Parameter | undefined {
	const ref = get(given, '$ref');
	const found = typeof ref === 'string' ? get(document, ...ref.split('/').slice(1)) : given;
	const [name, where] = [get(found, 'name'), get(found, 'in')];
	if (typeof name !== 'string' || (where !== 'path' && where !== 'query' && where !== 'header')) return undefined;
	return { name, in: where, isRequired: get(found, 'required') === true };
}

function findExample(media: unknown): string {
	const [first] = toEntries(get(media, 'examples'));
	const value = get(media, 'example') ?? get(first?.[1], 'value');
	if (value === undefined) return '';
	return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** Reads a field of a field. Returns `undefined` where there is none. */
function get(value: unknown, ...names: readonly string[]): unknown {
	return names.reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

function toList(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function toEntries(value: unknown): [string, unknown][] {
	return isRecord(value) ? Object.entries(value) : [];
}
