import type { Labels } from '../../../core/chat/flow.ts';
import type { Label } from '../../../core/tool/index.ts';
import type { FlowFacts } from '../../agent/flow.ts';
import { isGivenBy, readLabels, type ToolWords } from '../../agent/labels.ts';
import { type MessageRecord, toTurnPlace } from '../store/messages.ts';
import type { SessionStore } from '../store/store.ts';

type LabelStore = Pick<SessionStore, 'messages' | 'runs' | 'state' | 'workspace' | 'session' | 'calls'>;

const [atOnce, bytesAtOnce] = [500, 1_000_000];
const mostSources = 5;
/** How many messages are searched for sources. */
const mostSearched = 1_000;

/**
 * The labels of a session (docs/untrusted-text.md). They are made of its journal, so they survive crashes, copies and
 * summaries, and nothing is written for them. Each message is read once, including replaced and summarized messages.
 * `labels`, `list` and `isGiven` ignore the newest turn of the model: the model wrote its calls before it saw their results.
 */
export class SessionLabels implements FlowFacts {
	readonly #store: LabelStore;
	readonly #words: () => ToolWords;
	#from = 0;
	readonly #found = { outside: false, private: false };

	constructor(store: LabelStore, words: () => ToolWords) {
		this.#store = store;
		this.#words = words;
	}

	/** Whether a session holds text of strangers, also of its newest turn. */
	get hasOutside(): boolean {
		this.#look(Number.MAX_SAFE_INTEGER);
		return this.#found.outside;
	}

	labels(): readonly Label[] {
		this.#look(this.#store.messages.lastTurn());
		const { outside, private: own } = this.#found;
		return [...(outside || this.#words().hasServers ? ['outside' as const] : []), ...(own ? ['private' as const] : [])];
	}

	list(): Labels {
		const to = this.#store.messages.lastTurn();
		const { records } = this.#store.messages.page({ to, limit: mostSearched, bytes: bytesAtOnce, isBackward: true });
		const servers = this.#words().hasServers ? [{ what: 'what MCP servers say of their tools' }] : [];
		const rest = this.#readSession();
		const all = [...records.map((record) => this.#read(record)), rest, { outside: servers, private: [] }];
		const take = (label: Label) => all.flatMap((labels) => labels[label]).slice(0, mostSources);
		return { outside: take('outside'), private: take('private') };
	}

	isGiven(address: string): boolean {
		const { messages, calls } = this.#store;
		return messages.findText(address, messages.lastTurn()).some((record) => {
			const { message } = record;
			const turn = toTurnPlace(record.seq);
			const reply = message.role === 'tool' ? messages.get(turn)?.message : undefined;
			const made = reply?.role === 'assistant' ? (reply.toolCalls ?? []) : [];
			const call = made.find(({ id }) => message.role === 'tool' && id === message.toolCallId);
			const isOfChild = call !== undefined && calls.children.find(turn, call.id) !== undefined;
			return isGivenBy({ ...record, id: '' }, address, this.#words(), isOfChild ? undefined : call);
		});
	}

	#look(to: number): void {
		const found = this.#found;
		this.#add(this.#readSession());
		while (!(found.outside && found.private)) {
			const page = { from: this.#from, to, limit: atOnce, bytes: bytesAtOnce };
			const { records, next } = this.#store.messages.page(page);
			this.#from = 1 + (records.at(-1)?.seq ?? this.#from - 1);
			for (const record of records) this.#add(this.#read(record));
			if (next === undefined) return;
		}
	}

	#add(labels: Labels): void {
		this.#found.outside ||= labels.outside.length > 0;
		this.#found.private ||= labels.private.length > 0;
	}

	#read(record: MessageRecord): Labels {
		return readLabels({ ...record, id: String(record.seq) }, this.#words());
	}

	/** Reads what is in no message. */
	#readSession(): Labels {
		const { workspace, runs, state } = this.#store;
		// The names of calls and the labels of messages in an import are texts that somebody else chose.
		const imported = this.#store.session().isImported === true ? [{ what: 'an import' }] : [];
		// The state of a copy may come from messages that the copy lacks.
		const isCopied = runs.hasRestored && state.list().length > 0;
		return {
			outside: [
				...imported,
				...(workspace.journal.hasChangesOfPeople ? [{ what: 'a file that somebody gave' }] : []),
				...(isCopied ? [{ what: 'what tools remember of a copied session' }] : []),
			],
			private: [...imported, ...(runs.hasRecalled ? [{ what: 'memories' }] : [])],
		};
	}
}
