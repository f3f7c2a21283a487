/**
 * Returns a function that makes a value when it is first called, and then always returns that value. A module that loads
 * should do no work that its first request does not need.
 */
export function makeOnce<T>(make: () => T): () => T {
	let made: { readonly value: T } | undefined;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}
