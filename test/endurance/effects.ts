import * as v from 'valibot';

const effect = v.object({ tool: v.string(), key: v.string(), intent: v.string(), session: v.string() });

export type Effects = ReturnType<typeof createEffects>;

/** What tools did, recorded outside of the process that is killed. A keyed effect that comes again is not applied again. */
export function createEffects() {
	const arrivals: v.InferOutput<typeof effect>[] = [];
	const applied = new Map<string, Set<string>>();

	const count = (tool: string, intent: string): number =>
		arrivals.filter((one) => one.tool === tool && one.intent === intent).length;
	return {
		/** All calls that came here. */
		get total(): number {
			return arrivals.length;
		},
		take: (body: unknown): void => {
			const arrival = v.parse(effect, body);
			arrivals.push(arrival);
			const keys = applied.get(arrival.intent) ?? new Set();
			applied.set(arrival.intent, keys.add(`${arrival.session} ${arrival.key}`));
		},
		/** Times that a call came here. */
		count,
		/** Calls that came again, under the same key. */
		repeated: (tool: string): number => {
			const mine = arrivals.filter((one) => one.tool === tool);
			return mine.length - new Set(mine.map(({ intent }) => intent)).size;
		},
		/** Throws where a keyed effect was applied twice, or an unsafe tool was run twice. */
		check: (): void => {
			for (const { tool, intent } of arrivals) {
				if ((applied.get(intent)?.size ?? 0) > 1) throw new Error(`the effect of ${intent} was applied twice`);
				if (tool === 'unsafe' && count(tool, intent) > 1) throw new Error(`${intent} was run twice`);
			}
		},
	};
}
