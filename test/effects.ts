/**
 * Records of the tools `once` and `again`: how often a call with each key began, and a callback for a call that
 * hangs. A crash of the object under test does not lose these records.
 */
export const effects: { readonly began: Map<string, number>; onHang: () => void } = {
	began: new Map(),
	onHang: () => {},
};

/** Records the effect of a key. The first call with a key may hang. */
export function doneOnce(key: string, hangs: boolean): string | Promise<never> {
	const times = (effects.began.get(key) ?? 0) + 1;
	effects.began.set(key, times);
	if (!hangs || times > 1) return `did ${key}`;
	effects.onHang();
	return new Promise(() => {});
}
