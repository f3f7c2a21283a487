import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import type { Readable } from 'node:stream';
import * as v from 'valibot';
import { localHeader } from '../../cloudflare/auth/local.ts';
import type { Problem } from '../../cloudflare/wire/error.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { toSkillsKv } from '../../core/skill/kv/layout.ts';
import { SourceLines } from '../dev/stack.ts';
import { describeLost } from '../options.ts';
import { root } from '../project.ts';
import { publishSkills } from '../skills/publish.ts';
import { loadMiniflare, loadWrangler, type Target } from '../wrangler.ts';

/** The settings that are read from Wrangler's configuration. */
interface Settings {
	readonly main?: string;
	readonly vars: Record<string, unknown>;
	readonly kv_namespaces: readonly { readonly binding: string }[];
}

const health = v.looseObject({
	problems: v.array(v.object({ where: v.string(), message: v.string(), unset: v.exactOptional(v.string()) })),
});
const agentList = v.object({ agents: v.array(v.object({ name: v.string(), model: v.string() })) });
const failure = v.looseObject({ error: v.looseObject({ code: v.string(), message: v.string() }) });

/** The result of the check of a built Worker. */
export interface DeployCheck {
	readonly problems: readonly Problem[];
	/** The names of the agents that would use the model `demo` in the deployed Worker. */
	readonly demoAgents: readonly string[];
}

/**
 * Runs a built Worker once with the variables and skills of a deployment, and reads its problems. The secrets at
 * Cloudflare are unknown here. So a variable that is `unset` here may be one of these secrets.
 */
export async function checkDeploy(
	folder: string,
	{ config, env }: Target,
	{ basePath, skillsBinding }: { readonly basePath: string; readonly skillsBinding: string },
): Promise<DeployCheck> {
	const [{ Log, LogLevel, Miniflare }, { unstable_getMiniflareWorkerOptions, unstable_readConfig }] = await Promise.all(
		[loadMiniflare(), loadWrangler()],
	);
	const read = unstable_readConfig({ config, env }, { hideWarnings: true });
	// .dev.vars is not deployed. Wrangler reads that file unless `envFiles` names another file. The other file does
	// not need to exist. Wrangler's types lack this option.
	const options = { overrides: {}, envFiles: [join(folder, '.no-variables')] };
	const { compatibilityDate, compatibilityFlags, durableObjects, d1Databases, r2Buckets, queueProducers } =
		unstable_getMiniflareWorkerOptions(read, env, options).workerOptions;
	const settings: Settings = read;
	const { vars, main = 'worker.js' } = settings;
	const namespaces = settings.kv_namespaces.map(({ binding }) => binding);
	const script = `${basename(main, extname(main))}.js`;
	const secret = randomBytes(24).toString('hex');
	let printed = '';
	const miniflare = new Miniflare({
		modules: listModules(folder, script),
		modulesRoot: folder,
		compatibilityDate,
		compatibilityFlags,
		durableObjects,
		d1Databases,
		r2Buckets,
		queueProducers,
		kvNamespaces: namespaces,
		bindings: { ...toBindings(vars), LOCAL: secret },
		cf: false,
		log: new Log(LogLevel.NONE),
		handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
			stdout.resume();
			stderr.setEncoding('utf8').on('data', (text: string) => {
				printed += text;
			});
		},
	});
	try {
		const directory = join(root, 'skills');
		if (existsSync(directory) && namespaces.includes(skillsBinding))
			await publishSkills(toSkillsKv(await miniflare.getKVNamespace(skillsBinding)), { directory });
		const ask = async (path: string): Promise<unknown> => {
			const headers = { [localHeader]: secret };
			const response = await miniflare.dispatchFetch(`http://localhost${basePath}${path}`, { headers });
			return response.json().catch(() => undefined);
		};
		const body = await ask('/healthz?deep=deployed');
		const listed = await ask('/v1/agents');
		const agents = v.is(agentList, listed) ? listed.agents : [];
		return {
			problems: readProblems(body, basePath),
			demoAgents: agents.filter(({ model }) => model === 'demo').map(({ name }) => name),
		};
	} catch (error) {
		const lines = new SourceLines();
		lines.read(join(folder, `${script}.map`));
		const message = lines.findUncaught(printed) ?? toMessageText(error);
		return { problems: [{ where: 'The Worker does not start', message }], demoAgents: [] };
	} finally {
		await miniflare.dispose().catch(() => {});
	}
}

function readProblems(body: unknown, basePath: string): readonly Problem[] {
	if (v.is(health, body)) return body.problems;
	const where = `GET ${basePath}/healthz`;
	if (v.is(failure, body)) return [{ where, message: body.error.message }];
	return [{ where, message: `it is not answered by Runlet. ${describeLost(basePath)}` }];
}

/** The types of the modules that Wrangler writes beside the Worker, by their file endings. */
const moduleTypes = {
	'.js': 'ESModule',
	'.wasm': 'CompiledWasm',
	'.txt': 'Text',
	'.html': 'Text',
	'.bin': 'Data',
} as const;

/** Lists the modules of a built Worker, the main module first. */
function listModules(folder: string, main: string) {
	const names = [main, ...readdirSync(folder).filter((name) => name !== main)];
	return names.flatMap((name) => {
		const type = Object.entries(moduleTypes).find(([ending]) => name.endsWith(ending))?.[1];
		return type === undefined ? [] : [{ type, path: join(folder, name) }];
	});
}

/** Returns the variables as a Worker gets them: numbers and booleans of `wrangler.toml` keep their type. */
function toBindings(vars: Record<string, unknown>): Record<string, string | number | boolean> {
	const form = v.union([v.string(), v.number(), v.boolean()]);
	return Object.fromEntries(
		Object.entries(vars).map(([name, value]) => [name, v.is(form, value) ? value : JSON.stringify(value)]),
	);
}
