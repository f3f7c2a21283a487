import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SkillsKv, toSkillsKv } from '../../../../src/core/skill/kv/layout.ts';
import { planSkills } from '../../../../src/core/skill/kv/plan.ts';
import { readSkills, writePlan } from '../../../../src/core/skill/kv/publish.ts';
import { keptMs } from '../../../../src/core/skill/kv/retired.ts';
import { folder, markdown, memoryKv } from './memory.ts';

describe('repeated publishing with interruptions', () => {
	const edit = fc.record({
		/** The text of each of three skills. A skill without a text is removed. */
		texts: fc.array(fc.option(fc.constantFrom('one', 'two', 'three')), { minLength: 3, maxLength: 3 }),
		/** The number of writes before the process ends. */
		alive: fc.nat(12),
		/** Minutes until the next publishing. */
		minutes: fc.constantFrom(0, 1, 59, 60, 61, 300),
	});
	const folders = (texts: readonly (string | null)[]) =>
		texts.flatMap((text, at) =>
			text === null ? [] : [folder(`s${at}`, { 'SKILL.md': markdown(`s${at}`, { body: text }) })],
		);

	test('keeps each set complete for readers until an hour after another set replaces it', async () => {
		const history = fc.array(edit, { minLength: 1, maxLength: 8 });
		await fc.assert(
			fc.asyncProperty(history, async (edits) => {
				const memory = memoryKv();
				const kv = toSkillsKv(memory);
				/** The keys that each written index names, and the time at which another index replaced it. */
				const sets: { keys: string[]; until: number }[] = [];
				let now = 0;
				let alive = 0;
				const whole = async () => {
					const there = new Set(await kv.list(''));
					for (const { keys, until } of sets) {
						if (now < until + keptMs) for (const key of keys) expect(there).toContain(key);
					}
				};
				const step = async (work: () => Promise<void>) => {
					if (alive-- <= 0) throw new Error('interrupted');
					await work();
					await whole();
				};
				const mortal: SkillsKv = {
					...kv,
					put: async (entries) => {
						for (const entry of entries) {
							await step(async () => {
								await kv.put([entry]);
								if (entry[0] !== 'skill:index') return;
								const last = sets.pop();
								if (last) sets.push({ ...last, until: now });
								const { skills, search } = JSON.parse(entry[1]);
								const bodies = skills.map(({ hash }: { hash: string }) => `skill:body:${hash}`);
								sets.push({
									keys: [...bodies, ...(search ? [`skill:search:${search}`] : [])],
									until: Number.POSITIVE_INFINITY,
								});
							});
						}
					},
					delete: async (keys) => {
						for (const key of keys) await step(() => kv.delete([key]));
					},
				};
				const publish = async (texts: readonly (string | null)[]) => {
					const [index, retired, keys] = await Promise.all([
						kv.get('skill:index'),
						kv.get('skill:retired'),
						kv.list('skill:'),
					]);
					const plan = await planSkills({ index, retired, keys }, await readSkills(folders(texts)), { now });
					await writePlan(mortal, plan);
				};
				for (const { texts, minutes, ...edit } of edits) {
					({ alive } = edit);
					await publish(texts).catch((error: unknown) => expect(error).toMatchObject({ message: 'interrupted' }));
					await whole();
					now += minutes * 60_000;
				}
				alive = Number.POSITIVE_INFINITY;
				const last = edits.at(-1)?.texts ?? [];
				await publish(last);
				now += keptMs;
				await publish(last);
				const left = (await kv.list('')).filter((key) => key !== 'skill:index' && key !== 'skill:retired');
				expect(left.sort()).toEqual([...new Set(sets.at(-1)?.keys ?? [])].sort());
			}),
			{ numRuns: 200 },
		);
	});
});
