import { raceAbort } from '../base/promises.ts';
import { forAgent, type Tool, type ToolCall } from '../tool/index.ts';
import type { Origin } from './active-skills.ts';
import type { Conversation } from './conversation.ts';
import { estimateTool, findContextLimit } from './estimate.ts';
import { readResultName } from './old-results.ts';
import type { ChatOptions } from './options.ts';
import { createToolSearch, listKnownTools, mostSent, searchName } from './tool-search.ts';

/** The tools' share of the context window, and the lower and the upper limit of this share in tokens. */
const shareOfContext = 0.1;
const leastToolTokens = 4_000;
const mostToolTokens = 20_000;
const mostNamed = 10;

/** The tools of a run that are callable without reading a skill. Loaded tools may change between turns. */
export interface ToolCatalog {
	readonly tools: readonly Tool[];
	/** The token limit of the run's own tools in a request. Missing if all these tools are within the limit. */
	readonly mostTokens: number | undefined;
	/** The names of the tools of `options.tools` and `loadTools`. */
	readonly ownNames: ReadonlySet<string>;
	/** Loads the current tools. Throws the errors of `loadTools`, and `duplicate_tool`. */
	load(): Promise<void>;
	/** Returns the warnings of `loadTools` since the last call. */
	takeWarnings(): readonly Warning[];
}

interface Warning {
	readonly code: string;
	readonly message: string;
}

/** @param builtins the tools that read skills and older results */
export function createCatalog(
	options: Pick<
		ChatOptions,
		'model' | 'tools' | 'loadTools' | 'maxSentTools' | 'maxToolTokens' | 'maxContextTokens' | 'modelContextWindow'
	>,
	builtins: readonly Tool[],
	signal: AbortSignal,
): ToolCatalog {
	const fixed = forAgent(options.tools ?? []);
	let known: readonly Tool[] = [];
	const combine = (loaded: readonly Tool[], limit: number) => {
		const own = forAgent([...fixed, ...loaded]);
		const tokens = own.reduce((sum, tool) => sum + estimateTool(tool), 0);
		const mostTokens = tokens > limit ? limit : undefined;
		const isMany = mostTokens !== undefined || own.length > (options.maxSentTools ?? mostSent);
		const search = isMany ? [createToolSearch(own)] : [];
		const ownNames = new Set(own.map(({ name }) => name));
		// A tool of the run with the same name replaces a built-in tool.
		const offered = builtins.filter(({ name }) => name !== readResultName || !ownNames.has(name));
		return { tools: forAgent([...own, ...offered, ...search]), ownNames, own, tokens, mostTokens };
	};
	let current = combine(known, options.maxToolTokens ?? mostToolTokens);
	let isLoaded = false;
	let warnings: readonly Warning[] = [];
	const warn = (code: string, message: string): void => {
		warnings = [...warnings, { code, message }];
	};
	return {
		get tools() {
			return current.tools;
		},
		get mostTokens() {
			return current.mostTokens;
		},
		get ownNames() {
			return current.ownNames;
		},
		load: async () => {
			const loading = options.loadTools?.(warn) ?? known;
			const loaded = loading instanceof Promise ? await raceAbort(loading, signal) : loading;
			if (loaded === known && isLoaded) return;
			const next = combine(loaded, options.maxToolTokens ?? mostToolTokens);
			const isNear = options.maxToolTokens === undefined && next.tokens > leastToolTokens;
			current = isNear ? combine(loaded, await findTokenLimit(options, signal)) : next;
			known = loaded;
			isLoaded = true;
			if (current.mostTokens !== undefined) warn('tools_too_large', describeSizes(current, current.mostTokens));
		},
		takeWarnings: () => {
			const taken = warnings;
			warnings = [];
			return taken;
		},
	};
}

async function findTokenLimit(options: Parameters<typeof findContextLimit>[0], signal: AbortSignal): Promise<number> {
	const context = await raceAbort(findContextLimit(options), signal);
	const share = Math.floor((context ?? Number.POSITIVE_INFINITY) * shareOfContext);
	return Math.min(mostToolTokens, Math.max(leastToolTokens, share));
}

function describeSizes(
	{ own, tokens }: { readonly own: readonly Tool[]; readonly tokens: number },
	limit: number,
): string {
	const sizes = own.map((tool) => ({ name: tool.name, size: estimateTool(tool) }));
	const largest = sizes.toSorted((one, other) => other.size - one.size).slice(0, mostNamed);
	const names = largest.map(({ name, size }) => `${name} (${size})`).join(', ');
	return `The ${own.length} tools have about ${tokens} tokens, over the limit of ${limit} (maxToolTokens). The model finds them with search_tools. The largest: ${names}.`;
}

export interface SentTools {
	readonly tools?: readonly Tool[];
	/** The id of the call whose result introduced a tool, by the tool's name. */
	readonly foundBy?: ReadonlyMap<string, string>;
}

/** The tools that are not sent from the beginning, and where they come from. */
export interface LaterTools {
	/** The names of the run's own tools, which a search finds if there are many. */
	readonly own: ReadonlySet<string>;
	/** The token limit of the run's own tools in a request. Missing if all these tools are within the limit. */
	readonly mostTokens?: number;
	/** The origins of skill tools in the conversation. */
	readonly bySkills?: ReadonlyMap<string, Origin>;
}

/**
 * Selects the tools of a request. Found, called and skill tools come last, in the order in which they appeared, so that
 * each request begins with the tools of the previous request. With more tools than `maxSentTools`, or larger tools than
 * `maxToolTokens`, a request has only the tools that the conversation found or called, and the tools that the turn must
 * call. If these are too many, the least recently used half is left out.
 */
export function selectSentTools(
	available: readonly Tool[],
	{ own, mostTokens, bySkills = new Map() }: LaterTools,
	{ toolChoice, maxSentTools = mostSent }: ChatOptions,
	conversation: Pick<Conversation, 'messages' | 'window'>,
): SentTools {
	const ownTools = available.filter(({ name }) => own.has(name));
	const isMany = mostTokens !== undefined || ownTools.length > maxSentTools;
	const room = { tools: ownTools, most: maxSentTools, mostTokens };
	const found = isMany ? findKnownTools(conversation, own, room) : new Map<string, Origin>();
	const later = new Map([...bySkills, ...found]);
	const chosen = typeof toolChoice !== 'object' ? [] : 'oneOf' in toolChoice ? toolChoice.oneOf : [toolChoice.name];
	const first = available.filter(({ name }) => !later.has(name) && isFirst(name, own, isMany));
	const last = [...later]
		.sort(([, one], [, other]) => one.place - other.place)
		.flatMap(([name]) => available.find((tool) => tool.name === name) ?? []);
	const forced = isMany
		? available.filter(({ name }) => chosen.includes(name) && own.has(name) && !later.has(name))
		: [];
	const tools = [...first, ...last, ...forced];
	return tools.length > 0 ? { tools, foundBy: listCalls(later, conversation) } : {};
}

/** Lists the ids of the calls that brought tools. If a server reuses an id, the id refers to its first result. */
function listCalls(
	later: ReadonlyMap<string, Origin>,
	{ messages, window }: Pick<Conversation, 'messages' | 'window'>,
): ReadonlyMap<string, string> {
	const calls = new Map<string, string>();
	if (later.size === 0) return calls;
	const firstPlaces = new Map<string, number>();
	for (let place = messages.length - 1; place >= window.from; place--) {
		const message = messages[place];
		if (message?.role === 'tool') firstPlaces.set(message.toolCallId, place);
	}
	for (const [name, { place, callId }] of later)
		if (callId !== undefined && firstPlaces.get(callId) === place) calls.set(name, callId);
	return calls;
}

function isFirst(name: string, own: ReadonlySet<string>, isMany: boolean): boolean {
	return isMany ? !own.has(name) : name !== searchName || own.has(name);
}

interface Room {
	readonly tools: readonly Tool[];
	readonly most: number;
	readonly mostTokens: number | undefined;
}

/** Finds the run's own tools that the sent messages found or called, within the limits, in the messages' order. */
function findKnownTools(
	{ messages, window }: Pick<Conversation, 'messages' | 'window'>,
	own: ReadonlySet<string>,
	{ tools, most, mostTokens = Number.POSITIVE_INFINITY }: Room,
): ReadonlyMap<string, Origin> {
	const sizes = new Map(tools.map((tool) => [tool.name, estimateTool(tool)]));
	const sum = (names: Iterable<string>) => [...names].reduce((tokens, name) => tokens + (sizes.get(name) ?? 0), 0);
	const found = new Map<string, Origin>();
	/** The names, from the least recently used to the most recently used. */
	const used = new Set<string>();
	let calls = new Map<string, ToolCall>();
	for (let place = window.from; place < messages.length; place++) {
		const message = messages[place];
		if (message?.role === 'assistant') calls = new Map((message.toolCalls ?? []).map((call) => [call.id, call]));
		if (message?.role !== 'tool') continue;
		const { toolCallId: callId, isError } = message;
		const call = calls.get(callId);
		if (call === undefined || (isError && call.name === searchName)) continue;
		const known = listKnownTools(call, message.content).filter((name) => own.has(name));
		// Even if the first tool is over the limit, it is sent, because otherwise it would never be callable.
		const names = known.slice(0, most).filter((_, at) => at === 0 || sum(known.slice(0, at + 1)) <= mostTokens);
		for (const name of names.toReversed()) {
			used.delete(name);
			used.add(name);
		}
		for (const name of names) if (!found.has(name)) found.set(name, { place, callId });
		if (found.size <= most && sum(used) <= mostTokens) continue;
		const kept = Math.max(Math.ceil(most / 2), names.length);
		for (const name of used) {
			if (used.size <= names.length || (used.size <= kept && sum(used) <= mostTokens / 2)) break;
			used.delete(name);
			found.delete(name);
		}
	}
	return found;
}
