/** A form that makes a request to an operation and shows the answer. The key is kept in memory only, for all forms. */

import { isRecord } from '../../client/record.ts';
import { button, element, shorten, withoutTurns } from '../parts/element.ts';

/** Characters of an answer that are shown. */
const longestAnswer = 200_000;

/** The API is beside this script, whatever path the page is at. */
const base = new URL('.', import.meta.url);

let key = '';

/** Adds the form to the article of an operation. */
export function createTry(article: HTMLElement): void {
	const { method = 'get', path = '' } = article.dataset;
	const box = element('details', 'try', element('summary', '', 'Try it'));
	box.addEventListener('toggle', async () => {
		if (!box.open || box.querySelector('form, p') !== null) return;
		const notice = element('p', 'about', 'Loading…');
		box.append(notice);
		try {
			const operation = await readOperation(base, method, path);
			notice.replaceWith(createForm(method, path, operation));
		} catch {
			notice.replaceWith(element('p', 'bad', 'The document of the API could not be read.'));
		}
	});
	article.querySelector('pre')?.after(box);
}

function createForm(method: string, path: string, operation: Operation): HTMLFormElement {
	const { parameters, body, wantsKey } = operation;
	const keyField = createField('API key', 'kept until this page is closed', false);
	keyField.input.type = 'password';
	keyField.input.autocomplete = 'off';
	keyField.input.value = key;
	const fields = parameters.map((one) => ({ ...one, ...createField(one.name, one.in, one.isRequired) }));
	const text = element('textarea');
	text.value = body?.example ?? '';
	text.rows = Math.min(12, text.value.split('\n').length + 1);
	text.spellcheck = false;
	const send = element('button', 'send', 'Send');
	const stop = button('', 'Stop', () => leave.abort());
	stop.hidden = true;
	const answer = element('div', 'answer');
	answer.setAttribute('role', 'status');
	const form = element(
		'form',
		'',
		...(wantsKey ? [keyField.root] : []),
		...fields.map(({ root }) => root),
		...(body === undefined ? [] : [element('label', '', `Body (${body.type})`, text)]),
		element('p', 'sending', send, stop),
		answer,
	);
	let leave = new AbortController();

	form.addEventListener('submit', async (event) => {
		event.preventDefault();
		key = keyField.input.value.trim();
		leave.abort();
		leave = new AbortController();
		const { signal } = leave;
		stop.hidden = false;
		answer.replaceChildren('…');
		try {
			const values = fields.map(({ input, ...one }) => ({ ...one, value: input.value }));
			const init = { method: method.toUpperCase(), body: body && text.value, signal };
			const headers = toHeaders(values, body?.type, wantsKey ? key : '');
			await showAnswer(answer, await fetch(toAddress(path, values), { ...init, headers }), signal);
		} catch (error) {
			const words = error instanceof RangeError ? error.message : 'The server does not answer.';
			if (!signal.aborted) answer.replaceChildren(element('p', 'bad', words));
		}
		if (leave.signal === signal) stop.hidden = true;
	});
	return form;
}

function createField(name: string, about: string, isRequired: boolean) {
	const input = element('input');
	input.required = isRequired;
	input.spellcheck = false;
	const root = element('label', '', name, ' ', element('small', '', isRequired ? about : `${about}, optional`), input);
	return { root, input };
}

interface Value {
	readonly name: string;
	readonly in: 'path' | 'query' | 'header';
	readonly value: string;
}

function toAddress(path: string, values: readonly Value[]): URL {
	const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
		const value = values.find((one) => one.in === 'path' && one.name === name)?.value ?? '';
		const parts = name === 'path' ? value.split('/') : [value];
		// Such a part would make it the address of something else.
		if (parts.some((part) => /^\.{0,2}$/.test(part)))
			throw new RangeError(`${name} can’t be ${JSON.stringify(value)}.`);
		return parts.map(encodeURIComponent).join('/');
	});
	const url = new URL(filled.slice(1), base);
	for (const { name, in: where, value } of values)
		if (where === 'query' && value !== '') url.searchParams.set(name, value);
	return url;
}

function toHeaders(values: readonly Value[], type: string | undefined, given: string): Headers {
	const headers = new Headers(type === undefined ? {} : { 'content-type': type });
	if (given !== '') headers.set('authorization', `Bearer ${given}`);
	for (const { name, in: where, value } of values) if (where === 'header' && value !== '') headers.set(name, value);
	return headers;
}

/** Shows an answer as text, while it comes. JSON is shown in lines. */
async function showAnswer(root: HTMLElement, response: Response, signal: AbortSignal): Promise<void> {
	const type = response.headers.get('content-type') ?? '';
	const status = element('b', `status status-${String(response.status).charAt(0)}`, `${response.status}`);
	const code = element('code');
	const pre = element('pre', '', code);
	// The keyboard scrolls it, too.
	pre.tabIndex = 0;
	root.replaceChildren(element('p', '', status, ` ${response.statusText} `, element('small', '', type)), pre);
	let text = '';
	const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
	for (;;) {
		const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
		if (signal.aborted) return;
		if (done || text.length > longestAnswer) break;
		text += value;
		code.textContent = withoutTurns(shorten(text, longestAnswer));
	}
	await reader?.cancel();
	if (/^application\/(.*\+)?json/.test(type)) code.textContent = withoutTurns(toLines(text).slice(0, longestAnswer));
	if (text === '') pre.remove();
}

function toLines(json: string): string {
	try {
		return JSON.stringify(JSON.parse(json), undefined, 2);
	} catch {
		return json;
	}
}

interface Parameter {
	readonly name: string;
	readonly in: 'path' | 'query' | 'header';
	readonly isRequired: boolean;
}

interface Operation {
	readonly parameters: readonly Parameter[];
	/** The media type of the body, and an example of it. */
	readonly body?: { readonly type: string; readonly example: string };
	readonly wantsKey: boolean;
}

/** The document, which is read once, when the first form is opened. */
let reading: Promise<unknown> | undefined;

async function readOperation(base: URL, method: string, path: string): Promise<Operation> {
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
