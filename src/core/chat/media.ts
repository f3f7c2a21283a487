import type { MessagePart } from '../ground/part.ts';
import { estimateTokens } from './tokens.ts';

/** The most that an image costs: providers make larger ones smaller (Anthropic, "Vision": about 1,600 tokens). */
const mostImage = 1_600;
/** The least that an image costs (Gemini, "Understand and count tokens"). */
const leastImage = 258;
/** Pixels of an image for each token (Anthropic, "Vision"). */
const pixelsPerToken = 750;
/** Tokens of a page of a PDF: its text, and an image of it (Anthropic, "PDF support": 1,500 to 3,000 and an image). */
const pdfPage = 2_250;
/** Bytes of a page, for a file that does not say how many pages it has. */
const pdfPageBytes = 40_000;
/** Bytes of audio for each token: 32 tokens a second (Gemini), at 64 kbit a second. */
const audioBytesPerToken = 250;
/** Bytes of uncompressed audio for each token: 16 kHz, 16 bits. */
const wavBytesPerToken = 1_000;
/** Bytes of video for each token: 300 tokens a second (Gemini), at 1 Mbit a second. */
const videoBytesPerToken = 400;
/** Tokens of a file behind a URL, whose length is unknown. */
const unknownFile = 2_250;

/** Estimates the tokens of an image, audio or a file beside its text, by the providers' published rules. */
export function countMediaTokens({ kind, mime = '', data, text }: MessagePart): number {
	if (kind === 'text' || kind === 'tool-result') return 0;
	const type = mime.toLowerCase();
	if (kind === 'image' || type.startsWith('image/')) return countImageTokens(data);
	if (data === undefined) return unknownFile;
	const bytes = Math.ceil((data.length * 3) / 4);
	if (type.startsWith('video/')) return Math.ceil(bytes / videoBytesPerToken);
	if (kind === 'audio' || type.startsWith('audio/'))
		return Math.ceil(bytes / (/wav|pcm|l16/.test(type.slice(0, 40)) ? wavBytesPerToken : audioBytesPerToken));
	if (type === 'application/pdf') return pdfPage * countPages(data);
	return text === undefined ? estimateTokens(decodeText(data)) : 0;
}

/** Counts by the size in pixels if the first bytes say it, else the most. */
function countImageTokens(data: string | undefined): number {
	const size = data === undefined ? undefined : readImageSize(decodeBytes(data.slice(0, headLength)));
	if (size === undefined) return mostImage;
	const tokens = Math.ceil((size.width * size.height) / pixelsPerToken);
	return Math.min(mostImage, Math.max(leastImage, tokens));
}

/** Characters of base64 in which to look for the size of an image: a JPEG may begin with a thumbnail. */
const headLength = 200_000;

interface Size {
	readonly width: number;
	readonly height: number;
}

/** The size of a PNG, GIF, WebP or JPEG. */
function readImageSize(bytes: Uint8Array): Size | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (bytes.length < 30) return undefined;
	if (view.getUint32(0) === 0x89504e47) return toSized(view.getUint32(16), view.getUint32(20));
	if (view.getUint32(0) === 0x47494638) return toSized(view.getUint16(6, true), view.getUint16(8, true));
	if (view.getUint32(0) === 0x52494646 && view.getUint32(8) === 0x57454250) return readWebpSize(view);
	return view.getUint16(0) === 0xffd8 ? readJpegSize(view) : undefined;
}

function readWebpSize(view: DataView): Size | undefined {
	switch (view.getUint32(12)) {
		case 0x56503820: // VP8
			return toSized(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
		case 0x5650384c: {
			// VP8L: 14 bits each, less one.
			const bits = view.getUint32(21, true);
			return toSized((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
		}
		default: // VP8X: 24 bits each, less one.
			return toSized((view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1);
	}
}

/** Walks over the segments to the one that begins a frame. */
function readJpegSize(view: DataView): Size | undefined {
	for (let at = 2; at + 9 < view.byteLength && view.getUint8(at) === 0xff; ) {
		const marker = view.getUint8(at + 1);
		const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
		if (isFrame) return toSized(view.getUint16(at + 7), view.getUint16(at + 5));
		at += 2 + view.getUint16(at + 2);
	}
	return undefined;
}

function toSized(width: number, height: number): Size | undefined {
	return width > 0 && height > 0 ? { width, height } : undefined;
}

/** Pages of a PDF: those that it names, else by its length. */
function countPages(data: string): number {
	const bytes = decodeText(data);
	let pages = 0;
	for (let at = bytes.indexOf('/Type'); at !== -1; at = bytes.indexOf('/Type', at + 5)) {
		const name = bytes.slice(at + 5, at + 12).trimStart();
		if (name.startsWith('/Page') && !name.startsWith('/Pages')) pages++;
	}
	return Math.max(1, pages > 0 ? pages : Math.ceil(bytes.length / pdfPageBytes));
}

/** Decodes base64 to a character a byte. Anything else stays as it is. */
function decodeText(data: string): string {
	try {
		return atob(data);
	} catch {
		return data;
	}
}

function decodeBytes(data: string): Uint8Array {
	return Uint8Array.from(decodeText(data.slice(0, data.length - (data.length % 4))), (character) =>
		character.charCodeAt(0),
	);
}
