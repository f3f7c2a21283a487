import { indexKey } from '../src/core/skill/kv-index.ts';
import { type Put, planSkills, type SkillProblem, type SkillsPlan, toRetiredKey } from '../src/core/skill/plan.ts';
import { type Embedder, embedSkills } from './skills-embed.ts';
import { readSkills } from './skills-entry.ts';
import type { SkillsKv } from './skills-kv.ts';
import { readSkillFolders } from './skills-read.ts';

export interface PublishOptions {
	/** The folder that holds one folder a skill. */
	readonly directory: string;
	/** In front of every key; `skill:`. */
	readonly prefix?: string;
	/** Makes the vectors of a search by meaning; missing publishes none. */
	readonly embed?: Embedder;
	/** Milliseconds since 1970; now. */
	readonly now?: number;
	/** Told how far it is, `what` being written, removed or embedded. */
	readonly onProgress?: (what: string, done: number, total: number) => void;
}

/** Names of skills. A skill with a problem is not published: what KV has of it stays, and the others go on. */
export interface Published {
	readonly published: readonly string[];
	readonly unchanged: readonly string[];
	readonly removed: readonly string[];
	readonly problems: readonly SkillProblem[];
	/** What is not valid of skills that are published all the same. */
	readonly warnings: readonly SkillProblem[];
}

/** What goes to KV at once: a bulk write takes 10,000 keys and 100 MB (https://developers.cloudflare.com/kv/api/write-key-value-pairs/). */
const bulkKeys = 500;
const bulkBytes = 40_000_000;

/**
 * Makes KV equal to the folder, writing only what differs: new bodies first, the index in one write, and last the removal
 * of what no index named for an hour. It may end at any write: a reader then has the old set whole, or the new one, and the
 * next run goes on. Throws when the folder or KV cannot be read or written.
 */
export async function publishSkills(
	kv: SkillsKv,
	{ directory, prefix = 'skill:', embed, now = Date.now(), onProgress = () => {} }: PublishOptions,
): Promise<Published> {
	const { skills, problems, warnings } = readSkills(await readSkillFolders(directory));
	const vectors =
		embed && (await embedSkills(kv, prefix, skills, embed, (done, total) => onProgress('embedded', done, total)));
	const [index, retired, keys] = await Promise.all([
		kv.get(indexKey(prefix)),
		kv.get(toRetiredKey(prefix)),
		kv.list(prefix),
	]);
	const plan = planSkills({ index, retired, keys }, { skills, problems, vectors }, { prefix, now });
	await carryOut(kv, plan, onProgress);
	const { published, unchanged, removed } = plan;
	return { published, unchanged, removed, problems: plan.problems, warnings };
}

/** Writes a plan in its order, many entries at once. */
export async function carryOut(
	kv: SkillsKv,
	plan: SkillsPlan,
	onProgress: (what: string, done: number, total: number) => void = () => {},
): Promise<void> {
	let written = 0;
	for (const puts of splitIntoBulks(plan.puts)) {
		await kv.put(puts);
		written += puts.length;
		onProgress('written', written, plan.puts.length);
	}
	if (plan.retired !== undefined) await kv.put([plan.retired]);
	if (plan.index !== undefined) await kv.put([plan.index]);
	for (let from = 0; from < plan.deletes.length; from += bulkKeys) {
		const keys = plan.deletes.slice(from, from + bulkKeys);
		await kv.delete(keys);
		onProgress('old entries removed', from + keys.length, plan.deletes.length);
	}
}

function splitIntoBulks(puts: readonly Put[]): Put[][] {
	const made: Put[][] = [];
	let bytes = bulkBytes;
	for (const put of puts) {
		const size = Buffer.byteLength(put[1]);
		const last = made.at(-1);
		if (last === undefined || last.length >= bulkKeys || bytes + size > bulkBytes) {
			made.push([put]);
			bytes = size;
		} else {
			last.push(put);
			bytes += size;
		}
	}
	return made;
}
