import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { skill } from '../../../../src/core/index.ts';
import { buildShards, changeShards } from '../../../../src/core/skill/kv/change.ts';
import {
	type Entry,
	noSkills,
	parseSkillSet,
	readWholeSet,
	type SkillStore,
} from '../../../../src/core/skill/kv/layout.ts';
import { type PreparedSkill, planSkills, type SkillProblem } from '../../../../src/core/skill/kv/plan.ts';
import { createFullText, type Scored, toSearchDocument } from '../../../../src/core/skill/kv/search.ts';
import { findEntry, listEntries, readLeaf, readShardsFor } from '../../../../src/core/skill/kv/shards.ts';
import before from '../../../fixtures/skills-before-shards.json' with { type: 'json' };
import { prepareMany, publishMany, readShards } from './many.ts';

const everything = () => true;
const prefix = 'skill:';

/** A KV that notes the kind of each value that is read. */
function createStore(values: ReadonlyMap<string, string>, index?: string) {
	const reads: string[] = [];
	const get = async (key: string): Promise<unknown> => {
		reads.push(key.split(':')[1] ?? '');
		return JSON.parse((key === 'skill:index' ? index : values.get(key)) ?? 'null');
	};
	const kv: SkillStore = { get: (key) => get(key) };
	return { kv, get, reads };
}

const toEntry = (name: string, description = `About ${name}`, rest: Partial<Entry> = {}): Entry => ({
	name,
	description,
	hash: `h-${name}`,
	...rest,
});

describe('a set of 100,000 skills', async () => {
	const many = prepareMany(100_000);
	const { values, shards, plan } = await publishMany(many);
	const wanted = many[70_123]?.entry ?? toEntry('');

	test('has an index under 50 kB, and values under 4 MB', () => {
		expect(plan.problems).toEqual([]);
		expect(plan.index?.[1].length).toBeLessThan(50_000);
		expect(Math.max(...[...values.values()].map(({ length }) => length))).toBeLessThan(4_000_000);
	});

	test('takes a change with 4 new values of less than 1 MB together, for each of 140 changes', async () => {
		const stored = new Map(values);
		const { get, reads } = createStore(stored);
		let now = shards;
		for (let at = 0; at < 140; at++) {
			const name = at % 3 === 0 ? `new-${at}` : (many[at * 311]?.entry.name ?? '');
			const entry = at % 3 === 1 ? undefined : toEntry(name, `A new text, the ${at}th`);
			reads.length = 0;
			const { puts, shards, retired } = await changeShards(prefix, now, new Map([[name, entry]]), get);
			for (const [key, value] of puts) stored.set(key, value);
			for (const key of retired.keys()) stored.delete(key);
			now = shards;
			expect(puts.length).toBeLessThanOrEqual(4);
			expect(puts.reduce((sum, [, value]) => sum + value.length, 0)).toBeLessThan(1_000_000);
			expect(reads.length).toBeLessThanOrEqual(4);
		}
		expect(now.count).toBe(100_000);
		expect(stored.size - values.size).toBeLessThanOrEqual(1);
	});

	test('is resolved by name with three reads: the index, a leaf and the text', async () => {
		const stored = new Map([...values, [`skill:body:${wanted.hash}`, '{"body":"Be warm."}']]);
		const { kv, reads } = createStore(stored, plan.index?.[1]);
		const resolver = skill.kvResolver(kv);
		expect(await resolver.readFn(wanted.name)).toMatchObject({ name: wanted.name, body: 'Be warm.' });
		expect(reads).toEqual(['index', 'leaf', 'body']);
		expect(await resolver.findFn?.(wanted.name)).toMatchObject({ description: wanted.description });
		expect(await skill.kvResolver(kv).readFn('unknown')).toBeUndefined();
		expect(reads.filter((kind) => kind === 'index')).toHaveLength(1);
		expect(await resolver.listFn({ messages: [], model: 'm' })).toEqual([]);
		expect(await resolver.moreFn?.({ messages: [], model: 'm' })).toBe(100_000);
	});

	test('is searched with at most one read for each word and for each result', async () => {
		const { kv, reads } = createStore(values, plan.index?.[1]);
		const query = `${wanted.description.split(' ').slice(3).join(' ')} ${wanted.name}`;
		const found = await skill.kvResolver(kv).searchFn?.(query, { limit: 5 });
		const count = (kind: string) => reads.filter((one) => one === kind).length;
		expect(count('words')).toBeLessThanOrEqual(5);
		expect(count('leaf')).toBeLessThanOrEqual(5);
		expect(reads.length).toBe(count('index') + count('words') + count('leaf'));
		expect(found?.[0]).toMatchObject({ name: wanted.name, description: wanted.description });
	});

	test('searches a query of a thousand words by its first twenty', async () => {
		const { kv, reads } = createStore(values, plan.index?.[1]);
		await skill.kvResolver(kv).searchFn?.(Array.from({ length: 1_000 }, (_, at) => `word${at}`).join(' '));
		expect(reads.filter((kind) => kind === 'words').length).toBeLessThanOrEqual(20);
	});
});

function expectSame(found: readonly Scored[], wanted: readonly Scored[]): void {
	expect(found.map(([name]) => name)).toEqual(wanted.map(([name]) => name));
	for (const [at, [, score]] of found.entries()) expect(score).toBeCloseTo(wanted[at]?.[1] ?? 0, 6);
}

describe('shards and one index', () => {
	const word = fc.constantFrom(
		'tone',
		'toner',
		'customer',
		'custommer',
		'customers',
		'tax',
		'taxes',
		'Émile',
		'__proto__',
	);
	const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(' '));
	const name = fc.constantFrom(...Array.from({ length: 12 }, (_, at) => `skill-${at}`), 'constructor', 'tone');
	const change = fc.record({ name, text: fc.option(text), when: fc.option(fc.array(word, { maxLength: 3 })) });
	const batch = fc.array(change, { minLength: 1, maxLength: 4 });

	test('find the same skills with the same scores, after any changes', async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(change), fc.array(batch, { maxLength: 40 }), text, async (first, batches, query) => {
				const wanted = new Map(
					first.map(({ name, text, when }) => [name, toEntry(name, text ?? '', { when: when ?? [] })]),
				);
				const values = new Map<string, string>();
				const { get: read } = createStore(values);
				const sorted = () => [...wanted.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
				let { puts, shards } = await buildShards(prefix, sorted());
				if (wanted.size === 0) ({ puts, shards } = await buildEmpty());
				for (const [key, value] of puts) values.set(key, value);
				for (const changes of batches) {
					const entries = new Map(
						changes.map(({ name, text, when }) => [
							name,
							text === null ? undefined : toEntry(name, text, { when: when ?? undefined, hash: `h-${name}-${text}` }),
						]),
					);
					const changed = await changeShards(prefix, shards, entries, read);
					for (const [key, value] of changed.puts) values.set(key, value);
					for (const key of changed.retired.keys()) values.delete(key);
					({ shards } = changed);
					for (const [name, entry] of entries) entry === undefined ? wanted.delete(name) : wanted.set(name, entry);
				}
				const { words, ...totals } = toSearchDocument(sorted());
				expect(shards).toMatchObject({ count: wanted.size, lengths: totals.lengths });
				const inShards = (await readShardsFor(query, shards, prefix, read))(query, everything);
				expectSame(inShards, createFullText(totals, words)(query, everything));
				const leaf = (hash: string) => readLeaf(prefix, hash, read);
				const set = { ...noSkills, shards };
				expect(await listEntries(set, { after: '', limit: 100 }, leaf)).toEqual(
					sorted().map((entry) => JSON.parse(JSON.stringify(entry))),
				);
				for (const one of ['skill-3', 'tone'])
					expect((await findEntry(set, one, leaf))?.hash).toBe(wanted.get(one)?.hash);
			}),
			{ numRuns: 50 },
		);
	});
});

describe('publishing a folder of many skills', async () => {
	const many = prepareMany(20_000);
	const { plan, values, shards } = await publishMany(many);
	const keys = [...plan.puts, plan.index, plan.retired].flatMap((put) => (put === undefined ? [] : [put[0]]));
	const stored = {
		index: plan.index?.[1] ?? null,
		retired: null,
		keys,
		get: async (key: string) => values.get(key) ?? null,
	};
	const publish = (skills: readonly PreparedSkill[], problems: SkillProblem[] = []) =>
		planSkills(stored, { skills, problems }, { now: 5 });
	const listKinds = (puts: readonly (readonly [string, string])[]) => puts.map(([key]) => key.split(':')[1]);

	test('writes nothing if nothing changed', async () => {
		const again = await publish(many);
		expect(again).toMatchObject({ puts: [], deletes: [], published: [], removed: [], problems: [] });
		expect([again.index, again.retired, again.unchanged.length]).toEqual([undefined, undefined, 20_000]);
	});

	test('writes a leaf and the shards of its words for a changed skill', async () => {
		const [first, ...rest] = many;
		const changed = { entry: toEntry(first?.entry.name ?? '', 'Two words'), body: '{"body":"New"}' };
		const next = await publish([changed, ...rest]);
		expect(next).toMatchObject({ published: [changed.entry.name], removed: [] });
		expect(next.unchanged).toHaveLength(19_999);
		const kinds = listKinds(next.puts);
		expect(kinds.filter((kind) => kind === 'leaf')).toHaveLength(1);
		expect(kinds.filter((kind) => kind === 'body')).toHaveLength(1);
		expect(kinds.length).toBeLessThanOrEqual(2 + 8 + 2);
		expect(Object.keys(JSON.parse(next.retired?.[1] ?? '').at)).toHaveLength(kinds.length);
	});

	test('removes skills, and keeps the version of a skill that has a problem', async () => {
		const [gone, broken, ...rest] = many;
		const name = broken?.entry.name ?? '';
		const next = await publish(rest, [{ skill: name, file: `${name}/SKILL.md`, message: 'broken' }]);
		expect(next).toMatchObject({ published: [], removed: [gone?.entry.name] });
		expect(next.retired?.[1]).toContain(`skill:body:${gone?.entry.hash}`);
		expect(next.retired?.[1]).not.toContain(`skill:body:${broken?.entry.hash}"`);
		expect(readShards(next).count).toBe(19_999);
	});

	test('splits a leaf that grows, and makes one index of a set that becomes small', async () => {
		const more = Array.from({ length: 600 }, (_, at) => ({ entry: toEntry(`mmm-${at}`), body: '{}' }));
		const grown = readShards(await publish([...many, ...more]));
		expect(grown.leaves.length).toBeGreaterThan(shards.leaves.length);
		expect(grown.leaves.map(([from]) => from)).toEqual(expect.arrayContaining(shards.leaves.map(([from]) => from)));
		const small = await publish(many.slice(0, 10));
		expect(JSON.parse(small.index?.[1] ?? '')).toMatchObject({ version: 1, skills: { length: 10 } });
		expect(small.removed).toHaveLength(19_990);
	});

	test('does not retire a text of two skills when a change removes one of them', async () => {
		const twins = many.map((one, at) => (at < 2 ? { ...one, entry: { ...one.entry, hash: 'twin' } } : one));
		const built = await publishMany(twins);
		const { get } = createStore(built.values);
		const remove = (at: number) =>
			changeShards(prefix, built.shards, new Map([[many[at]?.entry.name ?? '', undefined]]), get);
		expect([...(await remove(0)).retired.keys()]).not.toContain('skill:body:twin');
		expect([...(await remove(2)).retired.keys()]).toContain('skill:body:h-2');
	});
});

describe('a set that an older version published', () => {
	const older = new Map(Object.entries(before).map(([key, value]) => [key, JSON.stringify(value)]));

	test('is read, and searched with whole descriptions', async () => {
		const problems: string[] = [];
		const { kv } = createStore(older, older.get('skill:index'));
		const resolver = skill.kvResolver(kv, { onProblem: (message) => problems.push(message) });
		expect(await resolver.readFn('tone')).toMatchObject({
			description: 'How we write to customers.',
			body: 'Be warm.',
		});
		expect(await resolver.searchFn?.('departments')).toMatchObject([
			{ name: 'audit', description: 'Checking the books of every department.' },
		]);
		expect(problems).toEqual([]);
	});

	test('gets the new layout when it is published again, without new texts', async () => {
		const stored = { index: older.get('skill:index') ?? null, retired: null, keys: [...older.keys()] };
		const { entries } = await readWholeSet(
			{ get: async (key) => JSON.parse(older.get(key) ?? 'null') },
			prefix,
			parseSkillSet(stored.index),
		);
		const plan = await planSkills(stored, { skills: [], kept: entries }, { now: 5 });
		expect(plan.puts.map(([key]) => key.split(':')[1])).toEqual(['search']);
		expect(JSON.parse(plan.index?.[1] ?? '').skills[0].description).toBe('Checking the books of every department.');
	});
});

/** An empty set with shards: one skill that was removed. */
async function buildEmpty() {
	const { puts, shards } = await buildShards(prefix, [toEntry('x')]);
	const read = async (key: string) => JSON.parse(new Map(puts).get(key) ?? 'null');
	const empty = await changeShards(prefix, shards, new Map([['x', undefined]]), read);
	return { puts: [...puts, ...empty.puts], shards: empty.shards };
}
