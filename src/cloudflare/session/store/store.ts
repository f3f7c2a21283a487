import type { Message } from '../../../core/chat/index.ts';
import { makeTokenKey } from '../../auth/token.ts';
import type { ClientTool } from '../../compat/client-tool.ts';
import { migrate, readVersion } from '../../objects/migrate.ts';
import type { Amount, Limit } from '../../rpc/budget.ts';
import { CallRows } from './calls.ts';
import { DeliveryRows } from './deliveries.ts';
import { MessageRows } from './messages.ts';
import { CallbackRows, OutboxRows, type Outgoing } from './outbox.ts';
import { QueueRows, type Waiting } from './queue.ts';
import { RunRows } from './runs.ts';
import { migrations } from './schema.ts';
import { type Charge, SpendingRows } from './spending.ts';
import { type Status, sessionStatus } from './status.ts';
import { guardStorage, type Storage } from './storage.ts';
import { TokenRows } from './tokens.ts';

/** A session as it was created. */
export interface SessionRecord {
	readonly id: string;
	readonly agent: string;
	/** Who it belongs to. */
	readonly owner: string;
	/** The model that the session chose; missing means the agent's own. */
	readonly model?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	/** What it may spend; missing means what its agent says. */
	readonly budget?: Limit;
	/** How long after its last activity it is removed, in milliseconds; missing means what its agent says. */
	readonly expiresAfterMs?: number;
	/** Tools that its client carries out, beside the agent's. */
	readonly clientTools?: readonly ClientTool[];
	/** The beginning of its first message, once there is one. */
	readonly title?: string;
	/** Milliseconds since 1970, as every time here. */
	readonly createdAt: number;
}

/**
 * A session's rows, by what they are about. Every method is synchronous; what one `transaction` writes is written
 * together.
 */
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
	readonly #storage: Storage;

	constructor(given: Storage) {
		const storage = guardStorage(given);
		const { sql } = storage;
		this.#storage = storage;
		this.messages = new MessageRows(sql);
		this.runs = new RunRows(sql);
		this.calls = new CallRows(sql);
		this.spending = new SpendingRows(sql);
		this.queue = new QueueRows(sql);
		this.deliveries = new DeliveryRows(sql);
		this.callbacks = new CallbackRows(sql);
		this.tokens = new TokenRows(sql);
		this.outbox = new OutboxRows(sql);
	}

	/** Brings the tables of an earlier version up to date. Call it before anything else is asked of them. */
	open(): void {
		if (this.hasTables) this.transaction(() => migrate(this.#storage.sql, migrations));
	}

	/** Resolves once all that was written is durable. */
	sync(): Promise<void> {
		return this.#storage.sync();
	}

	/** When the object's one alarm is set for, if it is. */
	async alarmAt(): Promise<number | undefined> {
		return (await this.#storage.getAlarm()) ?? undefined;
	}

	/** Sets the object's one alarm, or takes it away. */
	setAlarm(at: number | undefined): Promise<void> {
		return at === undefined ? this.#storage.deleteAlarm() : this.#storage.setAlarm(at);
	}

	/** Whether a session was created here. Asking creates nothing. */
	exists(): boolean {
		return this.hasTables && this.#storage.sql.exec('SELECT 1 FROM session').toArray().length > 0;
	}

	/** Whether there are tables: those of a session, or of what one owed when it was removed. */
	get hasTables(): boolean {
		return readVersion(this.#storage.sql) > 0;
	}

	/** Removes everything but what is still owed, to which it adds that the session is gone. */
	erase(now: number): void {
		const { id, owner } = this.session();
		type Row = { name: string };
		const tables = this.#storage.sql.exec<Row>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
		this.transaction(() => {
			for (const { name } of tables) if (!keptTables.test(name)) this.#storage.sql.exec(`DELETE FROM "${name}"`);
			this.outbox.unlist(owner, id, now);
		});
	}

	/** What a request to a model came to; the owner's ledger is to be told. */
	settle({ call, run, owed }: Pick<Charge, 'call' | 'run' | 'owed'>, amount: Amount, now = Date.now()): void {
		this.transaction(() => {
			this.spending.settle(call, amount);
			if (!owed) return;
			const runId = this.runs.get(run)?.id ?? '';
			this.outbox.owe(this.session().owner, ledgerId(runId, call), amount, now);
		});
	}

	/** The session was active: its owner's list is to be told, unless it was a moment ago and there is nothing new. */
	noteActivity(isNew: boolean, now: number): void {
		type Row = { listed_at: number | null };
		const { listed_at: listedAt } = this.#storage.sql.exec<Row>('SELECT listed_at FROM session').one();
		if (!isNew && listedAt !== null && now - listedAt < listedForMs) return;
		this.outbox.list({ activeAt: now, title: this.session().title }, now);
	}

	/** What was owed was told. */
	markTold(all: readonly Outgoing[]): void {
		this.transaction(() => {
			for (const outgoing of all) {
				this.outbox.markTold(outgoing);
				const { message } = outgoing;
				if (message.to === 'list') this.#storage.sql.exec('UPDATE session SET listed_at = ?', message.activeAt);
			}
		});
	}

	/** What was owed could not be told. */
	retry(all: readonly Outgoing[], now: number): void {
		this.transaction(() => {
			for (const outgoing of all) this.outbox.retry(outgoing, now);
		});
	}

	/** A message that waited belongs to a run now. */
	takeFromQueue({ id, key }: Pick<Waiting, 'id' | 'key'>, run: number): void {
		this.queue.remove(id);
		if (key !== undefined) this.deliveries.endWaiting(key, run);
	}

	transaction<T>(work: () => T): T {
		return this.#storage.transactionSync(work);
	}

	create(session: SessionRecord): void {
		const { id, agent, owner, model, metadata, budget, expiresAfterMs, clientTools, createdAt } = session;
		migrate(this.#storage.sql, migrations);
		this.#storage.sql.exec(
			`INSERT INTO session (id, agent, owner, model, metadata, budget, expires_after, client_tools, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			...[id, agent, owner, model ?? null, toJsonText(metadata), toJsonText(budget), expiresAfterMs ?? null],
			...[toJsonText(clientTools), createdAt],
		);
		// One of the same id may have been removed a moment ago.
		this.outbox.remove('unlist');
		this.noteActivity(true, createdAt);
	}

	session(): SessionRecord {
		type Row = {
			id: string;
			agent: string;
			owner: string;
			model: string | null;
			metadata: string | null;
			budget: string | null;
			expires_after: number | null;
			client_tools: string | null;
			title: string | null;
			created_at: number;
		};
		const row = this.#storage.sql.exec<Row>('SELECT * FROM session').one();
		return {
			id: row.id,
			agent: row.agent,
			owner: row.owner,
			model: row.model ?? undefined,
			metadata: row.metadata === null ? undefined : JSON.parse(row.metadata),
			budget: row.budget === null ? undefined : JSON.parse(row.budget),
			expiresAfterMs: row.expires_after ?? undefined,
			clientTools: row.client_tools === null ? undefined : JSON.parse(row.client_tools),
			title: row.title ?? undefined,
			createdAt: row.created_at,
		};
	}

	/** The number of the next run. */
	get nextRun(): number {
		return (this.runs.get()?.n ?? 0) + 1;
	}

	/** Where the session stands. */
	get status(): Status {
		return sessionStatus(this.runs.get()?.status);
	}

	/** What signs the session's tokens; none was ever made where it is missing. */
	get tokenKey(): string | undefined {
		type Row = { token_key: string | null };
		return this.#storage.sql.exec<Row>('SELECT token_key FROM session').one().token_key ?? undefined;
	}

	/** What signs the session's tokens, made when the first one is. */
	makeTokenKey(): string {
		const known = this.tokenKey;
		if (known !== undefined) return known;
		const key = makeTokenKey();
		this.#storage.sql.exec('UPDATE session SET token_key = ?', key);
		return key;
	}

	/** The model of the runs from now on. */
	chooseModel(model: string): void {
		this.#storage.sql.exec('UPDATE session SET model = ?', model);
	}

	/** The client's tools of the runs from now on. */
	setClientTools(tools: readonly ClientTool[]): void {
		this.#storage.sql.exec('UPDATE session SET client_tools = ?', tools.length === 0 ? null : toJsonText(tools));
	}

	setTitle(title: string): void {
		this.#storage.sql.exec('UPDATE session SET title = ?', title);
	}

	/** The place from which on a model is sent the conversation: that of the newest summary. */
	get summary(): number {
		return this.#storage.sql.exec<{ summary: number }>('SELECT summary FROM session').one().summary;
	}

	/** Stores a summary of what is in front of the newest messages, `inFrontOf` of them. */
	addSummary(run: number, message: Message, createdAt: number, inFrontOf: number): void {
		const place = this.messages.addSummary(run, message, createdAt, inFrontOf);
		this.#storage.sql.exec('UPDATE session SET summary = ?', place);
	}

	/** Another message takes the place of the one there and of all behind it; what they had summed up is sent again. */
	replace(place: number): void {
		this.messages.replace(place);
		if (this.summary < place) return;
		this.#storage.sql.exec('UPDATE session SET summary = ?', this.messages.summaryBefore(place));
	}

	/** What it may spend from now on. */
	setBudget(budget: Limit): void {
		this.#storage.sql.exec('UPDATE session SET budget = ?', toJsonText(budget));
	}
}

/** Milliseconds for which the list of sessions is not told again. */
const listedForMs = 60_000;

/** What stays of a removed session until it was told, and the tables of the platform. */
const keptTables = /^(outbox|schema_version|_cf_.*|sqlite_.*)$/;

/** A request's name in the ledger. A session that is made again under its key has the same id, but other runs. */
export function ledgerId(runId: string, call: number): string {
	return `${runId}.${call}`;
}

function toJsonText(value: object | undefined): string | null {
	return value === undefined ? null : JSON.stringify(value);
}
