import type { Agent } from '../cloudflare/agent/define.ts';
import { findMemoryOptions } from '../cloudflare/agent/memory.ts';
import { listInsideTools } from '../cloudflare/agent/tool-names.ts';
import type { Config } from '../cloudflare/config/config.ts';
import { recallFor } from '../cloudflare/memory/recall.ts';
import { createMemoryTools } from '../cloudflare/memory/tools.ts';
import { keepOutside, type MemoryApi, type MemoryRecord, type MemorySource } from '../cloudflare/objects/memory/api.ts';
import { assertLength, listWords } from '../cloudflare/objects/memory/search.ts';
import { toRpcResult } from '../cloudflare/objects/reach.ts';
import type { ChatOptions } from '../core/chat/index.ts';
import { type Message, RunletError, type Tool } from '../core/index.ts';
import { providerName } from '../core/tool/index.ts';

/** An agent's memories of a person. They are kept in memory only. */
export interface TestMemories extends MemoryApi {
	/** The texts of the memories, by path. */
	readonly texts: Readonly<Record<string, string>>;
}

/** Makes the memories of a person for a test. A search finds them by words as in a Worker, but not by vectors. */
export function createMemories(initial: Readonly<Record<string, string>> = {}): TestMemories {
	const kept = new Map<string, MemoryRecord>();
	let version = 0;
	const keep = (path: string, text: string, source: MemorySource): MemoryRecord => {
		const now = Date.now();
		const record = { path, text, source, version: `v${++version}`, createdAt: kept.get(path)?.createdAt ?? now };
		const memory = { ...record, updatedAt: now };
		kept.set(path, memory);
		return memory;
	};
	const listUnder = (path: string) => [...kept.keys()].filter((one) => one === path || one.startsWith(`${path}/`));
	for (const [path, text] of Object.entries(initial)) keep(path, text, { via: 'http' });
	return {
		get texts() {
			return Object.fromEntries([...kept].map(([path, { text }]) => [path, text]));
		},
		list: async ({ limit }) => ({ memories: sortByPath([...kept.values()]).slice(0, limit) }),
		search: async (query, limit) => rank([...kept.values()], query).slice(0, limit),
		listUnembedded: async () => [],
		get: async (path) => kept.get(path),
		getAll: async (paths) => paths.flatMap((path) => kept.get(path) ?? []),
		put: ({ path, text, source, ifMatch, ifNoneMatch }) =>
			toRpcResult(async () => {
				const before = kept.get(path);
				assertLength(text);
				if ((ifNoneMatch === true && before !== undefined) || !isMatch(before, ifMatch)) throw createMismatch(path);
				return { memory: keep(path, text, source), isNew: before === undefined };
			}),
		rename: (from, to, source) =>
			toRpcResult(async () => {
				const paths = listUnder(from);
				if (paths.length === 0) throw createMissing(from);
				if (listUnder(to).length > 0) throw new RunletError('conflict', `path: ${to} is there already.`);
				for (const path of paths) {
					const before = kept.get(path);
					if (before !== undefined)
						keep(`${to}${path.slice(from.length)}`, before.text, keepOutside(source, before.source));
					kept.delete(path);
				}
				return paths.length;
			}),
		remove: async (path) => listUnder(path).filter((one) => kept.delete(one)).length,
		removeIf: (path, ifMatch) =>
			toRpcResult(async () => {
				const before = kept.get(path);
				if (before === undefined) throw createMissing(path);
				if (!isMatch(before, ifMatch)) throw createMismatch(path);
				kept.delete(path);
				return 1;
			}),
		erase: async () => kept.clear(),
	};
}

function isMatch(before: MemoryRecord | undefined, ifMatch: '*' | readonly string[] | undefined): boolean {
	if (ifMatch === undefined) return true;
	return before !== undefined && (ifMatch === '*' || ifMatch.includes(before.version));
}

function createMissing(path: string): RunletError {
	return new RunletError('not_found', `path: there is no memory ${path}.`);
}

function createMismatch(path: string): RunletError {
	return new RunletError('precondition_failed', `path: ${path} is not as it was expected. Read it again.`);
}

function sortByPath(memories: readonly MemoryRecord[]): readonly MemoryRecord[] {
	return memories.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

/** Returns the memories that contain a word of the query. Memories with the most matching words come first. */
function rank(memories: readonly MemoryRecord[], query: string): readonly MemoryRecord[] {
	const words = listWords(query);
	const score = ({ path, text }: MemoryRecord): number => {
		const own = listWords(`${path} ${text}`);
		return words.filter(({ word, isPrefix }) =>
			own.some((one) => one.word === word || (isPrefix && one.word.startsWith(word))),
		).length;
	};
	const ranked = sortByPath(memories).map((memory) => ({ memory, score: score(memory) }));
	const found = ranked.filter((one) => one.score > 0).toSorted((one, other) => other.score - one.score);
	return found.map(({ memory }) => memory);
}

/** What lets an agent remember in a test: the memory tools and the recall. */
export interface Remembering {
	readonly tools: readonly Tool[];
	/** Makes the `recall` function for a run with these messages. Each message keeps what was recalled for it. */
	readonly createRecall: (messages: readonly Message[]) => ChatOptions['recall'];
	/** Whether memories were recalled. */
	readonly hasRecalled: () => boolean;
}

/** Connects an agent with memories. The tools and the recall work as in a Worker. */
export function createRemembering(
	agent: Agent,
	memories: TestMemories,
	{
		owner,
		user,
		messages,
	}: { readonly owner: string; readonly user?: string; readonly messages: () => readonly Message[] },
): Remembering | undefined {
	const options = findMemoryOptions(agent);
	if (options === undefined) return undefined;
	// SAFETY: the tools use only the namespace `memories` of the configuration, and only one object in it.
	const config = { memories: { idFromName: (name: string) => name, get: () => memories } } as unknown as Config;
	const about = { options, config, holder: { owner, user } };
	const insideTools = listInsideTools(agent);
	const recalled = new Map<number, { readonly text: string; readonly sources: readonly string[] }>();
	return {
		tools: createMemoryTools({
			...about,
			agent: agent.name,
			holdsOutsideText: () => messages().some((message) => isFromOutside(message, insideTools)),
			// Only this session writes memories with text of strangers, and it still has that text.
			noteOutsideText: () => {},
		}),
		hasRecalled: () => [...recalled.values()].some(({ sources }) => sources.length > 0),
		createRecall: (messages) => async (text) => {
			const place = messages.findLastIndex(({ role }) => role === 'user');
			const told = new Set([...recalled.values()].flatMap(({ sources }) => sources));
			const found = recalled.get(place) ?? (await recallFor(about, text, told));
			if (found !== undefined) recalled.set(place, found);
			const earlier = [...recalled]
				.filter(([one]) => one !== place)
				.map(([one, { text: front }]) => [one, front] as const);
			return { text: found?.text ?? '', sources: found?.sources ?? [], earlier: new Map(earlier) };
		},
	};
}

function isFromOutside(message: Message, insideTools: ReadonlySet<string>): boolean {
	if (message.role === 'user') return message.parts?.some(({ kind }) => kind !== 'text') === true;
	return (
		message.role === 'assistant' && message.toolCalls?.some(({ name }) => !insideTools.has(providerName(name))) === true
	);
}
