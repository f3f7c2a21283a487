import { countBase64Bytes, fromBase64 } from '../../../core/base/bytes.ts';
import { check } from '../../../core/base/check.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { assertTasks } from '../../../core/tool/tasks.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import { toActor } from '../../auth/rights.ts';
import { assertRoom } from '../../objects/budget.ts';
import { type Bytes, createBusy, reach, takeValue } from '../../objects/reach.ts';
import type { ImportOwner, ImportPart, Original } from '../../objects/session-api.ts';
import {
	createBadRecord,
	type ImportedAbout,
	type ImportedFile,
	type ImportedMessage,
	type ImportedRecord,
	type ImportedRun,
	parseRecord,
} from '../../wire/import.ts';
import { place } from '../../wire/page.ts';
import { mostInRows } from '../files/bucket.ts';
import { runInBackground } from '../run/lease.ts';
import { findShardsOfAll, type ImportProgress } from '../store/session-row.ts';
import { type Line, mayHaveBudget, readLines, toInbound, toMessage, toRecalled, toRunEnd } from './imported.ts';
import type { Inbox } from './inbox.ts';
import type { InboxContext } from './transaction.ts';

export interface ImportOptions extends InboxContext {
	readonly inbox: Pick<Inbox, 'findReplay'>;
}

/**
 * Imports the lines of an export (docs/sessions.md, "Fork, export and import"). The session does not exist for anybody
 * until the last line is stored. The lines are stored together with how far the import has come.
 */
export class Imports {
	readonly #options: ImportOptions;
	#current: Promise<number | undefined> | undefined;

	constructor(options: ImportOptions) {
		this.#options = options;
	}

	/**
	 * Imports a session. Imports run one at a time. A request with a used `Idempotency-Key` imports nothing. Returns how
	 * many bytes have arrived, or nothing at the end.
	 */
	async take(owner: ImportOwner, lines?: Bytes, part?: ImportPart): Promise<number | undefined> {
		while (this.#current !== undefined) await this.#current.catch(() => {});
		this.#current = importSession(this.#options, owner, lines, part);
		try {
			return await this.#current;
		} finally {
			this.#current = undefined;
		}
	}

	/** Goes on with a fork that was interrupted. */
	goOn(): void {
		const { owner } = this.#options.store.importProgress ?? {};
		if (owner?.original === undefined || this.#current !== undefined) return;
		runInBackground(async () => void (await this.take(owner)));
	}
}

async function importSession(
	options: ImportOptions,
	owner: ImportOwner,
	lines: Bytes | undefined,
	part: ImportPart | undefined,
): Promise<number | undefined> {
	const { store, runner, authorization, inbox } = options;
	if (authorization.isThere) {
		await authorization.open({ owner: owner.owner, by: owner.by, role: owner.role }, []);
		if (inbox.findReplay(owner.once) !== undefined) return void lines?.cancel().catch(() => {});
	}
	await runner.alarm.announce();
	const isNew = part === undefined && owner.original === undefined;
	if (isNew && store.importProgress !== undefined) store.erase(Date.now());
	const intake = new Intake(options, owner, store.importProgress);
	if (part !== undefined && part.from !== intake.offset) {
		lines?.cancel().catch(() => {});
		if (part.from === undefined) return intake.offset;
		const what = `${intake.offset} bytes have arrived. Send the next part from there.`;
		throw new RunletError('conflict', `Content-Range: ${what}`, { field: 'Content-Range', offset: intake.offset });
	}
	if (store.importProgress === undefined && !authorization.isMissing())
		throw createFieldError('conflict', 'Idempotency-Key', 'a session is being imported under this key. Wait for it.');
	await runner.owner.assertRoom(owner, options.config(), { always: true });
	try {
		const body = lines ?? (await openOriginal(options, owner.original, intake.cursor));
		const isLast = part?.isLast ?? true;
		if (!(await intake.takeAll(body, isLast))) throw createInterruption(owner, intake.offset);
		if (!isLast) return intake.offset;
		intake.end();
	} catch (cause) {
		if (store.importProgress === undefined || !isPassing(cause)) {
			if (store.isImporting) store.erase(Date.now());
			await runner.owner.outbox.sendRest();
		}
		throw cause;
	} finally {
		void runner.alarm.set();
	}
	runner.tellOwner();
	return undefined;
}

/** Whether an import can go on after an error. */
function isPassing(cause: unknown): boolean {
	if (!(cause instanceof RunletError)) return true;
	return ['overloaded', 'storage_unavailable', 'timeout'].includes(cause.code) || cause.data?.offset !== undefined;
}

function createInterruption({ original }: ImportOwner, offset: number): RunletError {
	if (original !== undefined) return createBusy('The original');
	return new RunletError('invalid_request', 'body: ended before it was whole. Send the rest.', {
		field: 'body',
		offset,
	});
}

async function openOriginal(
	{ config }: ImportOptions,
	original: Original | undefined,
	cursor = 'start',
): Promise<Bytes> {
	if (original === undefined) throw createFieldError('invalid_request', 'body', 'missing.');
	const { sessions } = config();
	const { session, at, caller } = original;
	const open = () => sessions.get(sessions.idFromString(session)).export(caller, 'ndjson', at, cursor);
	return takeValue(await reach(open, { what: 'The original', isSafe: true }));
}

/** How long a rerun is kept after its last activity, in milliseconds. */
const rerunMs = 604_800_000;

/** The bytes of the lines that are stored together. */
const batchBytes = 1_048_576;

class Intake {
	readonly #options: ImportOptions;
	readonly #owner: ImportOwner;
	readonly #counts = { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0 };
	readonly #runs = new Map<string, number>();
	/** The lines that are not stored yet. */
	#batch: (readonly [record: ImportedRecord | undefined, bytes: number])[] = [];
	#batchBytes = 0;
	#offset = 0;
	#lines = 0;
	#file: ImportProgress['file'];
	#cursor: string | undefined;
	#lastRun = 0;
	#lastMessage = 0;
	#isEnded = false;

	/** @param progress how far an earlier request came */
	constructor(options: ImportOptions, owner: ImportOwner, progress: ImportProgress | undefined) {
		this.#options = options;
		this.#owner = progress?.owner ?? owner;
		if (progress === undefined) return;
		Object.assign(this.#counts, progress.counts);
		[this.#offset, this.#lines, this.#file] = [progress.offset, progress.lines, progress.file];
		[this.#cursor, this.#lastRun, this.#lastMessage] = [progress.cursor, progress.lastRun, progress.lastMessage];
		for (const { id, n } of options.store.runs.listIds()) this.#runs.set(id, n);
	}

	/** How many bytes of the lines are stored. */
	get offset(): number {
		return this.#offset;
	}

	get cursor(): string | undefined {
		return this.#cursor;
	}

	/**
	 * Stores the lines of a body. Returns false for an interrupted body. Throws `invalid_request` for a record that does
	 * not fit the earlier records.
	 */
	async takeAll(body: Bytes, isLast: boolean): Promise<boolean> {
		await this.#storeFile();
		const before = this.#offset;
		const lines = readLines(body, isLast);
		try {
			for (let next = await lines.next(); ; next = await lines.next()) {
				if (!next.done) await this.#add(next.value);
				else {
					// A fork is stored up to a cursor.
					if (next.value || this.#owner.original === undefined) await this.#storeBatch();
					if (!next.value) return false;
					break;
				}
			}
		} finally {
			void lines.return(false);
		}
		if (isLast || this.#offset > before) return true;
		const what = 'Content-Range: the part has no whole line. Send a longer part.';
		throw new RunletError('invalid_request', what, { field: 'Content-Range', offset: before });
	}

	async #add({ text, bytes }: Line): Promise<void> {
		const record = text === '' ? undefined : parseRecord(text, this.#lines + this.#batch.length + 1);
		this.#batch.push([record, bytes]);
		this.#batchBytes += bytes;
		const isDue =
			this.#owner.original === undefined
				? this.#batchBytes >= batchBytes || endsFile(record)
				: record !== undefined && 'cursor' in record;
		if (isDue) await this.#storeBatch();
	}

	/** Stores the lines, with how far the import is. If that fails, none of them is stored. */
	async #storeBatch(): Promise<void> {
		const { store, runner, config } = this.#options;
		const batch = this.#batch;
		if (batch.length === 0) return;
		[this.#batch, this.#batchBytes] = [[], 0];
		store.transaction(() => {
			for (const [record, bytes] of batch) {
				this.#lines++;
				this.#offset += bytes;
				if (record !== undefined) this.#take(record, this.#lines);
			}
			this.#keepProgress();
		});
		runner.labels.keepUp();
		void runner.alarm.set();
		await this.#storeFile();
		if (store.isImporting) assertRoom('session', config().roomLimits, store.bytes);
		// An import that never waits for a timer keeps other requests to its workerd waiting. A fork does not wait: one that its
		// alarm continued stalled here.
		if (this.#owner.original === undefined) await new Promise((resolve) => setTimeout(resolve, 0));
	}

	/** Stores a file of several pieces when it is whole. */
	async #storeFile(): Promise<void> {
		const { store, runner } = this.#options;
		const file = this.#file;
		if (file === undefined || file.at < file.size) return;
		await runner.files.importPieces(file.path);
		store.transaction(() => {
			store.workspace.contents.dropPieces();
			this.#file = undefined;
			this.#keepProgress();
		});
	}

	#keepProgress(): void {
		const { store } = this.#options;
		const owner = this.#owner;
		const canGoOn = owner.once !== undefined || owner.original !== undefined;
		if (!canGoOn || !store.isImporting) return;
		const [offset, lines, file, cursor] = [this.#offset, this.#lines, this.#file, this.#cursor];
		const [lastRun, lastMessage, counts] = [this.#lastRun, this.#lastMessage, this.#counts];
		store.keepImport({ owner, offset, lines, file, cursor, lastRun, lastMessage, counts, at: Date.now() });
	}

	#take(record: ImportedRecord, line: number): void {
		const refuse = (message: string): RunletError => createBadRecord(line, message);
		if (this.#isEnded) throw refuse('stands behind the last line of the export.');
		if ('session' in record) {
			if (this.#options.store.isImporting) throw refuse('session: a second one. An export has one session.');
			this.#takeSession(record.session);
			return;
		}
		if (!this.#options.store.isImporting) throw refuse('the first line of an export is its session.');
		if ('cursor' in record) {
			this.#cursor = record.cursor;
			return;
		}
		if (this.#file !== undefined && !('file' in record)) throw refuse(`file: ${this.#file.path} is not whole.`);
		if ('run' in record) this.#takeRun(record.run, refuse);
		else if ('message' in record) this.#takeMessage(record.message, refuse);
		else if ('file' in record) this.#takeFile(record.file, refuse);
		else if ('state' in record) {
			const { key, value } = record.state;
			assertTasks(key, value);
			this.#counts.state++;
			this.#options.store.state.set(key, value ?? null);
		} else if ('note' in record) {
			const { key, value } = record.note;
			assertTasks(key, value);
			this.#counts.notes++;
			this.#options.store.workspace.keepNote(key, value);
		} else if ('spending' in record) this.#counts.spending++;
		else if ('waiting' in record) this.#counts.waiting++;
		else this.#takeEnd(record.end, refuse);
	}

	/** Ends the import. Throws `invalid_request` if the last line is missing. */
	end(): void {
		const { store, authorization } = this.#options;
		if (!this.#isEnded)
			throw createFieldError('invalid_request', 'body', 'the last line is missing. Send the whole export.');
		store.transaction(() => {
			const { by, once } = this.#owner;
			store.endImport(Date.now());
			authorization.tokens.addFirst(by);
			if (once !== undefined) store.deliveries.add(once, {}, Date.now());
		});
	}

	#takeSession(imported: ImportedAbout): void {
		const { id, store, runtime, config: readConfig } = this.#options;
		const config = readConfig();
		const agent = findAgent(runtime.agents, imported.agent);
		const usual = agent.model ?? config.model;
		const model = imported.model === usual ? undefined : imported.model;
		chooseModel(agent, model, config.model);
		const limit = imported.budget?.limit;
		const usualLimit = agent.budget ?? config.sessionBudget;
		const { owner, user, by, role, original, rerun } = this.#owner;
		config.assertPlaced({ id, owner, agent: imported.agent });
		const isFork = original !== undefined;
		const createdBy = isFork ? toActor(imported.stored?.createdBy) : by;
		// The usual budget applies if the importer may not set the imported budget.
		const isUsual = JSON.stringify(limit) === JSON.stringify(usualLimit) || !mayHaveBudget(role, limit, usualLimit);
		const { agent: name, metadata, title, clientTools } = imported;
		const expiresAfterMs = rerun === undefined ? imported.expiresAfterMs : rerunMs;
		const about = { agent: name, model, metadata, title, expiresAfterMs, clientTools };
		const budget = isUsual ? undefined : limit;
		const whose = { owner, user, createdBy, isImported: !isFork || imported.stored?.isImported === true, rerun };
		const shards = { shards: config.findShardCount(owner), shardsOfAll: findShardsOfAll(config, { owner }) };
		const session = { ...about, ...whose, id, budget, ...shards, createdAt: Date.now() };
		store.transaction(() => store.create(session, { isImporting: true }));
	}

	#takeRun(
		{ id, status, model, lives, createdAt, endedAt, stored }: ImportedRun,
		refuse: (why: string) => RunletError,
	) {
		const firstSeq = check(place, stored.firstMessage, 'run.stored.firstMessage');
		if (firstSeq < this.#lastRun) throw refuse('run: begins in front of the run before it.');
		if (this.#runs.has(id)) throw refuse(`run: ${id.slice(0, 64)} stands here twice.`);
		const n = this.#runs.size + 1;
		const began = Date.parse(createdAt);
		const isOver = stored.end !== undefined && !['running', 'awaiting_user', 'awaiting_tools'].includes(status);
		this.#options.store.runs.restore({
			n,
			id,
			status: isOver ? status : 'cancelled',
			model,
			boot: '',
			attempt: lives,
			firstSeq,
			end: toRunEnd(stored.end, isOver),
			createdAt: began,
			endedAt: endedAt === undefined ? began : Date.parse(endedAt),
			...(stored.recalled && { recalled: toRecalled(stored.recalled) }),
		});
		this.#runs.set(id, n);
		this.#lastRun = firstSeq;
		this.#counts.runs++;
	}

	#takeMessage(imported: ImportedMessage, refuse: (why: string) => RunletError): void {
		const { runId, turn, isReplaced, isInput, stored = {} } = imported;
		const seq = check(place, imported.id, 'message.id');
		if (seq <= this.#lastMessage) throw refuse('message: stands behind a message with a larger id.');
		const run = runId === undefined ? 0 : this.#runs.get(runId);
		if (run === undefined) throw refuse(`message: no run ${runId?.slice(0, 64)} stands in front of it.`);
		const { providerMetadata, inbound, decidedBy: _, isDenied: __, prompt: ___, ...more } = stored;
		const isFork = this.#owner.original !== undefined;
		// The importer counts as the author of all imported messages.
		const isFromPerson = isInput === true || (!isFork && imported.role === 'user');
		this.#options.store.restore({
			seq,
			run,
			message: toMessage(imported, isFork ? providerMetadata : undefined),
			createdAt: Date.parse(imported.createdAt),
			...(isFromPerson && { input: true }),
			...(isReplaced === true && { isReplaced }),
			...(turn !== undefined && { turn }),
			...((inbound !== undefined || isFromPerson) && { inbound: toInbound(inbound, this.#owner) }),
			...more,
		});
		this.#lastMessage = seq;
		this.#counts.messages++;
	}

	#takeFile({ path, size, at, base64 }: ImportedFile, refuse: (why: string) => RunletError): void {
		this.#counts.files++;
		const bytes = fromBase64(base64);
		const file = this.#file ?? { path, size, at: 0 };
		if (file.path !== path || file.at !== at || at + bytes.length > file.size)
			throw refuse('file: the pieces of a file stand one behind another, from its first byte on.');
		if (bytes.length === 0 && at < file.size) throw refuse('file: a piece is empty.');
		const { runner, store } = this.#options;
		if (bytes.length === file.size && file.size <= mostInRows) runner.files.importSmall(path, bytes);
		else {
			store.workspace.contents.keepPiece(at, bytes);
			this.#file = { ...file, at: at + bytes.length };
		}
	}

	#takeEnd(counts: Readonly<Record<string, number>>, refuse: (why: string) => RunletError): void {
		for (const [list, count] of Object.entries(this.#counts))
			if (counts[list] !== count) throw refuse(`end: it counts ${counts[list]} ${list}, and ${count} came.`);
		this.#isEnded = true;
	}
}

/** Whether a line ends a file whose pieces are kept. */
function endsFile(record: ImportedRecord | undefined): boolean {
	if (record === undefined || !('file' in record)) return false;
	const { at, size, base64 } = record.file;
	return (at > 0 || size > mostInRows) && at + countBase64Bytes(base64) >= size;
}
