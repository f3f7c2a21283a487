import * as v from 'valibot';
import type { Recalled } from '../../core/chat/index.ts';
import type { Tool } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { MemoryHolder } from '../objects/memory/api.ts';

/** The default memory tools of an agent. */
const usualTools = ['remember', 'recall', 'forget'] as const;

/** `memory` has the commands of Anthropic's memory tool. */
const memoryTools = [...usualTools, 'memory'] as const;

export type MemoryToolName = (typeof memoryTools)[number];

export interface MemoryOptions {
	/** The agent's memory tools: `remember`, `recall` and `forget` by default. `memory` has Anthropic's commands. */
	readonly tools?: readonly MemoryToolName[];
	/**
	 * The maximum length of the matching memories that are sent with a message: 0 for none, or 1,000 to 20,000. The
	 * default is 4,000.
	 */
	readonly recallCharacters?: number;
	/**
	 * The embedding model that finds memories by their meaning. Its provider must be one of the Worker's. Without
	 * a model, only words are compared.
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

export interface RecalledMemories extends Recalled {
	/** Whether one of the memories may have text of strangers. */
	readonly outside: boolean;
}

/** The interface of the plugin `memory` for sessions. A Worker without the plugin contains none of its code. */
export interface MemorySupport {
	createTools(session: RememberingSession): readonly Tool[];
	/** Finds memories that fit a message, except those at the paths `known`. Throws if the memory cannot be reached. */
	recallFor(session: RecallingSession, text: string, known: ReadonlySet<string>): Promise<RecalledMemories | undefined>;
	/** Reads the present texts of memories that were recalled earlier. Throws if the memory cannot be reached. */
	recallAgain(
		session: RecallingSession,
		lists: readonly (readonly string[])[],
	): Promise<readonly (RecalledMemories | undefined)[]>;
}

export interface RecallingSession {
	readonly options: MemoryOptions;
	readonly config: Pick<Config, 'memories'>;
	readonly holder: MemoryHolder;
	/** Makes vectors of texts, if the agent names an embedding model. */
	readonly embedding?: {
		readonly model: string;
		readonly embed: (texts: readonly string[], signal?: AbortSignal) => Promise<readonly (readonly number[])[]>;
	};
}

export interface RememberingSession extends RecallingSession {
	readonly agent: string;
	/** Whether the session has text from outside. If so, a person must approve its memory writes (docs/memory.md). */
	readonly holdsOutsideText: () => boolean;
	/** Notes that a memory with text of strangers comes into the session. */
	readonly noteOutsideText: () => void;
}

export interface Remembering {
	readonly memory?: boolean | MemoryOptions;
}

export function findMemoryOptions({ memory }: Remembering): MemoryOptions | undefined {
	if (memory === undefined || memory === false) return undefined;
	return memory === true ? {} : memory;
}

export function listMemoryTools(agent: Remembering): readonly MemoryToolName[] {
	const options = findMemoryOptions(agent);
	return options === undefined ? [] : [...new Set(options.tools ?? usualTools)];
}

/**
 * Returns whose memories a session uses: the memories of its user, or of its owner if the owner itself is the person.
 * Any other session without a user has no memories, because several people can write in it.
 */
export function findHolder({ owner, user, isOwners }: MemorySession): MemoryHolder | undefined {
	if (user !== undefined) return { owner, user };
	return isOwners ? { owner } : undefined;
}

export interface MemorySession {
	readonly owner: string;
	readonly user?: string;
	/** Whether the owner itself is the person. */
	readonly isOwners: boolean;
}
