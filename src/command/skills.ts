/** `runlet skills`: publishes the folder skills/ to Workers KV (docs/skills.md). */

import { join, relative } from 'node:path';
import type { SkillProblem } from '../core/skill/kv/plan.ts';
import type { Published } from '../core/skill/kv/publish.ts';
import { readSkills } from '../core/skill/kv/publish.ts';
import { assertNotTakenByNpm, parseOptions } from './options.ts';
import { assertConfig, defaultConfig, root, toCommand } from './project.ts';
import type { Embedder } from './skills/embed.ts';
import { readSkillFolders } from './skills/folder.ts';
import { openLocal, openRemote } from './skills/kv.ts';
import { publishSkills } from './skills/publish.ts';

export const usage = `${toCommand('skills', '[OPTIONS]')}: publishes the folder skills/ to Workers KV.
  --local             to the KV of \`${toCommand('dev')}\` (the default)
  --persist-to DIR    where that one is kept (.wrangler/state)
  --remote            to the KV of the deployed Worker
  --check             only report what is not valid; warnings do not fail
  --dry-run           only say what would be done
  --directory DIR     another folder than skills/; it may hold skills at any depth
  --skills-binding NAME    the KV namespace, where createRunlet has another name for SKILLS
  --embed MODEL       with vectors by this model (its key from the environment), for a search by meaning
  --config FILE, --env NAME    as for wrangler
  --help              this text`;

export async function run(args: readonly string[]): Promise<number> {
	assertNotTakenByNpm(['local', 'remote', 'check', 'dry-run', 'persist-to', 'embed', 'directory', 'config']);
	const { values } = parseOptions(toCommand('skills', '--help'), {
		args: [...args],
		options: {
			local: { type: 'boolean' },
			remote: { type: 'boolean' },
			check: { type: 'boolean' },
			'dry-run': { type: 'boolean' },
			help: { type: 'boolean', short: 'h' },
			'persist-to': { type: 'string', default: join(root, '.wrangler', 'state') },
			'skills-binding': { type: 'string', default: 'SKILLS' },
			embed: { type: 'string' },
			directory: { type: 'string', default: join(root, 'skills') },
			config: { type: 'string', short: 'c', default: defaultConfig },
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
		const { problems, warnings } = await readSkills(folders);
		const counts = [formatCount(problems, 'problem'), formatCount(warnings, 'warning')].filter(
			(text) => text !== undefined,
		);
		return report(
			directory,
			{ problems, warnings },
			`skills: ${folders.length} checked, ${counts.join(', ') || 'no problems'}`,
		);
	}
	assertConfig(config);
	const where = { config, env, binding: values['skills-binding'], persistTo: values['persist-to'] };
	const { kv, close } = values.remote ? openRemote(where) : await openLocal(where);
	try {
		const dry = { ...kv, put: async () => {}, delete: async () => {} };
		const onProgress = (what: string, done: number, total: number) => {
			if (total > 100) console.error(`skills: ${done} of ${total} ${what}`);
		};
		const embed = values.embed === undefined ? undefined : await createEmbedder(values.embed);
		const { published, unchanged, removed, problems, warnings } = values['dry-run']
			? await publishSkills(dry, { directory })
			: await publishSkills(kv, { directory, embed, onProgress });
		const say = (names: readonly string[], what: string) =>
			names.length === 0 ? [] : [`${names.length} ${what}${names.length > 8 ? '' : ` (${names.join(', ')})`}`];
		const counts = [...say(published, 'published'), ...say(removed, 'removed'), `${unchanged.length} unchanged`];
		return report(
			directory,
			{ problems, warnings },
			`skills${values['dry-run'] ? ' (dry run)' : ''}: ${counts.join(', ')}`,
		);
	} finally {
		await close();
	}
}

/** The providers for vectors, with keys and addresses from the environment. Imported only if vectors are needed. */
async function createEmbedder(model: string): Promise<Embedder> {
	const { providers } = await import('../core/index.ts');
	const { OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY, GEMINI_BASE_URL, MISTRAL_API_KEY, MISTRAL_BASE_URL } =
		process.env;
	const { demo, openai, gemini, mistral, ollama } = providers;
	return {
		model,
		providers: [
			demo(),
			openai({ apiKey: OPENAI_API_KEY, baseURL: OPENAI_BASE_URL }),
			gemini({ apiKey: GEMINI_API_KEY, baseURL: GEMINI_BASE_URL }),
			mistral({ apiKey: MISTRAL_API_KEY, baseURL: MISTRAL_BASE_URL }),
			ollama({ baseURL: process.env.OLLAMA_BASE_URL }),
		],
	};
}

function count(number: number, noun: string): string {
	return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Describes how many findings there are, and in how many skills. */
function formatCount(found: readonly SkillProblem[], noun: string): string | undefined {
	if (found.length === 0) return undefined;
	return `${count(found.length, noun)} in ${new Set(found.map(({ file }) => file)).size} of them`;
}

/** Prints the findings and returns the exit code. Warnings do not change the exit code. */
function report(
	directory: string,
	{ problems, warnings }: Pick<Published, 'problems' | 'warnings'>,
	summary: string,
): number {
	const say = (found: readonly SkillProblem[], mark: string): void => {
		for (const { file, line, message } of found) {
			const path = file && `${relative(process.cwd(), join(directory, file))}${line === undefined ? '' : `:${line}`}: `;
			console.error(`${path}${mark}${message}`);
		}
	};
	say(warnings, 'warning: ');
	say(problems, '');
	console.log(summary);
	return problems.length === 0 ? 0 : 1;
}
