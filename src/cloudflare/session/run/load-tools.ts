import type { ChatOptions, TerminalEvent } from '../../../core/chat/index.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import type { Children } from '../../agent/children.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { findHolder, findMemoryOptions, type RecalledMemories } from '../../agent/memory.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { listToolNames } from '../../agent/tool-names.ts';
import { loadUserTools } from '../../agent/user-tools/load.ts';
import type { Config } from '../../config/config.ts';
import type { Limit } from '../../objects/budget.ts';
import { listAskers } from '../store/askers.ts';
import { type ChildRecord, findOpenCalls } from '../store/calls.ts';
import type { MessageRecord } from '../store/messages.ts';
import type { RunRecord } from '../store/runs.ts';
import { isOwners, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { readBudgetState } from './budgets.ts';
import type { SessionLabels } from './labels.ts';
import type { Embeddings } from './meter.ts';

interface ToolSources {
	readonly config: Config;
	readonly owner: string;
	readonly clientTools: readonly string[];
	readonly connections: McpConnections | undefined;
}

/**
 * Creates the loader for the tools of owners and MCP servers. The owner's HTTP tools are loaded when the run begins,
 * and the tools of MCP servers at each turn. If several tools have the same name, only the first is used, in this
 * order: the agent's, the client's, the owner's, a server's. Returns nothing if the agent has no such tools.
 */
export function createToolLoader(
	agent: Agent,
	{ config, owner, clientTools, connections }: ToolSources,
): ChatOptions['loadTools'] {
	if (agent.userTools !== true && connections === undefined) return undefined;
	const taken = new Set([...listToolNames(agent), ...clientTools.map(providerName)]);
	let ofOwner: Promise<readonly Tool[]> | undefined;
	let known: readonly Tool[] = [];
	return async (warn) => {
		ofOwner ??= agent.userTools === true ? loadUserTools(config, owner, taken) : Promise.resolve([]);
		const [own, served = []] = await Promise.all([ofOwner, connections?.loadTools(warn)]);
		const loaded = keepFirst([...own, ...served], taken);
		// An unchanged list is returned as the same array.
		const isSame = loaded.length === known.length && loaded.every((tool, index) => tool === known[index]);
		if (!isSame) known = loaded;
		return known;
	};
}

interface MemoryOptions {
	readonly config: Config;
	readonly embeddings: Embeddings;
	readonly session: Pick<SessionRecord, 'agent' | 'owner' | 'user' | 'createdBy'>;
	readonly store: SessionStore | undefined;
	readonly labels: Pick<SessionLabels, 'hasOutside'> | undefined;
}

export function createMemory(
	{ agents, memory }: Pick<Runtime, 'agents' | 'memory'>,
	{ config, embeddings, session, store, labels }: MemoryOptions,
): { readonly tools: readonly Tool[]; readonly recall?: SessionRecall } {
	const agent = findAgent(agents, session.agent);
	const options = findMemoryOptions(agent);
	const holder = findHolder({ ...session, isOwners: isOwners(session) });
	if (memory === undefined || options === undefined || holder === undefined) return { tools: [] };
	const holdsOutsideText = () => labels?.hasOutside ?? true;
	const noteOutsideText = () => store?.transaction(() => store.runs.noteOutsideMemory());
	const { embedModel: model } = options;
	const embed = (texts: readonly string[], signal?: AbortSignal) => embeddings.embed(model ?? '', texts, signal);
	const embedding = model === undefined ? undefined : { model, embed };
	const about = { options, config, holder, embedding };
	return {
		tools: memory.createTools({ ...about, agent: agent.name, holdsOutsideText, noteOutsideText }),
		recall: {
			find: (text, known) => memory.recallFor(about, text, known),
			again: (lists) => memory.recallAgain(about, lists),
		},
	};
}

function keepFirst(tools: readonly Tool[], taken: ReadonlySet<string>): readonly Tool[] {
	const seen = new Set(taken);
	return tools.filter(({ name }) => {
		const shown = providerName(name);
		const isNew = !seen.has(shown);
		seen.add(shown);
		return isNew;
	});
}

interface RecallOptions {
	readonly store: SessionStore;
	readonly record: RunRecord;
	readonly history: readonly MessageRecord[];
	readonly recall: SessionRecall | undefined;
	/** Whether the model gets the whole history. If so, each memory is recalled only once. */
	readonly isWhole: boolean;
}

export interface SessionRecall {
	/** Finds memories that fit a text, except memories from the known sources. */
	readonly find: (text: string, known: ReadonlySet<string>) => Promise<RecalledMemories | undefined>;
	/** Reads memories again. Each list has the sources of one message. */
	readonly again: (lists: readonly (readonly string[])[]) => Promise<readonly (RecalledMemories | undefined)[]>;
}

/**
 * Creates the `recall` of a run. It searches once for each message and stores the sources with the run of the
 * message. So later requests have the same memories before that message. The texts of memories are read again
 * each time, so that no model gets an erased memory.
 */
export function createRecall({ store, record, history, recall, isWhole }: RecallOptions): ChatOptions['recall'] {
	if (recall === undefined) return undefined;
	const newest = history.findLastIndex(({ message }) => message.role === 'user');
	const { run: n = record.n } = history[newest] ?? {};
	return async (text) => {
		const known = listKnown(store, history);
		const rereading = known.length === 0 ? [] : recall.again(known.map(({ sources }) => sources));
		const sent = new Set(isWhole ? known.flatMap(({ sources }) => sources) : []);
		const { recalled, boot } = store.runs.get(n) ?? {};
		// A copied run has no sources, but only labels.
		const hasSearched = recalled !== undefined && boot !== '';
		const [again, found] = await Promise.all([rereading, hasSearched ? undefined : findNew(sent)]);
		// A memory has possibly changed since the earlier message.
		if (again.some((memories) => memories?.outside)) store.transaction(() => store.runs.noteOutsideMemory());
		const memories = new Map(known.map(({ place }, index) => [place, again[index]]));
		const own = found ?? memories.get(newest);
		memories.delete(newest);
		const earlier = new Map([...memories].flatMap(([place, memory]) => (memory ? [[place, memory.text]] : [])));
		return { text: own?.text ?? '', sources: own?.sources ?? [], earlier };

		async function findNew(sent: ReadonlySet<string>): Promise<RecalledMemories | undefined> {
			let found: RecalledMemories | undefined;
			try {
				found = await recall?.find(text, sent);
			} finally {
				const kept = found && { sources: found.sources, ...(found.outside && { outside: true as const }) };
				store.transaction(() => {
					store.runs.assertOpen(record);
					store.runs.keepRecalled(n, kept ?? null);
				});
			}
			return found;
		}
	};
}

/** Lists each run's stored sources. `place` is the index of the run's first user message in the history. */
function listKnown(
	store: SessionStore,
	history: readonly MessageRecord[],
): { readonly place: number; readonly sources: readonly string[] }[] {
	const rows = store.runs.listRecalled(history[0]?.run ?? 0);
	return [...rows].flatMap(([n, { sources }]) => {
		const place = history.findIndex(({ run, message }) => run === n && message.role === 'user');
		return place === -1 ? [] : [{ place, sources }];
	});
}

/** How long connections stay open after a run, in milliseconds. The object sleeps soon after they are closed. */
const idleMs = 60_000;

/** How long connections stay open while a run waits for a person, in milliseconds. The server possibly waits, too. */
const waitingMs = 900_000;

export function hasServers({ mcp = [], userMcp }: Pick<Agent, 'mcp' | 'userMcp'>): boolean {
	return mcp.length > 0 || userMcp === true;
}

/** The connections of a session to MCP servers. They close when no run or call has used them for a while. */
export class Connections {
	readonly #runtime: Runtime;
	readonly #isUsed: () => boolean;
	#open: McpConnections | undefined;
	#timer: ReturnType<typeof setTimeout> | undefined;

	/** @param isUsed whether a run or a call uses the connections now */
	constructor(runtime: Runtime, isUsed: () => boolean) {
		this.#runtime = runtime;
		this.#isUsed = isUsed;
	}

	/** Opens the connections for a run or a call. Returns nothing if the agent has no servers. */
	take(session: SessionRecord, config: Config): McpConnections | undefined {
		const { mcp, agents } = this.#runtime;
		const { id, owner, user, agent: name } = session;
		const agent = findAgent(agents, name);
		if (mcp === undefined || !hasServers(agent) || session.rerun !== undefined) return undefined;
		clearTimeout(this.#timer);
		this.#open ??= mcp.connect({ config, session: id, owner, user, isOwners: isOwners(session), agent, agents });
		this.#open.refresh();
		return this.#open;
	}

	/** Closes the connections later, unless a run or a call uses them again. */
	rest(type: TerminalEvent['type']): void {
		if (this.#open === undefined) return;
		clearTimeout(this.#timer);
		const end = () => (this.#isUsed() ? this.rest(type) : void this.close());
		this.#timer = setTimeout(end, type === 'awaiting' ? waitingMs : idleMs);
	}

	/** Closes the connections. Never throws. */
	async close(): Promise<void> {
		clearTimeout(this.#timer);
		const open = this.#open;
		this.#open = undefined;
		await open?.close();
	}
}

interface ChildrenOptions {
	readonly store: SessionStore;
	readonly session: SessionRecord;
	readonly record: Pick<RunRecord, 'n' | 'boot' | 'attempt'>;
	readonly config: Pick<Config, 'sessions' | 'placeSessions'>;
	/** Returns the budget of the session, which may be raised during the run. */
	readonly limit: () => Limit;
	readonly labels?: Pick<SessionLabels, 'labels'>;
}

/** Creates the children for the calls of a run. Their ids depend on the call, so a later attempt finds them. */
export function createChildren({ store, session, record, config, limit, labels }: ChildrenOptions): Children {
	const { id: parent, owner, user, createdBy, metadata, createdAt, agent: own, parent: above } = session;
	const depth = above?.depth ?? 0;
	const agents = [...(above?.agents ?? []), own];
	const write = <T>(work: () => T): T =>
		store.transaction(() => {
			store.runs.assertOpen(record);
			return work();
		});
	return {
		depth,
		caller: { owner, parent },
		askers: () => listAskers(store),
		labels: () => labels?.labels() ?? ['outside', 'private'],
		budget: () => readBudgetState(store, limit()),
		count: () => ({ open: store.calls.children.listOpen().length, all: store.calls.children.list().length }),
		find: (callId) => store.calls.children.find(store.messages.lastTurn(), callId),
		add: async (asked) => {
			const turn = store.messages.lastTurn();
			const name = JSON.stringify(['child', parent, createdAt, turn, asked.callId]);
			const child = { ...asked, id: config.placeSessions({ owner, agent: asked.agent }).idFromName(name).toString() };
			write(() => store.calls.children.add({ ...child, turn, createdAt: Date.now() }));
			await store.sync();
			return child;
		},
		drop: ({ id }) => write(() => leave(store, ({ id: open }) => open === id)),
		settle: ({ id }, cost) => write(() => store.calls.children.settle(id, cost)),
		toCreate: ({ agent, budget, isBackground }) => ({
			...{ agent, owner, user, by: createdBy, metadata, budget },
			parent: { id: parent, depth: depth + 1, agents, ...(isBackground && { isBackground }) },
		}),
		reach: ({ id, agent }) => config.sessions.get(config.placeSessions({ owner, agent }).idFromString(id)),
	};
}

/**
 * Lets the outbox cancel the children whose results no call waits for. Background children are cancelled only with
 * `all`, or if their calls have no result yet, because no model has got their ids.
 */
export function leaveChildren(store: SessionStore, { all = false } = {}): void {
	if (store.calls.children.listOpen().length === 0) return;
	const turn = store.messages.lastTurn();
	const calls = new Set(findOpenCalls(store).map(({ call }) => call.id));
	const isUnknown = (child: ChildRecord) => child.turn === turn && calls.has(child.callId);
	leave(store, (child) => all || !child.isBackground || isUnknown(child));
}

function leave(store: SessionStore, isLeft: (child: ChildRecord) => boolean): void {
	const { id: parent, owner } = store.session();
	for (const child of store.calls.children.listOpen().filter(isLeft)) {
		store.calls.children.leave(child.id);
		store.outbox.endChild(child, { owner, parent, isRemoved: false }, Date.now());
	}
}

/**
 * Cancels the children of a run, and reports the end of a background session's run to the parent. Call it in the
 * transaction that stores the end. If the parent itself cancels the session, the parent gets no report.
 */
export function endFamily(store: SessionStore, { parent }: Pick<SessionRecord, 'parent'>, event: TerminalEvent): void {
	// A run that waits for somebody continues later, with its children.
	if (event.type === 'awaiting') return;
	leaveChildren(store, { all: event.type === 'cancelled' });
	const run = store.runs.get()?.n;
	if (parent?.isBackground === true && run !== undefined && event.type !== 'cancelled')
		store.outbox.tellParent(run, Date.now());
}
