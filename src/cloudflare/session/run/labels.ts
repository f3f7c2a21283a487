import type { FlowSource } from '../../../core/chat/flow.ts';
import { messageText } from '../../../core/chat/message.ts';
import { type Label, providerName } from '../../../core/tool/index.ts';
import type { Agent } from '../../agent/define.ts';
import { listInsideTools, listPrivateTools } from '../../agent/tool-names.ts';
import { type MessageRecord, toTurnPlace } from '../store/messages.ts';
import type { SessionStore } from '../store/store.ts';

/** The tools of an agent by what their results may have, by the names that providers see. */
export interface ToolWords {
	/** The tools whose results have no text of strangers. */
	readonly inside: ReadonlySet<string>;
	/** The tools whose results may have data of the owner or of the user. */
	readonly private: ReadonlySet<string>;
}

/** What came into a session, the newest first, at most `mostSources` each. */
export interface Labels {
	readonly outside: readonly FlowSource[];
	readonly private: readonly FlowSource[];
}

type LabelStore = Pick<SessionStore, 'messages' | 'runs' | 'state' | 'workspace' | 'session' | 'calls'>;

/** The transports of people and of the owner's own server. */
const ownTransports: ReadonlySet<string> = new Set(['http', 'ui', 'chat-completions']);

/** The transports of texts that a model has written. */
const composed: ReadonlySet<string> = new Set(['agent', 'schedule']);

const [atOnce, bytesAtOnce] = [500, 1_000_000];
const mostSources = 5;
/** How many messages are searched for sources. */
const mostSearched = 1_000;
const longestSource = 200;

export function listToolWords(agent: Agent, agents: readonly Agent[]): ToolWords {
	return { inside: listInsideTools(agent), private: listPrivateTools(agent, agents) };
}

/**
 * The labels of a session (docs/untrusted-text.md). They are made of its journal, so they survive crashes, copies and
 * summaries, and nothing is written for them. Each message is read once, including replaced and summarized messages.
 */
export class SessionLabels {
	readonly #store: LabelStore;
	readonly #words: () => ToolWords;
	#from = 0;
	#found = { outside: false, private: false };

	constructor(store: LabelStore, words: () => ToolWords) {
		this.#store = store;
		this.#words = words;
	}

	/** Whether a session holds text of strangers. A call counts as soon as it is stored. */
	get hasOutside(): boolean {
		return this.#look(Number.MAX_SAFE_INTEGER).outside;
	}

	/** Returns the labels of what the messages before a place say. */
	at(to: number): readonly Label[] {
		const found = this.#look(to);
		return (['outside', 'private'] as const).filter((label) => found[label]);
	}

	/** Lists what came in before a place. Reads the newest messages only. */
	list(to: number): Labels {
		const found: { outside: FlowSource[]; private: FlowSource[] } = { outside: [], private: [] };
		const { records } = this.#store.messages.page({ to, limit: mostSearched, bytes: bytesAtOnce, isBackward: true });
		for (const record of records) {
			const labels = this.#read(record);
			for (const label of ['outside', 'private'] as const) found[label].push(...labels[label]);
		}
		const rest = this.#readSession();
		for (const label of ['outside', 'private'] as const) found[label].push(...rest[label]);
		return { outside: found.outside.slice(0, mostSources), private: found.private.slice(0, mostSources) };
	}

	/** Whether a text stands as a whole in what a person or a stranger wrote, so that no model of this session composed it. */
	isGiven({ seq, message, inbound }: MessageRecord, text: string): boolean {
		if (message.role === 'user') return !composed.has(inbound?.transport ?? '') && hasWhole(messageText(message), text);
		if (message.role !== 'tool' || message.isError === true) return false;
		const turn = toTurnPlace(seq);
		// Another agent may have private data.
		if (this.#store.calls.children.find(turn, message.toolCallId) !== undefined) return false;
		const reply = this.#store.messages.get(turn)?.message;
		const call = reply?.role === 'assistant' ? reply.toolCalls?.find(({ id }) => id === message.toolCallId) : undefined;
		const isOutside = call !== undefined && !this.#words().inside.has(providerName(call.name));
		return isOutside && hasWhole(JSON.stringify(message.content) ?? '', text);
	}

	#look(to: number) {
		const rest = this.#readSession();
		const found = this.#found;
		found.outside ||= rest.outside.length > 0;
		found.private ||= rest.private.length > 0;
		while (!(found.outside && found.private)) {
			const page = { from: this.#from, to, limit: atOnce, bytes: bytesAtOnce };
			const { records, next } = this.#store.messages.page(page);
			this.#from = 1 + (records.at(-1)?.seq ?? this.#from - 1);
			for (const record of records) {
				const labels = this.#read(record);
				found.outside ||= labels.outside.length > 0;
				found.private ||= labels.private.length > 0;
			}
			if (next === undefined) break;
		}
		return found;
	}

	#read({ seq, message, inbound }: MessageRecord): Labels {
		const at = (what: string): FlowSource => ({ what: what.slice(0, longestSource), message: String(seq) });
		const outside: FlowSource[] = [];
		const own: FlowSource[] = [];
		// A message of another agent carries the labels of that agent's session.
		const carried =
			inbound?.labels ?? (inbound === undefined || ownTransports.has(inbound.transport) ? [] : ['outside']);
		if (carried.includes('outside')) outside.push(at(`a message by ${inbound?.transport}`));
		if (carried.includes('private')) own.push(at(`a message by ${inbound?.transport}`));
		if (inbound?.attachments !== undefined && inbound.attachments.length > 0) outside.push(at('an attachment'));
		if (message.role === 'user' && message.parts?.some(({ kind }) => kind !== 'text') === true)
			outside.push(at('an image or a file of a message'));
		if (message.role === 'assistant' && (message.providerCalls ?? []).length > 0) outside.push(at('a tool of the provider'));
		for (const { name, input } of (message.role === 'assistant' && message.toolCalls) || []) {
			const words = this.#words();
			const what = `${name} ${JSON.stringify(input) ?? ''}`;
			if (!words.inside.has(providerName(name))) outside.push(at(what));
			if (words.private.has(providerName(name))) own.push(at(what));
		}
		return { outside, private: own };
	}

	/** Reads what is in no message. */
	#readSession(): Labels {
		const { workspace, runs, state } = this.#store;
		const outside: FlowSource[] = [];
		if (this.#store.session().isImported === true) outside.push({ what: 'an import' });
		if (workspace.journal.hasChangesOfPeople) outside.push({ what: 'a file that somebody gave' });
		// The state of a copy may come from messages that the copy lacks.
		if (runs.hasRestored && state.list().length > 0) outside.push({ what: 'what tools remember of a copied session' });
		return { outside, private: runs.hasRecalled ? [{ what: 'memories' }] : [] };
	}
}

/** Whether a text has an address that ends where the address ends. */
function hasWhole(text: string, address: string): boolean {
	for (let at = text.indexOf(address); at !== -1; at = text.indexOf(address, at + 1))
		if (/^[.,;:!?)'\]]*(?:[\s"'<>\\)\]|`]|$)/.test(text.slice(at + address.length, at + address.length + 20)))
			return true;
	return false;
}
