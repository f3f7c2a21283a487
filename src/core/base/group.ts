/** Groups items by a key, in their order. Node 20 has no `Map.groupBy`. */
export function groupBy<T, K>(items: Iterable<T>, toKey: (item: T) => K): Map<K, T[]> {
	const groups = new Map<K, T[]>();
	for (const item of items) {
		const key = toKey(item);
		const group = groups.get(key) ?? [];
		groups.set(key, group);
		group.push(item);
	}
	return groups;
}
