import type { Env } from '../../../core/base/env.ts';
import type { SkillsNamespace } from '../../../core/skill/kv/layout.ts';
import { DurableObject } from '../platform.ts';
import { type Condition, type Outcome, type PublisherApi, publishedPrefix } from './api.ts';
import { PublisherStore } from './store.ts';
import { SkillWriter } from './writer.ts';

export interface PublisherOptions {
	readonly skills: SkillsNamespace;
	/** Milliseconds for which the publisher uses its own copy after its last write. The default is two minutes. */
	readonly trustMs?: number;
	/** Milliseconds between two writes of the index. KV allows one write a second. */
	readonly paceMs?: number;
}

export class Publisher extends DurableObject<Env> implements PublisherApi {
	readonly #writer: SkillWriter;

	constructor(ctx: DurableObjectState, env: Env, { skills, trustMs, paceMs = 1_100 }: PublisherOptions) {
		super(ctx, env);
		const store = new PublisherStore(ctx.storage);
		this.#writer = new SkillWriter(skills, store, { prefix: publishedPrefix, paceMs, trustMs });
	}

	put(name: string, markdown: string, condition: Condition): Promise<Outcome> {
		return this.#writer.change({ name, markdown, condition });
	}

	remove(name: string, condition: Condition): Promise<Outcome> {
		return this.#writer.change({ name, condition });
	}

	async check(): Promise<void> {}
}
