import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { messageOf } from '../src/errors.ts';
import { fromMarkdown, validateMarkdown } from '../src/skill/markdown.ts';

/** A skill's folder: its name, and its text files by their path in it (`references/api.md`). */
export interface SkillFolder {
	readonly name: string;
	readonly files: Readonly<Record<string, string>>;
}

/** Why a skill is not published. `line` counts from 1. */
export interface SkillProblem {
	readonly skill: string;
	readonly file: string;
	readonly message: string;
	readonly line?: number;
}

/** What to write, in this order: `puts`, then `index` under `indexKey`, then `deletes`. So no reader finds an entry without its body. */
export interface SkillsPlan {
	readonly puts: readonly (readonly [key: string, value: string])[];
	readonly indexKey: string;
	/** Missing when it stands in KV already. */
	readonly index?: string;
	readonly deletes: readonly string[];
	/** Names of skills. One that has a problem is in none of these, and what KV has of it stays. */
	readonly published: readonly string[];
	readonly unchanged: readonly string[];
	readonly removed: readonly string[];
	readonly problems: readonly SkillProblem[];
}

const storedEntry = v.looseObject({ name: v.string(), hash: v.string() });
const storedIndex = v.object({ version: v.literal(1), skills: v.array(v.unknown()) });

/** 25 MiB: https://developers.cloudflare.com/kv/platform/limits/ */
const maxValueBytes = 25 * 1024 * 1024;

/** The difference between the index in KV (its text, `null` for none) and the folders. Pure; an index that cannot be read counts as none. */
export function planSkills(
	current: string | null,
	folders: readonly SkillFolder[],
	{ prefix = 'skill:' }: { readonly prefix?: string } = {},
): SkillsPlan {
	const before = new Map(readIndex(current).map((entry) => [entry.name, entry]));
	const storedHashes = new Set([...before.values()].map(({ hash }) => hash));
	const problems: SkillProblem[] = [];
	const published: string[] = [];
	const unchanged: string[] = [];
	const puts = new Map<string, string>();

	const entries = folders.flatMap((folder) => {
		const old = before.get(folder.name);
		const result = toEntry(folder);
		if (Array.isArray(result)) {
			problems.push(...result);
			return old === undefined ? [] : [old];
		}
		const { entry, body } = result;
		(JSON.stringify(old) === JSON.stringify(entry) ? unchanged : published).push(entry.name);
		if (!storedHashes.has(entry.hash)) puts.set(`${prefix}body:${entry.hash}`, body);
		return [entry];
	});

	const names = new Set(entries.map(({ name }) => name));
	const hashes = new Set(entries.map(({ hash }) => hash));
	const index = JSON.stringify({ version: 1, skills: entries });
	return {
		puts: [...puts],
		indexKey: `${prefix}index`,
		...(index !== current && { index }),
		deletes: [...storedHashes].filter((hash) => !hashes.has(hash)).map((hash) => `${prefix}body:${hash}`),
		published,
		unchanged,
		removed: [...before.keys()].filter((name) => !names.has(name)),
		problems,
	};
}

function readIndex(text: string | null): v.InferOutput<typeof storedEntry>[] {
	if (text === null) return [];
	try {
		return v.parse(storedIndex, JSON.parse(text)).skills.flatMap((item) => (v.is(storedEntry, item) ? [item] : []));
	} catch {
		return [];
	}
}

function toEntry({ name, files: { 'SKILL.md': text, ...files } }: SkillFolder) {
	const file = 'SKILL.md';
	const refuse = (message: string): SkillProblem[] => [{ skill: name, file, message }];
	if (text === undefined) return refuse('is missing: a folder of skills/ holds one skill');
	const violations = validateMarkdown(text, { directory: name });
	if (violations.length > 0) {
		return violations.map(({ message, line }) => ({ skill: name, file, message, ...(line !== undefined && { line }) }));
	}
	try {
		const { body, description, when, modalities, requires, frontMatter } = fromMarkdown(text, { directory: name });
		const paths = Object.keys(files).sort();
		const content = JSON.stringify({
			body: body ?? '',
			...(paths.length > 0 && { files: Object.fromEntries(paths.map((path) => [path, files[path]])) }),
		});
		const bytes = Buffer.byteLength(content);
		if (bytes > maxValueBytes) {
			return refuse(`and the files beside it have ${bytes} bytes: an entry of KV holds ${maxValueBytes}`);
		}
		const hash = createHash('sha256').update(content).digest('hex').slice(0, 32);
		const allowed = frontMatter?.['allowed-tools'];
		const lists = { ...(when && { when }), ...(modalities && { modalities }), ...(requires && { requires }) };
		const entry = {
			name,
			description,
			...lists,
			...(allowed !== undefined && { 'allowed-tools': allowed }),
			hash,
			...(paths.length > 0 && { files: paths }),
		};
		return { entry, body: content };
	} catch (error) {
		return refuse(messageOf(error));
	}
}
