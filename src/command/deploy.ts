/** `runlet deploy`: deploys the Worker to Cloudflare with its keys and skills, or updates all of them. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import * as v from 'valibot';
import { defaultBudgets } from '../cloudflare/wire/budget.ts';
import { budgetLine } from './budget-line.ts';
import { checkDeploy } from './deploy/check.ts';
import { hasRemoteKeys, recordPush } from './keys/deployed.ts';
import { changeKeys, createKey, defaultKeysFile, type Keys, readKeys, toSecret } from './keys/file.ts';
import { curlLine, describe, withKey } from './keys.ts';
import { assertNotTakenByNpm, type CommandOptions, parseOptions, toBasePath } from './options.ts';
import { assertConfig, defaultConfig, extension, root, toCommand } from './project.ts';
import { quietEnv, type Target, targetOptions, WranglerError, wrangler } from './wrangler.ts';

export const usage = `${toCommand('deploy', '[OPTIONS]')}: puts the Worker on Cloudflare, with its keys and skills
  --dry-run           builds and checks everything, and asks Cloudflare for nothing
  --yes               makes a first API key where there is none, without asking
  --outdir DIR        --dry-run: where the built Worker goes
  --base-path PATH    where createRunlet has a basePath: the same, such as /ai
  --skills-binding NAME   the KV namespace of the skills, where createRunlet has another name for SKILLS
  --keys-file FILE    where the hashes of the keys are (keys.json)
  --config FILE, --env NAME    as for wrangler
  --help              this text`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** The default budgets, which wrangler.toml can change. */
const budgetsText = `${budgetLine(defaultBudgets.session, defaultBudgets.day)}, unless wrangler.toml says else.`;

export async function run(args: readonly string[], { prepare = () => {} }: CommandOptions): Promise<number> {
	assertNotTakenByNpm(['dry-run', 'yes', 'outdir', 'keys-file', 'config']);
	const { values } = parseOptions(toCommand('deploy', '--help'), {
		args: [...args],
		options: {
			'dry-run': flag,
			yes: { ...flag, short: 'y' },
			outdir: text,
			'base-path': text,
			'skills-binding': { ...text, default: 'SKILLS' },
			'keys-file': { ...text, default: defaultKeysFile },
			config: { ...text, short: 'c', default: defaultConfig },
			env: { ...text, short: 'e' },
			help: { ...flag, short: 'h' },
		},
	});
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const file = values['keys-file'];
	const target = { config: values.config, env: values.env };
	const { 'skills-binding': skillsBinding } = values;
	const basePath = toBasePath(values['base-path']);
	assertConfig(target.config);
	if (values['dry-run']) {
		prepare();
		return dryRun(file, target, { outdir: values.outdir, basePath, skillsBinding });
	}
	await assertLoggedIn();
	const prepared = await prepareKeys(file, target, values.yes ?? false);
	prepare();
	const host = await isWithin(async (folder) => deploy(folder, target, prepared?.keys));
	const url = host && `${host}${basePath}`;
	if (prepared !== undefined) await recordPush(file, prepared.keys, target, url);
	const published = publishSkills(['--remote', '--skills-binding', skillsBinding], target);
	console.log(`\nRunlet is at ${url ?? 'the address above'}\n`);
	console.log(`${budgetsText}\n`);
	console.log(`${curlLine(prepared?.newKey ?? "'$RUNLET_API_KEY'", url ?? `https://ADDRESS${basePath}`)}\n`);
	if (!published)
		console.error(
			`Not all skills could be published. Fix the problems above, then run ${toCommand('skills', '--remote')}`,
		);
	return published ? 0 : 1;
}

/** `--minify` is not in the configuration, because development uses code that is not minified. */
const deployCommand = ['deploy', '--minify'] as const;

interface DryRunOptions {
	readonly outdir: string | undefined;
	readonly basePath: string;
	readonly skillsBinding: string;
}

/** Checks everything that can be checked without an account: the build, the keys and the skills. */
async function dryRun(
	file: string,
	target: Target,
	{ outdir, basePath, skillsBinding }: DryRunOptions,
): Promise<number> {
	const { keys } = await readKeys(file);
	toSecret(keys);
	const { problems, demoAgents } = await isWithin(async (folder) => {
		const built = outdir ?? folder;
		await wrangler([...deployCommand, '--dry-run', '--outdir', built, ...targetOptions(target)], { show: true });
		return checkDeploy(built, target, { basePath, skillsBinding });
	});
	const valid = publishSkills(['--check'], target);
	console.log(
		`${budgetsText}\nNothing was deployed. ${keys.length} API ${keys.length === 1 ? 'key' : 'keys'}; none is made by a dry run.`,
	);
	if (demoAgents.length > 0)
		console.error(
			`\nAnswered by demo, a small program and no language model: ${demoAgents.join(', ')}. Set MODEL (docs/models.md).`,
		);
	const unset = problems.filter((problem) => problem.unset !== undefined);
	const wrong = problems.filter((problem) => problem.unset === undefined);
	if (unset.length > 0)
		console.error(
			'\nNot in wrangler.toml, so the deployed Worker needs it as a secret (npx wrangler secret list has those):',
		);
	for (const { where, message } of unset) console.error(`  ${where}: ${message}`);
	for (const { where, message } of wrong) console.error(`${where}: ${message}`);
	return valid && wrong.length === 0 ? 0 : 1;
}

const account = v.object({ loggedIn: v.literal(false) });

async function assertLoggedIn(): Promise<void> {
	try {
		await wrangler(['whoami', '--json']);
	} catch (error) {
		if (error instanceof WranglerError && isLoggedOut(error.output))
			throw new Error(
				'Not logged in at Cloudflare. Run npx wrangler login (in CI: set CLOUDFLARE_API_TOKEN), then again.',
			);
		throw error;
	}
}

function isLoggedOut(output: string): boolean {
	try {
		return v.is(account, JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1)));
	} catch {
		return false;
	}
}

/**
 * Returns the keys for the Worker. If there are no keys yet, creates the first key and shows it. Returns
 * undefined if the deployed Worker has keys from elsewhere: the Worker then keeps these keys.
 */
async function prepareKeys(
	file: string,
	target: Target,
	yes: boolean,
): Promise<{ readonly keys: Keys; readonly newKey?: string } | undefined> {
	const keys = await readKeys(file);
	const known = keys.remotes[target.env ?? '']?.list !== undefined;
	if (!known && (await hasRemoteKeys(target))) {
		console.log(`The deployed Worker has keys that are not in ${file}: they stay as they are.`);
		return undefined;
	}
	if (keys.keys.length > 0) return { keys };
	if (!yes && !(await askYesNo('There is no API key yet, and without one the Worker answers nobody. Make one?')))
		throw new Error(`There is no API key: ${toCommand('keys', 'make')}, or ${toCommand('deploy', '--yes')}`);
	const { key, record } = await createKey({ name: 'first' });
	const made = await changeKeys(file, (before) => withKey(before, record));
	console.log(
		`${describe(record)}\n\n  ${key}\n\nThis is the only time that it is shown: ${file} has its hash, and nothing has the key.\n`,
	);
	return { keys: made, newKey: key };
}

async function askYesNo(question: string): Promise<boolean> {
	if (!process.stdin.isTTY) return false;
	const prompt = createInterface({ input: process.stdin, output: process.stdout });
	const answer = await prompt.question(`${question} [Y/n] `);
	prompt.close();
	return /^(y|yes|)$/i.test(answer.trim());
}

const deployed = v.object({ type: v.literal('deploy'), targets: v.optional(v.array(v.string()), []) });

/**
 * Deploys the code and the keys as one version, and returns the address. The first deploy creates the KV namespace
 * and later deploys find it, so `wrangler.toml` needs no id.
 */
async function deploy(folder: string, target: Target, keys: Keys | undefined): Promise<string | undefined> {
	const secrets = join(folder, 'secrets.json');
	const outputFile = join(folder, 'deploy.ndjson');
	if (keys !== undefined) await writeFile(secrets, JSON.stringify({ API_KEYS: toSecret(keys.keys) }), { mode: 0o600 });
	const command = [
		...deployCommand,
		...targetOptions(target),
		...(keys === undefined ? [] : ['--secrets-file', secrets]),
	];
	try {
		await wrangler(command, { show: true, env: { WRANGLER_OUTPUT_FILE_PATH: outputFile } });
	} catch (error) {
		throw explainError(error);
	}
	const lines = (await readFile(outputFile, 'utf8')).split('\n').filter((line) => line !== '');
	const entry = lines.map((line): unknown => JSON.parse(line)).find((line) => v.is(deployed, line));
	// Wrangler prints a custom domain as `example.com (custom domain)`.
	const address = (v.is(deployed, entry) ? entry.targets : undefined)?.[0]?.split(' ')[0];
	return address === undefined || address.startsWith('https://') ? address : `https://${address}`;
}

/** Adds the remedy to a failure of Wrangler, if Wrangler does not name the remedy itself. */
function explainError(error: unknown): unknown {
	if (!(error instanceof WranglerError)) return error;
	if (/\b10042\b/.test(error.output))
		return new Error(
			'Your account has no R2 yet. Enable it (dash.cloudflare.com, R2), or take [[r2_buckets]] out of wrangler.toml: then a file of a session may have 4 MB. Then again.',
		);
	if (/\b10089\b/.test(error.output))
		return new Error(
			'Your account has no Analytics Engine yet. Enable it (dash.cloudflare.com, Workers & Pages, Analytics Engine), or take [[analytics_engine_datasets]] out of wrangler.toml: then no metrics are kept. Then again.',
			{ cause: error },
		);
	return new Error('wrangler deploy failed: see above.', { cause: error });
}

/** Publishes the skills, if there are any, in a separate process. Returns whether it succeeded. */
function publishSkills(options: readonly string[], target: Target): boolean {
	if (!existsSync(join(root, 'skills'))) return true;
	const command = [join(import.meta.dirname, `bin${extension}`), 'skills', ...options, ...targetOptions(target)];
	return spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit', env: quietEnv }).status === 0;
}

async function isWithin<T>(work: (folder: string) => Promise<T>): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-deploy-'));
	try {
		return await work(folder);
	} finally {
		await rm(folder, { recursive: true });
	}
}
