import * as v from 'valibot';
import {
	bodyKey,
	bodySchema,
	type Entry,
	indexKey,
	parseJson,
	parseSkillSet,
	readStoredVectors,
	readWholeEntries,
	retiredKey,
	type SkillsNamespace,
	toSkillsKv,
	type Vectors,
} from '../../../core/skill/kv/layout.ts';
import { hashContent, type PreparedSkill, planSkills, prepareSkill, toEtag } from '../../../core/skill/kv/plan.ts';
import { writePlan } from '../../../core/skill/kv/publish.ts';
import { filterVectors, toEmbeddedText } from '../../../core/skill/kv/search.ts';
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

interface Draft {
	readonly entries: Map<string, Entry>;
	readonly put: Map<string, PreparedSkill>;
}

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
		const entries = await readWholeEntries(this.#kv, this.#options.prefix, parseSkillSet(documents.index));
		const draft: Draft = { entries, put: new Map() };
		const outcomes: Outcome[] = [];
		for (const change of changes) outcomes.push(await this.#apply(change, draft).catch(toFailedOutcome));
		if (outcomes.some(({ outcome }) => outcome === 'created' || outcome === 'replaced' || outcome === 'removed'))
			await this.#publish(documents, draft);
		return outcomes;
	}

	async #load(): Promise<Documents> {
		const { prefix, trustMs } = this.#options;
		const own = this.#store.read();
		if (own === undefined || Date.now() >= own.at + trustMs) {
			const [index, retired] = await Promise.all([this.#kv.get(indexKey(prefix)), this.#kv.get(retiredKey(prefix))]);
			return { index, retired };
		}
		// If the object crashed after `save`, KV possibly does not have the index.
		if (own.pending) await this.#putIndex(own.index);
		return own;
	}

	async #apply({ name, markdown, condition }: Change, { entries, put }: Draft): Promise<Outcome> {
		const before = entries.get(name);
		const etag = before && (await toEtag(before));
		const { ifMatch, ifNoneMatch = false } = condition;
		const fits = ifMatch === undefined || (etag !== undefined && (ifMatch === '*' || ifMatch.includes(etag)));
		if (!fits || (ifNoneMatch && etag !== undefined)) return { outcome: 'refused', etag };
		if (markdown === undefined) {
			if (etag === undefined) return { outcome: 'missing' };
			entries.delete(name);
			put.delete(name);
			return { outcome: 'removed', etag };
		}
		if (etag !== undefined && ifMatch === undefined) return { outcome: 'unconditional', etag };
		const files = before === undefined ? {} : await this.#readFiles(before, put.get(name)?.body);
		const skill = await prepareSkill(name, markdown, { files, keepsFrontMatter: true });
		entries.set(name, skill.entry);
		put.set(name, skill);
		return { outcome: before === undefined ? 'created' : 'replaced', etag: await toEtag(skill.entry) };
	}

	/** Throws if the other files of a skill cannot be read, because they must not be lost. */
	async #readFiles({ name, hash, files = [] }: Entry, body: string | undefined): Promise<Record<string, string>> {
		if (files.length === 0) return {};
		const stored = body ?? (await this.#kv.get(bodyKey(this.#options.prefix, hash)));
		const read = v.safeParse(bodySchema, parseJson(stored));
		if (!read.success) throw new Error(`the files of ${name} cannot be read`);
		return read.output.files ?? {};
	}

	async #publish(documents: Documents, { entries, put }: Draft): Promise<void> {
		const { prefix } = this.#options;
		const kv = {
			...toSkillsKv(this.#kv),
			// If a key cannot be removed now, the next publication removes it.
			delete: async (keys: readonly string[]) => {
				for (const key of keys) await this.#kv.delete(key).catch(() => {});
			},
		};
		const now = Date.now();
		const stored = await readStoredVectors(this.#kv, prefix, parseSkillSet(documents.index));
		const vectors = stored && (await keepVectors(stored, entries));
		const kept = [...entries.values()].filter(({ name }) => !put.has(name));
		const plan = await planSkills(
			{ ...documents, keys: await kv.list(prefix) },
			{ skills: [...put.values()], kept, vectors },
			{ prefix, now },
		);
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
async function keepVectors(vectors: Vectors, entries: ReadonlyMap<string, Entry>): Promise<Vectors | undefined> {
	try {
		const hashed = [...entries].map(async ([name, entry]) => [name, await hashContent(toEmbeddedText(entry))] as const);
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
