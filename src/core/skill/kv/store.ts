/** The part of a Workers KV namespace that reading skills needs. */
export interface SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
}

/** The part of a Workers KV namespace that publishing skills needs. */
export interface SkillsNamespace extends SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
	get(key: string): Promise<string | null>;
	list(options: { readonly prefix: string; readonly cursor?: string }): Promise<KeyPage>;
	put(key: string, value: string): Promise<void>;
	delete(key: string): Promise<void>;
}

/** At most a thousand keys. `cursor` is there when more follow. */
interface KeyPage {
	readonly keys: readonly { readonly name: string }[];
	readonly cursor?: string;
}

/** KV as publishing writes it: many entries at once, where that is possible. */
export interface SkillsKv {
	get(key: string): Promise<string | null>;
	/** Every key that begins so. */
	list(prefix: string): Promise<readonly string[]>;
	put(entries: readonly Put[]): Promise<void>;
	delete(keys: readonly string[]): Promise<void>;
}

export type Put = readonly [key: string, value: string];

/** A namespace as publishing writes it, one entry after another. */
export function toSkillsKv(namespace: SkillsNamespace): SkillsKv {
	return {
		get: (key) => namespace.get(key),
		list: async (prefix) => {
			const names: string[] = [];
			let cursor: string | undefined;
			do {
				const page: KeyPage = await namespace.list({ prefix, cursor });
				names.push(...page.keys.map(({ name }) => name));
				({ cursor } = page);
			} while (cursor !== undefined);
			return names;
		},
		put: async (entries) => {
			for (const [key, value] of entries) await namespace.put(key, value);
		},
		delete: async (keys) => {
			for (const key of keys) await namespace.delete(key);
		},
	};
}
