import type { ChatOptions, Recalled } from '../../../core/chat/index.ts';
import { providerName, type Tool } from '../../../core/tool/index.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { McpConnections } from '../../agent/mcp.ts';
import { findHolder, findMemoryOptions } from '../../agent/memory.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { listInsideTools, listToolNames } from '../../agent/tool-names.ts';
import { loadUserTools } from '../../agent/user-tools/load.ts';
import type { Config } from '../../config/config.ts';
import type { MessageRecord } from '../store/message-record.ts';
import type { RunRecord } from '../store/runs.ts';
import { isOwners, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import type { Embeddings } from './embedding-meter.ts';

/** The options of the tools that a session adds to an agent's own. */
interface Added {
	readonly config: Config;
	readonly owner: string;
	/** The names of the client's tools. */
	readonly clientTools: readonly string[];
	readonly connections: McpConnections | undefined;
}

/**
 * Creates the loader of a run: the HTTP tools of the owner, as they are when the run begins, and the tools of MCP servers,
 * as they are before each turn. Of two tools with one name the first is offered: the agent's, the client's, the owner's, a
 * server's. Nothing if the agent has none of these.
 */
export function createToolLoader(
	agent: Agent,
	{ config, owner, clientTools, connections }: Added,
): ChatOptions['loadTools'] {
	if (agent.userTools !== true && connections === undefined) return undefined;
	const taken = new Set([...listToolNames(agent), ...clientTools.map(providerName)]);
	let ofOwner: Promise<readonly Tool[]> | undefined;
	let known: readonly Tool[] = [];
	return async (warn) => {
		ofOwner ??= agent.userTools === true ? loadUserTools(config, owner, taken) : Promise.resolve([]);
		const [own, served = []] = await Promise.all([ofOwner, connections?.loadTools(warn)]);
		const loaded = keepFirst([...own, ...served], taken);
		// The same list says that nothing changed.
		const isSame = loaded.length === known.length && loaded.every((tool, index) => tool === known[index]);
		if (!isSame) known = loaded;
		return known;
	};
}

/** The parts of a session that memory needs. */
interface Remembering {
	readonly config: Config;
	readonly embeddings: Embeddings;
	readonly session: Pick<SessionRecord, 'agent' | 'owner' | 'user' | 'createdBy'>;
	readonly store: SessionStore | undefined;
}

/** Creates what an agent remembers by: its tools, and what it recalls by itself. Nothing if it does not. */
export function createMemory(
	{ agents, memory }: Pick<Runtime, 'agents' | 'memory'>,
	{ config, embeddings, session, store }: Remembering,
): { readonly tools: readonly Tool[]; readonly recall?: SessionRecall } {
	const agent = findAgent(agents, session.agent);
	const options = findMemoryOptions(agent);
	const holder = findHolder({ ...session, isOwners: isOwners(session) });
	if (memory === undefined || options === undefined || holder === undefined) return { tools: [] };
	const insideTools = listInsideTools(agent);
	const isHeld = store && createOutsideCheck(store);
	const holdsOutsideText = () => isHeld === undefined || isHeld(insideTools);
	const { embedModel: model } = options;
	const embed = (texts: readonly string[], signal?: AbortSignal) => embeddings.embed(model ?? '', texts, signal);
	const embedding = model === undefined ? undefined : { model, embed };
	const about = { options, config, holder, embedding };
	return {
		tools: memory.createTools({ ...about, agent: agent.name, holdsOutsideText }),
		recall: {
			find: (text, told) => memory.recallFor(about, text, told),
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

/** The memories of one message, read once. */
interface RecallRequest {
	readonly store: SessionStore;
	readonly record: RunRecord;
	readonly history: readonly MessageRecord[];
	readonly recall: SessionRecall | undefined;
	/** Whether the model is sent all of the history, so that it is told of no memory twice. */
	readonly isWhole: boolean;
}

/** What a session recalls for a message, and once more by lists of sources. */
export interface SessionRecall {
	readonly find: (text: string, told: ReadonlySet<string>) => Promise<Recalled | undefined>;
	readonly again: (lists: readonly (readonly string[])[]) => Promise<readonly (Recalled | undefined)[]>;
}

/**
 * Makes the `recall` of a run that asks once for each message. The sources of the answer are kept with the run of the
 * message, so each later request tells the model the same in front of that message. The texts are read again: what was
 * erased meanwhile reaches no model.
 */
export function createRecall({ store, record, history, recall, isWhole }: RecallRequest): ChatOptions['recall'] {
	if (recall === undefined) return undefined;
	const newest = history.findLastIndex(({ message }) => message.role === 'user');
	const { run: n = record.n } = history[newest] ?? {};
	return async (text) => {
		const known = listKnown(store, history);
		const rereading = known.length === 0 ? [] : recall.again(known.map(({ sources }) => sources));
		const told = new Set(isWhole ? known.flatMap(({ sources }) => sources) : []);
		const isAsked = store.runs.get(n)?.recalled !== undefined;
		const [again, found] = await Promise.all([rereading, isAsked ? undefined : findNew(told)]);
		const texts = new Map(known.map(({ place }, index) => [place, again[index]]));
		const own = found ?? texts.get(newest);
		texts.delete(newest);
		const earlier = new Map([...texts].flatMap(([place, one]) => (one === undefined ? [] : [[place, one.text]])));
		return { text: own?.text ?? '', sources: own?.sources ?? [], earlier };

		async function findNew(told: ReadonlySet<string>): Promise<Recalled | undefined> {
			let found: Recalled | undefined;
			try {
				found = await recall?.find(text, told);
			} finally {
				const kept = found === undefined ? null : { sources: found.sources };
				store.transaction(() => {
					store.runs.assertOpen(record);
					store.runs.keepRecalled(n, kept);
				});
			}
			return found;
		}
	};
}

/** Lists the messages that have something in front, by their places in the history: the first ones of their runs. */
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

/** The ways in which a person, or the owner's own server, writes to a session. */
const ownTransports: ReadonlySet<string> = new Set(['http', 'ui', 'chat-completions']);

/** Messages and bytes that are read at a time. */
const [atOnce, bytesAtOnce] = [500, 1_000_000];

/**
 * Makes the check whether a session holds text from outside: an import's, a webhook's, an attachment's, an uploaded file's, or a tool's
 * that is none of `insideTools`. It is answered by everything that was ever stored, also by what was replaced or
 * summed up, so no crash and no copy of the session changes the answer. What was read once is not read again.
 */
function createOutsideCheck(
	store: Pick<SessionStore, 'messages' | 'runs' | 'state' | 'workspace' | 'session'>,
): (insideTools: ReadonlySet<string>) => boolean {
	let from = 0;
	let isFound = false;
	const findInMessages = (insideTools: ReadonlySet<string>): boolean => {
		for (;;) {
			const { records, next } = store.messages.page({ from, limit: atOnce, bytes: bytesAtOnce });
			from = 1 + (records.at(-1)?.seq ?? from - 1);
			if (records.some((record) => isFromOutside(record, insideTools))) return true;
			if (next === undefined) return false;
		}
	};
	return (insideTools) => {
		isFound ||=
			store.session().isImported === true ||
			store.workspace.journal.hasChangesOfPeople ||
			hasStateOfCopy(store) ||
			findInMessages(insideTools);
		return isFound;
	};
}

function isFromOutside({ message, inbound }: MessageRecord, insideTools: ReadonlySet<string>): boolean {
	if (inbound !== undefined && !ownTransports.has(inbound.transport)) return true;
	if (inbound?.attachments !== undefined && inbound.attachments.length > 0) return true;
	if (message.role === 'user') return message.parts?.some(({ kind }) => kind !== 'text') === true;
	// A call counts as soon as it is stored: its result may be, too.
	return (
		message.role === 'assistant' && message.toolCalls?.some(({ name }) => !insideTools.has(providerName(name))) === true
	);
}

/** Whether tools of another session have written the state of this one: a copy may leave out what they had read before. */
function hasStateOfCopy({ runs, state }: Pick<SessionStore, 'runs' | 'state'>): boolean {
	return runs.hasRestored && state.list().length > 0;
}
