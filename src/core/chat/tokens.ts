/** Estimates the tokens of a text that arrives in pieces. The estimate does not depend on where the text is cut. */
export interface TokenCounter {
	readonly add: (text: string) => void;
	/** Returns the tokens so far, not rounded. */
	readonly total: () => number;
}

/**
 * Estimates the tokens of a text for any model. Each character has a weight by its script, measured with the o200k,
 * cl100k and 2023 Claude tokenizers, which differ by a factor of two outside English.
 */
export function estimateTokens(text: string): number {
	const counter = createTokenCounter();
	counter.add(text);
	return Math.ceil(counter.total());
}

export function createTokenCounter(): TokenCounter {
	let total = 0;
	let before: Kind = space;
	return {
		add: (text) => {
			for (let index = 0; index < text.length; index++) {
				const unit = text.charCodeAt(index);
				const kind = unit < 128 ? toKind(unit) : other;
				total += kind === other ? (weights[unit >> 4] ?? 1) : findAsciiWeight(kind, before);
				before = kind;
			}
		},
		total: () => total,
	};
}

const space = 0;
const lower = 1;
const upper = 2;
const digit = 3;
const mark = 4;
const other = 5;
type Kind = typeof space | typeof lower | typeof upper | typeof digit | typeof mark | typeof other;

function toKind(unit: number): Kind {
	if (unit >= 97 && unit <= 122) return lower;
	if (unit <= 32) return space;
	if (unit >= 48 && unit <= 57) return digit;
	return unit >= 65 && unit <= 90 ? upper : mark;
}

/** English has a quarter of a token per character. Text that mixes kinds of characters, such as base64, has more. */
function findAsciiWeight(kind: Kind, before: Kind): number {
	switch (kind) {
		case space:
			return before === space ? 0.04 : 0.25;
		case lower:
			return before === digit ? 0.9 : before === upper ? 0.3 : 0.25;
		case upper:
			return before === lower || before === digit ? 0.9 : 0.3;
		case digit:
			return before === digit ? 0.34 : before === space ? 1 : 0.75;
		default:
			return before === mark ? 0.45 : 0.28;
	}
}

/** The weights of characters. Each weight applies from its code unit to the next entry. */
const scripts: readonly (readonly [from: number, weight: number])[] = [
	[0x0080, 0.35], // Latin with accents
	[0x0300, 0.8], // accents by themselves
	[0x0370, 0.7], // Greek
	[0x0400, 0.42], // Cyrillic
	[0x0530, 0.9], // Armenian
	[0x0590, 0.75], // Hebrew
	[0x0600, 0.65], // Arabic
	[0x0700, 1.3],
	[0x0900, 0.75], // Devanagari and its neighbours
	[0x0e00, 0.95], // Thai
	[0x0f00, 1.4],
	[0x10a0, 1], // Georgian
	[0x1100, 1], // Hangul, in pieces
	[0x1200, 2], // Ethiopic and rarer scripts
	[0x1e00, 0.75], // Latin with two accents, Vietnamese
	[0x1f00, 1.2],
	[0x2000, 0.3], // dashes and quotation marks
	[0x2070, 1.2], // symbols, arrows, mathematics, boxes
	[0x2e80, 1], // Han, Kana
	[0xa000, 2],
	[0xac00, 0.85], // Hangul
	[0xd7b0, 0.5], // surrogates: emoji, rare Han
	[0xe000, 2],
	[0xf900, 1.05], // Han again, full width
	[0xfb00, 1.2],
	[0xff00, 1.05],
];

/** The weight of each group of 16 code units. Every script begins at a multiple of 16. */
const weights = new Float32Array(65_536 >> 4);
for (const [from, weight] of scripts) weights.fill(weight, from >> 4);

/** The size of an image in pixels. */
export interface ImageSize {
	readonly width: number;
	readonly height: number;
}

/** The billing rules of a model family. Every number is the highest documented number. */
export interface MediaRules {
	readonly family: string;
	/** The highest number of real tokens for one estimated token of a text. */
	readonly perToken: number;
	/** The tokens of the text that a provider adds to a request with tools. */
	readonly aroundTools: number;
	/** Returns the tokens of an image: the highest number if the size is unknown. */
	readonly image: (size: ImageSize | undefined, detail: string | undefined) => number;
	/** The tokens of a page of a PDF. */
	readonly pdfPage: number;
	/** Whether files of any type are sent by their URLs. Otherwise only PDFs are sent by their URLs. */
	readonly anyUrl: boolean;
}

/** A page of a PDF is a text and an image (platform.claude.com/docs/en/build-with-claude/pdf-support, 2026-11). */
const usual = { perToken: 1.1, aroundTools: 0, pdfPage: 4_600, anyUrl: false };

/** For the same text, Claude since version 4.7 counts up to 1.35 times the tokens of earlier versions. */
const claude = { ...usual, perToken: 1.35, aroundTools: 810 };

/** platform.claude.com/docs/en/build-with-claude/vision, 2026-11. */
function createClaudeImage(most: number): MediaRules['image'] {
	return (size) => {
		if (size === undefined) return most;
		const { width, height } = size;
		const patches = Math.ceil(width / 28) * Math.ceil(height / 28);
		return Math.min(most, Math.max(patches, Math.ceil((width * height) / 750)));
	};
}

/**
 * Tiles of 512 pixels. The image is first scaled to fit 2,048 pixels, with a short side of at most 768
 * (developers.openai.com/api/docs/guides/images-vision, 2026-11).
 */
function createTiles(base: number, perTile: number): MediaRules['image'] {
	const mostTiles = 8;
	return (size, detail) => {
		if (detail === 'low') return base;
		if (size === undefined) return base + perTile * mostTiles;
		const { width, height } = size;
		const scale = Math.min(1, 2_048 / Math.max(width, height), 768 / Math.min(width, height));
		const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
		return base + perTile * Math.max(1, tiles);
	};
}

/** Patches of 32 pixels (see the page above). The detail `original` keeps the size of an image. */
function createPatches(most: number, factor: number, mostOriginal = most): MediaRules['image'] {
	return (size, detail) => {
		const limit = detail === 'original' ? mostOriginal : most;
		const patches = size === undefined ? limit : Math.ceil(size.width / 32) * Math.ceil(size.height / 32);
		return Math.ceil(Math.min(limit, patches) * factor);
	};
}

/** Before version 3: tiles of 258 tokens, sized by the image (ai.google.dev/gemini-api/docs/tokens, 2026-11). */
const geminiTiles: MediaRules['image'] = (size) => {
	const mostTiles = 24;
	if (size === undefined) return 258 * mostTiles;
	const { width, height } = size;
	if (width <= 384 && height <= 384) return 258;
	const edge = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)));
	return 258 * Math.min(mostTiles, Math.ceil(width / edge) * Math.ceil(height / edge));
};

/** Tiles of 448 pixels, plus one tile (docs.x.ai/docs/guides/image-understanding, 2026-11). */
const grokTiles: MediaRules['image'] = (size) => {
	const most = 1_792;
	if (size === undefined) return most;
	return Math.min(most, 256 * (Math.ceil(size.width / 448) * Math.ceil(size.height / 448) + 1));
};

/** Patches of 16 pixels, at most 64 per side, and a token per row (docs.mistral.ai/capabilities/vision, 2026-11). */
const mistralPatches: MediaRules['image'] = (size) => {
	const most = 64 * 65;
	if (size === undefined) return most;
	return Math.min(most, (Math.ceil(size.width / 16) + 1) * Math.ceil(size.height / 16));
};

const gemini = { ...usual, pdfPage: 1_120, anyUrl: true };

/** The rules by model. The first matching rule counts. */
const rules: readonly (readonly [model: RegExp, rules: MediaRules])[] = [
	[
		/claude-(3|instant|2)|claude-(opus|sonnet|haiku)-4(-[0-6])?(-\d{8}|[@:]|$)/i,
		{ ...claude, aroundTools: 350, family: 'claude', image: createClaudeImage(1_600) },
	],
	[/claude/i, { ...claude, family: 'claude-4.7', image: createClaudeImage(4_784) }],
	[/gpt-4o-mini/i, { ...usual, family: 'gpt-4o-mini', image: createTiles(2_833, 5_667) }],
	[/gpt-(4\.1|5(\.\d)?)-nano/i, { ...usual, family: 'gpt-nano', image: createPatches(1_536, 2.46) }],
	[/gpt-(4\.1|5(\.\d)?)-mini|o4-mini|codex-mini/i, { ...usual, family: 'gpt-mini', image: createPatches(2_500, 1.72) }],
	[/gpt-(3|4)|gpt-5(?![.\d])|chatgpt|\bo[13]\b/i, { ...usual, family: 'gpt', image: createTiles(85, 170) }],
	[/gpt-5\.[1-4]/i, { ...usual, family: 'gpt-5.4', image: createPatches(2_500, 1.2, 10_000) }],
	[/gpt-\d/i, { ...usual, family: 'gpt-5.5', image: createPatches(10_000, 1.2) }],
	[/gemini-[12]/i, { ...gemini, family: 'gemini-2', image: geminiTiles }],
	[/gemini/i, { ...gemini, family: 'gemini', image: () => 1_120 }],
	[/grok/i, { ...usual, family: 'grok', image: grokTiles }],
	[/mistral|ministral|pixtral|magistral/i, { ...usual, family: 'mistral', image: mistralPatches }],
];

const images = [createClaudeImage(4_784), createTiles(85, 170), createPatches(2_500, 1.2, 10_000), geminiTiles].concat(
	grokTiles,
	mistralPatches,
);

/** The rules for an unknown model, with the highest numbers. */
const highest: MediaRules = {
	...usual,
	family: 'any',
	image: (size, detail) => Math.max(...images.map((image) => image(size, detail))),
};

export function findMediaRules(model: string): MediaRules {
	return rules.find(([pattern]) => pattern.test(model))?.[1] ?? highest;
}
