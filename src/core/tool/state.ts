import type { StandardSchemaV1 } from '@standard-schema/spec';
import { countBytes } from '../ground/bytes.ts';
import { RunletError, toMessageText } from '../ground/errors.ts';
import { type AnySchema, checkWithSchema } from './schema.ts';

/** Characters of a key. */
const longestKey = 256;
/** Bytes of a value, as JSON. */
const largestValue = 131_072;
/** Keys of a session. */
const mostKeys = 1_000;

/**
 * A small key-value store of the session, for its tools (docs/tools.md, "State"). Values are JSON, of up to 131,072 bytes; a
 * session has up to 1,000 keys. What a call changes is stored together with its result, once: it sees its changes at
 * once, other calls when it has ended. A call that fails, or that a crash cuts off, changes nothing.
 */
export interface ToolState {
	/** The value of a key, a copy; `undefined` where there is none. */
	get(key: string): Promise<unknown>;
	/** As `get`, checked and typed by a schema. Throws where the value is of another form. */
	get<S extends AnySchema>(key: string, schema: S): Promise<StandardSchemaV1.InferOutput<S> | undefined>;
	set(key: string, value: unknown): Promise<void>;
	/** Gives whether the key was there. */
	delete(key: string): Promise<boolean>;
	/** The keys, all or those that begin with a prefix, in order. */
	list(prefix?: string): Promise<readonly string[]>;
}

/** What a call changed: values by key, `undefined` for a key that is gone. */
export type StateChanges = ReadonlyMap<string, unknown>;

/** Where the state of a session is kept between calls. A `ToolState` is one. */
export interface StateStore {
	get(key: string): unknown;
	set(key: string, value: unknown): unknown;
	delete(key: string): unknown;
	list(): readonly string[] | Promise<readonly string[]>;
	/** Makes all changes of a call, which are told once its result is stored. Missing: they are made one by one. */
	change?(changes: StateChanges): void | Promise<void>;
}

/** A state in memory. It lives as long as the object. */
export function inMemoryState(entries: Readonly<Record<string, unknown>> = {}): ToolState {
	const values = new Map(Object.entries(entries));
	return createState({
		get: (key) => values.get(key),
		set: (key, value) => values.set(key, value),
		delete: (key) => values.delete(key),
		list: () => [...values.keys()],
	});
}

/** The state as one call sees it: the store's, with its own changes, which reach the store only by `storeChanges`. */
export interface StateDraft {
	readonly state: ToolState;
	/** The changes, at the call's end. From then on there can be no more. */
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

/** Makes the changes of a call in the store. */
export async function storeChanges(store: StateStore, changes: StateChanges): Promise<void> {
	if (changes.size === 0) return;
	if (store.change !== undefined) return store.change(changes);
	for (const [key, value] of changes) await (value === undefined ? store.delete(key) : store.set(key, value));
}

/** A tool's view of a store: keys and values are checked, and values are copies. */
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
			// Before anything is waited for: who does not wait for it means it all the same.
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

/** A copy of a value as JSON holds it. */
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
	return new RunletError('invalid_request', `state: ${key}: ${what}.`, { field: 'state' });
}
