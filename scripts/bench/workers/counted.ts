/**
 * The Worker of `session.ts`, which counts the billed units of Cloudflare. `/bench/bill` returns the counts since the last
 * request.
 */
import type { ObjectClass } from '../../../src/cloudflare/runlet/index.ts';
import { collectGarbage } from './garbage.ts';
import runlet, { Directory as PlainDirectory, Ledger as PlainLedger, Session as PlainSession } from './session.ts';

type Env = ConstructorParameters<ObjectClass>[1];

/** The rows that statements read and wrote, by their table. */
let cursors: { readonly item: string; readonly cursor: { readonly rowsRead: number; readonly rowsWritten: number } }[] =
	[];
/** Alarms that were set or deleted, alarms that rang, and requests to objects. */
let events: string[] = [];
/** The time of calls to objects other than sessions, in milliseconds. */
let callMs = 0;

function watchStorage(name: string, storage: DurableObjectStorage): void {
	const { sql, setAlarm, deleteAlarm } = storage;
	const exec = sql.exec.bind(sql);
	const watched = (...[query, ...values]: Parameters<typeof exec>) => {
		const cursor = exec(query, ...values);
		const [, table = 'other'] = /\b(?:INTO|UPDATE|FROM|TABLE)\s+(\w+)/i.exec(query) ?? [];
		cursors.push({ item: `${name}: ${table}`, cursor });
		return cursor;
	};
	Object.defineProperty(sql, 'exec', { value: watched, configurable: true, writable: true });
	const watch = <Given extends unknown[]>(change: (...given: Given) => Promise<void>) => ({
		value: (...given: Given) => {
			events.push(`${name}: alarm set or deleted`);
			return change.apply(storage, given);
		},
	});
	Object.defineProperties(storage, { setAlarm: watch(setAlarm), deleteAlarm: watch(deleteAlarm) });
}

/** Makes a class that counts the rows and alarms of its objects. */
function watchClass(name: string, Plain: ObjectClass): ObjectClass {
	return class extends Plain {
		constructor(ctx: DurableObjectState, env: Env) {
			watchStorage(name, ctx.storage);
			super(ctx, watchEnv(env));
		}

		override alarm(info?: AlarmInvocationInfo): void | Promise<void> {
			events.push('requests');
			return super.alarm?.(info);
		}
	};
}

export const Session = watchClass('session', PlainSession);
export const Ledger = watchClass('ledger', PlainLedger);
export const Directory = watchClass('directory', PlainDirectory);

const namespaces = ['SESSIONS', 'LEDGERS', 'DIRECTORIES'];
const known = new WeakMap<Env, Env>();

/** Returns the environment with namespaces that count the calls of their objects. */
function watchEnv(env: Env): Env {
	const watched =
		known.get(env) ??
		new Proxy(env, {
			get: (target, name) => {
				const binding: unknown = Reflect.get(target, name);
				const isNamespace = typeof name === 'string' && namespaces.includes(name) && isObject(binding);
				return isNamespace ? watchNamespace(binding, name !== 'SESSIONS') : binding;
			},
		});
	known.set(env, watched);
	return watched;
}

function watchNamespace(namespace: object, isTimed: boolean): object {
	return new Proxy(namespace, {
		get: (target, name) => {
			const method: unknown = Reflect.get(target, name);
			if (typeof method !== 'function') return method;
			return (...given: readonly unknown[]) => {
				const result: unknown = Reflect.apply(method, target, given);
				return name === 'get' && isObject(result) ? watchStub(result, isTimed) : result;
			};
		},
	});
}

function watchStub(stub: object, isTimed: boolean): object {
	return new Proxy(stub, {
		get: (target, name) => {
			const method: unknown = Reflect.get(target, name);
			if (typeof method !== 'function') return method;
			return (...given: readonly unknown[]) => {
				events.push('requests');
				const begun = Date.now();
				const result: unknown = Reflect.apply(method, target, given);
				const end = () => {
					callMs += Date.now() - begun;
				};
				if (isTimed) void Promise.resolve(result).then(end, end);
				return result;
			};
		},
	});
}

function isObject(value: unknown): value is object {
	return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function takeBill(): Response {
	const rows: Record<string, number> = {};
	let rowsRead = 0;
	const count = (item: string, number: number) => {
		if (number > 0) rows[item] = (rows[item] ?? 0) + number;
	};
	for (const { item, cursor } of cursors) {
		rowsRead += cursor.rowsRead;
		count(item, cursor.rowsWritten);
	}
	for (const event of events) if (event !== 'requests') count(event, 1);
	const bill = { rows, rowsRead, requests: events.filter((event) => event === 'requests').length, callMs };
	[cursors, events, callMs] = [[], [], 0];
	return Response.json(bill);
}

export default {
	fetch: (request: Request, env: Env, context: ExecutionContext): Response | Promise<Response> => {
		const { pathname } = new URL(request.url);
		if (pathname === '/bench/bill') return takeBill();
		if (pathname === '/bench/garbage') return collectGarbage();
		return runlet.fetch(request, watchEnv(env), context);
	},
};
