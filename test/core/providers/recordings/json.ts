/** Reads JSON of any form. A missing value and a value of another type are `undefined`. */

/** Returns the value at a path, or `undefined`. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
	return path.reduce<unknown>(
		(found, key) => (typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined),
		value,
	);
}

export function list(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
	const found = at(value, ...path);
	return Array.isArray(found) ? found : [];
}

export function text(value: unknown, ...path: readonly (string | number)[]): string {
	const found = at(value, ...path);
	return typeof found === 'string' ? found : '';
}

export function count(value: unknown, ...path: readonly (string | number)[]): number | undefined {
	const found = at(value, ...path);
	return typeof found === 'number' ? found : undefined;
}

/** Parses arguments. A text that is not JSON stays a text, and an empty text means no arguments. */
export function readArguments(raw: string): unknown {
	if (raw === '') return {};
	try {
		return JSON.parse(raw);
	} catch {
		return raw;
	}
}
