/** A form that sends a request to an API operation and shows the response. */

import { isRecord } from '../../client/record.ts';
import { button, configure, element, onSubmit, shorten, withoutTurns } from '../parts/element.ts';

/** The maximum number of characters that are shown of a response. */
const longestAnswer = 200_000;

/** The API has the same base address as this script, whatever the path of the page is. */
const base = new URL('.', import.meta.url);

/** The API key for all forms. It is kept only in memory. */
let key = '';

export function createTry(article: HTMLElement): void {
	const { method = 'get', path = '' } = article.dataset;
	const box = element('details', 'try', element('summary', '', 'Try it'));
	box.addEventListener('toggle', async () => {
		if (!box.open || box.querySelector('form, p') !== null) return;
		const notice = element('p', 'about', 'Loading…');
		box.append(notice);
		try {
			const operation = await readOperation(method, path);
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
	configure(keyField.input, { type: 'password', autocomplete: 'off', value: key });
	const fields = parameters.map((parameter) => {
		return { ...parameter, ...createField(parameter.name, parameter.in, parameter.isRequired) };
	});
	const text = configure(element('textarea'), { value: body?.example ?? '', spellcheck: false });
	text.rows = Math.min(12, text.value.split('\n').length + 1);
	const send = element('button', 'primary', 'Send');
	const stop = button('', 'Stop', () => leave.abort());
	stop.hidden = true;
	const answer = configure(element('div', 'answer'), { role: 'status' });
	const bodyField = body && element('label', '', `Body (${body.type})`, text);
	const roots = [wantsKey ? keyField.root : undefined, ...fields.map(({ root }) => root), bodyField];
	const form = element('form', '', ...roots, element('p', 'sending', send, stop), answer);
	let leave = new AbortController();

	onSubmit(form, async () => {
		key = keyField.input.value.trim();
		leave.abort();
		leave = new AbortController();
		const { signal } = leave;
		stop.hidden = false;
		answer.replaceChildren('…');
		try {
			const values = fields.map(({ input, ...field }) => ({ ...field, value: input.value }));
			const headers = toHeaders(values, body?.type, wantsKey ? key : '');
			const init = { method: method.toUpperCase(), body: body && text.value, headers, signal };
			await showAnswer(answer, await fetch(toAddress(path, values), init), signal);
		} catch (error) {
			const words = error instanceof RangeError ? error.message : 'The server does not answer.';
			if (!signal.aborted) answer.replaceChildren(element('p', 'bad', words));
		}
		if (leave.signal === signal) stop.hidden = true;
	});
	return form;
}

function createField(name: string, about: string, isRequired: boolean) {
	const input = configure(element('input'), { required: isRequired, spellcheck: false });
	const root = element('label', '', name, ' ', element('small', '', isRequired ? about : `${about}, optional`), input);
	return { root, input };
}

interface Parameter {
	readonly name: string;
	readonly in: 'path' | 'query' | 'header';
	readonly isRequired: boolean;
}

type Value = Pick<Parameter, 'name' | 'in'> & { readonly value: string };

function toAddress(path: string, values: readonly Value[]): URL {
	const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
		const value = values.find((field) => field.in === 'path' && field.name === name)?.value ?? '';
		const parts = name === 'path' ? value.split('/') : [value];
		// An empty segment, `.` or `..` would change the rest of the path.
		if (parts.some((part) => /^\.{0,2}$/.test(part)))
			throw new RangeError(`${name} can’t be ${JSON.stringify(value)}.`);
		return parts.map(encodeURIComponent).join('/');
	});
	const url = new URL(filled.slice(1), base);
	for (const { name, in: where, value } of values)
		if (where === 'query' && value !== '') url.searchParams.set(name, value);
	return url;
}

function toHeaders(values: readonly Value[], type: string | undefined, key: string): Headers {
	const headers = new Headers(type === undefined ? {} : { 'content-type': type });
	if (key !== '') headers.set('authorization', `Bearer ${key}`);
	for (const { name, in: where, value } of values) if (where === 'header' && value !== '') headers.set(name, value);
	return headers;
}

/** Shows a response as text while it arrives. Formats JSON when the response is complete. */
async function showAnswer(root: HTMLElement, response: Response, signal: AbortSignal): Promise<void> {
	const type = response.headers.get('content-type') ?? '';
	const status = element('b', `status status-${String(response.status).charAt(0)}`, `${response.status}`);
	const code = element('code');
	// Focusable, so that a person can scroll it with the keyboard.
	const pre = configure(element('pre', '', code), { tabIndex: 0 });
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

interface Operation {
	readonly parameters: readonly Parameter[];
	/** The media type of the request body, and an example of the body. */
	readonly body?: { readonly type: string; readonly example: string };
	readonly wantsKey: boolean;
}

/** The OpenAPI document. It is read when the first form is opened. */
let reading: Promise<unknown> | undefined;

async function readOperation(method: string, path: string): Promise<Operation> {
	reading ??= fetch(new URL('openapi.json', base)).then((answer) => answer.json());
	const document = await reading.catch((error: unknown) => {
		reading = undefined;
		throw error;
	});
	const operation = get(document, 'paths', path, method);
	const parameters = toList(get(operation, 'parameters')).map((given) => toParameter(document, given));
	const [type, media] = toEntries(get(operation, 'requestBody', 'content'))[0] ?? [];
	return {
		parameters: parameters.filter((parameter) => parameter !== undefined),
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

/** Reads a nested field. Returns undefined if a field is missing. */
function get(value: unknown, ...names: readonly string[]): unknown {
	return names.reduce((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), value);
}

function toList(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

function toEntries(value: unknown): [string, unknown][] {
	return isRecord(value) ? Object.entries(value) : [];
}
