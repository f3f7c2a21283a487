import { isRecord } from '../../client/record.ts';

/** Whether two values are the same JSON. The order of fields does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
	if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
	if (!isRecord(a) || !isRecord(b)) return a === b;
	const names = Object.keys(a);
	return (
		names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
	);
}
