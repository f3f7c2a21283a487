import { env, runInDurableObject } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import type { Outcome } from '../../../../src/cloudflare/objects/publisher/api.ts';
import { PublisherStore } from '../../../../src/cloudflare/objects/publisher/store.ts';
import { SkillWriter } from '../../../../src/cloudflare/objects/publisher/writer.ts';
import { hashContent, type SkillsNamespace } from '../../../../src/core/skill/kv/layout.ts';
import { planSkills, prepareSkill } from '../../../../src/core/skill/kv/plan.ts';
import { kvResolver } from '../../../../src/core/skill/kv/resolver.ts';
import { toBytes } from '../../../../src/core/skill/kv/search.ts';

const markdown = (name: string, body = 'Text', description = `About ${name}`) =>
	`---\nname: ${name}\ndescription: ${description}\n---\n\n${body}`;
const put = (name: string, ...more: string[]) => ({ name, markdown: markdown(name, ...more), condition: {} });
const readEtag = (outcome: Outcome) => ('etag' in outcome ? (outcome.etag ?? '') : '');

/** A KV in memory that can return old reads and fail at writes. */
function memoryKv() {
	const values = new Map<string, string>();
	const written: string[] = [];
	const control: { stale?: ReadonlyMap<string, string>; broken?: string } = {};
	function get(key: string, type: 'json'): Promise<unknown>;
	function get(key: string): Promise<string | null>;
	async function get(key: string, type?: 'json'): Promise<unknown> {
		const value = (control.stale ?? values).get(key) ?? null;
		return type === 'json' && value !== null ? JSON.parse(value) : value;
	}
	const kv: SkillsNamespace = {
		get,
		list: async () => ({ keys: [...values.keys()].map((name) => ({ name })) }),
		put: async (key, value) => {
			if (key === control.broken) throw new Error('429 Too Many Requests');
			written.push(key.split(':')[1] ?? '');
			values.set(key, value);
		},
		delete: async (key) => void values.delete(key),
	};
	const names = () =>
		JSON.parse(values.get('skill:index') ?? '{"skills":[]}').skills.map((s: { name: string }) => s.name);
	return { kv, values, written, control, names };
}

/** Runs in a new object. `open` makes a new writer, as after a restart. */
async function within(
	work: (open: (kv: SkillsNamespace, trustMs?: number) => SkillWriter, store: PublisherStore) => Promise<void>,
) {
	await runInDurableObject(env.PUBLISHERS.get(env.PUBLISHERS.newUniqueId()), async (_, { storage }) => {
		const open = (kv: SkillsNamespace, trustMs = 120_000) =>
			new SkillWriter(kv, new PublisherStore(storage), { prefix: 'skill:', paceMs: 0, trustMs });
		await work(open, new PublisherStore(storage));
	});
}

test('the skill writer uses its own copy while KV returns an old state, even after a restart', () =>
	within(async (open) => {
		const { kv, values, control, names } = memoryKv();
		control.stale = new Map(values);
		const first = await open(kv).change(put('a'));
		expect(first.outcome).toBe('created');
		expect((await open(kv).change(put('b'))).outcome).toBe('created');
		const replaced = await open(kv).change({ ...put('a', 'New'), condition: { ifMatch: [readEtag(first)] } });
		expect(replaced.outcome).toBe('replaced');
		expect(names()).toEqual(['a', 'b']);
	}));

test('the skill writer reads KV again after its own copy has expired', () =>
	within(async (open) => {
		const { kv, values, names } = memoryKv();
		await open(kv, 0).change(put('a'));
		values.delete('skill:index');
		await open(kv, 0).change(put('b'));
		expect(names()).toEqual(['b']);
	}));

test('the skill writer writes the index last, and only once for all waiting changes', () =>
	within(async (open) => {
		const { kv, written } = memoryKv();
		const writer = open(kv);
		const outcomes = await Promise.all(['a', 'b', 'c'].map((name) => writer.change(put(name, name))));
		expect(outcomes.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
		expect(written).toEqual(['body', 'search', 'index', 'body', 'body', 'search', 'retired', 'index']);
	}));

test('a change fails and is undone if the index cannot be written', () =>
	within(async (open) => {
		vi.spyOn(console, 'error').mockImplementation(() => {});
		const { kv, control, names } = memoryKv();
		const writer = open(kv);
		await writer.change(put('a'));
		control.broken = 'skill:index';
		expect(await writer.change(put('b'))).toEqual({ outcome: 'failed' });
		control.broken = undefined;
		await writer.change(put('c'));
		expect(names()).toEqual(['a', 'c']);
	}));

test('before the next change, the skill writer writes an index that a crash left unwritten', () =>
	within(async (open, store) => {
		const { kv, names } = memoryKv();
		await open(kv).change(put('a'));
		const { promise: reached, resolve } = Promise.withResolvers<void>();
		const hanging: SkillsNamespace = {
			...kv,
			put: async (key, value) => {
				if (key !== 'skill:index') return kv.put(key, value);
				resolve();
				return new Promise(() => {});
			},
		};
		void open(hanging).change(put('b'));
		await reached;
		expect(store.read()?.pending).toBe(true);
		expect(names()).toEqual(['a']);
		expect((await open(kv).change(put('b'))).outcome).toBe('unconditional');
		expect(names()).toEqual(['a', 'b']);
	}));

test('the skill writer’s own copy can have more than 2 MB and any characters', () =>
	within(async (_, store) => {
		const written = { index: `x${'😀'.repeat(1_300_000)}`, retired: '', at: 1, pending: false };
		store.save(written);
		expect(store.read()).toEqual({ ...written, retired: null });
	}));

test('keeps the vectors of unchanged skills, and finds changed skills by their words', () =>
	within(async (open) => {
		const { kv, values } = memoryKv();
		const names = ['a', 'b'];
		const skills = await Promise.all(names.map((name) => prepareSkill(name, markdown(name))));
		const values64 = btoa(String.fromCharCode(...new Uint8Array([...toBytes([1, 0]), ...toBytes([0, 1])])));
		const texts = await Promise.all(names.map((name) => hashContent(`${name}\nAbout ${name}`)));
		const vectors = { model: 'two', names, texts, values: values64 };
		const plan = await planSkills({ index: null, retired: null, keys: [] }, { skills, problems: [], vectors });
		for (const [key, value] of [...plan.puts, ...(plan.index ? [plan.index] : [])]) values.set(key, value);
		const writer = open(kv);
		await writer.change({ ...put('a', 'Other text'), condition: { ifMatch: '*' } });
		await writer.change({ ...put('b', 'Text', 'Invoices'), condition: { ifMatch: '*' } });
		await writer.change(put('c', 'Text', 'Refunds'));
		const search = kvResolver(kv, { cacheMs: 0, embedFn: async () => [[1, 0.1]] }).searchFn;
		const found = async (query: string) => (await search?.(query))?.map(({ name }) => name);
		expect(await found('meaning')).toEqual(['a']);
		expect(await found('an invoice')).toEqual(['b', 'a']);
		expect(await found('refunds')).toEqual(['c', 'a']);
	}));
