/**
 * At each start of an object, `createProxyPrototypeClass` of @cloudflare/vitest-pool-workers wraps the prototype
 * of its class in a further `Proxy`. After a thousand starts, each property lookup passes a thousand proxies. This
 * file leaves one proxy, which has the same effect.
 */
import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';

const bases: readonly object[] = [DurableObject.prototype, WorkerEntrypoint.prototype];
const wrapped = new WeakSet<object>();

function isPrototype(target: object): boolean {
	const base = Object.getPrototypeOf(target);
	return bases.includes(base) && Object.hasOwn(target, 'constructor');
}

globalThis.Proxy = new Proxy(Proxy, {
	construct(target, given: ConstructorParameters<typeof Proxy<object>>, newTarget) {
		const [object] = given;
		if (wrapped.has(object)) return object;
		const made: object = Reflect.construct(target, given, newTarget);
		if (isPrototype(object)) wrapped.add(made);
		return made;
	},
});
