/** Plays a session through an adapter of Runlet, at a provider that only counts. */
import { isRecord } from '../../../src/core/base/json.ts';
import type { ChatOptions, Message } from '../../../src/core/index.ts';
import { findPrice } from '../../../src/core/providers/prices/price.ts';
import type { Api, Request, Said } from './apis.ts';
import { countTokens } from './caches.ts';
import type { PlannedCall, PlannedTool, Session } from './sessions.ts';

/** A version of the library. */
export interface Library {
	readonly core: typeof import('../../../src/core/index.ts');
	readonly createTools: typeof import('../../../src/core/mcp/tools.ts').createTools;
	/** Chooses how long a prompt is kept, by the messages so far. */
	readonly chooseCache?: typeof import('../../../src/cloudflare/session/run/cache-lifetime.ts').chooseCacheLifetime;
}

/** How the library is used. */
export interface Use {
	readonly library: Library;
	/** The version that offers the tools of MCP servers, if it is not `library`. */
	readonly remote?: Library;
	/** Options of this version of the library. */
	readonly options: Partial<ChatOptions>;
	/** Whether recalled memories stay with their message. */
	readonly keepsRecalled: boolean;
	/** Whether found tools stay where they were found. */
	readonly keepsFound: boolean;
}

/** The cost of sessions. */
export type Cost = ReturnType<typeof createCost>;

export function createCost() {
	return { usd: 0, requests: 0, input: 0, read: 0, summaries: 0, steps: 0, opened: 0 };
}

/** The clock of the replay. */
const clock = { now: Date.UTC(2026, 5, 1) };
Date.now = () => clock.now;

/** The time of the model and of a tool. */
const [thinkingMs, workingMs] = [4_000, 1_000];

const results = 'id status updated owner title amount region note '.repeat(4_000);

/** Plays a session, and adds its cost to `cost`. */
export async function playSession(api: Api, session: Session, use: Use, cost = createCost()): Promise<void> {
	const cache = api.createCache();
	/** The ids of the executed calls, by their numbers. */
	const ids: string[] = [];
	const sizes: number[] = [];
	let script: Script = createScript([], '', undefined);
	const ask = (body: unknown): unknown => {
		clock.now += thinkingMs;
		const request = api.read(isRecord(body) ? body : {});
		const counted = cache(request.blocks, clock.now, request.keepsMs);
		const text = JSON.stringify(body);
		const isSummary = text.includes('You keep the memory of a conversation');
		const said = isSummary ? { text: results.slice(0, 6_000), calls: [] } : script.say(request, text);
		const outputTokens = countTokens(said.text + JSON.stringify(said.calls)) + 20;
		const price = findPrice(api.provider, api.model, api.bill(counted, outputTokens), new Date(clock.now));
		if ('unpriced' in price) throw new Error(`${price.unpriced} has no price`);
		cost.usd += price.usd;
		cost.requests += 1;
		cost.input += counted.input;
		cost.read += counted.read;
		cost.summaries += isSummary ? 1 : 0;
		return api.write(said, counted, outputTokens);
	};
	const provider = createProvider(api, use, ask);
	const tools = createAllTools(session.tools, use, (n, callId) => {
		clock.now += workingMs;
		ids[n] = callId;
		return results.slice(n % 300, (n % 300) + (sizes[n] ?? 0));
	});
	let history: { readonly message: Message; readonly createdAt: number }[] = [];
	let lastPrompt: ChatOptions['lastPrompt'];
	const earlier = new Map<number, string>();
	for (const { pauseMs, text, recalled, turns, lookBack, answer } of session.exchanges) {
		clock.now += pauseMs;
		history = [...history, { message: use.library.core.chat.userMessage(text), createdAt: clock.now }];
		const wanted = lookBack === undefined ? undefined : ids[Math.floor(lookBack * (ids.length - 1))];
		const first = sizes.length;
		const planned = turns.map((calls) => calls.map((call) => ({ ...call, n: sizes.push(call.characters) - 1 })));
		script = createScript(planned, answer, wanted, first);
		const place = history.length - 1;
		const run = use.library.core.chat.run(
			{
				model: api.model,
				providers: [provider],
				modelContextWindow: provider.contextWindow,
				contextFull: 'compact',
				system: session.system,
				skills: session.skills,
				tools,
				maxIterations: 40,
				maxRetries: 0,
				...(recalled !== '' && {
					recall: () => ({ text: recalled, sources: ['a'], ...(use.keepsRecalled && { earlier }) }),
				}),
				...use.options,
				...(use.options.cache === 'auto' && use.library.chooseCache && { cache: use.library.chooseCache(history) }),
				...(use.library.chooseCache && lastPrompt && { lastPrompt }),
				onMessage: (_, { prompt }) => {
					lastPrompt = prompt ?? lastPrompt;
				},
			},
			history.map(({ message }) => message),
		);
		for await (const event of run.events)
			if (event.type === 'warning' && event.code === 'results_referred') cost.steps += 1;
		const { messages } = await run.result;
		if (recalled !== '') earlier.set(place, recalled);
		const known = new Map(history.map((one) => [JSON.stringify(one.message), one]));
		// Messages are stored as JSON, as in a session.
		history = messages.map(
			(message) =>
				known.get(JSON.stringify(message)) ?? { message: JSON.parse(JSON.stringify(message)), createdAt: clock.now },
		);
		cost.opened += script.opened();
	}
}

function createProvider(api: Api, { library, keepsFound }: Use, ask: (body: unknown) => unknown) {
	const send: typeof fetch = async (input, init) =>
		Response.json(ask(JSON.parse(await new Request(input, init).text())));
	const provider = library.core.providers[api.provider]({ apiKey: 'bench', fetch: send });
	if (keepsFound) return provider;
	const { chatStreamFn } = provider;
	return {
		...provider,
		chatStreamFn:
			chatStreamFn &&
			((...[model, messages, system, tools, onDelta, options]: Parameters<typeof chatStreamFn>) =>
				chatStreamFn(model, messages, system, tools, onDelta, { ...options, foundBy: undefined })),
	};
}

function createAllTools(
	planned: readonly PlannedTool[],
	{ library, remote = library }: Use,
	work: (n: number, callId: string) => string,
) {
	const own = planned
		.filter(({ isRemote }) => !isRemote)
		.map(({ name, description, inputSchema }) =>
			library.core.tool.define({
				name,
				description,
				inputSchema: { ...inputSchema },
				passInput: true,
				retry: 'safe',
				fn: (input, { callId }) => work(readNumber(input), callId),
			}),
		);
	const server = { name: 's', url: 'https://example.com' };
	const definitions = planned.filter(({ isRemote }) => isRemote);
	const caller = {
		call: async (_: unknown, input: unknown, { callId }: { readonly callId: string }) =>
			work(readNumber(input), callId),
		answer: async () => '',
		logIn: async () => '',
	};
	return [...own, ...remote.createTools(server, caller, definitions)];
}

function readNumber(input: unknown): number {
	return isRecord(input) && typeof input.n === 'number' ? input.n : 0;
}

/** The model's behaviour for a message. */
interface Script {
	readonly say: (request: Request, body: string) => Said;
	/** The number of references that the model opened. */
	readonly opened: () => number;
}

/**
 * Makes the model of a message. It makes the planned calls, searches for tools that it does not know, and opens references
 * to the results that it needs.
 */
function createScript(
	turns: readonly (readonly (PlannedCall & { readonly n: number })[])[],
	answer: string,
	wanted: string | undefined,
	first = 0,
): Script {
	let ids = 0;
	let opened = 0;
	let isRead = wanted === undefined;
	const left = [...turns];
	const searched = new Set<string>();
	const call = (name: string, input: Record<string, unknown>) => ({ id: `call_${first}_${ids++}`, name, input });
	return {
		opened: () => opened,
		say: ({ tools }, body) => {
			if (!isRead && tools.has('read_result')) {
				isRead = true;
				const reference = JSON.stringify(`Call read_result with the id ${JSON.stringify(wanted)}`).slice(1, -1);
				if (body.includes(reference)) {
					opened += 1;
					return { text: '', calls: [call('read_result', { id: wanted })] };
				}
			}
			const [next, ...rest] = left;
			if (next === undefined) return { text: answer, calls: [] };
			const toWire = (name: string): string => [name, `s_${name}`].find((one) => tools.has(one)) ?? '';
			const missing = next.find(({ tool }) => toWire(tool) === '' && !searched.has(tool));
			if (missing !== undefined && tools.has('search_tools')) {
				searched.add(missing.tool);
				return { text: '', calls: [call('search_tools', { query: missing.tool.replaceAll('_', ' ') })] };
			}
			left.splice(0, left.length, ...rest);
			const known = next.filter(({ tool }) => toWire(tool) !== '');
			if (known.length < next.length)
				throw new Error(`The model does not know ${next.map(({ tool }) => tool).join(', ')}.`);
			return { text: '', calls: known.map(({ tool, n }) => call(toWire(tool), { n })) };
		},
	};
}
