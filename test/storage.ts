/**
 * Whether a write of the object under test fails now, as a disk does or with an error of SQLite's.
 *
 * @param n its number since the storage was broken, from 1
 * @param statement empty where it sets the alarm
 */
type Fails = (n: number, statement: string) => boolean | string;

let fails: Fails | undefined;
let only: string | undefined;
let writes = 0;

/**
 * From now on writes of sessions fail, all of them or as it is told: as a disk that is full, or gone for a while.
 *
 * @param session the only one that is meant
 */
export function breakStorage(when: Fails = () => true, session?: string): void {
	fails = when;
	only = session;
	writes = 0;
}

/** Writes are stored again. */
export function mendStorage(): void {
	fails = undefined;
	writes = 0;
}

/** Writes since the storage was broken, those that failed included. */
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

/** Makes an object's storage one that can be broken. Call it before anybody uses that. */
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
