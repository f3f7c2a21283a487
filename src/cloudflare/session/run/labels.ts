import type { Actor } from '../../../core/base/actor.ts';
import { hashText } from '../../../core/base/bytes.ts';
import { createFieldError } from '../../../core/base/errors.ts';
import type { FlowSource, Labels } from '../../../core/chat/flow.ts';
import type { Label } from '../../../core/tool/index.ts';
import type { FlowFacts, FlowSession } from '../../agent/flow.ts';
import { givesSite, isGivenBy, readLabels, type ToolWords } from '../../agent/labels.ts';
import { type MessageRecord, toTurnPlace } from '../store/messages.ts';
import type { Clearing, ReadLabels } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

type LabelStore = Pick<
	SessionStore,
	'messages' | 'runs' | 'state' | 'workspace' | 'session' | 'calls' | 'nextRun' | 'update'
>;

const [atOnce, bytesAtOnce] = [500, 1_000_000];
/** About how many bytes a call reads at most. */
const bytesOfCall = 32_000_000;
/** After this many messages or bytes, what they brought in is stored. */
const [mostUnstored, mostUnstoredBytes] = [500, 8_000_000];
const mostSources = 5;
/** How many messages are searched for sources. */
const mostSearched = 1_000;

/** Whether a conversation has text of strangers, and private data. */
interface Found {
	outside: boolean;
	private: boolean;
}

const never = { at: 0, from: 0 };

const everything: Found = { outside: true, private: true };

/**
 * The labels of a session (docs/untrusted-text.md). They are made of its journal, so they survive crashes, copies and
 * summaries. Each message is read once, including replaced and summarized messages. A row is written for every 500.
 * What came in before a person cleared a label does not count for it. A call reads a bounded number of bytes. A session
 * with more unread messages has both labels until further calls have read them.
 * `labels`, `list` and `isGiven` ignore the newest turn of the model: the model wrote its calls before it saw their results.
 */
export class SessionLabels implements FlowFacts {
	readonly #store: LabelStore;
	readonly #findWords: (agent: string) => ToolWords;
	#known: { readonly agent: string; readonly words: ToolWords; readonly hash: string } | undefined;
	/** What was read so far. */
	#read: ReadLabels = { key: '', from: 0, run: 0, outside: false, private: false };
	/** What was read since the labels were stored. */
	#unstored = { count: 0, bytes: 0 };

	/** @param findWords finds the words on the tools of an agent */
	constructor(store: LabelStore, findWords: (agent: string) => ToolWords) {
		this.#store = store;
		this.#findWords = findWords;
	}

	get words(): ToolWords {
		return this.#knownWords.words;
	}

	get #knownWords() {
		const { agent } = this.#store.session();
		const known = this.#known;
		if (known?.agent === agent) return known;
		const words = this.#findWords(agent);
		const { hasServers, privateServers } = words;
		const hash = hashText(JSON.stringify([[...words.inside], [...words.private], privateServers, hasServers]));
		this.#known = { agent, words, hash };
		return this.#known;
	}

	get session(): FlowSession {
		const { user, metadata = {} } = this.#store.session();
		return { user, metadata };
	}

	/** Whether a message, a file or the state of the session has text of strangers, also in its newest turn. */
	get hasOutside(): boolean {
		return this.#lookAtAll().outside;
	}

	/** The labels of the whole session, also of its newest turn. */
	get all(): readonly Label[] {
		return this.#toLabels(this.#lookAtAll());
	}

	labels(): readonly Label[] {
		return this.#toLabels(this.#look());
	}

	/** Reads the messages that a copy has just got, so that no request has to read the whole copy. */
	keepUp(): void {
		this.#look();
	}

	list(): Labels {
		const to = this.#store.messages.lastTurn();
		const { records } = this.#store.messages.page({ to, limit: mostSearched, bytes: bytesAtOnce, isBackward: true });
		const servers = this.words.hasServers ? [{ what: 'what MCP servers say' }] : [];
		const rest = { outside: this.#listOutside(), private: this.#listPrivate() };
		const all = [...records.map((record) => this.#readMessage(record)), rest, { outside: servers, private: [] }];
		const take = (label: Label) => all.flatMap((labels) => labels[label]).slice(0, mostSources);
		return { outside: take('outside'), private: take('private') };
	}

	isGivenSite(address: string): boolean {
		if (!URL.canParse(address)) return false;
		const { messages } = this.#store;
		const records = messages.findText(new URL(address).host, messages.lastTurn());
		return records.some((record) => givesSite({ ...record, id: '' }, address));
	}

	/** Takes labels back. What came in so far, and was seen before the newest turn, does not count for them any more. */
	clear(labels: readonly Label[], by: Actor | undefined): void {
		if (labels.includes('outside') && this.words.hasServers) {
			const why = 'the agent has MCP servers, and what they say of their tools is in each request';
			throw createFieldError('invalid_request', 'clearLabels', `${why}. Use the field flow of the agent instead.`);
		}
		const before = this.#look();
		const kept = (this.#store.session().cleared ?? []).filter(({ label }) => !labels.includes(label));
		const clearing = { by, at: Date.now(), from: this.#store.messages.lastTurn() };
		this.#store.update({ cleared: [...kept, ...[...new Set(labels)].map((label) => ({ label, ...clearing }))] });
		if (before === everything) return;
		const found = { ...before, ...Object.fromEntries(labels.map((label) => [label, false])) };
		this.#keep({ ...this.#read, ...found, key: this.#key, from: clearing.from });
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
			return isGivenBy({ ...record, id: '' }, address, this.words, isOfChild ? undefined : call);
		});
	}

	#toLabels({ outside, private: own }: Found): readonly Label[] {
		return [...(outside || this.words.hasServers ? ['outside' as const] : []), ...(own ? ['private' as const] : [])];
	}

	/** The labels were read for this session, these tools and these cleared labels. */
	get #key(): string {
		const { createdAt, cleared } = this.#store.session();
		// The object may have another session after a removal.
		return hashText(JSON.stringify([createdAt, cleared, this.#knownWords.hash]));
	}

	/**
	 * Reads the messages before the newest turn that were not read yet. Stores what many messages brought in. Returns
	 * `everything` if more messages are unread.
	 */
	#look(): Found {
		const key = this.#key;
		if (key !== this.#read.key) {
			const { labels: stored } = this.#store.session();
			this.#read = stored?.key === key ? stored : { key, from: 0, run: 0, outside: false, private: false };
			this.#unstored = { count: 0, bytes: 0 };
		}
		if (this.#read.outside && this.#read.private) return this.#read;
		const found = { ...this.#read };
		found.outside ||= this.#listOutside().length > 0;
		found.private ||= this.#listPrivate().length > 0;
		const { from, count, bytes, isWhole } = this.#readInto(found, this.#store.messages.lastTurn());
		this.#read = { ...found, from };
		this.#unstored.count += count;
		this.#unstored.bytes += bytes;
		if (this.#unstored.count >= mostUnstored || this.#unstored.bytes >= mostUnstoredBytes) this.#keep(this.#read);
		return isWhole ? this.#read : everything;
	}

	#keep(read: ReadLabels): void {
		// The newest run can still get memories.
		this.#read = { ...read, run: Math.max(0, this.#store.nextRun - 2) };
		this.#store.update({ labels: this.#read });
		this.#unstored = { count: 0, bytes: 0 };
	}

	#lookAtAll(): Found {
		const found = { ...this.#look() };
		return this.#readInto(found, Number.MAX_SAFE_INTEGER).isWhole ? found : everything;
	}

	/** Reads messages up to a place, until both labels are found. Returns the place after the last one, and what it read. */
	#readInto(found: Found, to: number) {
		let { from } = this.#read;
		let [count, bytes] = [0, 0];
		while (!(found.outside && found.private)) {
			if (bytes >= bytesOfCall) return { from, count, bytes, isWhole: false };
			const page = this.#store.messages.page({ from, to, limit: atOnce, bytes: bytesAtOnce });
			from = 1 + (page.records.at(-1)?.seq ?? from - 1);
			count += page.records.length;
			bytes += page.bytes;
			for (const record of page.records) add(found, this.#readMessage(record));
			if (page.next === undefined) break;
		}
		return { from, count, bytes, isWhole: true };
	}

	#readMessage(record: MessageRecord): Labels {
		const { outside, private: own } = readLabels({ ...record, id: String(record.seq) }, this.words);
		const since = (label: Label, sources: readonly FlowSource[]) =>
			record.seq < this.#since(label).from ? [] : sources;
		return { outside: since('outside', outside), private: since('private', own) };
	}

	/** Returns when a person took a label back, and the first message that counts again. */
	#since(label: Label): Pick<Clearing, 'at' | 'from'> {
		return this.#store.session().cleared?.find((clearing) => clearing.label === label) ?? never;
	}

	#recalled(): Readonly<Record<Label, boolean>> {
		return this.#store.runs.readRecalledLabels(this.#read.run, {
			outside: this.#since('outside').at,
			private: this.#since('private').at,
		});
	}

	/** Lists what is in no message, and strangers may have written. */
	#listOutside(): readonly FlowSource[] {
		const { workspace, runs, state } = this.#store;
		const since = this.#since('outside').at;
		// The state of a copy may come from messages that the copy lacks.
		const isCopied = since === 0 && runs.hasRestored && state.list().length > 0;
		return [
			...this.#listImport('outside'),
			...(workspace.journal.hasChangesOfPeople(since) ? [{ what: 'a file that somebody gave' }] : []),
			...(isCopied ? [{ what: 'what tools remember of a copy' }] : []),
			...this.#listLeft('outside'),
			...(this.#recalled().outside ? [{ what: 'a memory with text of strangers' }] : []),
		];
	}

	/** Lists what is in no message, and is private. */
	#listPrivate(): readonly FlowSource[] {
		return [
			...this.#listImport('private'),
			...this.#listLeft('private'),
			...(this.#recalled().private ? [{ what: 'memories' }] : []),
		];
	}

	#listLeft(label: Label): readonly FlowSource[] {
		const at = this.#store.session().leftByCalls?.[label];
		return at === undefined || at < this.#since(label).at ? [] : [{ what: 'what a call without a run left' }];
	}

	/** The names of calls and the labels of messages in an import are texts that somebody else chose. */
	#listImport(label: Label): readonly FlowSource[] {
		const isImport = this.#store.session().isImported === true && this.#since(label).at === 0;
		return isImport ? [{ what: 'an import' }] : [];
	}
}

function add(found: Found, { outside, private: own }: Labels): void {
	found.outside ||= outside.length > 0;
	found.private ||= own.length > 0;
}
