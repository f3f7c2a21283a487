import { type MessagePart, toMedia } from '../base/part.ts';
import { estimateTokens, type ImageSize, type MediaRules } from './tokens.ts';

/** The tokens of a second of audio: 32 for Gemini, 12.5 for Mistral, 10 for OpenAI. */
const audioPerSecond = 32;
/** The tokens of a second of video with its sound (Gemini). */
const videoPerSecond = 300;
/** The lowest assumed bytes per second of audio (16 kbit/s) and video (200 kbit/s) of unknown length. */
const leastAudioBytes = 2_000;
const leastVideoBytes = 25_000;

/** Returns the tokens of a part besides its text. Infinite if its length is unknown. */
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
	if (kind === 'audio')
		return Math.ceil(audioPerSecond * (readSeconds(bytes) ?? bytes.length / readAudioRate(bytes, mime)));
	// Models of known families get only a placeholder for a file that is not text.
	return kind === 'text' || rules.family === 'any' ? estimateTokens(decodeUtf8(bytes)) : 0;
}

/** Returns the share of audio in a part's tokens: 1 for a recording, and the share of the sound for a video. */
export function findAudioShare(part: MessagePart): number {
	const media = toMedia(part);
	if (media?.kind === 'audio') return 1;
	return media?.mime.startsWith('video/') ? audioPerSecond / videoPerSecond : 0;
}

/** Reads the bytes per second from the header of a WAV file, or from the frames of an MP3 file. */
function readAudioRate(bytes: string, mime: string): number {
	const isWav = bytes.startsWith('RIFF') && bytes.slice(8, 12) === 'WAVE';
	const rate = isWav ? readLittle(bytes, 28, 4) : 0;
	return rate > 0 && rate < 10_000_000 ? rate : (readMp3Rate(bytes, mime) ?? leastAudioBytes);
}

/** The kbit per second of MP3, layer 3: first for MPEG version 1, then for later versions. */
const mp3Rates = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const laterMp3Rates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** Reads the lowest bytes per second from the first frames of an MP3 file. */
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

/** Reads the seconds of an MP4, M4A or MOV file from its movie header. */
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

/** Decodes base64 to a character for each byte. Other data is returned unchanged. */
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

/** The number of base64 characters that are searched for the size of an image. A JPEG may begin with a thumbnail. */
const headLength = 200_000;

function readImageSize(data: string): ImageSize | undefined {
	const bytes = decodeBase64(data.slice(0, headLength));
	if (bytes.length < 30) return undefined;
	if (bytes.startsWith('\x89PNG')) return toSize(readBig(bytes, 16, 4), readBig(bytes, 20, 4));
	if (bytes.startsWith('GIF8')) return toSize(readLittle(bytes, 6, 2), readLittle(bytes, 8, 2));
	if (bytes.startsWith('RIFF') && bytes.slice(8, 12) === 'WEBP') return readWebpSize(bytes);
	return bytes.startsWith('\xff\xd8') ? readJpegSize(bytes) : undefined;
}

function readWebpSize(bytes: string): ImageSize | undefined {
	switch (bytes.slice(12, 16)) {
		case 'VP8 ':
			return toSize(readLittle(bytes, 26, 2) & 0x3fff, readLittle(bytes, 28, 2) & 0x3fff);
		case 'VP8L': {
			// The width and the height minus one, in 14 bits each.
			const bits = readLittle(bytes, 21, 4);
			return toSize((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
		}
		default:
			// VP8X: the width and the height minus one, in 24 bits each.
			return toSize(readLittle(bytes, 24, 3) + 1, readLittle(bytes, 27, 3) + 1);
	}
}

/** Finds the segment that begins a frame. */
function readJpegSize(bytes: string): ImageSize | undefined {
	for (let at = 2; at + 9 < bytes.length && bytes[at] === '\xff'; at += 2 + readBig(bytes, at + 2, 2)) {
		const marker = bytes.charCodeAt(at + 1);
		const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
		if (isFrame) return toSize(readBig(bytes, at + 7, 2), readBig(bytes, at + 5, 2));
	}
	return undefined;
}

function toSize(width: number, height: number): ImageSize | undefined {
	return width > 0 && height > 0 ? { width, height } : undefined;
}

/** The assumed bytes of a page if a PDF has neither page objects nor content streams. */
const pageBytes = 40_000;
/** The number of characters before a stream that are searched for its dictionary. */
const dictionaryLength = 1_000;

/**
 * Counts the pages of a PDF by its page objects, else by its content streams. The count tends to be too high. From
 * PDF version 1.5 on, page objects may be compressed, but each page has a content stream.
 */
function countPages(bytes: string): number {
	return Math.max(1, countNamed(bytes) || countContents(bytes) || Math.ceil(bytes.length / pageBytes));
}

function countNamed(bytes: string): number {
	// In a file with compressed objects, only some page objects may be readable.
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
	for (let end = 0, at = bytes.indexOf('stream'); at !== -1; at = bytes.indexOf('stream', end)) {
		const head = bytes.slice(Math.max(end, at - dictionaryLength), at);
		const dictionary = head.slice(head.lastIndexOf(' obj') + 1);
		if (!/\/(Type|Subtype|Length1|N)\b/.test(dictionary)) contents++;
		const closed = bytes.indexOf('endstream', at);
		end = closed === -1 ? bytes.length : closed + 9;
	}
	return contents;
}
