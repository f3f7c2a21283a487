import * as v from 'valibot';
import { changeShards } from '../../../core/skill/kv/change.ts';
import {
	bodyKey,
	bodySchema,
	type Entry,
	hashContent,
	indexKey,
	listNamedKeys,
	parseJson,
	parseSkillSet,
	readStoredVectors,
	readWholeSet,
	retiredKey,
	type Shards,
	type SkillSet,
	type SkillsNamespace,
	toSkillsKv,
	type Vectors,
} from '../../../core/skill/kv/layout.ts';
import { type PreparedSkill, planSkills, prepareSkill, type SkillsPlan, toEtag } from '../../../core/skill/kv/plan.ts';
import { writePlan } from '../../../core/skill/kv/publish.ts';
import { formatRetired, keptMs, parseRetired, type Retired } from '../../../core/skill/kv/retired.ts';
import { filterVectors, toEmbeddedText } from '../../../core/skill/kv/search.ts';
import { findEntry, readLeaf } from '../../../core/skill/kv/shards.ts';
import { log, toFailureFields } from '../../log.ts';
import type { Condition, Outcome } from './api.ts';
import type { Documents, PublisherStore } from './store.ts';

/** Without `markdown`, the skill is removed. */
export interface Change {
	readonly name: string;
	readonly markdown?: string;
	readonly condition: Condition;
}

export interface WriterOptions {
	readonly prefix: string;
	readonly paceMs: number;
	/** Milliseconds after a write for which the writer trusts its own copy, because KV's reads can be a minute old. */
	readonly trustMs?: number;
}

interface Waiting {
	readonly change: Change;
	readonly answer: (outcome: Outcome) => void;
}

/** The set in KV and its changes. A removed skill is undefined. */
interface Draft {
	readonly set: SkillSet;
	readonly changed: Map<string, PreparedSkill | undefined>;
}

/** The writes of a plan. */
type Writes = Pick<SkillsPlan, 'puts' | 'retired' | 'index' | 'deletes'>;

/** The maximum number of old values that a change of a set with shards removes. */
const mostRemoved = 32;

/**
 * Writes changes of skills to KV, by the same plan as `npm run skills`. KV has no compare-and-swap, and allows
 * one write per second for each key. So a prefix has one writer, and all waiting changes are written together.
 */
export class SkillWriter {
	readonly #kv: SkillsNamespace;
	readonly #store: PublisherStore;
	readonly #options: Required<WriterOptions>;
	#waiting: Waiting[] = [];
	#isWorking = false;
	#writtenAt = 0;

	constructor(kv: SkillsNamespace, store: PublisherStore, options: WriterOptions) {
		this.#kv = kv;
		this.#store = store;
		this.#options = { trustMs: 120_000, ...options };
	}

	/** Never rejects. */
	change(change: Change): Promise<Outcome> {
		const { promise, resolve } = Promise.withResolvers<Outcome>();
		this.#waiting.push({ change, answer: resolve });
		if (!this.#isWorking) void this.#work();
		return promise;
	}

	async #work(): Promise<void> {
		this.#isWorking = true;
		while (this.#waiting.length > 0) {
			const wait = this.#writtenAt + this.#options.paceMs - Date.now();
			if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
			const batch = this.#waiting;
			this.#waiting = [];
			const outcomes = await this.#write(batch.map(({ change }) => change)).catch(toFailedOutcome);
			for (const [at, { answer }] of batch.entries())
				answer(Array.isArray(outcomes) ? (outcomes[at] ?? { outcome: 'failed' }) : outcomes);
		}
		this.#isWorking = false;
	}

	async #write(changes: readonly Change[]): Promise<Outcome[]> {
		const documents = await this.#load();
		const set = await readWholeSet(this.#kv, this.#options.prefix, parseSkillSet(documents.index));
		const draft: Draft = { set, changed: new Map() };
		const outcomes: Outcome[] = [];
		for (const change of changes) outcomes.push(await this.#apply(change, draft).catch(toFailedOutcome));
		if (draft.changed.size > 0) {
			const { shards } = set;
			const now = Date.now();
			const plan =
				shards === undefined
					? await this.#planWhole(documents, draft, now)
					: await this.#planShards(documents, draft, shards, now);
			await this.#publish(documents, plan, now);
		}
		return outcomes;
	}

	async #load(): Promise<Documents> {
		const { prefix, trustMs } = this.#options;
		const own = this.#store.read();
		if (own === undefined || Date.now() >= own.at + trustMs) {
			// What readers of KV never saw must not appear later.
			if (own?.pending) this.#store.save(undefined);
			const [index, retired] = await Promise.all([this.#kv.get(indexKey(prefix)), this.#kv.get(retiredKey(prefix))]);
			return { index, retired };
		}
		// If the object crashed after `save`, KV possibly does not have the index.
		if (own.pending) await this.#putIndex(own.index);
		return own;
	}

	async #apply({ name, markdown, condition }: Change, { set, changed }: Draft): Promise<Outcome> {
		const before = changed.has(name) ? changed.get(name)?.entry : await this.#find(set, name);
		const etag = before && (await toEtag(before));
		const { ifMatch, ifNoneMatch = false } = condition;
		const fits = ifMatch === undefined || (etag !== undefined && (ifMatch === '*' || ifMatch.includes(etag)));
		if (!fits || (ifNoneMatch && etag !== undefined)) return { outcome: 'refused', etag };
		if (markdown === undefined) {
			if (etag === undefined) return { outcome: 'missing' };
			changed.set(name, undefined);
			return { outcome: 'removed', etag };
		}
		if (etag !== undefined && ifMatch === undefined) return { outcome: 'unconditional', etag };
		const files = before === undefined ? {} : await this.#readFiles(before, changed.get(name)?.body);
		const ownsText = set.shards !== undefined;
		const skill = await prepareSkill(name, markdown, { files, keepsFrontMatter: true, ownsText });
		changed.set(name, skill);
		return { outcome: before === undefined ? 'created' : 'replaced', etag: await toEtag(skill.entry) };
	}

	/** Throws if the leaf of the skill cannot be read. */
	async #find(set: SkillSet, name: string): Promise<Entry | undefined> {
		const entry = await findEntry(set, name, (hash) => readLeaf(this.#options.prefix, hash, this.#readJson));
		if (entry === null) throw new Error(`the entry of ${name} cannot be read`);
		return entry;
	}

	readonly #readJson = (key: string): Promise<unknown> => this.#kv.get(key, 'json');

	/** Throws if the other files of a skill cannot be read, because they must not be lost. */
	async #readFiles({ name, hash, files = [] }: Entry, body: string | undefined): Promise<Record<string, string>> {
		if (files.length === 0) return {};
		const stored = body ?? (await this.#kv.get(bodyKey(this.#options.prefix, hash)));
		const read = v.safeParse(bodySchema, parseJson(stored));
		if (!read.success) throw new Error(`the files of ${name} cannot be read`);
		return read.output.files ?? {};
	}

	/** Plans the whole set again. */
	async #planWhole(documents: Documents, { set, changed }: Draft, now: number): Promise<SkillsPlan> {
		const { prefix } = this.#options;
		const kept = set.entries.filter(({ name }) => !changed.has(name));
		const skills = [...changed.values()].filter((skill) => skill !== undefined);
		const stored = await readStoredVectors(this.#kv, prefix, set);
		const vectors = stored && (await keepVectors(stored, [...kept, ...skills.map(({ entry }) => entry)]));
		const keys = await toSkillsKv(this.#kv).list(prefix);
		return planSkills({ ...documents, keys }, { skills, kept, vectors }, { prefix, now });
	}

	/** Plans only what changes, without a list of all keys. */
	async #planShards({ retired }: Documents, { set, changed }: Draft, shards: Shards, now: number): Promise<Writes> {
		const { prefix } = this.#options;
		const entries = new Map([...changed].map(([name, skill]) => [name, skill?.entry]));
		const change = await changeShards(prefix, shards, entries, this.#readJson);
		const texts = [...changed.values()].filter((skill) => skill !== undefined);
		const begun = this.#store.readBegun();
		const record = parseRetired(retired);
		for (const [key, skill] of [...begun, ...change.retired]) record.set(key, { at: now, skill });
		for (const [key] of change.puts) begun.set(key, undefined);
		for (const { entry } of texts) begun.set(bodyKey(prefix, entry.hash), entry.name);
		const puts = [...change.puts, ...texts.map(({ entry, body }) => [bodyKey(prefix, entry.hash), body] as const)];
		for (const [key] of puts) record.delete(key);
		await this.#removeOld(record, set, now);
		this.#store.begin(begun);
		return {
			puts,
			retired: [retiredKey(prefix), formatRetired(record)],
			index: [indexKey(prefix), JSON.stringify(change.shards)],
			deletes: [],
		};
	}

	/** Removes values from KV and from the record an hour after they were retired, unless the set has them again. */
	async #removeOld(record: Map<string, Retired>, set: SkillSet, now: number): Promise<void> {
		const { prefix } = this.#options;
		const named = listNamedKeys(prefix, set);
		// Only publishing the whole set knows which skills have a text that has no skill here.
		const canRemove = (key: string, { at, skill }: Retired) =>
			at + keptMs <= now && (skill !== undefined || !key.startsWith(bodyKey(prefix, '')));
		const old = [...record].filter(([key, one]) => canRemove(key, one)).slice(0, mostRemoved);
		const remove = async ([key, { skill }]: readonly [string, Retired]) => {
			const entry = skill === undefined ? undefined : await this.#find(set, skill);
			const isUsed = named.has(key) || (entry && bodyKey(prefix, entry.hash) === key);
			if (!isUsed) await this.#kv.delete(key);
			record.delete(key);
		};
		// If a key cannot be removed now, the next publication removes it.
		await Promise.all(old.map((one) => remove(one).catch(() => {})));
	}

	async #publish(documents: Documents, plan: Writes, now: number): Promise<void> {
		const kv = {
			...toSkillsKv(this.#kv),
			// If a key cannot be removed now, the next publication removes it.
			delete: async (keys: readonly string[]) => {
				for (const key of keys) await this.#kv.delete(key).catch(() => {});
			},
		};
		await writePlan(kv, plan, {
			writeIndex: async ([, index]) => {
				const before = this.#store.read();
				this.#store.save({ index, retired: plan.retired?.[1] ?? documents.retired, at: now, pending: true });
				await this.#putIndex(index).catch((error: unknown) => {
					this.#store.save(before);
					throw error;
				});
			},
		});
	}

	async #putIndex(index: string | null): Promise<void> {
		this.#writtenAt = Date.now();
		if (index !== null) await this.#kv.put(indexKey(this.#options.prefix), index);
		this.#store.settle();
	}
}

/** Keeps vectors of unchanged texts. A changed text is found by words until `npm run skills` makes its vector. */
async function keepVectors(vectors: Vectors, entries: readonly Entry[]): Promise<Vectors | undefined> {
	try {
		const hashed = entries.map(async (entry) => [entry.name, await hashContent(toEmbeddedText(entry))] as const);
		const hashes = new Map(await Promise.all(hashed));
		return filterVectors(vectors, (name, text) => hashes.get(name) === text);
	} catch (error) {
		log('warn', 'skills.problem', toFailureFields(error));
		return undefined;
	}
}

function toFailedOutcome(error: unknown): Outcome {
	log('error', 'skills.not_published', toFailureFields(error));
	return { outcome: 'failed' };
}
