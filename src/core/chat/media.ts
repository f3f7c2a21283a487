import type { MessagePart } from '../ground/part.ts';
import { toMedia } from '../ground/part.ts';
import { readImageSize } from './image-size.ts';
import type { MediaRules } from './media-rules.ts';
import { countPages } from './pdf-pages.ts';
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
