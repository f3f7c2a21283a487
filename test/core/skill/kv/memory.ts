import { skill } from '../../../../src/core/index.ts';
import type { SkillsNamespace } from '../../../../src/core/skill/kv/layout.ts';
import type { SkillFolder } from '../../../../src/core/skill/kv/publish.ts';

export const markdown = (name: string, { description = `About ${name}`, body = `Body of ${name}\n`, more = '' } = {}) =>
	`---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}`;

export const folder = (name: string, files: Record<string, string> = {}, path = name): SkillFolder => ({
	name,
	path,
	files: { 'SKILL.md': markdown(name), ...files },
});

/** A KV in memory, whose lists have a thousand keys on each page. */
export function memoryKv(): SkillsNamespace & { readonly written: string[] } {
	const values = new Map<string, string>();
	const written: string[] = [];
	const get = (key: string, type?: 'json') => {
		const text = values.get(key) ?? null;
		return type === 'json' && text !== null ? JSON.parse(text) : text;
	};
	return {
		written,
		get: async (key: string, type?: 'json') => get(key, type),
		put: async (key, value) => {
			written.push(key);
			values.set(key, value);
		},
		delete: async (key) => void values.delete(key),
		list: async ({ prefix, cursor = '0' }) => {
			const all = [...values.keys()].filter((key) => key.startsWith(prefix)).sort();
			const next = Number(cursor) + 1_000;
			const keys = all.slice(Number(cursor), next).map((name) => ({ name }));
			return { keys, ...(next < all.length && { cursor: String(next) }) };
		},
	};
}

/** The entry of a skill in an index. */
export const entry = (name: string, rest: object = {}) => ({
	name,
	description: `About ${name}`,
	hash: `h-${name}`,
	...rest,
});

export const names = (skills: readonly { name: string }[] | undefined) => skills?.map(({ name }) => name);

/** A KV namespace with these skills, that remembers what was read, and what its resolver reported. */
export function store(entries: readonly unknown[], options: skill.KvResolverOptions = {}) {
	const prefix = options.prefix ?? 'skill:';
	const values = new Map<string, unknown>([
		[`${prefix}index`, { version: 1, skills: entries }],
		[`${prefix}body:h-tone`, { body: 'Be warm.' }],
		[`${prefix}body:h-audit`, { body: 'Count.' }],
	]);
	const reads: string[] = [];
	const problems: string[] = [];
	const kv = {
		async get(key: string, _type: 'json'): Promise<unknown> {
			reads.push(key);
			return structuredClone(values.get(key) ?? null);
		},
	};
	const resolver = skill.kvResolver(kv, { onProblem: (message) => problems.push(message), ...options });
	return { kv, values, reads, problems, resolver };
}
