/**
 * What the tools `once` and `again` did: how often they began with a key, and who is told when one does not end.
 * A crash of the object under test loses nothing of it.
 */
export const effects: { readonly began: Map<string, number>; onHang: () => void } = {
	began: new Map(),
	onHang: () => {},
};

/** Does something that can be seen from outside; the first time with a key it may hang. */
export function doneOnce(key: string, hangs: boolean): string | Promise<never> {
	const times = (effects.began.get(key) ?? 0) + 1;
	effects.began.set(key, times);
	if (!hangs || times > 1) return `did ${key}`;
	effects.onHang();
	return new Promise(() => {});
}
