import { describe, expect, test } from 'vitest';
import { countMediaTokens } from '../../../src/core/chat/media.ts';
import { createTokenCounter, estimateTokens } from '../../../src/core/chat/tokens.ts';
import { toBase64 } from '../../../src/core/ground/bytes.ts';

describe('an estimate of tokens', () => {
	/** What o200k, cl100k and the tokenizer of Claude 2 count, least and most. */
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
	])('of %s is near to what tokenizers count', (_, text, least, most) => {
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
	const pdf = (pages: number) => btoa(`%PDF-1.7 /Type /Pages ${'<< /Type /Page >> '.repeat(pages)}`);

	test.each([
		['a small image', { kind: 'image', mime: 'image/png', data: png(64, 64) }, 258],
		['an image of a megapixel', { kind: 'image', mime: 'image/png', data: png(1_000, 750) }, 1_000],
		['a photo', { kind: 'image', mime: 'image/jpeg', data: jpeg(900, 500) }, 600],
		['a large image', { kind: 'image', mime: 'image/png', data: png(8_000, 6_000) }, 1_600],
		['an image behind a URL', { kind: 'image', url: 'https://example.com/a.png' }, 1_600],
		['an image that is none', { kind: 'image', mime: 'image/png', data: '!!!' }, 1_600],
		['a PDF of three pages', { kind: 'file', mime: 'application/pdf', data: pdf(3) }, 6_750],
		['a minute of speech', { kind: 'audio', mime: 'audio/mpeg', data: 'A'.repeat(640_000) }, 1_920],
		['a text file', { kind: 'file', mime: 'text/plain', data: btoa('word '.repeat(400)) }, 500],
		['a text', { kind: 'text', text: 'words' }, 0],
	] as const)('%s costs what its providers say', (_, part, tokens) => {
		expect(countMediaTokens(part)).toBe(tokens);
	});
});
