/** Counts the real input of a provider by its own rules. */

import { isRecord } from '../../../../src/core/base/json.ts';
import { estimateTokens } from '../../../../src/core/chat/tokens.ts';

export interface Sent {
	readonly tokens: number;
	/** The audio tokens. */
	readonly audio: number;
}

/** Fields whose values are no text of the prompt. */
const form = new Set(
	`model type role detail status stream store include strict media_type mimeType mime_type cache_control max_tokens url
	image_url file_data file_url fileUri document_url prompt_cache_key safety_identifier user metadata format service_tier
	inference_geo speed purpose serviceTier ttl`.split(/\s+/),
);
/** Texts that count as bytes. */
const encrypted = new Set(['signature', 'thoughtSignature', 'encrypted_content', 'encrypted_index', 'data']);

/** The tokens of a second of audio. */
const perSecond = (model: string): number => (model.startsWith('gemini') ? 32 : 10);
/** Counts the tokens of an image. Its width and height are in pixels. */
function countImage(model: string, width: number, height: number): number {
	if (model.startsWith('claude')) return Math.min(4_784, Math.ceil(width / 28) * Math.ceil(height / 28));
	if (model.startsWith('gemini-3')) return 1_120;
	if (model.startsWith('gemini')) return width <= 384 && height <= 384 ? 258 : 258 * 6;
	const scale = Math.min(1, 2_048 / Math.max(width, height), 768 / Math.min(width, height));
	return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
}
const perPage = (model: string): number => (model.startsWith('gemini') ? 560 : 3_000);

/** Counts the tokens of a body. `share` is the part of the most possible tokens that the tokenizer makes. */
export function countSent(model: string, body: unknown, share: number): Sent {
	const sum = { texts: 0, media: 0, audio: 0 };
	const countMedia = (mime: string, base64: string): void => {
		const bytes = atob(base64);
		if (mime.startsWith('image/')) sum.media += countImage(model, toBig(bytes, 16), toBig(bytes, 20));
		else if (mime === 'application/pdf') sum.media += perPage(model) * (bytes.split('/Type /Page ').length - 1);
		else if (mime.startsWith('audio/')) {
			const tokens = Math.ceil(perSecond(model) * (bytes.length / toLittle(bytes, 28)));
			sum.media += tokens;
			sum.audio += tokens;
		} else sum.texts += estimateTokens(bytes);
	};
	const walk = (value: unknown, key: string, holder: Readonly<Record<string, unknown>>, isData: boolean): void => {
		if (typeof value === 'string') {
			const data = /^data:([^;]+);base64,(.*)$/s.exec(value);
			const mime = holder.media_type ?? holder.mimeType;
			if (data !== null) countMedia(data[1] ?? '', data[2] ?? '');
			else if (key === 'data' && holder.format !== undefined) countMedia('audio/wav', value);
			else if (key === 'data' && typeof mime === 'string') countMedia(mime, value);
			else if (encrypted.has(key)) sum.media += Math.ceil(value.length / 4);
			else if (isData || !form.has(key)) sum.texts += estimateTokens(value);
		} else if (Array.isArray(value)) for (const one of value) walk(one, key, holder, isData);
		else if (isRecord(value)) {
			const inside = isData || /^(input|args|arguments|parameters|input_schema|schema)$/.test(key);
			for (const [name, one] of Object.entries(value)) {
				if (inside) sum.texts += estimateTokens(name);
				if (inside || !/^(cache_control|metadata|prompt_cache_key)$/.test(name)) walk(one, name, value, inside);
			}
		}
	};
	walk(body, '', {}, false);
	return { tokens: Math.max(1, Math.floor(sum.texts * share) + sum.media), audio: sum.audio };
}

function toBig(bytes: string, at: number): number {
	return [0, 1, 2, 3].reduce((value, index) => value * 256 + bytes.charCodeAt(at + index), 0);
}

function toLittle(bytes: string, at: number): number {
	return [3, 2, 1, 0].reduce((value, index) => value * 256 + bytes.charCodeAt(at + index), 0);
}
