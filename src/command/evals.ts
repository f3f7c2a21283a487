/** `runlet evals`: runs evals with real models (docs/evals.md). */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, statSync, watchFile, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import { toMessageText } from '../core/base/errors.ts';
import { isRecord } from '../core/base/json.ts';
import { RunletError } from '../core/index.ts';
import { type EvalDefinition, isDefinition } from '../evals/define.ts';
import { type NamedResult, toJunit } from '../evals/junit.ts';
import { toHtml } from '../evals/report.ts';
import { type RunEvalOptions, runEval } from '../evals/run.ts';
import { toText } from '../evals/table.ts';
import { watchFolder } from './dev/watch.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { readVariables, root, toCommand } from './project.ts';
import { findServer, serverOptions, serverUsage } from './server.ts';
import { readSkills } from './skills/read.ts';

export const usage = `${toCommand('evals', '[FILE…] [OPTIONS]')}

Runs evals: files *.eval.ts. A folder stands for its evals. Without a file: all of the project.

  --model NAME      a model, in place of those of the evals. It may be given several times
  --case NAME       only this case. It may be given several times
  --junit FILE      writes a report for CI systems
  --report FILE     writes a report for people: one HTML file
  --watch           runs an eval again when its file is saved, and all when another file is
  --keep            with --url or --remote: leaves the sessions there
${serverUsage.replace(/ \(default: RUNLET_URL, else .*\)/, ' that is asked (default: none, all runs in memory)')}
  --help            this text

The exit code is 1 if a gate does not hold, and 2 if an eval cannot run.`;

export async function run(args: readonly string[]): Promise<number | undefined> {
	try {
		const { values, positionals } = readArguments(args);
		if (values.help) {
			console.log(usage);
			return 0;
		}
		const files = findFiles(positionals);
		if (!values.watch) return await runFiles(files, values);
		watch(files, values);
		return undefined;
	} catch (error) {
		if (!(error instanceof UsageError || error instanceof RunletError)) throw error;
		fail(error.message);
		return 2;
	}
}

type Values = ReturnType<typeof readArguments>['values'];

const [text, flag, list] = [{ type: 'string' }, { type: 'boolean' }, { type: 'string', multiple: true }] as const;
const options = {
	...{ ...serverOptions, model: list, case: list, junit: text, report: text, watch: flag, keep: flag },
	help: { type: 'boolean', short: 'h' },
} as const;

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(Object.keys(options).filter((name) => name !== 'help'));
		return parseOptions(toCommand('evals', '--help'), { args: [...args], options, allowPositionals: true });
	} catch (error) {
		throw new UsageError(toMessageText(error));
	}
}

function findFiles(paths: readonly string[]): readonly string[] {
	const named = paths.flatMap((path) => {
		if (!existsSync(path)) throw new UsageError(`${path}: there is no such file.`);
		return statSync(path).isDirectory() ? listEvals(resolve(path)) : [resolve(path)];
	});
	const files = paths.length > 0 ? named : listEvals(root);
	if (files.length > 0) return [...new Set(files)];
	throw new UsageError(`${paths.join(', ') || root}: no file *.eval.ts. docs/evals.md shows one.`);
}

function listEvals(folder: string): readonly string[] {
	const exclude = (path: string) => /(^|[\\/])(node_modules|dist|\.[^./\\][^\\/]*)$/.test(path);
	return globSync('**/*.eval.{ts,mts,js,mjs}', { cwd: folder, exclude })
		.sort()
		.map((name) => join(folder, name));
}

/** Runs the evals of files one after the other, and prints and writes the results. Returns the exit code. */
async function runFiles(files: readonly string[], values: Values): Promise<number> {
	const outputs = [values.junit, values.report].map((file) => (file === undefined ? undefined : resolve(file)));
	const runOptions = await readOptions(values);
	// The paths in evals are those of the project.
	process.chdir(root);
	const results: NamedResult[] = [];
	let cannotRun = false;
	for (const path of files) {
		const file = relative(process.cwd(), path);
		try {
			for (const definition of await readDefinitions(path)) {
				const result = await runOne(definition, runOptions);
				if (result === undefined) continue;
				results.push({ file, result });
				const word = result.passed ? styleText('green', 'passed') : styleText('red', 'failed');
				console.log(`${word}  ${file}: ${result.name}\n${toText(result)}\n`);
			}
		} catch (error) {
			cannotRun = true;
			fail(`${file}: ${error instanceof RunletError ? error.message : describeThrown(error)}`);
		}
	}
	if (results.length === 0 && !cannotRun) throw new UsageError(`--case: no eval has ${values.case?.join(', ')}.`);
	const [junit, report] = outputs;
	if (junit !== undefined) writeFileSync(junit, toJunit(results));
	if (report !== undefined) writeFileSync(report, toHtml(results));
	return cannotRun ? 2 : results.every(({ result }) => result.passed) ? 0 : 1;
}

async function readOptions(values: Values): Promise<RunEvalOptions> {
	const isRemote = values.url !== undefined || values.remote === true;
	if (!isRemote && values.keep) throw new UsageError('--keep needs --url or --remote.');
	const { baseUrl: url, apiKey } = isRemote ? await findServer(values) : { baseUrl: '' };
	const key = typeof apiKey === 'function' ? apiKey() : apiKey;
	const skills = join(root, 'skills');
	return {
		models: values.model,
		cases: values.case,
		env: readVariables(),
		skills: existsSync(skills) ? await readSkills(skills) : [],
		...(isRemote && { server: { url, key, keep: values.keep } }),
	};
}

/** Imports the evals that a file exports. */
async function readDefinitions(file: string): Promise<readonly EvalDefinition[]> {
	const exported: unknown = await import(pathToFileURL(file).href);
	const found = isRecord(exported) ? [...new Set(Object.values(exported))].filter(isDefinition) : [];
	if (found.length > 0) return found;
	throw new RunletError('invalid_request', 'exports no eval. Write export default defineEval({ … }).');
}

/** Runs an eval. Returns undefined if it has none of the named cases. */
async function runOne(definition: EvalDefinition, runOptions: RunEvalOptions) {
	try {
		return await runEval(definition, runOptions);
	} catch (error) {
		if (runOptions.cases !== undefined && error instanceof RunletError && error.code === 'not_found') return undefined;
		throw error;
	}
}

/** Runs each file in a process of its own, which reads all modules anew, and again whenever something was saved. */
function watch(files: readonly string[], { watch: _, ...values }: Values): void {
	const given = Object.entries(values).flatMap(([name, value]) =>
		(Array.isArray(value) ? value : [value]).map((one) => (one === true ? `--${name}` : `--${name}=${one}`)),
	);
	const due = new Set(files);
	let isRunning = false;
	const work = async (): Promise<void> => {
		if (isRunning) return;
		isRunning = true;
		while (due.size > 0) {
			const next = [...due];
			due.clear();
			const child = spawn(process.execPath, [process.argv[1] ?? '', 'evals', ...given, ...next], { stdio: 'inherit' });
			await once(child, 'exit');
			console.log('Waiting for a file to be saved. Ctrl-C ends.');
		}
		isRunning = false;
	};
	const add = (changed: readonly string[]): void => {
		for (const file of changed) due.add(file);
		void work();
	};
	for (const file of files) watchFile(file, { interval: 200 }, () => add([file]));
	for (const folder of ['src', 'skills']) watchFolder(join(root, folder), () => add(files));
	void work();
}

function describeThrown(error: unknown): string {
	return error instanceof Error && error.stack !== undefined ? error.stack : toMessageText(error);
}

function fail(message: string): void {
	console.error(styleText('red', message, { stream: process.stderr, validateStream: true }));
}
