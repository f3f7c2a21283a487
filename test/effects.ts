/**
 * Records what the tools `once` and `again` did: how often they started with a key, and who waits for a hanging one. A
 * crash of the object under test does not lose these records.
 */
export const effects: { readonly began: Map<string, number>; onHang: () => void } = {
	began: new Map(),
	onHang: () => {},
};

/** Has a visible effect. The first call with a key may hang. */
export function doneOnce(key: string, hangs: boolean): string | Promise<never> {
	const times = (effects.began.get(key) ?? 0) + 1;
	effects.began.set(key, times);
	if (!hangs || times > 1) return `did ${key}`;
	effects.onHang();
	return new Promise(() => {});
}
