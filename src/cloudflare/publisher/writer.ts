import * as v from 'valibot';
import { hashContent } from '../../core/skill/content-hash.ts';
import { bodyKey, bodySchema, indexKey, indexSchema, vectorsKey } from '../../core/skill/kv-index.ts';
import { planSkills, readIndex, toRetiredKey } from '../../core/skill/plan.ts';
import { type PublishedEntry, type ToPublish, toEtag, toPublish } from '../../core/skill/publish.ts';
import { withDescriptions } from '../../core/skill/published.ts';
import { filterVectors, toEmbeddedText, type Vectors, vectorsSchema } from '../../core/skill/vectors.ts';
import { log, toFailureFields } from '../log.ts';
import type { Condition, Outcome, SkillsNamespace } from '../rpc/publisher.ts';
import type { Documents, PublisherStore } from './store.ts';

/** A skill to be put, or without `markdown` to be removed. */
export interface Change {
	readonly name: string;
	readonly markdown?: string;
	readonly condition: Condition;
}

export interface WriterOptions {
	readonly prefix: string;
	readonly paceMs: number;
	/** How long after its last write its own copy counts, in milliseconds: KV's reads may be a minute old. Two minutes. */
	readonly trustMs?: number;
}

interface Waiting {
	readonly change: Change;
	readonly answer: (outcome: Outcome) => void;
}

/** The skills that stand, and the new texts of those that changes put. */
interface Draft {
	readonly entries: Map<string, PublishedEntry>;
	readonly put: Map<string, ToPublish>;
}

/**
 * Writes changes of skills to KV in their order: texts, then what a search needs, then the index, which is what a reader
 * sees. KV has no compare-and-swap and takes one write a second of a key, so there must be one writer of a prefix; changes
 * that wait for its next write share it.
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
		const draft: Draft = { entries: await this.#listEntries(documents), put: new Map() };
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
			const [index, retired] = await Promise.all([this.#kv.get(indexKey(prefix)), this.#kv.get(toRetiredKey(prefix))]);
			return { index, retired };
		}
		// A crash between the two writes: KV may not have it.
		if (own.pending) await this.#putIndex(own.index);
		return own;
	}

	async #listEntries({ index }: Documents): Promise<Map<string, PublishedEntry>> {
		const { prefix } = this.#options;
		const { entries } = readIndex(index, prefix);
		const whole = await withDescriptions(this.#kv, prefix, [...entries.values()], parseIndex(index)?.search);
		return new Map(whole.map((entry) => [entry.name, entry]));
	}

	async #apply({ name, markdown, condition }: Change, { entries, put }: Draft): Promise<Outcome> {
		const before = entries.get(name);
		const etag = before && toEtag(before);
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
		const files = before === undefined ? {} : await this.#listFiles(before, put.get(name)?.body);
		const skill = toPublish(name, markdown, { files, keepsFrontMatter: true });
		entries.set(name, skill.entry);
		put.set(name, skill);
		return { outcome: before === undefined ? 'created' : 'replaced', etag: toEtag(skill.entry) };
	}

	/** The files beside a skill that stands. Throws where they cannot be read: they must not be lost. */
	async #listFiles(
		{ name, hash, files = [] }: PublishedEntry,
		body: string | undefined,
	): Promise<Record<string, string>> {
		if (files.length === 0) return {};
		const stored =
			body === undefined ? await this.#kv.get(bodyKey(this.#options.prefix, hash), 'json') : JSON.parse(body);
		const read = v.safeParse(bodySchema, stored);
		if (!read.success) throw new Error(`the files of ${name} cannot be read`);
		return read.output.files ?? {};
	}

	async #publish(documents: Documents, { entries, put }: Draft): Promise<void> {
		const { prefix } = this.#options;
		const now = Date.now();
		const [keys, vectors] = await Promise.all([this.#listKeys(), this.#embed(documents, entries)]);
		const kept = [...entries.values()].filter(({ name }) => !put.has(name));
		const plan = planSkills(
			{ ...documents, keys },
			{ skills: [...put.values()], problems: [], kept, vectors },
			{ prefix, now },
		);
		for (const [key, value] of plan.puts) await this.#kv.put(key, value);
		if (plan.retired !== undefined) await this.#kv.put(...plan.retired);
		if (plan.index !== undefined) {
			const before = this.#store.read();
			const index = plan.index[1];
			this.#store.save({ index, retired: plan.retired?.[1] ?? documents.retired, at: now, pending: true });
			await this.#putIndex(index).catch((error: unknown) => {
				this.#store.save(before);
				throw error;
			});
		}
		// What cannot be removed now is removed by a later publishing.
		for (const key of plan.deletes) await this.#kv.delete(key).catch(() => {});
	}

	async #putIndex(index: string | null): Promise<void> {
		this.#writtenAt = Date.now();
		if (index !== null) await this.#kv.put(indexKey(this.#options.prefix), index);
		this.#store.settle();
	}

	/** Vectors are made by `npm run skills`: here that of another text goes, and the skill is found by its words. */
	async #embed({ index }: Documents, entries: ReadonlyMap<string, PublishedEntry>): Promise<Vectors | undefined> {
		const named = parseIndex(index)?.vectors;
		if (named === undefined) return undefined;
		const stored = v.safeParse(vectorsSchema, await this.#kv.get(vectorsKey(this.#options.prefix, named.hash), 'json'));
		if (!stored.success) return undefined;
		return filterVectors(stored.output, (name, text) => {
			const entry = entries.get(name);
			return entry !== undefined && hashContent(toEmbeddedText(entry)) === text;
		});
	}

	async #listKeys(): Promise<string[]> {
		const keys: string[] = [];
		let cursor: string | undefined;
		do {
			const { prefix } = this.#options;
			const page = await this.#kv.list({ prefix, cursor });
			keys.push(...page.keys.map(({ name }) => name));
			cursor = 'cursor' in page ? page.cursor : undefined;
		} while (cursor !== undefined);
		return keys;
	}
}

function toFailedOutcome(error: unknown): Outcome {
	log('error', 'skills.not_published', toFailureFields(error));
	return { outcome: 'failed' };
}

function parseIndex(text: string | null) {
	try {
		const index = v.safeParse(indexSchema, JSON.parse(text ?? 'null'));
		return index.success ? index.output : undefined;
	} catch {
		return undefined;
	}
}
