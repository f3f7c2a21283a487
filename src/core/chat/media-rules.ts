/** The size of an image in pixels. */
export interface ImageSize {
	readonly width: number;
	readonly height: number;
}

/** The billing rules of a model family. Every figure is the highest documented one. */
export interface MediaRules {
	readonly family: string;
	/** The most tokens of a text for each estimated token. */
	readonly perToken: number;
	/** The tokens of the text that a provider adds to a request with tools. */
	readonly aroundTools: number;
	/** Returns the tokens of an image: the highest number if the size is unknown. */
	readonly image: (size: ImageSize | undefined, detail: string | undefined) => number;
	/** The tokens of a page of a PDF. */
	readonly pdfPage: number;
	/** Whether files of any type are sent by their URLs. If not, only PDFs are. */
	readonly anyUrl: boolean;
}

/** A page of a PDF is a text and an image (platform.claude.com/docs/en/build-with-claude/pdf-support, 2026-11). */
const usual = { perToken: 1.1, aroundTools: 0, pdfPage: 4_600, anyUrl: false };

/** Claude since 4.7 counts up to 1.35 times the tokens for the same text. */
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
 * Tiles of 512 pixels, of an image that fits 2,048 pixels, with a short side of at most 768
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

/** Patches of 32 pixels (same page). The detail `original` keeps the size of an image. */
function createPatches(most: number, factor: number, mostOriginal = most): MediaRules['image'] {
	return (size, detail) => {
		const limit = detail === 'original' ? mostOriginal : most;
		const patches = size === undefined ? limit : Math.ceil(size.width / 32) * Math.ceil(size.height / 32);
		return Math.ceil(Math.min(limit, patches) * factor);
	};
}

/** Before version 3: tiles of 258 tokens with an edge by the image (ai.google.dev/gemini-api/docs/tokens, 2026-11). */
const geminiTiles: MediaRules['image'] = (size) => {
	const mostTiles = 24;
	if (size === undefined) return 258 * mostTiles;
	const { width, height } = size;
	if (width <= 384 && height <= 384) return 258;
	const edge = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)));
	return 258 * Math.min(mostTiles, Math.ceil(width / edge) * Math.ceil(height / edge));
};

/** Tiles of 448 pixels, and an additional tile (docs.x.ai/docs/guides/image-understanding, 2026-11). */
const grokTiles: MediaRules['image'] = (size) => {
	const most = 1_792;
	if (size === undefined) return most;
	return Math.min(most, 256 * (Math.ceil(size.width / 448) * Math.ceil(size.height / 448) + 1));
};

/** Patches of 16 pixels of at most 1,024, and a token for each row (docs.mistral.ai/capabilities/vision, 2026-11). */
const mistralPatches: MediaRules['image'] = (size) => {
	const most = 64 * 65;
	if (size === undefined) return most;
	return Math.min(most, (Math.ceil(size.width / 16) + 1) * Math.ceil(size.height / 16));
};

const gemini = { ...usual, pdfPage: 1_120, anyUrl: true };

/** The rules by model. The first match counts. */
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

/** The rules for an unknown model: the highest figures. */
const highest: MediaRules = {
	...usual,
	family: 'any',
	image: (size, detail) => Math.max(...images.map((image) => image(size, detail))),
};

export function findMediaRules(model: string): MediaRules {
	return rules.find(([pattern]) => pattern.test(model))?.[1] ?? highest;
}
