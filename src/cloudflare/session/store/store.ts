import { RunletError } from '../../../core/base/errors.ts';
import type { BegunReply, Message } from '../../../core/chat/index.ts';
import { migrate } from '../../objects/migrate.ts';
import type { SessionChange } from '../../objects/session-api.ts';
import { guardStorage, type Storage, StoredAlarm, toJsonText } from '../../objects/storage.ts';
import { ArchiveRows } from './archive.ts';
import { CallRows } from './calls.ts';
import { DeliveryRows, QueueRows } from './inbound.ts';
import { type MessageRecord, MessageRows, messageStride } from './messages.ts';
import { CallbackRows, OutboxRows, type Outgoing, PendingReports, visitedForMs } from './outbox.ts';
import { type Feedback, type Rating, type RunRecord, RunRows } from './runs.ts';
import { keptTables, rareTables, schema, usualTables } from './schema.ts';
import {
	createSessionReader,
	type ImportProgress,
	insertSession,
	isListed,
	listDirectories,
	noSuchSession,
	type SessionRecord,
	type SessionRow,
	StateRows,
	type Status,
	sessionStatus,
} from './session-row.ts';
import { SpendingRows } from './spending.ts';
import { type CachingStorage, cacheReads, makeTables } from './tables.ts';
import { TokenRows } from './tokens.ts';
import { WorkspaceRows } from './workspace.ts';

interface Own extends CachingStorage {
	readonly alarm: StoredAlarm;
	readonly session: () => SessionRow | undefined;
	readonly reports: PendingReports;
}

/** The rows of a session. Methods are synchronous, except `clear` and `sync`. A `transaction` writes all or nothing. */
export class SessionStore {
	readonly messages: MessageRows;
	readonly runs: RunRows;
	readonly calls: CallRows;
	readonly spending: SpendingRows;
	readonly queue: QueueRows;
	readonly deliveries: DeliveryRows;
	readonly callbacks: CallbackRows;
	readonly tokens: TokenRows;
	readonly outbox: OutboxRows;
	readonly state: StateRows;
	readonly workspace: WorkspaceRows;
	readonly archive: ArchiveRows;
	readonly #storage: Own;

	constructor(given: Storage) {
		const storage = cacheReads(makeTables(guardStorage(given), rareTables));
		const { sql } = storage;
		this.messages = new MessageRows(sql);
		this.runs = new RunRows(sql);
		this.calls = new CallRows(sql);
		this.spending = new SpendingRows(sql, this.messages);
		this.deliveries = new DeliveryRows(sql);
		this.queue = new QueueRows(sql, this.deliveries);
		this.callbacks = new CallbackRows(sql);
		this.tokens = new TokenRows(sql);
		this.outbox = new OutboxRows(sql);
		this.state = new StateRows(sql);
		this.workspace = new WorkspaceRows(sql, this.outbox);
		this.archive = new ArchiveRows(storage);
		const session = createSessionReader(sql);
		const reports = new PendingReports(sql, () => this.#findRow(), this);
		this.#storage = { ...storage, alarm: new StoredAlarm(storage), session, reports };
	}

	/** Migrates the tables. Call it before anything else. */
	open(): void {
		if (this.hasTables) this.transaction(() => migrate(this.#storage.sql, schema));
	}

	clear(): Promise<void> {
		return this.#storage.deleteAll();
	}

	/** Resolves when everything that was written is durable. */
	sync(): Promise<void> {
		return this.#storage.sync();
	}

	get reports(): PendingReports {
		return this.#storage.reports;
	}

	get alarm(): StoredAlarm {
		return this.#storage.alarm;
	}

	/** Whether a session is stored here. Creates no table. */
	exists(): boolean {
		return this.#findRow()?.isImporting === false;
	}

	get isImporting(): boolean {
		return this.#findRow()?.isImporting === true;
	}

	/** How far an import has come. Missing if it cannot go on after an interruption. */
	get importProgress(): ImportProgress | undefined {
		return this.#findRow()?.importProgress;
	}

	/** Whether tables exist: a session's tables, or the outbox of a removed session. */
	get hasTables(): boolean {
		return this.archive.version > 0;
	}

	get bytes(): number {
		return this.hasTables ? this.#storage.sql.databaseSize + this.workspace.bucketBytes : 0;
	}

	/** Removes everything but the outbox. Adds the removal to the outbox. */
	erase(now: number): void {
		const session = this.session();
		const { id, owner } = session;
		const isTold = !this.isImporting && isListed(session);
		const folder = this.workspace.usesBucket ? this.bucketFolder : undefined;
		const query = "SELECT name FROM sqlite_master WHERE type = 'table'";
		const tables = this.#storage.sql.exec<{ name: string }>(query).toArray();
		this.spending.endLease();
		this.transaction(() => {
			for (const report of this.reports.list()) if (report.message.to === 'ledger') this.outbox.add(report, now);
			for (const child of this.calls.children.list())
				this.outbox.endChild(child, { owner, parent: id, isRemoved: true }, now);
			for (const { name } of tables) if (!keptTables.test(name)) this.#storage.sql.write(name, `DELETE FROM "${name}"`);
			if (isTold) for (const name of listDirectories(session)) this.outbox.unlist(name, id, now);
			if (folder !== undefined) this.outbox.dropFolder(folder, now);
		});
		this.reports.forget();
		this.runs.forget();
	}

	noteVisit(now: number): void {
		if (now - (this.visitedAt ?? 0) < visitedForMs) return;
		this.#set('listed_at', now);
		this.reports.noteActivity(false, now);
	}

	get visitedAt(): number | undefined {
		return this.#row.visitedAt;
	}

	/** Notes that somebody opened the session. Reads and the list do not show it. */
	noteUse(now: number): void {
		this.#set('used_at', now);
	}

	get usedAt(): number | undefined {
		return this.#row.usedAt;
	}

	listDue(now: number): readonly Outgoing[] {
		return [...this.reports.list(), ...this.outbox.listDue(now)];
	}

	get owesNothing(): boolean {
		return this.reports.isEmpty && this.outbox.nextAt() === undefined;
	}

	markReported(all: readonly Outgoing[]): void {
		this.transaction(() => {
			for (const outgoing of all) this.outbox.markReported(outgoing);
		});
		for (const outgoing of all) this.reports.markReported(outgoing);
	}

	retry(all: readonly Outgoing[], now: number): void {
		this.transaction(() => {
			for (const outgoing of all) {
				if (outgoing.body === undefined) this.outbox.add({ ...outgoing, failed: 1 }, now);
				else this.outbox.retry(outgoing, now);
			}
		});
		for (const outgoing of all) this.reports.markStored(outgoing);
	}

	transaction<T>(work: () => T): T {
		return this.#storage.transactionSync(work);
	}

	/** Stores a new session. An imported session does not exist for anybody until `endImport`. */
	create(session: SessionRecord, { isImporting = false } = {}): void {
		migrate(this.#storage.sql, { ...schema, tables: usualTables });
		insertSession(this.#storage.sql, session, { isImporting });
		// A session with this id may have been removed a moment ago.
		for (const name of listDirectories(session)) this.outbox.relist(name);
		if (!isImporting) this.reports.noteActivity(true, session.createdAt);
	}

	/** Puts the session into the list of all owners, with its next report, unless it is there. */
	joinAll(shardsOfAll: number | undefined): void {
		const session = this.session();
		if (shardsOfAll === undefined || session.shardsOfAll !== undefined) return;
		this.#set('shards_of_all', shardsOfAll);
		for (const name of listDirectories(this.session())) this.outbox.relist(name);
		this.reports.noteWait();
	}

	keepImport(progress: ImportProgress): void {
		this.#set('importing', JSON.stringify(progress));
	}

	/** Ends the import. From now on the session exists. Its last activity is now, because its runs may be old. */
	endImport(now: number): void {
		this.#storage.sql.write('session', 'UPDATE session SET importing = NULL, listed_at = ?', now);
		this.reports.noteActivity(true, now);
	}

	/** Throws `not_found` if there is no session. */
	session(): SessionRecord {
		return this.#row.record;
	}

	get #row(): SessionRow {
		const row = this.#findRow();
		if (row === undefined) throw noSuchSession();
		return row;
	}

	#findRow(): SessionRow | undefined {
		return this.hasTables ? this.#storage.session() : undefined;
	}

	/** The prefix of the session's keys in the bucket. A new session with the same id has another folder. */
	get bucketFolder(): string {
		const { id, createdAt } = this.session();
		return `sessions/${id}/${createdAt}/`;
	}

	/** Returns the messages of a run that begins at a place, with the messages of other runs in its turns. */
	findRunMessages(n: number, from: number): readonly MessageRecord[] {
		return this.#readRunMessages(n, from).map((record) => this.messages.whole(record));
	}

	#readRunMessages(n: number, from: number): readonly MessageRecord[] {
		const next = this.runs.get(n + 1)?.firstSeq;
		return this.messages.page({ from, to: next && next + messageStride }).records;
	}

	get nextRun(): number {
		return (this.runs.get()?.n ?? 0) + 1;
	}

	get status(): Status {
		return sessionStatus(this.runs.get()?.status);
	}

	/** The reply in the background that the newest run waits for, until the request of the reply is settled. */
	get begunReply(): BegunReply | undefined {
		const { draft } = this.runs.get() ?? {};
		return draft?.begun !== undefined && draft.call === this.spending.open()?.call ? draft.begun : undefined;
	}

	get tokenKey(): string {
		return this.#row.tokenKey;
	}

	#set(column: string, value: string | number | null): void {
		this.#storage.sql.write('session', `UPDATE session SET ${column} = ?`, value);
	}

	update({
		title,
		model,
		clientTools,
		cleared,
		labels,
		leftByCalls,
	}: Partial<Pick<SessionRecord, 'title' | 'model' | 'clientTools' | 'cleared' | 'labels' | 'leftByCalls'>>): void {
		if (title !== undefined) this.#set('title', title);
		if (model !== undefined) this.#set('model', model);
		if (clientTools !== undefined) this.#set('client_tools', clientTools.length === 0 ? null : toJsonText(clientTools));
		if (cleared !== undefined) this.#set('cleared', toJsonText(cleared));
		if (labels !== undefined) this.#set('labels', toJsonText(labels));
		if (leftByCalls !== undefined) this.#set('left_by_calls', toJsonText(leftByCalls));
	}

	/** The place of the newest summary. A model gets the conversation from there on. */
	get summary(): number {
		return this.#row.summary;
	}

	/** Stores what a person said about a run, or removes it. Throws `not_found`, or `conflict` if the run has not ended. */
	rate(runId: string, rating: Rating | undefined, at: number): Feedback | undefined {
		const { n, end } = this.#findRun(runId);
		if (end === undefined) throw new RunletError('conflict', 'The run has not ended. Rate it when it has.');
		const feedback = rating && { ...rating, at };
		this.transaction(() => {
			this.runs.rate({ n, end }, feedback);
			const about = { run: n, runId, at, rating };
			this.outbox.tellFeedback(about, at);
			if (this.session().shardsOfAll !== undefined) this.outbox.tellFeedback({ ...about, isForAll: true }, at);
		});
		return feedback;
	}

	/** Returns the place of the newest message of a person that led to a run. Throws `not_found`. */
	findRunMessage(runId: string): number {
		const run = this.#findRun(runId);
		// A run that continues another one, such as after an approval, begins with no message of its own.
		const { records } = this.messages.page({ to: run.firstSeq + 1, isBackward: true, limit: 1_000 });
		const found = records.find(({ message, input }) => message.role === 'user' && input === true);
		if (found !== undefined) return found.seq;
		throw new RunletError('not_found', 'No message of a person led to this run.');
	}

	#findRun(id: string): RunRecord {
		const run = this.runs.find(id);
		if (run !== undefined) return run;
		throw new RunletError('not_found', 'There is no such run in this session.');
	}

	/** Returns the feedback about a run if the message at a place is the run's last reply. */
	findFeedback({ n, firstSeq, end }: RunRecord, seq: number): Feedback | undefined {
		if (end?.feedback === undefined) return undefined;
		const last = this.#readRunMessages(n, firstSeq).findLast(
			({ run, message }) => run === n && message.role === 'assistant',
		);
		return last?.seq === seq ? end.feedback : undefined;
	}

	restore(record: Omit<MessageRecord, 'stored'>): void {
		this.messages.restore(record);
		const isSummary = record.message.role === 'system' && record.message.summary === true;
		if (isSummary && record.isReplaced !== true) this.#set('summary', record.seq);
	}

	addSummary(run: number, message: Message, createdAt: number, inFrontOf: number): void {
		const place = this.messages.addSummary(run, message, createdAt, inFrontOf);
		this.#set('summary', place);
	}

	/** Marks a message and all after it as replaced. If the summary is among them, an earlier summary counts. */
	replace(place: number): void {
		this.messages.replace(place);
		if (this.summary < place) return;
		this.#set('summary', this.messages.summaryBefore(place));
	}

	change({ budget, title }: SessionChange, now: number): void {
		if (budget !== undefined) this.#set('budget', toJsonText(budget));
		if (title === undefined) return;
		this.update({ title });
		this.noteVisit(now);
		this.reports.noteActivity(true, now);
	}
}
