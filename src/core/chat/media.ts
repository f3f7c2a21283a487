import { type MessagePart, toMedia } from '../base/part.ts';
import type { MediaRules, Size } from './media-rules.ts';
import { estimateTokens } from './tokens.ts';

/** Tokens of a second of audio: 32 of Gemini, 12.5 of Mistral, 10 of OpenAI. */
const audioPerSecond = 32;
/** Tokens of a second of video with its sound (Gemini). */
const videoPerSecond = 300;
/** Bytes of a second of audio and of video that do not say how long they are: 16 and 200 kbit, as of calls. */
const leastAudioBytes = 2_000;
const leastVideoBytes = 25_000;

/** The tokens of a part beside its text. They are infinite if its length is unknown. */
export function countMediaTokens(part: MessagePart, rules: MediaRules): number {
	const media = toMedia(part);
	if (media === undefined) return 0;
	const { kind, mime, data } = media;
	const detail = typeof part.meta?.detail === 'string' ? part.meta.detail : undefined;
	if (kind === 'image') return rules.image(data === undefined ? undefined : readImageSize(data), detail);
	if (data === undefined) return kind === 'pdf' || rules.anyUrl ? Number.POSITIVE_INFINITY : 0;
	const bytes = decodeBase64(data);
	if (kind === 'pdf') return rules.pdfPage * countPages(bytes);
	if (mime.startsWith('video/'))
		return Math.ceil(videoPerSecond * (readSeconds(bytes) ?? bytes.length / leastVideoBytes));
	if (kind === 'audio') return Math.ceil(audioPerSecond * readAudioSeconds(bytes, mime));
	// A file of another type is a placeholder to each known family.
	return kind === 'text' || rules.family === 'any' ? estimateTokens(decodeUtf8(bytes)) : 0;
}

/** Returns the share of a part's tokens that is audio: all of a recording, and the sound of a video. */
export function findAudioShare(part: MessagePart): number {
	const media = toMedia(part);
	if (media?.kind === 'audio') return 1;
	return media?.mime.startsWith('video/') ? audioPerSecond / videoPerSecond : 0;
}

/** Returns the length of audio by its header, else by its bytes. */
function readAudioSeconds(bytes: string, mime: string): number {
	const perSecond = readWavRate(bytes) ?? readMp3Rate(bytes, mime) ?? leastAudioBytes;
	return readSeconds(bytes) ?? bytes.length / perSecond;
}

/** Reads the bytes of a second from the header of a WAV file. */
function readWavRate(bytes: string): number | undefined {
	if (!bytes.startsWith('RIFF') || bytes.slice(8, 12) !== 'WAVE') return undefined;
	const rate = readLittle(bytes, 28, 4);
	return rate > 0 && rate < 10_000_000 ? rate : undefined;
}

/** The kbit of a second of MP3, layer 3: of version 1, and of later ones. */
const mp3Rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const laterMp3Rates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** Reads the bytes of a second from the first frames of an MP3 file. Their rates may differ, so the lowest counts. */
function readMp3Rate(bytes: string, mime: string): number | undefined {
	if (!/mp3|mpeg/.test(mime)) return undefined;
	let lowest: number | undefined;
	for (let at = bytes.indexOf('\xff'); at !== -1 && at < 20_000; at = bytes.indexOf('\xff', at + 1)) {
		const second = bytes.charCodeAt(at + 1);
		if ((second & 0xe6) !== 0xe2) continue;
		const rates = (second & 0x18) === 0x18 ? mp3Rates : laterMp3Rates;
		const rate = rates[bytes.charCodeAt(at + 2) >> 4] ?? 0;
		if (rate > 0) lowest = Math.min(lowest ?? rate, rate);
	}
	return lowest === undefined ? undefined : (lowest * 1_000) / 8;
}

/** Reads how long an MP4, M4A or MOV file is, from its movie header. */
function readSeconds(bytes: string): number | undefined {
	const at = bytes.slice(4, 8) === 'ftyp' ? bytes.indexOf('mvhd') : -1;
	if (at === -1) return undefined;
	const isLong = bytes.charCodeAt(at + 4) === 1;
	const scale = readBig(bytes, at + (isLong ? 24 : 16), 4);
	const length = readBig(bytes, at + (isLong ? 28 : 20), isLong ? 8 : 4);
	return scale > 0 && length > 0 ? length / scale : undefined;
}

function readBig(bytes: string, at: number, count: number): number {
	let value = 0;
	for (let index = 0; index < count; index++) value = value * 256 + (bytes.charCodeAt(at + index) || 0);
	return value;
}

function readLittle(bytes: string, at: number, count: number): number {
	let value = 0;
	for (let index = count - 1; index >= 0; index--) value = value * 256 + (bytes.charCodeAt(at + index) || 0);
	return value;
}

/** Decodes base64 to a character a byte. Anything else stays as it is. */
function decodeBase64(data: string): string {
	try {
		return atob(data);
	} catch {
		return data;
	}
}

function decodeUtf8(bytes: string): string {
	return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}

/** Characters of base64 in which to look for the size of an image: a JPEG may begin with a thumbnail. */
const headLength = 200_000;

/** Reads the size of a PNG, GIF, WebP or JPEG. */
function readImageSize(data: string): Size | undefined {
	const bytes = decodeHead(data.slice(0, headLength));
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

function decodeHead(data: string): Uint8Array {
	try {
		return Uint8Array.from(atob(data.slice(0, data.length - (data.length % 4))), (character) =>
			character.charCodeAt(0),
		);
	} catch {
		return new Uint8Array();
	}
}

/** Bytes of a page, for a file that shows no pages. */
const pageBytes = 40_000;

/** Characters in front of a stream that hold its dictionary. */
const dictionaryLength = 1_000;

/**
 * Counts the pages of a PDF, with one character for each byte. Counts the page objects, else the content streams: since
 * version 1.5 page objects may be compressed, but each page has a content stream. The count is rather too high.
 */
function countPages(bytes: string): number {
	return Math.max(1, countNamed(bytes) || countContents(bytes) || Math.ceil(bytes.length / pageBytes));
}

function countNamed(bytes: string): number {
	// A file with compressed objects may name only some of its pages.
	if (bytes.includes('/ObjStm')) return 0;
	let pages = 0;
	for (let at = bytes.indexOf('/Type'); at !== -1; at = bytes.indexOf('/Type', at + 5)) {
		const name = bytes.slice(at + 5, at + 12).trimStart();
		if (name.startsWith('/Page') && !name.startsWith('/Pages')) pages++;
	}
	return pages;
}

/** Counts the streams that are not an image, a font, a profile or an object stream. */
function countContents(bytes: string): number {
	let contents = 0;
	for (let end = 0, at = findStream(bytes, 0); at !== -1; at = findStream(bytes, end)) {
		const head = bytes.slice(Math.max(end, at - dictionaryLength), at);
		const dictionary = head.slice(head.lastIndexOf(' obj') + 1);
		if (!/\/(Type|Subtype|Length1|N)\b/.test(dictionary)) contents++;
		const closed = bytes.indexOf('endstream', at);
		end = closed === -1 ? bytes.length : closed + 9;
	}
	return contents;
}

function findStream(bytes: string, from: number): number {
	return bytes.indexOf('stream', from);
}
