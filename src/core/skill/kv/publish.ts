import { countBytes } from '../../base/bytes.ts';
import { toMessageText } from '../../base/errors.ts';
import { validateMarkdown } from '../markdown.ts';
import { defaultPrefix, indexKey, maxValueBytes, type Put, retiredKey, type SkillsKv, type Vectors } from './layout.ts';
import { type PreparedSkill, planSkills, prepareSkill, type SkillProblem, type SkillsPlan } from './plan.ts';

export interface PublishOptions extends Pick<WriteOptions, 'onProgress'> {
	/** The prefix of every key. The default is `skill:`. */
	readonly prefix?: string;
	/** Computes the vectors for the search by meaning. If it is missing, no vectors are published. */
	readonly embed?: (skills: readonly PreparedSkill[]) => Promise<Vectors>;
	/** The current time in milliseconds since 1970. The default is `Date.now()`. */
	readonly now?: number;
}

/** The names of the published skills. If a new version has a problem, the old version stays in KV. */
export interface Published extends Pick<SkillsPlan, 'published' | 'unchanged' | 'removed' | 'problems'> {
	/** Format violations in published skills. */
	readonly warnings: readonly SkillProblem[];
}

/**
 * Publishes the folders to KV. Writes only the differences, and removes values that no index has named for an hour.
 * Throws if KV cannot be read or written.
 */
export async function publishFolders(
	kv: SkillsKv,
	folders: readonly SkillFolder[],
	{ prefix = defaultPrefix, embed, now = Date.now(), onProgress }: PublishOptions = {},
): Promise<Published> {
	const { skills, problems, warnings } = await readSkills(folders);
	const vectors = await embed?.(skills);
	const [index, retired, keys] = await Promise.all([
		kv.get(indexKey(prefix)),
		kv.get(retiredKey(prefix)),
		kv.list(prefix),
	]);
	const plan = await planSkills({ index, retired, keys, get: kv.get }, { skills, problems, vectors }, { prefix, now });
	await writePlan(kv, plan, { onProgress });
	return { ...plan, warnings };
}

/** A skill's folder: its name, its path, and its text files by their path in the folder (`references/api.md`). */
export interface SkillFolder {
	readonly name: string;
	/** The path relative to the folder of all skills, with `/` between names. */
	readonly path: string;
	readonly files: Readonly<Record<string, string>>;
}

/** Prepares the skills of the folders. Folders with `problems` are not published, but folders with `warnings` are. */
export async function readSkills(folders: readonly SkillFolder[]) {
	const skills = new Map<string, PreparedSkill & { readonly path: string }>();
	const problems: SkillProblem[] = [];
	const warnings: SkillProblem[] = [];
	for (const folder of folders) {
		const result = await prepareFolder(folder);
		if (Array.isArray(result)) problems.push(...result);
		else {
			const first = skills.get(folder.name);
			if (first === undefined) {
				skills.set(folder.name, { ...result.skill, path: folder.path });
				warnings.push(...result.warnings);
			} else problems.push(toProblem(folder, `name "${folder.name}" is the name of ${first.path} already`));
		}
	}
	return { skills: [...skills.values()], problems, warnings };
}

async function prepareFolder(
	folder: SkillFolder,
): Promise<{ readonly skill: PreparedSkill; readonly warnings: readonly SkillProblem[] } | SkillProblem[]> {
	const {
		name,
		files: { 'SKILL.md': text, ...files },
	} = folder;
	if (text === undefined) return [toProblem(folder, 'is missing: a folder of skills/ holds one skill')];
	const violations = validateMarkdown(text, { directory: name });
	const found = violations.map(({ message, line }) => toProblem(folder, message, line));
	if (violations.some(({ severity }) => severity === 'error')) return found;
	try {
		const prepared = await prepareSkill(name, text, { files });
		const bytes = countBytes(prepared.body);
		if (bytes > maxValueBytes) {
			const message = `and the files beside it have ${bytes} bytes: an entry of KV holds ${maxValueBytes}`;
			return [toProblem(folder, message)];
		}
		return { skill: prepared, warnings: found };
	} catch (error) {
		return [toProblem(folder, toMessageText(error))];
	}
}

function toProblem({ name, path }: SkillFolder, message: string, line?: number): SkillProblem {
	return { skill: name, file: `${path}/SKILL.md`, message, line };
}

interface WriteOptions {
	/** Writes the index, which publishes the new set. The default is `kv.put`. */
	readonly writeIndex?: (index: Put) => Promise<void>;
	/** Called to report progress. `what` is `written` or `old entries removed`. */
	readonly onProgress?: (what: string, done: number, total: number) => void;
}

/** The maximum number of keys in a bulk write (https://developers.cloudflare.com/kv/api/write-key-value-pairs/). */
const bulkKeys = 500;
const bulkBytes = 40_000_000;

/** Writes a plan in its order. If this is interrupted, readers still get one complete set, old or new. */
export async function writePlan(
	kv: SkillsKv,
	{ puts, retired, index, deletes }: Pick<SkillsPlan, 'puts' | 'retired' | 'index' | 'deletes'>,
	{ writeIndex = (put) => kv.put([put]), onProgress = () => {} }: WriteOptions = {},
): Promise<void> {
	let written = 0;
	for (const bulk of splitIntoBulks(puts)) {
		await kv.put(bulk);
		written += bulk.length;
		onProgress('written', written, puts.length);
	}
	if (retired !== undefined) await kv.put([retired]);
	if (index !== undefined) await writeIndex(index);
	for (let from = 0; from < deletes.length; from += bulkKeys) {
		const keys = deletes.slice(from, from + bulkKeys);
		await kv.delete(keys);
		onProgress('old entries removed', from + keys.length, deletes.length);
	}
}

function splitIntoBulks(puts: readonly Put[]): Put[][] {
	const bulks: Put[][] = [];
	let bytes = 0;
	for (const put of puts) {
		const size = countBytes(put[1]);
		const last = bulks.at(-1);
		if (last === undefined || last.length >= bulkKeys || bytes + size > bulkBytes) {
			bulks.push([put]);
			bytes = size;
		} else {
			last.push(put);
			bytes += size;
		}
	}
	return bulks;
}
