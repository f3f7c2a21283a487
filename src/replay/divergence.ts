import { isRecord } from '../core/base/json.ts';

/** What differs between a recording and its replay. */
export type DivergenceKind =
	| 'agent'
	| 'settings'
	| 'system'
	| 'tools'
	| 'model'
	| 'call'
	| 'result'
	| 'note'
	| 'message'
	| 'end';

/** The first difference between a recording and its replay. */
export interface Divergence {
	readonly kind: DivergenceKind;
	/** The agents from the first session to the one that differs. */
	readonly path: readonly string[];
	/** The id of the run in the recording. */
	readonly run?: string;
	/** The id of the message in the recording. */
	readonly message?: string;
	/** The tool of the call. */
	readonly tool?: string;
	/** The field that differs, such as `tools.refund.inputSchema.required`. */
	readonly field: string;
	readonly recorded: unknown;
	readonly replayed: unknown;
}

/** A field that differs, with both values. */
export type Difference = Pick<Divergence, 'field' | 'recorded' | 'replayed'>;

/** Returns the first field in which two JSON values differ. Returns nothing if they are equal. */
export function findDifference(recorded: unknown, replayed: unknown, field = ''): Difference | undefined {
	if (Object.is(recorded, replayed)) return undefined;
	if (Array.isArray(recorded) && Array.isArray(replayed)) {
		for (let at = 0; at < Math.max(recorded.length, replayed.length); at++) {
			const found = findDifference(recorded[at], replayed[at], `${field}[${at}]`);
			if (found !== undefined) return found;
		}
		return undefined;
	}
	if (isRecord(recorded) && isRecord(replayed)) {
		for (const name of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
			const found = findDifference(recorded[name], replayed[name], field === '' ? name : `${field}.${name}`);
			if (found !== undefined) return found;
		}
		return undefined;
	}
	return { field, recorded, replayed };
}
