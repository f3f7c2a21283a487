import { describe, expect, test } from 'vitest';
import { toBase64 } from '../../../src/core/base/bytes.ts';
import { countMediaTokens } from '../../../src/core/chat/media.ts';
import { createTokenCounter, estimateTokens, findMediaRules } from '../../../src/core/chat/tokens.ts';

describe('an estimate of tokens', () => {
	/** The lowest and the highest count of o200k, cl100k and the tokenizer of Claude 2. */
	test.each([
		['English', 'All human beings are born free and equal in dignity and rights. ', 13, 16],
		['German', 'Alle Menschen sind frei und gleich an Würde und Rechten geboren. ', 13, 20],
		['Russian', 'Все люди рождаются свободными и равными в своем достоинстве. ', 15, 33],
		['Chinese', '人人生而自由，在尊严和权利上一律平等。', 14, 23],
		['Japanese', 'すべての人間は、生れながらにして自由であり、平等である。', 22, 31],
		['Korean', '모든 인간은 태어날 때부터 자유로우며 동등하다. ', 15, 30],
		['Arabic', 'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. ', 18, 46],
		['emoji', '😀🎈🚀🔥💯🙏', 6, 18],
		['digits', '3141592653589793238462643383279', 11, 14],
		['a hash', 'd41d8cd98f00b204e9800998ecf8427e', 16, 24],
		['base64', 'Zk9xQ2VtV3pMcTRSc0tIYlA3dUo2eVRnWG5EaEFvRWM=', 24, 34],
		['code', 'for (const one of all) if (one.size > most) most = one.size;', 15, 20],
	])('of %s is close to the counts of real tokenizers', (_, text, least, most) => {
		const each = estimateTokens(text.repeat(100)) / 100;
		expect(each).toBeGreaterThanOrEqual(least * 0.8);
		expect(each).toBeLessThanOrEqual(most * 1.25);
	});

	test('does not depend on how a text is cut into pieces', () => {
		const text = 'plain text, Füllung, 填充 — and a 🎈, 12345 and xY7zQ. \n\t{"a": [1, 2]}';
		for (const length of [1, 2, 3, 7]) {
			const counter = createTokenCounter();
			for (let at = 0; at < text.length; at += length) counter.add(text.slice(at, at + length));
			expect(Math.ceil(counter.total())).toBe(estimateTokens(text));
		}
	});
});

describe('an attachment', () => {
	const png = (width: number, height: number) => {
		const bytes = new Uint8Array(64);
		bytes.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
		new DataView(bytes.buffer).setUint32(16, width);
		new DataView(bytes.buffer).setUint32(20, height);
		return toBase64(bytes);
	};
	const jpeg = (width: number, height: number) => {
		const bytes = new Uint8Array(4_000);
		const view = new DataView(bytes.buffer);
		view.setUint32(0, 0xffd8ffe1);
		view.setUint16(4, 3_000);
		view.setUint16(3_004, 0xffc0);
		view.setUint16(3_006, 17);
		view.setUint16(3_009, height);
		view.setUint16(3_011, width);
		return toBase64(bytes);
	};
	const pdf = (pages: number) => btoa(`%PDF-1.4 /Type /Pages ${'<< /Type /Page >> '.repeat(pages)}`);
	const stream = (head: string) => `1 0 obj\n<< ${head} /Length 3 >>\nstream\nabc\nendstream\nendobj\n`;
	const packed = btoa(
		`%PDF-1.7 ${stream('/Type /ObjStm /N 9')}${stream('/Subtype /Image')}${stream('/Length1 9')}${stream('').repeat(4)}`,
	);
	const wav = (perSecond: number, seconds: number) => {
		const bytes = new Uint8Array(44 + perSecond * seconds);
		bytes.set(new TextEncoder().encode('RIFF....WAVE'));
		new DataView(bytes.buffer).setUint32(28, perSecond, true);
		return toBase64(bytes);
	};
	const mp4 = (seconds: number) => {
		const bytes = new Uint8Array(200);
		const view = new DataView(bytes.buffer);
		bytes.set(new TextEncoder().encode('ftyp'), 4);
		bytes.set(new TextEncoder().encode('mvhd'), 100);
		view.setUint32(116, 1_000);
		view.setUint32(120, seconds * 1_000);
		return toBase64(bytes);
	};
	const photo = { kind: 'image', mime: 'image/png', data: png(1_000, 750) } as const;
	const large = { kind: 'image', mime: 'image/png', data: png(8_000, 6_000) } as const;
	const behindUrl = { kind: 'image', url: 'https://example.com/a.png' } as const;

	test.each([
		['an image', photo, 'claude-opus-4-5', 1_000],
		['a large image', large, 'claude-opus-4-5-20251101', 1_600],
		['a large image', large, 'claude-opus-4-7', 4_784],
		['an image behind a URL', behindUrl, 'claude-sonnet-4-20250514', 1_600],
		['an invalid image', { kind: 'image', mime: 'image/png', data: '!!!' }, 'claude-sonnet-4-5', 1_600],
		['an image', photo, 'gpt-4o', 765],
		['an image of low detail', { ...photo, meta: { detail: 'low' } }, 'gpt-4o', 85],
		['a large image', large, 'gpt-4.1', 765],
		['an image behind a URL', behindUrl, 'o3', 1_445],
		['an image', photo, 'gpt-4o-mini', 25_501],
		['an image', photo, 'openai/gpt-5-nano', 1_890],
		['a large image', large, 'gpt-5.4', 3_000],
		['a large image in its original size', { ...large, meta: { detail: 'original' } }, 'gpt-5.4', 12_000],
		['a small image', { kind: 'image', mime: 'image/png', data: png(64, 64) }, 'gemini-2.5-flash', 258],
		['an image', photo, 'gemini-2.5-flash', 1_032],
		['an image', photo, 'gemini-3-pro', 1_120],
		['an image', { kind: 'image', mime: 'image/jpeg', data: jpeg(900, 500) }, 'grok-4', 1_792],
		['an image', photo, 'mistral/pixtral-12b', 3_008],
		['a small image', { kind: 'image', mime: 'image/png', data: png(64, 64) }, 'acme', 512],
		['an image behind a URL', behindUrl, 'acme', 6_192],
		['a PDF of three pages', { kind: 'file', mime: 'application/pdf', data: pdf(3) }, 'claude-opus-4-5', 13_800],
		['a PDF of three pages', { kind: 'file', mime: 'application/pdf', data: pdf(3) }, 'gemini-3-pro', 3_360],
		['a PDF with packed pages', { kind: 'file', mime: 'application/pdf', data: packed }, 'gpt-5', 18_400],
		['a PDF behind a URL', { kind: 'file', url: 'https://example.com/a.pdf' }, 'gpt-5', Infinity],
		['a file behind a URL', { kind: 'file', url: 'https://example.com/a.mp4' }, 'gpt-5', 0],
		['a file behind a URL', { kind: 'file', url: 'https://example.com/a.mp4' }, 'gemini-3-pro', Infinity],
		['a minute of speech', { kind: 'audio', mime: 'audio/wav', data: wav(8_000, 60) }, 'acme', 1_921],
		['a minute of speech', { kind: 'audio', mime: 'audio/ogg', data: 'A'.repeat(160_000) }, 'acme', 1_920],
		['a minute of speech', { kind: 'audio', mime: 'audio/mp4', data: mp4(60) }, 'acme', 1_920],
		['a minute of video', { kind: 'file', mime: 'video/mp4', data: mp4(60) }, 'gemini-3-pro', 18_000],
		['a text file', { kind: 'file', mime: 'text/plain', data: btoa('word '.repeat(400)) }, 'acme', 500],
		['a text file with a caption', { kind: 'file', mime: 'text/plain', data: btoa('word '), text: 'a' }, 'acme', 2],
		['a text', { kind: 'text', text: 'words' }, 'acme', 0],
	] as const)('%s costs the tokens that the provider documents: %o, model %s', (_, part, model, tokens) => {
		expect(countMediaTokens(part, findMediaRules(model))).toBe(tokens);
	});
});
