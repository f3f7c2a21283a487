import { createFieldError, RunletError } from '../core/base/errors.ts';
import { dropUndefined } from '../core/base/json.ts';
import type { Skill } from '../core/index.ts';
import { type NamedCase, readCases } from './cases.ts';
import { type Check, defaultLimits, type EvalDefinition, isDefinition } from './define.ts';
import { isJudge, type Judge } from './judge.ts';
import { openInMemory } from './memory.ts';
import { assertModels, readModels, type Variables } from './models.ts';
import { type EvalResult, summarize } from './result.ts';
import { type EvalServer, findServerModel, openAtServer } from './server.ts';
import { type Bench, runTrial } from './trial.ts';

/** The options of a run of an eval. */
export interface RunEvalOptions {
	/** The models, in place of those of the definition. */
	readonly models?: readonly string[];
	/** The names of the only cases to run. */
	readonly cases?: readonly string[];
	/** Variables, as `.dev.vars` has them: for tools, and for models. Those of the process come first for models. */
	readonly env?: Variables;
	/** The published skills that agents name, if the definition has no `skills`. */
	readonly skills?: readonly Skill[];
	/** A running Runlet to ask, in place of one in memory. */
	readonly server?: EvalServer;
}

/**
 * Runs an eval. A trial that fails is a part of the result. Throws a `RunletError` before the first trial if the
 * definition is wrong (`invalid_request`), or if a model or the server cannot be asked (`not_configured`).
 */
export async function runEval<Expected = unknown>(
	definition: EvalDefinition<Expected>,
	options: RunEvalOptions = {},
): Promise<EvalResult> {
	if (!isDefinition(definition)) throw new RunletError('invalid_request', 'An eval needs an agent and cases.');
	const limits = { ...defaultLimits, ...dropUndefined({ ...definition }) };
	const { trialCount, maxConcurrency, timeoutMs } = limits;
	for (const [name, value] of Object.entries({ trialCount, maxConcurrency, timeoutMs }))
		if (!Number.isInteger(value) || value < 1) throw createFieldError('invalid_request', name, 'expected 1 or more.');
	const cases = await readCases(definition, options.cases);
	const { models, ...bench } = await prepare(definition, cases, options);
	const jobs = cases.flatMap((one) =>
		models.flatMap((model) => Array.from({ length: trialCount }, (_, at) => ({ one, model, trial: at + 1 }))),
	);
	return summarize(definition, await mapSome(jobs, maxConcurrency, (job) => runTrial(job, bench, timeoutMs)));
}

/** Finds the models, and makes sure that they can be asked. */
async function prepare(
	definition: EvalDefinition,
	cases: readonly NamedCase[],
	{ server, env = {}, skills, ...options }: RunEvalOptions,
): Promise<Bench & { readonly models: readonly string[] }> {
	const { agent, children = [], providers: own } = definition;
	const ofProcess = Object.entries(process.env).filter(([, value]) => value !== '');
	const known = readModels({ ...env, ...Object.fromEntries(ofProcess) });
	const providers = [...known.providers, ...(own ?? [])];
	const checks = [definition, ...cases].flatMap(({ expect = [], scores = [] }) => [...expect, ...scores]);
	const judges = findJudges(checks).map(({ model }) => model);
	const named = options.models ?? definition.models;
	const bench = { definition, providers, purses: new Map() };
	if (server !== undefined) {
		assertModels(judges, providers);
		const usual = await findServerModel(server, agent.name);
		return {
			...{ ...bench, models: named ?? [usual] },
			open: (one, model, signal) => openAtServer(definition, one, { server, signal, ...(named && { model }) }),
		};
	}
	const defaultModel = own === undefined ? known.defaultModel : 'scripted';
	const isScripted = cases.every((one) => (one.script ?? definition.script) !== undefined);
	const models = named ?? [agent.model ?? (isScripted ? 'scripted' : defaultModel)];
	const asked = children
		.filter((child) => child.script === undefined)
		.map((child) => child.agent.model ?? defaultModel);
	assertModels([...(isScripted ? [] : models), ...asked, ...judges], providers);
	const target = { providers, defaultModel, env, skills };
	return {
		...{ ...bench, models },
		open: (one, model, signal) => openInMemory(definition, one, { ...target, model, signal }),
	};
}

/** Lists the judges. Throws `invalid_request` if two have one name, because reports could not tell them apart. */
function findJudges(checks: readonly Check[]): readonly Judge[] {
	const judges = [...new Set(checks.filter(isJudge))];
	const names = judges.map(({ name }) => name);
	const double = names.find((name, at) => names.indexOf(name) !== at);
	if (double === undefined) return judges;
	throw createFieldError('invalid_request', 'judge', `two have the name ${double}. Give each a name.`);
}

/** Works on some items at a time. Returns the results in the order of the items. */
async function mapSome<Item, Result>(
	items: readonly Item[],
	atOnce: number,
	work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
	const results = new Map<number, Result>();
	const waiting = items.entries();
	const next = async (): Promise<void> => {
		for (const [at, item] of waiting) results.set(at, await work(item));
	};
	await Promise.all(Array.from({ length: atOnce }, next));
	return items.flatMap((_, at) => results.get(at) ?? []);
}
