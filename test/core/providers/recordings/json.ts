/** Reading JSON whose shape nobody promised: what is not there, or is something else, reads as nothing. */

/** The value at a path, or `undefined` where the path leads nowhere. */
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

/** A text as JSON; the text itself where it is none, and no arguments where it is empty. */
export function readArguments(raw: string): unknown {
	if (raw === '') return {};
	try {
		return JSON.parse(raw);
	} catch {
		return raw;
	}
}
