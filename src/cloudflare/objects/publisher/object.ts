import { readConfig } from '../../config/config.ts';
import type { WorkerEnv } from '../../config/env.ts';
import { type Condition, type Outcome, type PublisherApi, publishedPrefix } from '../../rpc/publisher.ts';
import { DurableObject } from '../durable-object.ts';
import { PublisherStore } from './store.ts';
import { SkillWriter } from './writer.ts';

export interface PublisherOptions {
	/** Milliseconds from one write of the index to the next; KV takes one a second. */
	readonly paceMs?: number;
}

/** The Durable Object that publishes skills. */
export class Publisher extends DurableObject<WorkerEnv> implements PublisherApi {
	readonly #writer: SkillWriter;

	constructor(ctx: DurableObjectState, env: WorkerEnv, { paceMs = 1_100 }: PublisherOptions = {}) {
		super(ctx, env);
		const { skills, local } = readConfig(env);
		this.#writer = new SkillWriter(skills, new PublisherStore(ctx.storage), {
			prefix: publishedPrefix,
			paceMs,
			// KV on a laptop is never stale, and `npm run skills` may write it, too.
			trustMs: local ? 0 : undefined,
		});
	}

	put(name: string, markdown: string, condition: Condition): Promise<Outcome> {
		return this.#writer.change({ name, markdown, condition });
	}

	remove(name: string, condition: Condition): Promise<Outcome> {
		return this.#writer.change({ name, condition });
	}

	async check(): Promise<void> {}
}
