import { hashText } from '../../../../src/core/base/bytes.ts';
import { indexKey, parseSkillSet, type Shards } from '../../../../src/core/skill/kv/layout.ts';
import { type PreparedSkill, planSkills, type SkillsPlan } from '../../../../src/core/skill/kv/plan.ts';

/** A word of letters. 20 words are frequent, 400 less, and 8,000 rare. */
function toWord(at: number): string {
	const rank = at % ([20, 400, 8_000][at % 3] ?? 1);
	return hashText(`${at % 3} ${rank}`).replaceAll(/\d/g, '');
}

/** Makes many skills. The same number always makes the same skills. */
export function prepareMany(count: number): PreparedSkill[] {
	return Array.from({ length: count }, (_, at) => {
		const name = `${toWord(at * 7)}-${at}`;
		const description = Array.from({ length: 6 }, (_, n) => toWord(at * 31 + n * n * 977)).join(' ');
		return { entry: { name, description, hash: `h-${at}` }, body: `{"body":"Text of ${name}."}` };
	});
}

/** Publishes skills to an empty KV, without their texts. `values` are all values but the index. */
export async function publishMany(skills: readonly PreparedSkill[]) {
	const plan = await planSkills({ index: null, retired: null, keys: [] }, { skills });
	const values = new Map(plan.puts.filter(([key]) => !key.startsWith('skill:body:')));
	return { plan, values, shards: readShards(plan) };
}

/** Returns the shards of the set that a plan publishes. */
export function readShards({ index }: Pick<SkillsPlan, 'index'>): Shards {
	const { shards } = parseSkillSet(index?.[1] ?? null);
	if (shards === undefined) throw new Error(`${indexKey('skill:')} has no shards`);
	return shards;
}
