import { hashText } from '../ground/bytes.ts';
import { isRecord } from '../ground/json.ts';

/** A call of a tool that the provider ran itself. Readers get it when it begins, and again with its output. */
export interface ProviderCall {
	readonly id: string;
	/** Runlet's name of the tool, such as `web_search`, else the provider's own. */
	readonly name: string;
	readonly input?: unknown;
	/** What came of it. Long texts are cut. */
	readonly output?: unknown;
	readonly isError?: boolean;
}

/** Whether a call has its result. */
export function hasEnded({ output, isError }: Pick<ProviderCall, 'output' | 'isError'>): boolean {
	return output !== undefined || isError === true;
}

/** A source that a reply rests on: a page, or a document. The same source has the same id. */
export interface Source {
	readonly id: string;
	readonly url?: string;
	readonly title?: string;
	/** The words of the source that the reply cites. */
	readonly quote?: string;
}

/** Makes a source. Its id is a hash of its fields. */
export function createSource(fields: Omit<Source, 'id'>): Source {
	const { url, title, quote } = fields;
	return {
		id: hashText(JSON.stringify([url, title, quote])),
		...(url !== undefined && { url }),
		...(title !== undefined && { title }),
		...(quote !== undefined && { quote: quote.slice(0, mostQuote) }),
	};
}

/** Whether a person can follow the address of a source. */
export function isWebUrl(url: string | undefined): url is string {
	return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

const mostQuote = 2_000;
const mostText = 4_000;
const mostItems = 50;

/** Cuts long texts and lists in the input or output of a call. What only its provider can read is left out. */
export function cutData(value: unknown, depth = 0): unknown {
	if (typeof value === 'string') return value.length > mostText ? `${value.slice(0, mostText)}…` : value;
	if (depth > 6) return undefined;
	if (Array.isArray(value)) return value.slice(0, mostItems).map((one) => cutData(one, depth + 1));
	if (!isRecord(value)) return value;
	const kept = Object.entries(value).filter(([key]) => !unreadable.test(key));
	return Object.fromEntries(kept.map(([key, one]) => [key, cutData(one, depth + 1)]));
}

const unreadable = /^(encrypted_\w+|signature|thoughtSignature|cache_control)$/;
