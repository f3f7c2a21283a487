import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Log, LogLevel, Miniflare } from 'miniflare';
import * as v from 'valibot';
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from 'wrangler';
import { localHeader } from '../src/cloudflare/auth/local.ts';
import { toMessageText } from '../src/core/ground/errors.ts';
import { toSkillsKv } from '../src/core/skill/kv/store.ts';
import { publishSkills } from './skills/publish.ts';
import { SourceLines } from './start/stack.ts';
import { root, type Target } from './wrangler.ts';

const health = v.looseObject({ problems: v.array(v.object({ where: v.string(), message: v.string() })) });

/**
 * Runs a built Worker once with the variables and skills of a deployment, and asks it what is wrong. Returns one line
 * for each problem. Secrets at Cloudflare are unknown here, so a missing secret is no problem.
 */
export async function findDeployProblems(folder: string, { config, env }: Target): Promise<readonly string[]> {
	const { compatibilityDate, compatibilityFlags, durableObjects } = unstable_getMiniflareWorkerOptions(
		config,
		env,
	).workerOptions;
	const { vars } = unstable_readConfig({ config, env }, { hideWarnings: true });
	const secret = randomBytes(24).toString('hex');
	let said = '';
	const miniflare = new Miniflare({
		modules: [{ type: 'ESModule', path: join(folder, 'worker.js') }],
		modulesRoot: folder,
		compatibilityDate,
		compatibilityFlags,
		durableObjects,
		kvNamespaces: ['SKILLS'],
		bindings: { ...toBindings(vars), LOCAL: secret },
		cf: false,
		log: new Log(LogLevel.NONE),
		handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
			stdout.resume();
			stderr.setEncoding('utf8').on('data', (text: string) => {
				said += text;
			});
		},
	});
	try {
		await publishSkills(toSkillsKv(await miniflare.getKVNamespace('SKILLS')), { directory: join(root, 'skills') });
		const response = await miniflare.dispatchFetch('http://localhost/healthz?deep', {
			headers: { [localHeader]: secret },
		});
		const { problems } = v.parse(health, await response.json());
		return problems.map(({ where, message }) => `${where}: ${message}`);
	} catch (error) {
		await miniflare.dispose().catch(() => {});
		return [`The Worker does not start: ${explain(said, folder) ?? toMessageText(error)}`];
	} finally {
		await miniflare.dispose().catch(() => {});
	}
}

/** Returns the exception of the sources, with its line. */
function explain(said: string, folder: string): string | undefined {
	const [, message, at] = /Uncaught (?:Error: )?([^\n]*)(?:\n\s+at ([^\n]*))?/.exec(said) ?? [];
	if (message === undefined) return undefined;
	const lines = new SourceLines();
	lines.folder = folder;
	lines.refresh();
	return at === undefined ? message : `${lines.translate(at)}: ${message}`;
}

/**
 * Returns the variables in the form that a Worker gets: values of `wrangler.toml` that are not text keep their type.
 */
function toBindings(vars: Record<string, unknown>): Record<string, string | number | boolean> {
	const form = v.union([v.string(), v.number(), v.boolean()]);
	return Object.fromEntries(
		Object.entries(vars).map(([name, value]) => [name, v.is(form, value) ? value : JSON.stringify(value)]),
	);
}
