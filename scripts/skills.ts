/** `npm run skills`: publishes the folder skills/ to Workers KV (design.md, "Skills"). */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/errors.ts';
import { openLocal, openRemote, type SkillsKv } from './skills-kv.ts';
import { planSkills, type SkillFolder, type SkillProblem } from './skills-plan.ts';
import { root } from './wrangler.ts';

export interface PublishOptions {
	/** The folder that holds one folder a skill. */
	readonly directory: string;
	/** In front of every key. */
	readonly prefix?: string;
}

/** Names of skills. A skill with a problem is not published: what KV has of it stays, and the others go on. */
export interface Published {
	readonly published: readonly string[];
	readonly unchanged: readonly string[];
	readonly removed: readonly string[];
	readonly problems: readonly SkillProblem[];
}

/**
 * Makes KV equal to the folder, writing only what differs from the index in KV: new bodies, then the index, then the
 * bodies that nothing names any more are removed. Throws when the folder or KV cannot be read.
 */
export async function publishSkills(
	kv: SkillsKv,
	{ directory, prefix = 'skill:' }: PublishOptions,
): Promise<Published> {
	const folders = await readSkillFolders(directory);
	const plan = planSkills(await kv.get(`${prefix}index`), folders, { prefix });
	for (const [key, value] of plan.puts) await kv.put(key, value);
	if (plan.index !== undefined) await kv.put(plan.indexKey, plan.index);
	for (const key of plan.deletes) await kv.delete(key);
	const { published, unchanged, removed, problems } = plan;
	return { published, unchanged, removed, problems };
}

/** Every skill's folder with its text files, by name. Hidden files, links and files that are not UTF-8 text are left out. */
export async function readSkillFolders(directory: string): Promise<SkillFolder[]> {
	const found = (await readdir(directory, { withFileTypes: true }))
		.filter(isVisible)
		.filter((item) => item.isDirectory());
	const folders = await Promise.all(
		found.map(async ({ name }) => ({ name, files: Object.fromEntries(await readTexts(join(directory, name))) })),
	);
	return folders.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function readTexts(folder: string, below = folder): Promise<[path: string, text: string][]> {
	const items = (await readdir(below, { withFileTypes: true })).filter(isVisible);
	const texts = items.map(async (item): Promise<[string, string][]> => {
		const path = join(below, item.name);
		if (item.isDirectory()) return readTexts(folder, path);
		const text = item.isFile() ? toText(await readFile(path)) : undefined;
		return text === undefined ? [] : [[relative(folder, path).replaceAll(sep, '/'), text]];
	});
	return (await Promise.all(texts)).flat();
}

function isVisible({ name }: { readonly name: string }): boolean {
	return !name.startsWith('.') && name !== 'node_modules';
}

function toText(bytes: Uint8Array): string | undefined {
	if (bytes.includes(0)) return undefined;
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		return undefined;
	}
}

const usage = `npm run skills [-- OPTIONS]: publishes the folder skills/ to Workers KV.
  --local             to the KV of \`npm start\` (the default)
  --persist-to DIR    where that one is kept (.wrangler/state)
  --remote            to the KV of the deployed Worker
  --check             only report what is not valid
  --dry-run           only say what would be done
  --directory DIR     another folder than skills/
  --config FILE, --env NAME    as for wrangler`;

async function main(args: string[]): Promise<number> {
	const { values } = parseArgs({
		args,
		options: {
			local: { type: 'boolean' },
			remote: { type: 'boolean' },
			check: { type: 'boolean' },
			'dry-run': { type: 'boolean' },
			help: { type: 'boolean', short: 'h' },
			'persist-to': { type: 'string', default: join(root, '.wrangler', 'state') },
			directory: { type: 'string', default: join(root, 'skills') },
			config: { type: 'string', short: 'c', default: join(root, 'wrangler.toml') },
			env: { type: 'string', short: 'e' },
		},
	});
	if (values.local && values.remote) throw new TypeError('--local and --remote exclude each other.');
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const { directory, config, env } = values;
	if (values.check) {
		const folders = await readSkillFolders(directory);
		const { problems } = planSkills(null, folders);
		return report(directory, problems, `skills: ${folders.length} checked, ${problems.length || 'no'} problems`);
	}
	const where = { config, env, persistTo: values['persist-to'] };
	const { kv, close } = values.remote ? openRemote(where) : await openLocal(where);
	try {
		const target = values['dry-run'] ? { get: kv.get.bind(kv), put: async () => {}, delete: async () => {} } : kv;
		const { published, unchanged, removed, problems } = await publishSkills(target, { directory });
		const say = (names: readonly string[], what: string) =>
			names.length === 0 ? [] : [`${names.length} ${what}${names.length > 8 ? '' : ` (${names.join(', ')})`}`];
		const counts = [...say(published, 'published'), ...say(removed, 'removed'), `${unchanged.length} unchanged`];
		return report(directory, problems, `skills${values['dry-run'] ? ' (dry run)' : ''}: ${counts.join(', ')}`);
	} finally {
		await close();
	}
}

/** The exit code. */
function report(directory: string, problems: readonly SkillProblem[], summary: string): number {
	for (const { skill, file, line, message } of problems) {
		const path = relative(process.cwd(), join(directory, skill, file));
		console.error(`${path}${line === undefined ? '' : `:${line}`}: ${message}`);
	}
	console.log(summary);
	return problems.length === 0 ? 0 : 1;
}

if (import.meta.main) {
	try {
		process.exitCode = await main(process.argv.slice(2));
	} catch (error) {
		console.error(`skills: ${messageOf(error)}`);
		if (error instanceof TypeError) console.error(`\n${usage}`);
		process.exitCode = error instanceof TypeError ? 2 : 1;
	}
}
