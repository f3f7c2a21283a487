import { countBytes } from '../../ground/bytes.ts';
import type { SkillsPlan } from './plan.ts';
import type { Put, SkillsKv } from './store.ts';

export interface WriteOptions {
	/** Writes the index, which shows the new set to readers; by `kv.put`. */
	readonly writeIndex?: (index: Put) => Promise<void>;
	/** Called with the progress. `what` is `written` or `old entries removed`. */
	readonly onProgress?: (what: string, done: number, total: number) => void;
}

/**
 * The most keys of one bulk write. KV takes 10,000 keys and 100 MB
 * (https://developers.cloudflare.com/kv/api/write-key-value-pairs/).
 */
const bulkKeys = 500;
const bulkBytes = 40_000_000;

/**
 * Writes a plan in its order, the index after what it names. It may end at any write: a reader then has the old set as a
 * whole or the new one, and the next publishing goes on.
 */
export async function writePlan(
	kv: SkillsKv,
	{ puts, retired, index, deletes }: SkillsPlan,
	{ writeIndex = (put) => kv.put([put]), onProgress = () => {} }: WriteOptions = {},
): Promise<void> {
	let written = 0;
	for (const bulk of splitIntoBulks(puts)) {
		await kv.put(bulk);
		written += bulk.length;
		onProgress('written', written, puts.length);
	}
	if (retired !== undefined) await kv.put([retired]);
	if (index !== undefined) await writeIndex(index);
	for (let from = 0; from < deletes.length; from += bulkKeys) {
		const keys = deletes.slice(from, from + bulkKeys);
		await kv.delete(keys);
		onProgress('old entries removed', from + keys.length, deletes.length);
	}
}

function splitIntoBulks(puts: readonly Put[]): Put[][] {
	const bulks: Put[][] = [];
	let bytes = 0;
	for (const put of puts) {
		const size = countBytes(put[1]);
		const last = bulks.at(-1);
		if (last === undefined || last.length >= bulkKeys || bytes + size > bulkBytes) {
			bulks.push([put]);
			bytes = size;
		} else {
			last.push(put);
			bytes += size;
		}
	}
	return bulks;
}
