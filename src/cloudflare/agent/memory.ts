import * as v from 'valibot';
import type { Recalled } from '../../core/chat/index.ts';
import type { Tool } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { MemoryHolder } from '../objects/memory/api.ts';

/** The tools by which an agent remembers, unless it names some. */
const usualTools = ['remember', 'recall', 'forget'] as const;

/** With the one that has the commands of Anthropic's memory tool. */
const memoryTools = [...usualTools, 'memory'] as const;

export type MemoryToolName = (typeof memoryTools)[number];

/** How an agent remembers. */
export interface MemoryOptions {
	/** The tools that it has for it: `remember`, `recall` and `forget` if it is missing. `memory` has Anthropic's commands. */
	readonly tools?: readonly MemoryToolName[];
	/**
	 * The most characters of what fits a message and is sent with it, without a call of the model. 4,000 if it is
	 * missing; 0 for nothing, and else from 1,000 to 20,000.
	 */
	readonly recallCharacters?: number;
	/**
	 * The model that makes vectors of memories and of what they are looked for by, so that they are found by meaning,
	 * too. Its provider must be one of the Worker's, with embeddings. Words alone decide if it is missing.
	 */
	readonly embedModel?: string;
}

export const memoryOptions = v.optional(
	v.union(
		[
			v.boolean(),
			v.strictObject({
				tools: v.optional(v.array(v.picklist(memoryTools))),
				recallCharacters: v.optional(
					v.pipe(
						v.number(),
						v.check((count) => count === 0 || (count >= 1_000 && count <= 20_000)),
					),
				),
				embedModel: v.optional(v.pipe(v.string(), v.nonEmpty())),
			}),
		],
		`must be true or false, or { tools, recallCharacters, embedModel } with some of ${memoryTools.join(', ')}, and 0 or 1,000 to 20,000`,
	),
);

/** What a session uses of the plugin `memory`. A Worker without the plugin carries no code of it. */
export interface MemorySupport {
	/** Makes the tools of an agent with memory, for a session. */
	createTools(session: RememberingSession): readonly Tool[];
	/**
	 * Finds what fits a message, for the model to be told of it, without the memories at the paths `told`. Throws where
	 * the memory cannot be reached.
	 */
	recallFor(session: RecallingSession, text: string, told: ReadonlySet<string>): Promise<Recalled | undefined>;
	/**
	 * Writes what was recalled once more, by lists of sources: as it was, but for memories that were changed or erased
	 * since. Throws where the memory cannot be reached.
	 */
	recallAgain(
		session: RecallingSession,
		lists: readonly (readonly string[])[],
	): Promise<readonly (Recalled | undefined)[]>;
}

/** The session for which something is recalled. */
export interface RecallingSession {
	readonly options: MemoryOptions;
	readonly config: Config;
	readonly holder: MemoryHolder;
	/** What makes vectors of texts, if the agent names a model for it. */
	readonly embedding?: {
		readonly model: string;
		readonly embed: (texts: readonly string[], signal?: AbortSignal) => Promise<readonly (readonly number[])[]>;
	};
}

/** The session for which something is remembered. */
export interface RememberingSession extends RecallingSession {
	readonly agent: string;
	/** Whether it holds text from outside, so that a person has to allow what it writes (docs/memory.md). */
	readonly holdsOutsideText: () => boolean;
}

/** An agent, as far as it remembers. */
export interface Remembering {
	readonly memory?: boolean | MemoryOptions;
}

/** Returns how an agent remembers; nothing if it does not. */
export function findMemoryOptions({ memory }: Remembering): MemoryOptions | undefined {
	if (memory === undefined || memory === false) return undefined;
	return memory === true ? {} : memory;
}

/** Lists the names of the tools by which an agent remembers. */
export function listMemoryTools(agent: Remembering): readonly MemoryToolName[] {
	const options = findMemoryOptions(agent);
	return options === undefined ? [] : [...new Set(options.tools ?? usualTools)];
}

/**
 * Returns whose memories a session uses: those of its user; those of its owner if that is a person, an account without
 * a user or this machine. Nothing where the session names nobody: several people may speak there.
 */
export function findHolder({ owner, user, isOwners }: MemorySession): MemoryHolder | undefined {
	if (user !== undefined) return { owner, user };
	return isOwners ? { owner } : undefined;
}

/** What decides whose memories a session uses. */
export interface MemorySession {
	readonly owner: string;
	readonly user?: string;
	/** Whether the owner itself is the person. */
	readonly isOwners: boolean;
}
