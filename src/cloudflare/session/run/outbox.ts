import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { withTimeLimit } from '../../../core/base/promises.ts';
import type { TerminalEvent } from '../../../core/chat/index.ts';
import type { Label } from '../../../core/tool/index.ts';
import { findWholeCost } from '../../agent/children.ts';
import type { Config } from '../../config/config.ts';
import type { FileBucket } from '../../config/env.ts';
import { log, toFailureFields } from '../../log.ts';
import { type Amount, nothing } from '../../objects/budget.ts';
import { askDirectory, everybody } from '../../objects/directory/api.ts';
import { type Cost, settleCosts } from '../../objects/ledger/api.ts';
import { createFinder, nameLedger } from '../../objects/ledger/owner.ts';
import { reach, takeValue } from '../../objects/reach.ts';
import type { SessionState } from '../../objects/session-api.ts';
import { findOwnerOfShard } from '../../objects/shards.ts';
import { showError } from '../../wire/shown-error.ts';
import { listAskers } from '../store/askers.ts';
import { findLastReply } from '../store/messages.ts';
import type { OutboxMessage, Outgoing } from '../store/outbox.ts';
import { restoreText } from '../store/runs.ts';
import { listDirectories, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { findWait } from '../store/wait.ts';
import { readBudgetState } from './budgets.ts';

/** Reads what the lists hear of a session. */
export interface ListedFacts {
	/** Returns the text for searches. */
	findText?(): string | undefined;
	findLabels?(): readonly Label[];
}

type Receiver = 'ledger' | 'directory' | 'everybody' | 'children' | 'parent' | 'bucket';

const receivers = ['ledger', 'directory', 'everybody', 'children', 'parent', 'bucket'] as const;
const receiverByKind: Readonly<Record<OutboxMessage['to'], Receiver>> = {
	ledger: 'ledger',
	list: 'directory',
	feedback: 'directory',
	unlist: 'directory',
	child: 'children',
	parent: 'parent',
	bucket: 'bucket',
	'bucket-folder': 'bucket',
};

/**
 * Delivers messages to other objects: costs to the owner's ledger, activities to the owner's directory, and
 * others. The object's alarm retries failed deliveries.
 */
export class Outbox {
	readonly #store: SessionStore;
	readonly #config: () => Config;
	readonly #facts: ListedFacts;
	readonly #sending = new Map<Receiver, Promise<void>>();

	constructor(store: SessionStore, config: () => Config, facts: ListedFacts = {}) {
		this.#store = store;
		this.#config = config;
		this.#facts = facts;
	}

	get isEmpty(): boolean {
		return !this.#store.hasTables || this.#store.owesNothing;
	}

	/** Tries to deliver the messages that are due at `now`, by default all. Rejects only if the storage fails. */
	async send(now: number = Number.POSITIVE_INFINITY): Promise<void> {
		await Promise.all(receivers.map((receiver) => this.sendTo(receiver, now)));
	}

	async sendRest(): Promise<void> {
		await this.send();
		if (this.#store.exists()) return;
		if (!this.isEmpty) return this.#store.alarm.set(this.#store.outbox.nextAt());
		await this.#store.alarm.set(undefined);
		await this.#store.clear();
	}

	/** Cancels the abandoned children. Waits for them at most five seconds. */
	settleChildren(): Promise<void> {
		return withTimeLimit(this.sendTo('children'), childLimitMs / 2, 'The children of this session').catch(logTimeout);
	}

	/** Sends to one receiver, without waiting for any other receiver. */
	async sendTo(receiver: Receiver, now: number = Number.POSITIVE_INFINITY): Promise<void> {
		// A running delivery may lack the caller's messages, so a new one starts after it.
		await this.#sending.get(receiver)?.catch(() => {});
		const before = this.#sending.get(receiver);
		if (before !== undefined) return before;
		const sending = this.#send(receiver, now).finally(() => this.#sending.delete(receiver));
		this.#sending.set(receiver, sending);
		return sending;
	}

	/** Calls the ledger of a session. The same call delivers the due costs. A repeated cost counts once. */
	async tellLedgerWith<T>(
		session: Pick<SessionRecord, 'owner' | 'user' | 'id'>,
		call: (owed: readonly Cost[]) => Promise<T>,
	): Promise<T> {
		const name = nameLedger(this.#config(), session);
		const parcel = this.#listDue('ledger').filter(({ message }) => this.#nameLedger(message) === name);
		const answer = await call(toCosts(parcel));
		this.#store.markReported(parcel);
		return answer;
	}

	#nameLedger(message: OutboxMessage): string | undefined {
		if (message.to !== 'ledger') return undefined;
		const { owner, user, session } = message;
		return nameLedger(this.#config(), { owner, user, id: session });
	}

	#listDue(receiver: Receiver, now = Number.POSITIVE_INFINITY): readonly Outgoing[] {
		if (!this.#store.hasTables) return [];
		return this.#store.listDue(now).filter(({ message }) => findReceiver(message) === receiver);
	}

	async #send(receiver: Receiver, now: number): Promise<void> {
		const due = this.#listDue(receiver, now);
		let isSilent = false;
		for (const [first, ...others] of toParcels(due, (message) => this.#nameLedger(message))) {
			const parcel = [first, ...others];
			// After a failure, the remaining messages are not tried in this attempt.
			isSilent ||= !(await this.#tell(first.message, parcel));
			if (isSilent) this.#store.retry(parcel, Date.now());
			else this.#store.markReported(parcel);
		}
	}

	get #bucket(): FileBucket {
		const { files } = this.#config();
		if (files !== undefined) return files;
		throw new RunletError('not_configured', 'FILES: not bound, but files of a session are in it. Bind it again.');
	}

	/** Delivers the messages of a parcel in one call. `message` is the first. Returns whether that succeeded. */
	async #tell(message: OutboxMessage, parcel: readonly Outgoing[]): Promise<boolean> {
		try {
			const { directories } = this.#config();
			switch (message.to) {
				case 'ledger':
					await settleCosts(createFinder(this.#config(), this.#nameLedger(message) ?? message.owner), toCosts(parcel));
					return true;
				case 'list':
				case 'feedback':
					if (this.#store.exists()) await this.#tellLists(message);
					return true;
				case 'unlist':
					await askDirectory(directories, message.owner, (stub) => stub.remove(message.session));
					return true;
				case 'child':
					await this.#endChild(message);
					return true;
				case 'parent':
					await this.sendTo('children');
					await tellParent(this.#store, this.#config().sessions, message.run);
					return true;
				case 'bucket':
					await this.#bucket.delete(toKeys(parcel));
					return true;
				case 'bucket-folder':
					await removeFolder(this.#bucket, message.prefix);
					return true;
				default:
					return message satisfies never;
			}
		} catch (cause) {
			log('warn', 'owner.not_told', toFailureFields(cause));
			return false;
		}
	}

	/** Tells the owner's list of the session and its feedback, or the list of all owners. */
	async #tellLists(message: Extract<OutboxMessage, { to: 'list' | 'feedback' }>): Promise<void> {
		const { directories, fullRooms, findShardCount, listsOfAll } = this.#config();
		const session = this.#store.session();
		const { id, agent, owner, user, createdAt, rerun } = session;
		const [own, ofAll = everybody] = listDirectories(session);
		const { isForAll = false } = message;
		if (isForAll && listsOfAll === undefined) return;
		const name = isForAll ? ofAll : own;
		const about = { agent, user, ...(isForAll && { owner }) };
		if (message.to === 'feedback') {
			const { to: _, isForAll: __, ...change } = message;
			return askDirectory(directories, name, (one) => one.putFeedback({ session: id, ...about, ...change }));
		}
		const { activeAt, title } = message;
		const readAbout = () => ({ labels: this.#facts.findLabels?.(), spent: readBudgetState(this.#store, {}).spent });
		const wait = findWait(this.#store, readAbout) ?? null;
		const bytes = isForAll ? undefined : toBlocks(this.#store.bytes);
		const text = this.#facts.findText?.();
		const entry = { id, ...about, createdAt, activeAt, title, text, wait, isHidden: rerun !== undefined, bytes };
		const held = await askDirectory(directories, name, (one, deadline) => one.touch(entry, owner, deadline));
		if (held !== undefined) fullRooms.note({ owner, user }, held, findShardCount(owner));
		if (bytes !== undefined) this.#store.reports.noteListedBytes(bytes);
	}

	/** Removes a child, or cancels it and settles its cost. */
	async #endChild({ id, owner, parent, isRemoved, createdAt }: Extract<OutboxMessage, { to: 'child' }>): Promise<void> {
		const { sessions } = this.#config();
		const caller = { owner, parent };
		const child = () => sessions.get(sessions.idFromString(id));
		const how = { what: 'A session that works for this one', isSafe: true, timeoutMs: childLimitMs };
		let spent = nothing;
		try {
			if (isRemoved) takeValue(await reach((deadline) => child().delete({ ...caller, deadline }), how));
			else spent = assertWholeCost(takeValue(await reach((deadline) => child().cancel({ ...caller, deadline }), how)));
		} catch (cause) {
			const isMissing = cause instanceof RunletError && cause.code === 'not_found';
			// The request that creates the child may still be in transit.
			if (!isMissing || Date.now() < createdAt + transitMs) throw cause;
		}
		if (!isRemoved && this.#store.exists()) this.#store.calls.children.settle(id, spent);
	}
}

/** Returns who gets a message. A slow list of all owners delays no message to the list of the owner. */
function findReceiver(message: OutboxMessage): Receiver {
	const isForAll =
		message.to === 'unlist'
			? (findOwnerOfShard(message.owner) ?? message.owner) === everybody
			: 'isForAll' in message && message.isForAll;
	return isForAll ? 'everybody' : receiverByKind[message.to];
}

/** Returns the cost of a cancelled child. Throws `overloaded` while one of its own children runs. */
function assertWholeCost(state: SessionState): Amount {
	const cost = findWholeCost(state);
	if (cost !== undefined) return cost;
	throw new RunletError('overloaded', 'A session that works for this one has children that have not ended.');
}

/** The directory gets the session's bytes in blocks of this size, so that a few bytes write no row. */
const blockBytes = 65_536;

/** How long a child may take to end, in milliseconds. */
const childLimitMs = 10_000;
/** How long the request that creates a child may be in transit, in milliseconds. */
const transitMs = 60_000;

const keysAtOnce = 1_000;

async function removeFolder(bucket: FileBucket, prefix: string): Promise<void> {
	for (;;) {
		const keys = (await bucket.list({ prefix })).objects.map(({ key }) => key);
		if (keys.length === 0) return;
		await bucket.delete(keys);
	}
}

function toBlocks(bytes: number): number {
	return Math.ceil(bytes / blockBytes) * blockBytes;
}

/** Groups messages into calls: all costs of a ledger, all keys of the bucket, each other message by itself. */
function toParcels(
	due: readonly Outgoing[],
	nameLedger: (message: OutboxMessage) => string | undefined,
): readonly (readonly [Outgoing, ...Outgoing[]])[] {
	const parcels = new Map<string, [Outgoing, ...Outgoing[]]>();
	for (const outgoing of due) {
		const { id, message } = outgoing;
		const name = message.to === 'ledger' ? `ledger ${nameLedger(message)}` : message.to === 'bucket' ? 'bucket' : id;
		const parcel = parcels.get(name);
		if (parcel !== undefined && parcel.length < keysAtOnce) parcel.push(outgoing);
		else parcels.set(parcel === undefined ? name : `${name} ${id}`, [outgoing]);
	}
	return [...parcels.values()];
}

function toKeys(parcel: readonly Outgoing[]): string[] {
	return parcel.flatMap(({ message }) => (message.to === 'bucket' ? [message.key] : []));
}

function toCosts(parcel: readonly Outgoing[]): readonly Cost[] {
	return parcel.flatMap(({ message }) => {
		if (message.to !== 'ledger') return [];
		const { call, amount, user, agent, parts } = message;
		return [{ id: call, amount, user, agent, parts }];
	});
}

/** Logs a timeout, because the delivery continues. Throws any other error again. */
function logTimeout(cause: unknown): void {
	if (!(cause instanceof RunletError && cause.code === 'timeout')) throw cause;
	log('warn', 'owner.not_told', toFailureFields(cause));
}

/** How long a parent may take to store a report, in milliseconds. */
const parentLimitMs = 10_000;

/**
 * Reports the end of a run to the parent of a background session. The report is a message that steers the
 * parent's run or begins a run. The parent stores the report once. The report contains the cost of all children,
 * so this throws while a cost is unknown, or if the parent cannot be reached.
 */
async function tellParent(store: SessionStore, sessions: Config['sessions'], n: number): Promise<void> {
	if (!store.exists()) return;
	const { id, owner, user, agent, parent } = store.session();
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'child', id };
	const run = store.runs.get(n);
	if (run?.end === undefined || parent === undefined) return;
	const event = restoreText(run.end.event, findLastReply(store.findRunMessages(n, run.firstSeq), n));
	if (store.calls.children.listOpen().length > 0)
		throw new RunletError('overloaded', 'A session that works for this one has not ended.');
	const { spent } = readBudgetState(store, {});
	const text = `${agent} (session ${id}) ${toWords(event, run.id)}`;
	const input = { text, transport: 'agent', whenBusy: 'steer', isPatient: true } as const;
	const stub = () => sessions.get(sessions.idFromString(parent.id));
	const how = { what: 'The session that this one works for', isSafe: true, timeoutMs: parentLimitMs };
	const message = { ...input, askers: listAskers(store), ofChild: { id, spent } };
	try {
		takeValue(await reach(() => stub().send({ owner, by }, message, { delivery: 'accepted' }), how));
	} catch (cause) {
		// A removed parent also removes this session. If the error has a `field`, only the parent's agent is missing.
		const isGone = cause instanceof RunletError && cause.code === 'not_found' && cause.data?.field === undefined;
		if (!isGone) throw cause;
	}
}

/** Describes the end of a run for the parent's model. Customers may read it. */
function toWords(event: TerminalEvent, id: string): string {
	if (event.type === 'done') return `has finished its task:\n\n${event.text}`;
	const why = event.type === 'error' ? describeError(event, id) : event.type;
	return `did not finish its task (${event.type === 'halted' ? `halted: ${event.reason}` : why}).`;
}

function describeError(error: Extract<TerminalEvent, { readonly type: 'error' }>, id: string): string {
	const { code, message } = showError(error, { isOperator: false, id });
	return `${code}: ${message}`;
}
