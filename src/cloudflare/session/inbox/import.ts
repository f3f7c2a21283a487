import { fromBase64 } from '../../../core/base/bytes.ts';
import { check } from '../../../core/base/check.ts';
import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { assertTasks } from '../../../core/tool/tasks.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import { toActor } from '../../auth/rights.ts';
import { assertRoom } from '../../objects/budget.ts';
import type { Bytes } from '../../objects/reach.ts';
import type { ImportOwner } from '../../objects/session-api.ts';
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
import { mayHaveBudget, readLines, toInbound, toMessage, toRecalled, toRunEnd } from './imported.ts';
import type { Inbox } from './inbox.ts';
import type { InboxContext } from './transaction.ts';

export interface ImportOptions extends InboxContext {
	readonly inbox: Pick<Inbox, 'findReplay'>;
}

/**
 * Imports the lines of an export (docs/sessions.md, "Fork, export and import"). The session does not exist for anybody
 * until the last line is stored. An interrupted import leaves nothing behind.
 */
export class Imports {
	readonly #options: ImportOptions;
	#current: Promise<void> | undefined;

	constructor(options: ImportOptions) {
		this.#options = options;
	}

	/** Imports a session. Imports run one at a time. A request with a used `Idempotency-Key` imports nothing. */
	async take(owner: ImportOwner, lines: Bytes): Promise<void> {
		while (this.#current !== undefined) await this.#current.catch(() => {});
		this.#current = importSession(this.#options, owner, lines);
		try {
			await this.#current;
		} finally {
			this.#current = undefined;
		}
	}
}

async function importSession(options: ImportOptions, owner: ImportOwner, lines: Bytes): Promise<void> {
	const { store, runner, authorization, inbox } = options;
	if (authorization.isThere) {
		await authorization.open({ owner: owner.owner, by: owner.by, role: owner.role }, []);
		if (inbox.findReplay(owner.once) !== undefined) return lines.cancel().catch(() => {});
	}
	await runner.alarm.announce();
	if (!authorization.isMissing())
		throw createFieldError('conflict', 'Idempotency-Key', 'a session is being imported under this key. Wait for it.');
	const config = options.config();
	await runner.owner.assertRoom(owner, config, { always: true });
	const intake = new Intake(options, owner);
	let number = 0;
	try {
		for await (const line of readLines(lines)) {
			await intake.take(parseRecord(line, ++number), number);
			assertRoom('session', config.roomLimits, store.bytes);
		}
		intake.end();
	} catch (cause) {
		intake.stop();
		if (store.isImporting) {
			store.erase(Date.now());
			await runner.owner.outbox.sendRest();
		}
		throw cause;
	}
	void runner.alarm.set();
	runner.tellOwner();
}

/** How long a rerun is kept after its last activity, in milliseconds. */
const rerunMs = 604_800_000;

interface OpenFile extends Pick<ImportedFile, 'path' | 'size'> {
	at: number;
	readonly writer: WritableStreamDefaultWriter<Uint8Array>;
	readonly stored: Promise<unknown>;
}

class Intake {
	readonly #options: ImportOptions;
	readonly #owner: ImportOwner;
	readonly #counts = { runs: 0, spending: 0, state: 0, notes: 0, waiting: 0, files: 0, messages: 0 };
	readonly #runs = new Map<string, number>();
	#file: OpenFile | undefined;
	#lastRun = 0;
	#lastMessage = 0;
	#isEnded = false;

	constructor(options: ImportOptions, owner: ImportOwner) {
		this.#options = options;
		this.#owner = owner;
	}

	/** Stores a record. Throws `invalid_request` if the record does not fit the earlier records. */
	async take(record: ImportedRecord, line: number): Promise<void> {
		const refuse = (message: string): RunletError => createBadRecord(line, message);
		if (this.#isEnded) throw refuse('stands behind the last line of the export.');
		if ('session' in record) {
			if (this.#options.store.isImporting) throw refuse('session: a second one. An export has one session.');
			return this.#takeSession(record.session);
		}
		if (!this.#options.store.isImporting) throw refuse('the first line of an export is its session.');
		if (this.#file !== undefined && !('file' in record)) throw refuse(`file: ${this.#file.path} is not whole.`);
		if ('run' in record) this.#takeRun(record.run, refuse);
		else if ('message' in record) this.#takeMessage(record.message, refuse);
		else if ('file' in record) await this.#takeFile(record.file, refuse);
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

	stop(): void {
		this.#file?.writer.abort().catch(() => {});
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
		const { owner, user, by, role, isFork = false, rerun } = this.#owner;
		config.assertPlaced({ id, owner, agent: imported.agent });
		const createdBy = isFork ? toActor(imported.stored?.createdBy) : by;
		// The usual budget applies if the importer may not set the imported budget.
		const isUsual = JSON.stringify(limit) === JSON.stringify(usualLimit) || !mayHaveBudget(role, limit, usualLimit);
		const { agent: name, metadata, title, clientTools } = imported;
		const expiresAfterMs = rerun === undefined ? imported.expiresAfterMs : rerunMs;
		const about = { agent: name, model, metadata, title, expiresAfterMs, clientTools };
		const budget = isUsual ? undefined : limit;
		const whose = { owner, user, createdBy, isImported: !isFork || imported.stored?.isImported === true, rerun };
		const session = { ...about, ...whose, id, budget, shards: config.findShardCount(owner), createdAt: Date.now() };
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
		const { isFork = false } = this.#owner;
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

	async #takeFile({ path, size, at, base64 }: ImportedFile, refuse: (why: string) => RunletError): Promise<void> {
		this.#counts.files++;
		if (at === 0 && this.#file === undefined) this.#file = this.#openFile(path, size);
		const file = this.#file;
		const bytes = fromBase64(base64);
		if (file === undefined || file.path !== path || file.at !== at || at + bytes.length > file.size)
			throw refuse('file: the pieces of a file stand one behind another, from its first byte on.');
		if (bytes.length === 0 && at < file.size) throw refuse('file: a piece is empty.');
		file.at += bytes.length;
		// `stored` rejects when the file is refused, so the write must not be awaited alone.
		if (bytes.length > 0) await Promise.race([file.writer.write(bytes), file.stored]);
		if (file.at < file.size) return;
		await Promise.race([file.writer.close(), file.stored]);
		await file.stored;
		this.#file = undefined;
	}

	#openFile(path: string, size: number): OpenFile {
		const { readable, writable } = new IdentityTransformStream();
		const stored = this.#options.runner.files.import(path, readable);
		stored.catch(() => {});
		return { path, size, at: 0, writer: writable.getWriter(), stored };
	}

	#takeEnd(counts: Readonly<Record<string, number>>, refuse: (why: string) => RunletError): void {
		for (const [list, count] of Object.entries(this.#counts))
			if (counts[list] !== count) throw refuse(`end: it counts ${counts[list]} ${list}, and ${count} came.`);
		this.#isEnded = true;
	}
}
