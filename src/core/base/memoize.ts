/** Makes a function that computes its result once for each object. The objects must never change. */
export function memoize<K extends object, V>(compute: (key: K) => V): (key: K) => V {
	const results = new WeakMap<K, V>();
	return (key) => {
		const result = results.get(key) ?? compute(key);
		results.set(key, result);
		return result;
	};
}
