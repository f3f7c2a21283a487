import { joinBytes } from '../../core/base/bytes.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { UploadsOptions } from '../agent/upload-connector.ts';
import { log, toFailureFields } from '../log.ts';
import { type RpcResult, toRpcResult } from '../objects/reach.ts';
import type { Upload, UploadContent, UploadQuery, Uploads } from '../objects/upload-api.ts';
import { mostInRows, reachBucket, readObject } from '../session/files/bucket.ts';

/** The most files of a user, and of an owner. */
const [mostOfUser, mostOfOwner] = [1_000, 100_000];
/** The most bytes of an owner. An object holds 10 GB. */
const mostBytes = 8e9;
/** Milliseconds after which an upload that is not whole counts as lost. */
const pendingMs = 3_600_000;
/** Milliseconds until a removal that failed is tried again. */
const pauseMs = 60_000;
/** The most objects that a bucket removes at once. */
const removedAtOnce = 500;

/**
 * `upload.due_at` is when a file is removed: when it expires, or a while after its upload began, unless it is whole
 * (`is_whole`) by then. `bucket_key` is the key of the bytes in the bucket, if `upload_piece` does not have them. The
 * first upload makes the tables.
 */
const tables = `
	CREATE TABLE IF NOT EXISTS upload (
		id TEXT PRIMARY KEY, user TEXT, name TEXT NOT NULL, purpose TEXT NOT NULL, mime TEXT NOT NULL, size INTEGER NOT NULL,
		created_at INTEGER NOT NULL, due_at INTEGER, is_whole INTEGER NOT NULL, bucket_key TEXT
	) WITHOUT ROWID;
	CREATE INDEX IF NOT EXISTS upload_by_user ON upload (user, id);
	CREATE INDEX IF NOT EXISTS upload_by_time ON upload (due_at) WHERE due_at IS NOT NULL;
	CREATE TABLE IF NOT EXISTS upload_piece (
		upload TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (upload, part)
	) WITHOUT ROWID;
`;

type Row = {
	id: string;
	user: string | null;
	name: string;
	purpose: string;
	mime: string;
	size: number;
	created_at: number;
	due_at: number | null;
	is_whole: number;
	bucket_key: string | null;
};

type Sum = { files: number; bytes: number };

/** The uploaded files of an owner, in an object of their own. `UploadApi` describes the methods. */
export class OwnerUploads implements Uploads {
	readonly #options: UploadsOptions;
	#hasTables = false;
	/** All files of the owner. Unknown after a removal. */
	#sum: Sum | undefined;

	constructor(options: UploadsOptions) {
		this.#options = options;
	}

	putUpload(upload: Upload, content: Uint8Array): Promise<RpcResult<void>> {
		return toRpcResult(async () => {
			const { storage, now, config } = this.#options;
			const { id, expiresAt } = upload;
			const bucket = content.length > mostInRows ? config().files : undefined;
			const key = `uploads/${id}`;
			storage.transactionSync(() => this.#begin(upload, bucket === undefined ? content : key));
			if (bucket !== undefined) {
				await this.#setAlarm();
				await reachBucket(() => bucket.put(key, content));
				const done = storage.sql.exec(
					'UPDATE upload SET is_whole = 1, due_at = ? WHERE id = ? AND (is_whole OR due_at > ?) RETURNING id',
					...[expiresAt ?? null, id, now()],
				);
				if (done.toArray().length === 0) {
					// It was removed meanwhile.
					await reachBucket(() => bucket.delete([key]));
					throw createFieldError('not_found', 'file', 'it was removed while it arrived.');
				}
			}
			await this.#setAlarm();
		});
	}

	listUploads(query: UploadQuery): Promise<RpcResult<readonly Upload[]>> {
		return toRpcResult(async () => this.#list(query).map(toUpload));
	}

	readUploads(user: string | undefined, ids: readonly string[], most: number): Promise<RpcResult<UploadContent[]>> {
		return toRpcResult(async () => {
			const rows = ids.flatMap((id) => this.#list({ user, id, limit: 1 }));
			const bytes = rows.reduce((sum, { size }) => sum + size, 0);
			if (bytes > most) {
				const text = `the files have ${bytes} bytes together, and ${Math.max(0, most)} are possible here. Send fewer.`;
				throw createFieldError('too_large', 'file_id', text);
			}
			return Promise.all(rows.map(async (row) => ({ ...toUpload(row), content: await this.#read(row) })));
		});
	}

	removeUploads(user: string | undefined, id?: string): Promise<RpcResult<number>> {
		return toRpcResult(async () => {
			if (!this.#makeTables(false)) return 0;
			const rows = this.#options.storage.sql.exec(
				'UPDATE upload SET due_at = 0, is_whole = 0 WHERE user IS ?1 AND (?2 IS NULL OR id = ?2) AND (due_at IS NULL OR due_at > ?3) RETURNING id',
				...[user ?? null, id ?? null, this.#options.now()],
			);
			const { length } = rows.toArray();
			await this.handleAlarm();
			return length;
		});
	}

	async handleAlarm(): Promise<void> {
		if (!this.#makeTables(false)) return;
		try {
			while ((await this.#removeOver()) === removedAtOnce);
		} catch (cause) {
			log('warn', 'files.not_removed', toFailureFields(cause));
			return this.#options.storage.setAlarm(this.#options.now() + pauseMs);
		}
		await this.#setAlarm();
	}

	/** Stores the row of a new file, and its bytes unless they go to the bucket. Call it in a transaction. */
	#begin(upload: Upload, content: Uint8Array | string): void {
		this.#makeTables(true);
		const { sql } = this.#options.storage;
		const { id, user, name, purpose, mime, size, createdAt, expiresAt } = upload;
		if (sql.exec('SELECT 1 FROM upload WHERE id = ?', id).toArray().length > 0) return;
		const now = this.#options.now();
		this.#assertRoom(upload, now);
		const isWhole = typeof content !== 'string';
		sql.exec(
			'INSERT INTO upload VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
			...[id, user ?? null, name, purpose, mime, size, createdAt],
			...[isWhole ? (expiresAt ?? null) : now + pendingMs, isWhole ? 1 : 0, isWhole ? null : content],
		);
		for (let part = 0; isWhole && part * mostInRows < size; part++)
			sql.exec(
				'INSERT INTO upload_piece VALUES (?, ?, ?)',
				...[id, part, content.slice(part * mostInRows, (part + 1) * mostInRows).buffer],
			);
	}

	#assertRoom({ user, size }: Upload, now: number): void {
		const { roomLimits, workspaceQuota } = this.#options.config();
		const all = this.#sum ?? this.#count('1');
		const own = this.#count('user IS ? AND (due_at IS NULL OR due_at > ?)', user ?? null, now);
		const ofOwner = { files: mostOfOwner, bytes: Math.min(mostBytes, roomLimits.owner ?? Infinity) };
		const ofUser = { files: mostOfUser, bytes: Math.min(workspaceQuota.bytes, roomLimits.user ?? Infinity) };
		for (const [whose, held, limit] of [['you', own, ofUser] as const, ['this owner', all, ofOwner] as const]) {
			if (held.files >= limit.files) throw createFull(`${whose} may have ${limit.files} files`);
			if (held.bytes + size > limit.bytes) throw createFull(`the files of ${whose} may have ${limit.bytes} bytes`);
		}
		this.#sum = { files: all.files + 1, bytes: all.bytes + size };
	}

	#count(where: string, ...values: (string | number | null)[]): Sum {
		const query = `SELECT COUNT(*) AS files, COALESCE(SUM(size), 0) AS bytes FROM upload WHERE ${where}`;
		return this.#options.storage.sql.exec<Sum>(query, ...values).one();
	}

	#list({ user, id, purpose, after, limit, isOldestFirst = false }: UploadQuery): Row[] {
		if (!this.#makeTables(false)) return [];
		const from = after === undefined ? '' : `AND id ${isOldestFirst ? '>' : '<'} ?5`;
		return this.#options.storage.sql
			.exec<Row>(
				`SELECT * FROM upload WHERE user IS ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR purpose = ?3)
					AND is_whole AND (due_at IS NULL OR due_at > ?4) ${from}
				ORDER BY id ${isOldestFirst ? 'ASC' : 'DESC'} LIMIT ${limit}`,
				...[user ?? null, id ?? null, purpose ?? null, this.#options.now()],
				...(after === undefined ? [] : [after]),
			)
			.toArray();
	}

	async #read({ id, bucket_key: key, size }: Row): Promise<Uint8Array> {
		if (key !== null) {
			const found = await readObject(this.#options.config().files, key, 0, size);
			return new Uint8Array(await reachBucket(() => found.arrayBuffer()));
		}
		const pieces = this.#options.storage.sql.exec<{ bytes: ArrayBuffer }>(
			'SELECT bytes FROM upload_piece WHERE upload = ? ORDER BY part',
			id,
		);
		return joinBytes(...pieces.toArray().map(({ bytes }) => new Uint8Array(bytes)));
	}

	/** Removes files that are over, first from the bucket. Returns how many. */
	async #removeOver(): Promise<number> {
		const { storage, config, now } = this.#options;
		const rows = storage.sql
			.exec<Row>('SELECT * FROM upload WHERE due_at <= ? LIMIT ?', now(), removedAtOnce)
			.toArray();
		const keys = rows.flatMap(({ bucket_key }) => bucket_key ?? []);
		const { files: bucket } = config();
		if (keys.length > 0 && bucket === undefined)
			throw new RunletError('not_configured', 'FILES: the bucket with these files is not bound any more.');
		if (keys.length > 0) await reachBucket(async () => bucket?.delete(keys));
		storage.transactionSync(() => {
			for (const { id } of rows) {
				storage.sql.exec('DELETE FROM upload_piece WHERE upload = ?', id);
				storage.sql.exec('DELETE FROM upload WHERE id = ?', id);
			}
		});
		this.#sum = undefined;
		return rows.length;
	}

	async #setAlarm(): Promise<void> {
		const { storage } = this.#options;
		const query = 'SELECT MIN(due_at) AS at FROM upload WHERE due_at IS NOT NULL';
		const { at } = storage.sql.exec<{ at: number | null }>(query).one();
		if (at !== (await storage.getAlarm())) await (at === null ? storage.deleteAlarm() : storage.setAlarm(at));
	}

	/** Returns whether there are tables. Any other object of the class has none, and never makes them. */
	#makeTables(isNeeded: boolean): boolean {
		const { sql } = this.#options.storage;
		if (isNeeded && !this.#hasTables) sql.exec(tables);
		this.#hasTables ||= isNeeded || sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'upload'").toArray().length > 0;
		return this.#hasTables;
	}
}

function createFull(what: string): RunletError {
	return createFieldError('too_large', 'file', `${what}, and this would be more. Delete some first.`);
}

function toUpload({ user, created_at: createdAt, due_at, is_whole: _, bucket_key: __, ...row }: Row): Upload {
	return { ...row, ...(user !== null && { user }), createdAt, ...(due_at !== null && { expiresAt: due_at }) };
}
