import type { SkillsNamespace } from '../../core/skill/kv/layout.ts';
import { reach, usualLimitMs } from '../objects/reach.ts';

/** A KV namespace whose calls all end: a call that hangs fails with `overloaded`. */
export function createLimitedKv(kv: SkillsNamespace, timeoutMs = usualLimitMs): SkillsNamespace {
	const what = 'KV';
	const once = <T>(call: () => PromiseLike<T>): Promise<T> => reach(call, { what, isSafe: false, timeoutMs });
	function get(key: string, type: 'json'): Promise<unknown>;
	function get(key: string): Promise<string | null>;
	function get(key: string, type?: 'json'): Promise<unknown> {
		return once<unknown>(() => (type === undefined ? kv.get(key) : kv.get(key, type)));
	}
	return {
		get,
		list: (options) => once(() => kv.list(options)),
		put: (key, value) => once(() => kv.put(key, value)),
		delete: (key) => once(() => kv.delete(key)),
	};
}
