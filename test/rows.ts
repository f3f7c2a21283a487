type Cursor = Pick<SqlStorageCursor<Record<string, SqlStorageValue>>, 'rowsRead' | 'rowsWritten'>;

/** Wraps a storage and counts the rows that are read and written. */
export function counted(storage: DurableObjectStorage) {
	const cursors: Cursor[] = [];
	const sql = new Proxy(storage.sql, {
		get:
			(target) =>
			(...query: Parameters<SqlStorage['exec']>) => {
				const cursor = target.exec(...query);
				cursors.push(cursor);
				return cursor;
			},
	});
	const counting = new Proxy(storage, {
		get: (target, name) => (name === 'sql' ? sql : Reflect.get(target, name).bind(target)),
	});
	return {
		storage: counting,
		/** Returns the rows since the last call. */
		rows: () => {
			const all = cursors.splice(0);
			const sum = (field: 'rowsRead' | 'rowsWritten') => all.reduce((total, cursor) => total + cursor[field], 0);
			return { read: sum('rowsRead'), written: sum('rowsWritten') };
		},
	};
}

/** A statement of an object, or a change of its alarm. */
interface Work {
	readonly object: string;
	readonly what: string;
	/** Written rows. Setting or deleting an alarm counts as one row, because it is billed like a row. */
	readonly rows: number;
	readonly read: number;
}

let working: { readonly object: string; readonly what: string; readonly cursor?: Cursor }[] | undefined;

/**
 * Counts the work of a session's object, or of all objects of the Worker under test. The returned function gives the work
 * since its last call, of all these objects or of one. Call it in an object to read its cursors.
 */
export function countWork(session?: string): (of?: string) => readonly Work[] {
	const work: NonNullable<typeof working> = [];
	working = work;
	return (of = session) => {
		const isWanted = ({ object }: { readonly object: string }) => of === undefined || object === of;
		const done = work.filter(isWanted);
		work.splice(0, work.length, ...work.filter((one) => !isWanted(one)));
		return done.map(({ object, what, cursor }) => ({
			object,
			what,
			rows: cursor?.rowsWritten ?? 1,
			read: cursor?.rowsRead ?? 0,
		}));
	};
}

/** Collects the statements of all objects of the Worker under test. The returned function gives those so far. */
export function watchStatements(): () => readonly Pick<Work, 'object' | 'what'>[] {
	const work: NonNullable<typeof working> = [];
	working = work;
	return () => work;
}

/** Wraps an object's storage so that its work can be counted. Call it before the storage is used. */
export function makeCountable({ id, storage }: DurableObjectState): void {
	const object = id.toString();
	const { sql, setAlarm, deleteAlarm } = storage;
	const exec = sql.exec.bind(sql);
	const counting: typeof exec = (query, ...values) => {
		const cursor = exec<never>(query, ...values);
		working?.push({ object, what: query, cursor });
		return cursor;
	};
	Object.defineProperty(sql, 'exec', { value: counting, configurable: true, writable: true });
	Object.defineProperties(storage, {
		setAlarm: {
			value: (...given: Parameters<typeof setAlarm>) => {
				working?.push({ object, what: 'setAlarm' });
				return setAlarm.apply(storage, given);
			},
			configurable: true,
		},
		deleteAlarm: {
			value: (...given: Parameters<typeof deleteAlarm>) => {
				working?.push({ object, what: 'deleteAlarm' });
				return deleteAlarm.apply(storage, given);
			},
			configurable: true,
		},
	});
}
