/** The behaviour of a provider for a request: its answer, and where the answer breaks off. */
import type { Random } from '../../../endurance/random.ts';

/** A use of a tool that the provider runs. */
export interface Use {
	readonly kind: 'web_search' | 'web_fetch' | 'code_execution';
	/** The tokens of its result. */
	readonly tokens: number;
}

export interface Call {
	readonly id: string;
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
}

export interface Plan {
	/** The tokens that the tokenizer makes, as a share of the most possible tokens. */
	readonly share: number;
	/** The share of the input that comes from the provider's cache. */
	readonly cachedShare: number;
	/** The tokens of hidden thinking. */
	readonly thinking: number;
	readonly thought: string;
	readonly pieces: readonly string[];
	readonly uses: readonly Use[];
	readonly calls: readonly Call[];
	/** The status of a refusal. */
	readonly status?: number;
	/** How the stream ends, after this many events. */
	readonly end: 'done' | 'drops' | 'fails' | 'hangs';
	readonly after: number;
	readonly usage: 'said' | 'none' | 'zero';
}

/** What a request offers to the model. */
export interface Offer {
	readonly tools: readonly string[];
	readonly uses: Readonly<Record<Use['kind'], number>>;
	readonly label: string;
	/** The number of user messages, and of results since the last user message. */
	readonly depth: number;
}

const words = 'the cat sat on a mat and then went home with some other cats who knew a good place'.split(' ');

export function createWords(random: Random, count: number): string {
	return Array.from({ length: count }, () => words[random(0, words.length - 1)]).join(' ');
}

export function createPlan(random: Random, offer: Offer): Plan {
	const chance = (percent: number): boolean => random(1, 100) <= percent;
	const isLong = chance(6);
	const pieces = Array.from({ length: random(1, isLong ? 60 : 6) }, () => `${createWords(random, random(1, 12))} `);
	// The reply of a child is a message to its parent.
	pieces[0] = `#in ${offer.label} ${pieces[0]}`;
	const kinds = (Object.keys(offer.uses) as Use['kind'][]).filter((kind) => offer.uses[kind] > 0);
	const uses = kinds.flatMap((kind) =>
		Array.from({ length: chance(50) ? random(0, offer.uses[kind]) : 0 }, () => ({ kind, tokens: random(0, 9_000) })),
	);
	const wanted = offer.tools.length > 0 && offer.depth < 3 && chance(35) ? random(1, 3) : 0;
	const calls = Array.from({ length: wanted }, () => createCall(random, offer));
	const place = random(1, 100);
	const end = place <= 86 ? 'done' : place <= 91 ? 'drops' : place <= 96 ? 'fails' : 'hangs';
	return {
		share: random(70, 100) / 100,
		cachedShare: chance(50) ? random(0, 95) / 100 : 0,
		thinking: chance(30) ? random(1, 80) : 0,
		thought: chance(30) ? createWords(random, random(1, 40)) : '',
		...{ pieces, uses, calls, end },
		...(chance(8) && { status: [400, 429, 500, 529][random(0, 3)] }),
		after: random(0, pieces.length + uses.length * 2 + 4),
		usage: chance(92) ? 'said' : chance(50) ? 'none' : 'zero',
	};
}

function createCall(random: Random, { tools, label }: Offer): Call {
	const name = tools[random(0, tools.length - 1)] ?? '';
	const id = `call_${random(1, 1_000_000_000)}`;
	const task = `#in ${label} ${createWords(random, random(3, 20))} #in ${label} `;
	if (name === 'long') return { id, name, input: { characters: random(1, 12_000) } };
	if (name === 'recall') return { id, name, input: { query: task } };
	return { id, name, input: name.startsWith('payer_') ? { task } : { text: task } };
}
