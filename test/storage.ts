/**
 * Decides whether a write fails. `true` is a disk error, and a text is an error of SQLite.
 *
 * @param n the number of the write since the storage broke, from 1
 * @param statement the SQL statement; empty if the write sets the alarm
 */
type Fails = (n: number, statement: string) => boolean | string;

let fails: Fails | undefined;
let only: string | undefined;
let writes = 0;

/**
 * Makes writes of sessions fail from now on, all or some, like a full or missing disk.
 *
 * @param session the only session to break
 */
export function breakStorage(when: Fails = () => true, session?: string): void {
	fails = when;
	only = session;
	writes = 0;
}

export function mendStorage(): void {
	fails = undefined;
	writes = 0;
}

/** Returns the number of writes since the storage broke, including failed writes. */
export function countWrites(): number {
	return writes;
}

const isWrite = /^\s*(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b/i;

function assertWorks(session: string, statement = ''): void {
	if (fails === undefined || (only !== undefined && only !== session)) return;
	writes++;
	const how = fails(writes, statement);
	if (how !== false) throw new Error(`it failed: ${how === true ? 'SQLITE_IOERR' : how}`);
}

/** Wraps an object's storage so that it can break. Call it before the first use of the storage. */
export function makeBreakable({ id, storage }: DurableObjectState): void {
	const session = id.toString();
	const { sql } = storage;
	const exec = sql.exec.bind(sql);
	const failing: typeof exec = (query, ...values) => {
		if (isWrite.test(query)) assertWorks(session, query);
		return exec(query, ...values);
	};
	Object.defineProperty(sql, 'exec', { value: failing, configurable: true, writable: true });
	const { setAlarm, deleteAlarm } = storage;
	Object.defineProperties(storage, {
		setAlarm: {
			value: async (...given: Parameters<typeof setAlarm>) => {
				assertWorks(session);
				return setAlarm.apply(storage, given);
			},
		},
		deleteAlarm: {
			value: async (...given: Parameters<typeof deleteAlarm>) => {
				assertWorks(session);
				return deleteAlarm.apply(storage, given);
			},
		},
	});
}
