import { createFieldError } from '../../../core/base/errors.ts';
import type { Entry, Replacement } from '../../../core/workspace/plan.ts';
import type { ChangedFile } from '../../../core/workspace/workspace.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { ContentRef, ContentRows, SessionFile } from './files.ts';

export interface StoredChange extends Entry<ContentRef> {
	readonly id: number;
}

export interface NewChange {
	readonly id: number;
	readonly files: readonly Replacement<ContentRef>[];
	readonly changed: readonly ChangedFile[];
	/** Missing for a change by people and for an undo. */
	readonly step?: string;
	readonly callId?: string;
	readonly at: number;
}

export interface FileChangeRecord extends ChangedFile {
	readonly id: string;
	readonly callId?: string;
	readonly at: number;
	readonly before?: SessionFile;
	readonly after?: SessionFile;
}

type Row = {
	change: number;
	place: number;
	step: string | null;
	call: string | null;
	path: string;
	before: number | null;
	after: number | null;
	kind: ChangedFile['kind'] | null;
	moved_from: string | null;
	undone: number;
	created_at: number;
};

/** The journal of the workspace: a row for each changed path. In a move, the row of the old path has no kind. */
export class ChangeRows {
	readonly #sql: Sql;
	readonly #contents: ContentRows;

	constructor(sql: Sql, contents: ContentRows) {
		this.#sql = sql;
		this.#contents = contents;
	}

	add({ id, files, changed, step, callId, at }: NewChange): void {
		const byPath = new Map(changed.map((file) => [file.path, file]));
		for (const [place, { path, before, after }] of files.entries()) {
			const { kind, from } = byPath.get(path) ?? {};
			this.#sql.exec(
				`INSERT INTO change (change, place, step, call, path, before, after, kind, moved_from, created_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				...[id, place, step ?? null, callId ?? null, path, before?.version ?? null, after?.version ?? null],
				...[kind ?? null, from ?? null, at],
			);
		}
	}

	/** Whether a person has changed a file since a time. Also true if changes were forgotten since then. */
	hasChangesOfPeople(since: number): boolean {
		type Found = { first: number | null; oldest: number | null; people: number | null };
		const first = 'COALESCE(MIN(change), (SELECT last_change + 1 FROM workspace))';
		const { people, oldest, ...found } = this.#sql
			.exec<Found>(
				`SELECT ${first} AS first, MIN(created_at) AS oldest,
				MAX(step IS NULL AND call IS NULL AND created_at >= ?) AS people FROM change`,
				since,
			)
			.one();
		return people === 1 || ((found.first ?? 1) > 1 && (oldest ?? since) >= since);
	}

	/** Lists the steps that were not undone, the newest first. */
	*listSteps(): Generator<StoredChange> {
		const query = 'SELECT DISTINCT change FROM change WHERE step IS NOT NULL AND undone = 0 ORDER BY change DESC';
		for (const { change } of this.#sql.exec<{ change: number }>(query).toArray()) yield this.#get(change);
	}

	markUndone(id: number): void {
		this.#sql.exec('UPDATE change SET undone = 1 WHERE change = ?', id);
	}

	/** Lists the changes of files before an entry, the newest first. */
	page(limit: number, before?: string): readonly FileChangeRecord[] {
		const [change, place] = before === undefined ? [Number.MAX_SAFE_INTEGER, 0] : toPosition(before);
		const rest = 'SELECT * FROM change WHERE change = ? AND place > ? ORDER BY place';
		const older = 'SELECT * FROM change WHERE change < ? ORDER BY change DESC, place';
		const left = new Map<string, number | null>();
		const found: FileChangeRecord[] = [];
		// Neighbouring changes of a file refer to the same content, so each content is read only once.
		const files = new Map<number, SessionFile | undefined>();
		const find = (id: number | null): SessionFile | undefined => {
			if (id !== null && !files.has(id)) files.set(id, this.#find(id));
			return id === null ? undefined : files.get(id);
		};
		for (const rows of [this.#sql.exec<Row>(rest, change, place), this.#sql.exec<Row>(older, change)])
			for (const row of rows) {
				if (found.length === limit) return found;
				if (row.kind === null) left.set(`${row.change} ${row.path}`, row.before);
				found.push(...this.#toRecord(row, left, find));
			}
		return found;
	}

	removeOldest(): readonly number[] {
		const [oldest] = this.#sql.exec<{ id: number | null }>('SELECT MIN(change) AS id FROM change').toArray();
		if (oldest === undefined || oldest.id === null) return [];
		const rows = this.#sql.exec<Row>('DELETE FROM change WHERE change = ? RETURNING *', oldest.id).toArray();
		return rows.flatMap(({ before, after }) => [before, after].filter((id) => id !== null));
	}

	#get(id: number): StoredChange {
		const rows = this.#sql.exec<Row>('SELECT * FROM change WHERE change = ? ORDER BY place', id).toArray();
		return {
			id,
			step: rows[0]?.step ?? undefined,
			isUndone: rows[0]?.undone === 1,
			changed: rows.flatMap(toChanged),
			files: rows.map(({ path, before, after }) => {
				return { path, before: this.#find(before), after: this.#find(after) };
			}),
		};
	}

	/** @param left the contents at the old paths of moved files, as far as they were read, keyed by change and path */
	#toRecord(
		row: Row,
		left: ReadonlyMap<string, number | null>,
		find: (id: number | null) => SessionFile | undefined,
	): readonly FileChangeRecord[] {
		const { change, place, call, created_at: at, moved_from: from } = row;
		return toChanged(row).map((changed) => {
			// A moved file had its earlier content at its old path.
			const old = from === null ? row.before : (left.get(`${change} ${from}`) ?? this.#findBefore(change, from));
			const [before, after] = [find(old), find(row.after)];
			return { ...changed, id: `${change}.${place}`, at, ...(call !== null && { callId: call }), before, after };
		});
	}

	#findBefore(change: number, path: string): number | null {
		const query = 'SELECT before FROM change WHERE change = ? AND path = ?';
		return this.#sql.exec<{ before: number | null }>(query, change, path).toArray()[0]?.before ?? null;
	}

	#find(id: number | null): SessionFile | undefined {
		return id === null ? undefined : this.#contents.get(id);
	}
}

function toChanged({ path, kind, moved_from: from }: Row): readonly ChangedFile[] {
	return kind === null ? [] : [{ path, kind, ...(from !== null && { from }) }];
}

function toPosition(id: string): readonly [change: number, place: number] {
	const [, change, place] = /^(\d{1,15})\.(\d{1,6})$/.exec(id) ?? [];
	if (change === undefined)
		throw createFieldError('invalid_request', 'cursor', 'not one of this list. Begin again without it.');
	return [Number(change), Number(place)];
}
