/** Named events that happen once, and promises for them. */
export function createSignals() {
	const waiting = new Map<string, PromiseWithResolvers<void>>();
	const given = new Set<string>();
	const find = (name: string): PromiseWithResolvers<void> => {
		const known = waiting.get(name) ?? Promise.withResolvers<void>();
		waiting.set(name, known);
		return known;
	};
	return {
		of: (name: string): Promise<void> => find(name).promise,
		has: (name: string): boolean => given.has(name),
		give: (name: string): void => {
			given.add(name);
			find(name).resolve();
		},
	};
}
