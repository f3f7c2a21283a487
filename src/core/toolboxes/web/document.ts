import { createFieldError, RunletError } from '../../base/errors.ts';
import { publicFetch } from '../../base/public-fetch.ts';
import { replaceControls } from '../../base/text.ts';
import { Work } from '../../base/work.ts';
import { readHtml } from './page.ts';
import { assertRobotsAllowed, webAgent } from './robots.ts';

/** A web document as text. */
export interface WebDocument {
	/** The address after redirects. */
	readonly url: string;
	readonly title?: string;
	/** The media type without parameters, such as `text/html`. */
	readonly contentType: string;
	readonly text: string;
}

/** Converts a document of one media type to text or markdown. */
export type DocumentReader = (bytes: Uint8Array, signal: AbortSignal) => string | Promise<string>;

interface ReadOptions {
	readonly signal: AbortSignal;
	readonly fetch?: typeof globalThis.fetch;
	readonly allowLoopback: boolean;
	readonly robots: boolean;
	readonly maxBytes: number;
	readonly timeoutMs: number;
	readonly maxRedirects: number;
	readonly readers: Readonly<Record<string, DocumentReader>>;
}

const headers = {
	'user-agent': webAgent,
	accept: 'text/markdown, text/html, application/xhtml+xml, application/json;q=0.9, text/*;q=0.8, */*;q=0.1',
};

/**
 * Fetches a document for a model and reads it as text. Throws errors with a remedy for the model: `invalid_argument`
 * for an address or a document that cannot be read, `not_found`, `too_large`, `timeout`, `network`.
 */
export async function readDocument(address: string, options: ReadOptions): Promise<WebDocument> {
	const { signal, fetch, allowLoopback, robots, maxBytes, timeoutMs, maxRedirects, readers } = options;
	const send = fetch && ((input: URL, init: RequestInit) => fetch(input.href, init));
	const ways = { allowLoopback, timeoutMs, fetch: send };
	let url = address;
	const checkHop = async (hop: URL): Promise<void> => {
		url = hop.href;
		if (robots) await assertRobotsAllowed(hop, { ...ways, signal });
	};
	try {
		const limits = { ...ways, maxBytes, maxRedirects, onHop: checkHop };
		const response = await publicFetch(address, { headers, signal }, limits);
		if (response.status >= 400) {
			await response.body?.cancel();
			throw createStatusFailure(url, response.status);
		}
		const { contentType, charset } = readContentType(response.headers.get('content-type'));
		const bytes = new Uint8Array(await response.arrayBuffer());
		const { title, text, ...about } = await toText(bytes, { url: new URL(url), contentType, charset, readers, signal });
		return {
			url,
			...(title !== undefined && { title: replaceControls(title) }),
			...about,
			text: replaceControls(text),
		};
	} catch (error) {
		signal.throwIfAborted();
		throw addRemedy(error);
	}
}

interface Source {
	readonly url: URL;
	readonly contentType: string | undefined;
	readonly charset: string | undefined;
	readonly readers: ReadOptions['readers'];
	readonly signal: AbortSignal;
}

async function toText(bytes: Uint8Array, source: Source): Promise<Omit<WebDocument, 'url'>> {
	const contentType = source.contentType ?? guessType(bytes);
	const reader = Object.hasOwn(source.readers, contentType) ? source.readers[contentType] : undefined;
	if (reader !== undefined) return { contentType, text: await reader(bytes, source.signal) };
	const isHtml = contentType === 'text/html' || contentType === 'application/xhtml+xml';
	if (!isHtml && !isText(contentType)) throw createUnreadable(contentType);
	const isJson = /[/+]json$/.test(contentType);
	const text = decodeText(bytes, isJson ? 'utf-8' : source.charset, { isHtml });
	if (!isHtml) return { contentType, text };
	const work = new Work({ signal: source.signal, field: 'url', remedy: 'Read a smaller page.' });
	const page = await work.do(readHtml(text, source.url, work));
	if (page.text === '' && /<script\b/i.test(text))
		throw createFailure(
			'url: the page has no text without its scripts. Read another page, or an API or a feed of the site.',
		);
	return { contentType, ...page };
}

function readContentType(header: string | null): { contentType?: string; charset?: string } {
	const [type = '', ...parameters] = (header ?? '').split(';');
	const contentType = type.trim().toLowerCase();
	const charset = parameters
		.map((one) => /^\s*charset\s*=\s*"?([^"\s]+)/i.exec(one)?.[1])
		.find((one) => one !== undefined);
	return { ...(/^[\w.+-]+\/[\w.+-]+$/.test(contentType) && { contentType }), charset };
}

/** Guesses the type of a document from its first bytes, if the type is missing (part of the MIME Sniffing standard). */
function guessType(bytes: Uint8Array): string {
	const start = bytes.subarray(0, 1_024);
	if (start.some((byte) => byte < 9 || byte === 11 || (byte > 13 && byte < 27))) return 'application/octet-stream';
	return /^\s*<(!doctype\s+html|html|head|body)\b/i.test(new TextDecoder().decode(start)) ? 'text/html' : 'text/plain';
}

const textTypes =
	/^(text\/.+|application\/(json|xml|javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|x-ndjson|jsonl|x-sh)|.+\+(json|xml|yaml))$/;

function isText(contentType: string): boolean {
	return textTypes.test(contentType) && contentType !== 'image/svg+xml';
}

function createUnreadable(contentType: string): RunletError {
	if (contentType === 'application/pdf')
		return createFailure(
			'url: this is a PDF, which web_fetch cannot read. Look for the same text as a web page or as plain text.',
		);
	const what = contentType === 'application/octet-stream' ? 'no text' : contentType;
	return createFailure(`url: this is ${what}, and web_fetch reads only text. Look for a web page about it.`);
}

function createStatusFailure(url: string, status: number): RunletError {
	const remedies: Readonly<Record<number, string>> = {
		401: 'It needs a login, which web_fetch has not. Read another page.',
		403: 'It refuses this reader. Read another page.',
		404: 'There is no such page. Check the address, or find the page from the start of the site.',
		410: 'The page is gone. Find another one.',
		429: 'It was asked too often. Try it again later.',
	};
	const remedy =
		remedies[status] ?? (status >= 500 ? 'Try it again later, or read another page.' : 'Read another page.');
	const code = status === 404 || status === 410 ? 'not_found' : 'invalid_argument';
	return new RunletError(code, `url: ${url} answered with status ${status}. ${remedy}`, { field: 'url', status });
}

/** Adds advice for the model to a network error. */
function addRemedy(error: unknown): unknown {
	if (!(error instanceof RunletError)) return error;
	const remedies: Readonly<Record<string, string>> = {
		network: 'Check the address, or read another page.',
		timeout: 'Try it again later, or read another page.',
		too_large: 'Read a smaller page.',
	};
	const { code, message, data } = error;
	if (code === 'invalid_request') return new RunletError('invalid_argument', message, data);
	const remedy = remedies[code];
	return remedy === undefined || message.includes(remedy) ? error : new RunletError(code, `${message} ${remedy}`, data);
}

function createFailure(message: string): RunletError {
	return new RunletError('invalid_argument', message, { field: 'url' });
}

/** The number of first bytes in which a page can declare its encoding (HTML standard, "prescan a byte stream"). */
const prescanned = 1_024;

/**
 * Decodes a text as browsers do: by its byte order mark, else the header's `charset`, else the page's `<meta>`. Without
 * these, decodes as UTF-8, or as windows-1252 if the bytes are not valid UTF-8. Ignores unknown labels. Invalid bytes
 * become U+FFFD. Throws `invalid_argument` for an encoding that the Encoding standard refuses to decode.
 */
function decodeText(bytes: Uint8Array, charset: string | undefined, { isHtml }: { readonly isHtml: boolean }) {
	const label = findMark(bytes) ?? charset ?? (isHtml ? findMeta(bytes) : undefined);
	const decoder = label === undefined ? undefined : createDecoder(label);
	if (decoder !== undefined) return decoder.decode(bytes);
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		return new TextDecoder('windows-1252').decode(bytes);
	}
}

function findMark([a, b, c]: Uint8Array): string | undefined {
	if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
	if (a === 0xfe && b === 0xff) return 'utf-16be';
	return a === 0xff && b === 0xfe ? 'utf-16le' : undefined;
}

function findMeta(bytes: Uint8Array): string | undefined {
	const start = new TextDecoder('windows-1252').decode(bytes.subarray(0, prescanned));
	for (const [tag] of start.matchAll(/<meta\s[^<>]*>/gi)) {
		const [, label] = /charset\s{0,20}=\s{0,20}["']?([\w.:-]{1,40})/i.exec(tag) ?? [];
		// The tag was found byte by byte, so the page cannot be UTF-16.
		if (label !== undefined) return /^utf-?16/i.test(label) ? 'utf-8' : label;
	}
	return undefined;
}

/** Labels of the encoding "replacement", which is never decoded because it hides markup. */
const refused: ReadonlySet<string> = new Set([
	...['replacement', 'hz-gb-2312', 'csiso2022kr', 'iso-2022-kr', 'iso-2022-cn', 'iso-2022-cn-ext'],
]);

function createDecoder(label: string): TextDecoder | undefined {
	const name = label.trim().toLowerCase();
	if (refused.has(name))
		throw createFieldError(
			'invalid_argument',
			'url',
			`the text is encoded as ${name}, which is not safe to read. Look for it in UTF-8 elsewhere.`,
		);
	try {
		return new TextDecoder(name);
	} catch {
		return undefined;
	}
}
