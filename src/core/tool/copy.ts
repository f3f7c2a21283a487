/** Copies objects and lists at any depth, also circular ones. Other values, such as a `Date`, are not copied. */
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

/** Freezes data at any depth. Skips frozen data. Deep data does not make it throw. */
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

/** Sets an own field. An assignment is many times faster, but means something else for a name such as `__proto__`. */
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
