import { findMediaType } from './media-types.ts';

/** What is known of a file's bytes. */
export interface ContentInfo {
	readonly size: number;
	/** Lines of a text, each with its line end. Missing for what is no UTF-8 text. */
	readonly lines?: number;
	/** The places where every 256th line of a text begins, from the first one on. */
	readonly marks: readonly number[];
}

/** Lines between two marks. */
export const markedLines = 256;

const newline = 10;
/** Bytes that are decoded at a time. */
const piece = 1_048_576;

/** Looks once at the bytes of a file: whether they are text, and where its lines are. */
export function describeContent(bytes: Uint8Array): ContentInfo {
	const describer = createDescriber();
	describer.add(bytes);
	return describer.end();
}

/** Looks at the bytes of a file as they come. */
export function createDescriber() {
	const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
	const marks: number[] = [];
	let size = 0;
	let lines = 0;
	let isText = true;
	let beginsLine = true;
	const addLines = (bytes: Uint8Array): void => {
		for (let at = 0; at < bytes.length; ) {
			if (beginsLine && lines++ % markedLines === 0) marks.push(size + at);
			const end = bytes.indexOf(newline, at);
			beginsLine = end !== -1;
			at = end === -1 ? bytes.length : end + 1;
		}
	};
	return {
		add: (bytes: Uint8Array): void => {
			for (let at = 0; at < bytes.length; at += piece) {
				const part = bytes.subarray(at, at + piece);
				isText &&= isTextPart(decoder, part);
				if (isText) addLines(part);
				size += part.length;
			}
		},
		end: (): ContentInfo => (isText && isTextPart(decoder) ? { size, lines, marks } : { size, marks: [] }),
	};
}

/**
 * Finds the place behind a number of lines.
 *
 * @param bytes a part of a text that begins where a line begins
 */
export function skipLines(bytes: Uint8Array, lines: number): number {
	let at = 0;
	for (let left = lines; left > 0 && at < bytes.length; left--) {
		const end = bytes.indexOf(newline, at);
		at = end === -1 ? bytes.length : end + 1;
	}
	return at;
}

/** The media type of a file by its name. What is text has no type of pictures, sound or film, but that of SVG. */
export function findMime(path: string, { lines }: Pick<ContentInfo, 'lines'>): string {
	const name = path.slice(path.lastIndexOf('/') + 1);
	const byName = name.includes('.') ? findMediaType(name) : undefined;
	const isText = lines !== undefined;
	if (byName === undefined) return isText ? 'text/plain' : 'application/octet-stream';
	const isMedia = /^(?:audio|video|image|font)\//.test(byName) && byName !== 'image/svg+xml';
	if (isText) return isMedia ? 'text/plain' : byName;
	return byName.startsWith('text/') ? 'application/octet-stream' : byName;
}

/** Whether bytes go on with a text, or end it. */
function isTextPart(decoder: TextDecoder, bytes?: Uint8Array): boolean {
	if (bytes?.includes(0)) return false;
	try {
		decoder.decode(bytes, { stream: bytes !== undefined });
		return true;
	} catch {
		return false;
	}
}
