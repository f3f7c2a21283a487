import { createFieldError } from '../../../core/base/errors.ts';
import { describeContent } from '../../../core/workspace/content.ts';
import { addUsage, planEdits, planUndo, type Quota } from '../../../core/workspace/plan.ts';
import type { Caller, CheckedEdit } from '../../../core/workspace/store.ts';
import type { ChangedFile } from '../../../core/workspace/workspace.ts';
import type { Sql } from '../../objects/migrate.ts';
import { splitRows } from '../../objects/storage.ts';
import { ChangeRows, type NewChange, type StoredChange } from './changes.ts';
import { type ContentRef, ContentRows, FileRows, type NewContent, type SessionFile } from './files.ts';
import type { OutboxRows } from './outbox.ts';
import type { CachingSql } from './tables.ts';

const mostChanges = 1_000;
/** The maximum length of a note as JSON. */
const longestNote = 16_000_000;

export interface ChangeOptions {
	readonly quota: Quota;
	readonly caller?: Caller;
	/** The result that `recall` returns from now on. */
	readonly result?: unknown;
	/** The contents that are already in the bucket. */
	readonly uploads?: ReadonlyMap<CheckedEdit, NewContent>;
}

type Totals = {
	readonly files: number;
	readonly bytes: number;
	/** The bytes of all contents, including contents that only the journal needs. */
	readonly kept_bytes: number;
	readonly changes: number;
	readonly last_change: number;
	readonly last_content: number;
};

const nothing: Totals = { files: 0, bytes: 0, kept_bytes: 0, changes: 0, last_change: 0, last_content: 0 };

/** The files of a session. Call the methods that change files only inside a transaction. */
export class WorkspaceRows {
	readonly files: FileRows;
	readonly contents: ContentRows;
	readonly journal: ChangeRows;
	readonly #sql: Sql;
	readonly #outbox: OutboxRows;
	readonly #bucketBytes: () => number;

	constructor(sql: CachingSql, outbox: OutboxRows) {
		this.#sql = sql;
		this.#outbox = outbox;
		this.files = new FileRows(sql);
		this.contents = new ContentRows(sql);
		this.journal = new ChangeRows(sql, this.contents);
		const query = 'SELECT COALESCE(SUM(size), 0) AS bytes FROM content WHERE bucket_key IS NOT NULL';
		this.#bucketBytes = sql.cached('content', () => sql.exec<{ bytes: number }>(query).one().bytes);
	}

	change(edits: readonly CheckedEdit[], { quota, caller, result, uploads }: ChangeOptions): readonly ChangedFile[] {
		const added = new Map<number, NewContent>();
		let id = this.#read().last_content;
		const plan = planEdits(edits, this.files, (edit): SessionFile => {
			const content = uploads?.get(edit) ?? { ...describeContent(edit.content), bytes: edit.content };
			id++;
			added.set(id, content);
			const { size, lines } = content;
			const place = { id, ...('key' in content && { key: content.key }) };
			return { size, ...(lines !== undefined && { lines }), version: id, content: place, modifiedAt: Date.now() };
		});
		const step = caller === undefined ? undefined : String(caller.step);
		this.#apply({ ...plan, step, callId: caller?.callId }, added, quota);
		for (const [key, value] of plan.notes) this.keepNote(key, value);
		this.#remember(step, result);
		return plan.changed;
	}

	/** Throws the errors that `change` would throw, but changes nothing. */
	assertPossible(edits: readonly CheckedEdit[], quota: Quota): void {
		const { files } = planEdits<ContentRef>(edits, this.files, ({ content: { length: size } }) => {
			return { size, version: Number.NaN, content: { id: 0 }, modifiedAt: 0 };
		});
		addUsage(this.#read(), files, quota);
	}

	undo(steps: number, { quota, caller }: Omit<ChangeOptions, 'result'>): readonly ChangedFile[] {
		const plan = planUndo<ContentRef, StoredChange>(this.journal.listSteps(), steps, this.files);
		this.#apply({ ...plan, callId: caller?.callId }, new Map(), quota);
		for (const { id } of plan.entries) this.journal.markUndone(id);
		this.#remember(caller && String(caller.step), { undone: plan.undone });
		return plan.undone;
	}

	readNote(key: string): unknown {
		return this.#readJson('SELECT body FROM note WHERE key = ? ORDER BY part', key);
	}

	/** Returns the keys of the notes. */
	listNotes(): readonly string[] {
		const keys = this.#sql.exec<{ key: string }>('SELECT DISTINCT key FROM note ORDER BY key').toArray();
		return keys.map(({ key }) => key);
	}

	/** Stores the data of a tool. Throws `too_large`. */
	keepNote(key: string, value: unknown): void {
		this.#sql.exec('DELETE FROM note WHERE key = ?', key);
		if (value === undefined) return;
		const json = JSON.stringify(value);
		const tooLong = `at most ${longestNote} characters at once. Take smaller steps.`;
		if (json.length > longestNote) throw createFieldError('too_large', 'workspace', tooLong);
		for (const [part, body] of splitRows(json).entries())
			this.#sql.exec('INSERT INTO note (key, part, body) VALUES (?, ?, ?)', key, part, body);
	}

	recall(step: string): unknown {
		return this.#readJson('SELECT body FROM recall WHERE step = ? ORDER BY part', step);
	}

	get usesBucket(): boolean {
		return this.#sql.exec('SELECT 1 FROM content WHERE bucket_key IS NOT NULL LIMIT 1').toArray().length > 0;
	}

	get bucketBytes(): number {
		return this.#bucketBytes();
	}

	/** Forgets the oldest changes while `isTooMuch` returns true. Forgotten changes cannot be undone. */
	forget(isTooMuch: () => boolean): void {
		const before = this.#read();
		const { kept_bytes, changes } = this.#trim(before, isTooMuch, 0);
		if (changes < before.changes) this.#write({ ...before, kept_bytes, changes });
	}

	#apply(
		{ files, changed, step, callId }: Omit<NewChange, 'id' | 'at'>,
		added: ReadonlyMap<number, NewContent>,
		quota: Quota,
	): void {
		if (files.length === 0) return;
		const before = this.#read();
		const usage = addUsage(before, files, quota);
		// Removals come first, because a file may replace a folder.
		for (const { path, after } of files) if (after === undefined) this.files.remove(path);
		for (const { path, before: old, after } of files) {
			if (after === undefined) continue;
			if (old === undefined) this.files.add(path, after.version);
			else this.files.replace(path, after.version);
		}
		const id = before.last_change + 1;
		this.journal.add({ id, files, changed, step, callId, at: Date.now() });
		const keptBytes = before.kept_bytes + this.#keepContents(files, added);
		const lastContent = Math.max(before.last_content, ...added.keys());
		const kept = { kept_bytes: keptBytes, changes: before.changes + 1 };
		const isTooMuch = (left: number, count: number) => count > mostChanges || left - usage.bytes > quota.bytes;
		this.#write({
			...this.#trim(kept, isTooMuch, 1),
			...usage,
			last_change: id,
			last_content: lastContent,
		});
	}

	/** Stores the new contents, and adds references to the others. Returns the added bytes. */
	#keepContents(files: NewChange['files'], added: ReadonlyMap<number, NewContent>): number {
		// The journal takes over a removed file's reference. A new file and its journal entry have one reference each.
		const needed = new Map<number, { readonly file: SessionFile; readonly refs: number }>();
		for (const { after: file } of files)
			if (file !== undefined) needed.set(file.version, { file, refs: (needed.get(file.version)?.refs ?? 0) + 2 });
		let bytes = 0;
		for (const [id, { file, refs }] of needed) {
			const content = added.get(id);
			if (content === undefined) {
				this.contents.count(id, refs);
				continue;
			}
			this.contents.add(file, content, refs);
			if (file.content.key !== undefined) this.#outbox.keepKey(file.content.key);
			bytes += file.size;
		}
		return bytes;
	}

	/** Forgets the oldest changes while there are too many, or while they keep too many bytes. */
	#trim(
		{ kept_bytes: keptBytes, changes }: Pick<Totals, 'kept_bytes' | 'changes'>,
		isTooMuch: (keptBytes: number, changes: number) => boolean,
		least: number,
	): Pick<Totals, 'kept_bytes' | 'changes'> {
		let [left, count] = [keptBytes, changes];
		for (; count > least && isTooMuch(left, count); count--) {
			for (const id of this.journal.removeOldest()) {
				const gone = this.contents.count(id, -1);
				if (gone === undefined) continue;
				left -= gone.size;
				if (gone.content.key !== undefined) this.#outbox.dropKey(gone.content.key, Date.now());
			}
		}
		return { kept_bytes: left, changes: count };
	}

	/** Stores a call's result for `recall`. Drops the results of earlier turns, because they are in the history. */
	#remember(step: string | undefined, result: unknown): void {
		if (step === undefined || result === undefined) return;
		this.#sql.exec('DELETE FROM recall WHERE step < ? OR step = ?', step.slice(0, step.indexOf(' ')), step);
		for (const [part, body] of splitRows(JSON.stringify(result)).entries())
			this.#sql.exec('INSERT INTO recall (step, part, body) VALUES (?, ?, ?)', step, part, body);
	}

	#readJson(query: string, key: string): unknown {
		const rows = this.#sql.exec<{ body: string }>(query, key).toArray();
		return rows.length === 0 ? undefined : JSON.parse(rows.map(({ body }) => body).join(''));
	}

	#read(): Totals {
		return this.#sql.exec<Totals>('SELECT * FROM workspace').toArray()[0] ?? nothing;
	}

	#write({ files, bytes, kept_bytes: kept, changes, last_change: change, last_content: content }: Totals): void {
		this.#sql.exec(
			`INSERT OR REPLACE INTO workspace (one, files, bytes, kept_bytes, changes, last_change, last_content)
			VALUES (1, ?, ?, ?, ?, ?, ?)`,
			...[files, bytes, kept, changes, change, content],
		);
	}
}

/** Returns the id of a call's step. It contains the turn, because the id of a call may be used again. */
export function nameStep(turn: number, callId: string): string {
	return `${String(turn).padStart(15, '0')} ${JSON.stringify(callId)}`;
}
