import * as v from 'valibot';

const effect = v.object({ tool: v.string(), key: v.string(), intent: v.string(), session: v.string() });

export type Effects = ReturnType<typeof createEffects>;

/**
 * Records the effects of tools outside of the killed process. Applies an effect with a key only once, also if the
 * call is repeated.
 */
export function createEffects() {
	const arrivals: v.InferOutput<typeof effect>[] = [];
	const applied = new Map<string, Set<string>>();

	const count = (tool: string, intent: string): number =>
		arrivals.filter((one) => one.tool === tool && one.intent === intent).length;
	return {
		/** All recorded calls. */
		get total(): number {
			return arrivals.length;
		},
		take: (body: unknown): void => {
			const arrival = v.parse(effect, body);
			arrivals.push(arrival);
			const keys = applied.get(arrival.intent) ?? new Set();
			applied.set(arrival.intent, keys.add(`${arrival.session} ${arrival.key}`));
		},
		/** How often a call was recorded. */
		count,
		/** Repeated calls with the same key. */
		repeated: (tool: string): number => {
			const mine = arrivals.filter((one) => one.tool === tool);
			return mine.length - new Set(mine.map(({ intent }) => intent)).size;
		},
		/** Throws if a keyed effect was applied twice, or an unsafe tool ran twice. */
		check: (): void => {
			for (const { tool, intent } of arrivals) {
				if ((applied.get(intent)?.size ?? 0) > 1) throw new Error(`the effect of ${intent} was applied twice`);
				if (tool === 'unsafe' && count(tool, intent) > 1) throw new Error(`${intent} was run twice`);
			}
		},
	};
}
