import type { StandardSchemaV1 } from '@standard-schema/spec';
import { countBytes } from '../base/bytes.ts';
import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import { type AnySchema, checkWithSchema } from './schema.ts';

/** The maximum length of a key in characters. */
const longestKey = 256;
/** The maximum size of a value in bytes of JSON. */
const largestValue = 131_072;
/** The maximum number of keys in a session. */
const mostKeys = 1_000;

/**
 * A small key-value store of the session, for its tools (docs/tools.md, "State"). Values are JSON of up to 131,072
 * bytes, and a session has up to 1,000 keys. The changes of a call are stored once, together with its result. The call
 * itself sees them at once. Other calls see them after its end. A failed or interrupted call changes nothing.
 */
export interface ToolState {
	/** Returns a copy of the value of a key, or `undefined`. */
	get(key: string): Promise<unknown>;
	/** Returns a copy of the value, checked and typed by a schema. Throws if the value does not fit the schema. */
	get<S extends AnySchema>(key: string, schema: S): Promise<StandardSchemaV1.InferOutput<S> | undefined>;
	set(key: string, value: unknown): Promise<void>;
	/** Deletes a key. Returns whether the key existed. */
	delete(key: string): Promise<boolean>;
	/** Lists the keys that begin with `prefix`, sorted. Without a prefix, lists all keys. */
	list(prefix?: string): Promise<readonly string[]>;
}

/** The changes of a call: values by key, and `undefined` for a deleted key. */
export type StateChanges = ReadonlyMap<string, unknown>;

/** The store of a session's state. A `ToolState` can also be used as a store. */
export interface StateStore {
	get(key: string): unknown;
	set(key: string, value: unknown): unknown;
	delete(key: string): unknown;
	list(): readonly string[] | Promise<readonly string[]>;
	/** Makes all changes of a call after its result is stored. Without this method, the changes are made one by one. */
	change?(changes: StateChanges): void | Promise<void>;
}

/** Creates a state in memory. */
export function inMemoryState(entries: Readonly<Record<string, unknown>> = {}): ToolState {
	const values = new Map(Object.entries(entries));
	return createState({
		get: (key) => values.get(key),
		set: (key, value) => values.set(key, value),
		delete: (key) => values.delete(key),
		list: () => [...values.keys()],
	});
}

/** The state of one call: the store plus the call's own changes. Only `storeChanges` writes these to the store. */
export interface StateDraft {
	readonly state: ToolState;
	/** Ends the draft and returns its changes. Later changes throw. */
	close(): StateChanges;
}

export function draftState(store: StateStore): StateDraft {
	const changes = new Map<string, unknown>();
	let isClosed = false;
	const change = (key: string, value: unknown): void => {
		if (isClosed)
			throw new RunletError('invalid_request', 'state: this call has ended, and can change the state no more.');
		changes.set(key, value);
	};
	const list = async (): Promise<readonly string[]> => {
		const kept = (await store.list()).filter((key) => !changes.has(key));
		return [...kept, ...[...changes].flatMap(([key, value]) => (value === undefined ? [] : [key]))];
	};
	const state = createState({
		get: (key) => (changes.has(key) ? changes.get(key) : store.get(key)),
		set: change,
		delete: (key) => change(key, undefined),
		list,
	});
	return {
		state,
		close: () => {
			isClosed = true;
			return new Map(changes);
		},
	};
}

export async function storeChanges(store: StateStore, changes: StateChanges): Promise<void> {
	if (changes.size === 0) return;
	if (store.change !== undefined) return store.change(changes);
	for (const [key, value] of changes) await (value === undefined ? store.delete(key) : store.set(key, value));
}

/** Creates the state that a tool gets, from a store. The state checks keys and values, and copies values. */
function createState(store: StateStore): ToolState {
	function get(key: string): Promise<unknown>;
	function get<S extends AnySchema>(key: string, schema: S): Promise<StandardSchemaV1.InferOutput<S> | undefined>;
	async function get(key: string, schema?: AnySchema): Promise<unknown> {
		const value = copyJson(await store.get(checkKey(key)));
		if (schema === undefined || value === undefined) return value;
		const checked = await checkWithSchema(schema, value);
		if ('value' in checked) return checked.value;
		throw createStateError(key, `the value is of another form (${checked.issues.join('; ')})`);
	}
	return {
		get,
		set: async (key, value) => {
			// The change is made before the first `await`, because some callers do not wait for it.
			const before = store.get(checkKey(key));
			const copy = checkValue(key, value);
			const done = store.set(key, copy);
			const isNew = (await before) === undefined;
			await done;
			if (!isNew || (await store.list()).length <= mostKeys) return;
			await store.delete(key);
			throw createStateError(key, `a session has at most ${mostKeys} keys. Delete one, or keep several in one value`);
		},
		delete: async (key) => {
			const before = store.get(checkKey(key));
			await store.delete(key);
			return (await before) !== undefined;
		},
		list: async (prefix = '') => (await store.list()).filter((key) => key.startsWith(prefix)).toSorted(),
	};
}

function checkKey(key: unknown): string {
	if (typeof key === 'string' && key !== '' && key.length <= longestKey && !/\p{Cs}/u.test(key)) return key;
	throw createStateError(String(key).slice(0, 80), `a key is a text of 1 to ${longestKey} characters`);
}

/** Returns a JSON copy of a value. */
function checkValue(key: string, value: unknown): unknown {
	let json: string | undefined;
	try {
		json = JSON.stringify(value);
	} catch (error) {
		throw createStateError(key, `JSON cannot hold the value: ${toMessageText(error)}`);
	}
	if (json === undefined) throw createStateError(key, `JSON cannot hold ${typeof value}. Use delete to remove a key`);
	const bytes = countBytes(json);
	if (bytes > largestValue)
		throw createStateError(key, `a value has at most ${largestValue} bytes as JSON, this one ${bytes}`);
	return JSON.parse(json);
}

function copyJson(value: unknown): unknown {
	return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function createStateError(key: string, what: string): RunletError {
	return createFieldError('invalid_request', 'state', `${key}: ${what}.`);
}

/** Copies objects and lists at any depth, even circular ones. Keeps other values, such as a `Date`, as they are. */
export function copyData<T>(value: T): T;
export function copyData(value: unknown): unknown {
	const copies = new Map<object, unknown[] | Record<string, unknown>>();
	const open: object[] = [];
	const copyOne = (one: unknown): unknown => {
		if (!isPlain(one)) return one;
		const known = copies.get(one);
		if (known !== undefined) return known;
		const made: unknown[] | Record<string, unknown> = Array.isArray(one) ? [] : {};
		copies.set(one, made);
		open.push(one);
		return made;
	};
	const copied = copyOne(value);
	for (let from = open.pop(); from !== undefined; from = open.pop()) {
		const to = copies.get(from);
		if (to === undefined) continue;
		if (!Array.isArray(to)) for (const [key, item] of Object.entries(from)) setField(to, key, copyOne(item));
		else if (Array.isArray(from)) for (const item of from) to.push(copyOne(item));
	}
	return copied;
}

/** Freezes data at any depth. Skips data that is frozen already. Deep nesting causes no error. */
export function freezeData<T>(data: T): T {
	const open: unknown[] = [data];
	while (open.length > 0) {
		const one = open.pop();
		if (!isPlain(one) || Object.isFrozen(one)) continue;
		Object.freeze(one);
		for (const value of Object.values(one)) if (typeof value === 'object') open.push(value);
	}
	return data;
}

/** Sets an own field. Assignment is many times faster, but names such as `__proto__` need `defineProperty`. */
function setField(to: Record<string, unknown>, key: string, value: unknown): void {
	if (!(key in to)) to[key] = value;
	else Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
}

function isPlain(value: unknown): value is object {
	if (typeof value !== 'object' || value === null) return false;
	if (Array.isArray(value)) return true;
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || prototype === Object.prototype;
}
