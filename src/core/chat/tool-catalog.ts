import { forAgent, type Tool } from '../tool/index.ts';
import { findContextLimit } from './context-budget.ts';
import { estimateTool } from './estimate.ts';
import { readResultName } from './old-results.ts';
import type { ChatOptions } from './options.ts';
import { raceAbort } from './signal.ts';
import { createToolSearch, mostSent } from './tool-search.ts';

/** The share of the context window for tools, and its least and most tokens. */
const shareOfContext = 0.1;
const leastToolTokens = 4_000;
const mostToolTokens = 20_000;
const mostNamed = 10;

/** The tools of a run that are callable without reading a skill. Loaded tools may change between turns. */
export interface ToolCatalog {
	readonly tools: readonly Tool[];
	/** The most tokens of own tools in a request, if all of them have more. */
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
		// A tool of the run with that name wins.
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
