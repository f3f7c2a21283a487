import { forAgent, type Tool } from '../tool/index.ts';
import type { ChatOptions } from './options.ts';
import { raceAbort } from './signal.ts';
import { createToolSearch, mostSent } from './tool-search.ts';

/** The tools of a run that are callable without reading a skill. Those that are loaded may change between turns. */
export interface ToolCatalog {
	readonly tools: readonly Tool[];
	/** The names of the tools that the options give, directly or by `loadTools`. */
	readonly ownNames: ReadonlySet<string>;
	/** Loads the tools as they are now. Throws what `loadTools` throws, and `duplicate_tool`. */
	load(): Promise<void>;
	/** Returns what `loadTools` warned of since the last call. */
	takeWarnings(): readonly Warning[];
}

/** Something that the readers of a run should know. */
interface Warning {
	readonly code: string;
	readonly message: string;
}

/** @param builtins the tools that read skills */
export function createCatalog(
	options: Pick<ChatOptions, 'tools' | 'loadTools' | 'maxSentTools'>,
	builtins: readonly Tool[],
	signal: AbortSignal,
): ToolCatalog {
	const fixed = forAgent(options.tools ?? []);
	let known: readonly Tool[] = [];
	const combine = (loaded: readonly Tool[]) => {
		const own = forAgent([...fixed, ...loaded]);
		const search = own.length > (options.maxSentTools ?? mostSent) ? [createToolSearch(own)] : [];
		return { tools: forAgent([...own, ...builtins, ...search]), ownNames: new Set(own.map(({ name }) => name)) };
	};
	let current = combine(known);
	let warnings: readonly Warning[] = [];
	const warn = (code: string, message: string): void => {
		warnings = [...warnings, { code, message }];
	};
	return {
		get tools() {
			return current.tools;
		},
		get ownNames() {
			return current.ownNames;
		},
		load: async () => {
			const given = options.loadTools?.(warn) ?? known;
			const loaded = given instanceof Promise ? await raceAbort(given, signal) : given;
			if (loaded === known) return;
			current = combine(loaded);
			known = loaded;
		},
		takeWarnings: () => {
			const taken = warnings;
			warnings = [];
			return taken;
		},
	};
}
