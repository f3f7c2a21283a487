/** The sessions of `npm run bench -- context`. A seed determines each session, so that each run plays the same sessions. */

/** A call of a tool, with the length of its result in characters. */
export interface PlannedCall {
	readonly tool: string;
	readonly characters: number;
}

/** A message of a person, with the planned turns of the model. */
export interface Exchange {
	/** Milliseconds since the previous answer. */
	readonly pauseMs: number;
	readonly text: string;
	/** The memories that are recalled for the message. */
	readonly recalled: string;
	/** The calls of each turn before the answer. */
	readonly turns: readonly (readonly PlannedCall[])[];
	/**
	 * Which earlier result the model needs again, from 0 for the first to 1 for the last. Missing if it needs no
	 * result.
	 */
	readonly lookBack?: number;
	readonly answer: string;
}

export interface PlannedTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: Readonly<Record<string, unknown>>;
	/** Whether the tool is from an MCP server. */
	readonly isRemote: boolean;
}

export interface Session {
	readonly system: string;
	readonly skills: readonly { readonly name: string; readonly description: string; readonly body: string }[];
	readonly tools: readonly PlannedTool[];
	readonly exchanges: readonly Exchange[];
}

/** A generator of random numbers with a seed. */
interface Dice {
	/** From 0 to below 1. */
	readonly next: () => number;
	readonly integer: (least: number, most: number) => number;
	/** A number whose logarithm is evenly distributed. */
	readonly scaled: (least: number, most: number) => number;
	readonly text: (characters: number) => string;
}

const charactersPerToken = 4;
const [second, hour] = [1_000, 3_600_000];

const words =
	'order ticket invoice customer region status refund parcel event search report release branch commit deploy account contract member project budget review window server client memory number answer detail history message record update change create remove filter export'.split(
		' ',
	);

/** Mulberry32. */
function createDice(seed: number): Dice {
	let state = seed >>> 0;
	const next = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	};
	const integer = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
	return {
		next,
		integer,
		scaled: (least, most) => Math.round(least * (most / least) ** next()),
		text: (characters) => {
			const made: string[] = [];
			for (let length = 0; length < characters; ) {
				const word = words[integer(0, words.length - 1)] ?? '';
				made.push(word);
				length += word.length + 1;
			}
			return made.join(' ').slice(0, characters);
		},
	};
}

/**
 * Makes a session of 20 to 30 exchanges. One session in three has more tools than a request sends, and one
 * session in three has an MCP server.
 */
export function createSession(seed: number): Session {
	const dice = createDice(seed * 7_919 + 17);
	const isRemote = seed % 3 === 1;
	const isMany = seed % 3 === 2;
	const skills = Array.from({ length: dice.integer(10, 40) }, (_, n) => ({
		name: `skill-${n}`,
		description: dice.text(dice.integer(60, 180)),
		body: dice.text(dice.scaled(2_000, 12_000)),
	}));
	const index = skills.reduce((sum, { description }) => sum + description.length + 20, 0);
	const own = Array.from({ length: isMany ? dice.integer(50, 90) : dice.integer(10, isRemote ? 20 : 40) }, (_, n) =>
		createTool(dice, n, dice.scaled(300, 2_400), false),
	);
	const remote = Array.from({ length: isRemote ? dice.integer(10, 20) : 0 }, (_, n) =>
		createTool(dice, 100 + n, dice.next() < 0.2 ? dice.scaled(10_000, 60_000) : dice.scaled(800, 6_000), true),
	);
	const tools = [...own, ...remote];
	const remembers = dice.next() < 0.5;
	return {
		system: dice.text(Math.max(2_000, dice.integer(3_000, 8_000) * charactersPerToken - index)),
		skills,
		tools,
		exchanges: Array.from({ length: dice.integer(20, 30) }, (_, n) => createExchange(dice, { n, tools, remembers })),
	};
}

function createExchange(
	dice: Dice,
	{ n, tools, remembers }: { readonly n: number; readonly tools: readonly PlannedTool[]; readonly remembers: boolean },
): Exchange {
	// The model answers four in ten messages without a tool.
	const turns = dice.next() < 0.4 ? 0 : dice.integer(1, 3);
	return {
		pauseMs: n === 0 ? 0 : dice.scaled(10 * second, 2 * hour),
		text: dice.text(dice.scaled(40, 800)),
		recalled: remembers ? dice.text(dice.integer(200, 1_200)) : '',
		turns: Array.from({ length: turns }, () =>
			Array.from({ length: dice.next() < 0.8 ? 1 : 2 }, () => ({
				// Squared, so that a session mostly uses a few tools.
				tool: tools[Math.floor(dice.next() ** 2 * tools.length)]?.name ?? '',
				characters: dice.scaled(500, 20_000) * (dice.next() < 0.5 ? charactersPerToken : 1),
			})),
		),
		...(n > 5 && dice.next() < 0.08 && { lookBack: dice.next() }),
		answer: dice.text(dice.scaled(200, 3_000)),
	};
}

/** Makes a tool whose schema has about `characters` characters. */
function createTool(dice: Dice, n: number, characters: number, isRemote: boolean): PlannedTool {
	const name = `${dice.text(24).split(' ').slice(0, 2).join('_')}_${n}`;
	const properties: Record<string, unknown> = {};
	for (let length = 100; length < characters; ) {
		const key = `${words[dice.integer(0, words.length - 1)]}_${Object.keys(properties).length}`;
		properties[key] = { type: 'string', description: dice.text(dice.integer(40, 400)) };
		length += JSON.stringify(properties[key]).length + key.length + 4;
	}
	return { name, description: dice.text(dice.integer(60, 300)), inputSchema: { type: 'object', properties }, isRemote };
}
