import { env, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import type { Outcome } from '../../../../src/cloudflare/objects/publisher/api.ts';
import { PublisherStore } from '../../../../src/cloudflare/objects/publisher/store.ts';
import { type Change, SkillWriter } from '../../../../src/cloudflare/objects/publisher/writer.ts';
import { bodyKey, listNamedKeys, parseSkillSet, type SkillsNamespace } from '../../../../src/core/skill/kv/layout.ts';
import { kvResolver } from '../../../../src/core/skill/kv/resolver.ts';
import { keptMs } from '../../../../src/core/skill/kv/retired.ts';
import { listEntries, readLeaf } from '../../../../src/core/skill/kv/shards.ts';
import { prepareMany, publishMany } from '../../../core/skill/kv/many.ts';

const markdown = (name: string, body: string) =>
	`---\nname: ${name}\ndescription: About ${name}, a ${body} skill\n---\n\n${body}`;
const put = (name: string, body = 'text'): Change => ({ name, markdown: markdown(name, body), condition: {} });
const replace = (name: string, body: string): Change => ({ ...put(name, body), condition: { ifMatch: '*' } });

const { values: published, plan } = await publishMany(prepareMany(18_000));

/** A KV in memory with a set in shards. From the write or removal `alive` on, all fail, or hang as after a crash. */
function createKv() {
	const values = new Map(published);
	values.set('skill:index', plan.index?.[1] ?? '');
	const control = { alive: Number.POSITIVE_INFINITY, onCrash: () => {}, hangs: false, lists: 0, bytes: 0 };
	const written: string[] = [];
	const step = () => {
		if (control.alive-- > 0) return;
		if (!control.hangs) throw new Error('interrupted');
		control.onCrash();
		return new Promise<void>(() => {});
	};
	function get(key: string, type: 'json'): Promise<unknown>;
	function get(key: string): Promise<string | null>;
	async function get(key: string, type?: 'json'): Promise<unknown> {
		const value = values.get(key) ?? null;
		return type === 'json' && value !== null ? JSON.parse(value) : value;
	}
	const kv: SkillsNamespace = {
		get,
		list: async () => {
			control.lists++;
			return { keys: [...values.keys()].map((name) => ({ name })) };
		},
		put: async (key, value) => {
			await step();
			written.push(key.split(':')[1] ?? '');
			control.bytes += value.length;
			values.set(key, value);
		},
		delete: async (key) => {
			await step();
			values.delete(key);
		},
	};
	return { kv, values, written, control };
}

async function within(work: (open: (kv: SkillsNamespace, trustMs?: number) => SkillWriter) => Promise<void>) {
	await runInDurableObject(env.PUBLISHERS.get(env.PUBLISHERS.newUniqueId()), async (_, { storage }) => {
		await work(
			(kv, trustMs) => new SkillWriter(kv, new PublisherStore(storage), { prefix: 'skill:', paceMs: 0, trustMs }),
		);
	});
}

afterEach(() => vi.restoreAllMocks());

test('a change of one of many skills writes at most 7 values of less than 1 MB, and lists no keys', () =>
	within(async (open) => {
		const { kv, control, values, written } = createKv();
		for (const change of [put('new-one'), replace('new-one', 'other'), put('aaa'), { name: 'aaa', condition: {} }]) {
			written.length = 0;
			control.bytes = 0;
			expect((await open(kv).change(change)).outcome).toMatch(/created|replaced|removed/);
			expect(written.length).toBeLessThanOrEqual(7);
			expect(written.at(-1)).toBe('index');
			expect(control.bytes).toBeLessThan(1_000_000);
		}
		expect(control.lists).toBe(0);
		const resolver = kvResolver(kv, { cacheMs: 0 });
		expect(await resolver.readFn('new-one')).toMatchObject({
			description: 'About new-one, a other skill',
			body: 'other',
		});
		expect((await resolver.searchFn?.('new one other'))?.[0]?.name).toBe('new-one');
		expect(await resolver.readFn('aaa')).toBeUndefined();
		expect(parseSkillSet(values.get('skill:index') ?? null).count).toBe(18_001);
	}));

test('a skill is not replaced while its leaf cannot be read', () =>
	within(async (open) => {
		vi.spyOn(console, 'error').mockImplementation(() => {});
		const { kv, values, written } = createKv();
		for (const key of [...values.keys()].filter((one) => one.startsWith('skill:leaf:'))) values.delete(key);
		expect(await open(kv).change(put('new-one'))).toEqual({ outcome: 'failed' });
		expect(written).toEqual([]);
	}));

const names = ['one', 'two'];
const edit = fc.record({
	name: fc.constantFrom(...names),
	/** The new text. Without one, the skill is removed. */
	text: fc.option(fc.constantFrom('red', 'green', 'blue')),
	/** The number of writes before the change is interrupted. */
	alive: fc.nat(9),
	/** Whether the object crashes then. Otherwise the write fails. */
	hangs: fc.boolean(),
	/** Whether the object trusts its own copy at this change. */
	isTrusted: fc.boolean(),
	/** Minutes until the next change. */
	minutes: fc.constantFrom(0, 1, 59, 61),
});

test('interrupted changes leave each skill old or new, and KV has no other value an hour later', async () => {
	vi.spyOn(console, 'error').mockImplementation(() => {});
	let now = Date.now();
	vi.spyOn(Date, 'now').mockImplementation(() => now);
	const property = fc.asyncProperty(fc.array(edit, { minLength: 2, maxLength: 8 }), (edits) =>
		within(async (open) => {
			const { kv, values, control } = createKv();
			/** The texts that readers may find. A missing skill is `null`. */
			const possible = new Map<string, Set<string | null>>(names.map((name) => [name, new Set([null])]));
			const change = async (name: string, text: string | null, trustMs = 120_000) => {
				const wanted = text === null ? { name, condition: {} } : replace(name, text);
				const crashed = new Promise<Outcome>((resolve) => {
					control.onCrash = () => resolve({ outcome: 'failed' });
				});
				const ask = (one: Change) => Promise.race([open(kv, trustMs).change(one), crashed]);
				const { outcome } = await ask(wanted);
				return outcome === 'refused' ? (await ask(put(name, text ?? ''))).outcome : outcome;
			};
			const check = async () => {
				for (const name of names) {
					const resolver = kvResolver({ get: kv.get }, { cacheMs: 0 });
					const read = await resolver.readFn(name);
					expect([...(possible.get(name) ?? [])]).toContain(read?.body ?? null);
					const found = (await resolver.searchFn?.(`About ${name}`))?.find((one) => one.name === name);
					expect(found?.description).toBe(read?.description);
				}
			};
			for (const { name, text, alive, hangs, isTrusted, minutes } of edits) {
				Object.assign(control, { alive, hangs });
				const outcome = await change(name, text, isTrusted ? undefined : 0);
				control.alive = Number.POSITIVE_INFINITY;
				if (outcome === 'failed') possible.get(name)?.add(text);
				else possible.set(name, new Set([outcome === 'missing' ? null : text]));
				await check();
				now += minutes * 60_000;
			}
			for (const name of names) {
				expect(await change(name, `last ${name}`)).toMatch(/created|replaced/);
				possible.set(name, new Set([`last ${name}`]));
			}
			for (let n = 0; n < 5; n++) {
				now += keptMs;
				await change('one', 'last one');
			}
			await check();
			const set = parseSkillSet(values.get('skill:index') ?? null);
			const leaf = (hash: string) => readLeaf('skill:', hash, (key) => kv.get(key, 'json'));
			const entries = await listEntries(set, { after: '', limit: 20_000 }, leaf);
			const texts = entries.filter(({ name }) => names.includes(name)).map(({ hash }) => bodyKey('skill:', hash));
			expect(texts).toHaveLength(2);
			const { at } = JSON.parse(values.get('skill:retired') ?? '{}');
			const known = new Set([...listNamedKeys('skill:', set), ...texts, 'skill:index', 'skill:retired']);
			const others = [...values.keys()].filter((key) => !known.has(key));
			expect(others.filter((key) => at[key] === undefined || now >= at[key] + keptMs)).toEqual([]);
		}),
	);
	await fc.assert(property, { numRuns: 25 });
});
