/** `runlet replay`: replays recordings with the agents of this project (docs/testing.md, "Replay a session"). */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import type { Agent } from '../cloudflare/agent/define.ts';
import { toMessageText } from '../core/base/errors.ts';
import { isRecord } from '../core/base/json.ts';
import type { Skill } from '../core/index.ts';
import { compareReplay } from '../replay/replay.ts';
import { writeReport } from '../replay/report.ts';
import type { ReplayOptions } from '../replay/session.ts';
import { updateRecording } from '../replay/update.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { root, toCommand } from './project.ts';
import { readSkills } from './skills/read.ts';

export const usage = `${toCommand('replay', '[FILE…] [OPTIONS]')}

Replays recordings: the model answers as recorded, and the rest of your agents runs as it is now.
A folder stands for its recordings. Without a file: recordings/.

  --live TOOL       lets a tool run, in place of its recorded results. It may be given several times
  --agents FILE     the module that exports the agents (default: src/agents/index.ts, src/agents.ts, src/worker.ts)
  --update          writes what is different now into the recordings
  --help            this text

The exit code is 1 if a replay is different.`;

export async function run(args: readonly string[]): Promise<number> {
	const { values, positionals } = readArguments(args);
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const files = listRecordings(positionals.length > 0 ? positionals : [join(root, 'recordings')]);
	const options: ReplayOptions = {
		agents: await readAgents(values.agents),
		tools: Object.fromEntries((values.live ?? []).map((name) => [name, 'live'])),
		skills: await readOwnSkills(),
	};
	let different = 0;
	for (const file of files) if (!(await replayFile(file, options, values.update))) different++;
	const many = files.length === 1 ? '1 recording' : `${files.length} recordings`;
	if (files.length > 1) console.log(different === 0 ? `${many}, all the same` : `${many}, ${different} different`);
	return different === 0 ? 0 : 1;
}

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(['live', 'agents', 'update']);
		return parseOptions(toCommand('replay', '--help'), {
			args: [...args],
			options: {
				live: { type: 'string', multiple: true },
				agents: { type: 'string' },
				update: { type: 'boolean' },
				help: { type: 'boolean', short: 'h' },
			},
			allowPositionals: true,
		});
	} catch (error) {
		throw new UsageError(toMessageText(error));
	}
}

function listRecordings(paths: readonly string[]): readonly string[] {
	const files = paths.flatMap((path) => {
		if (!existsSync(path)) throw new UsageError(`${path}: there is no such file. ${toCommand('record')} makes one.`);
		if (!statSync(path).isDirectory()) return [path];
		return readdirSync(path)
			.filter((name) => name.endsWith('.json'))
			.sort()
			.map((name) => join(path, name));
	});
	if (files.length > 0) return files;
	throw new UsageError(`${paths.join(', ')}: no recordings. ${toCommand('record')} makes one.`);
}

/** Replays a file and prints the outcome. Returns whether it is the same. */
async function replayFile(file: string, options: ReplayOptions, update = false): Promise<boolean> {
	const name = relative(process.cwd(), file);
	const recording = parse(file);
	const begun = performance.now();
	const { divergence, runs, turns } = await compareReplay(recording, options);
	const took = `${runs === 1 ? '1 run' : `${runs} runs`}, ${turns} turns, ${Math.round(performance.now() - begun)} ms`;
	if (divergence === undefined) {
		console.log(`${styleText('green', 'same')}       ${name}  ${took}`);
		return true;
	}
	if (update) {
		const updated = await updateRecording(recording, options);
		const left = (await compareReplay(updated, options)).divergence;
		if (left === undefined) {
			writeFileSync(file, `${JSON.stringify(updated, null, '\t')}\n`);
			console.log(`${styleText('yellow', 'updated')}    ${name}  ${took}`);
			return true;
		}
	}
	console.log(`${styleText('red', 'different')}  ${name}  ${took}\n${await writeReport(divergence)}`);
	return false;
}

function parse(file: string): unknown {
	try {
		return JSON.parse(readFileSync(file, 'utf8'));
	} catch (error) {
		throw new UsageError(`${file}: no JSON. ${toMessageText(error)}`);
	}
}

const usualModules = ['src/agents/index.ts', 'src/agents.ts', 'src/worker.ts', 'src/index.ts'];

/** Imports the agents that a module exports: agents, lists of agents, and lists in records. */
async function readAgents(path?: string): Promise<readonly Agent[]> {
	const file = path ?? usualModules.map((name) => join(root, name)).find((name) => existsSync(name));
	if (file === undefined || !existsSync(file))
		throw new UsageError(
			`${path ?? usualModules.join(', ')}: not found. Name the module of your agents: --agents FILE`,
		);
	const exported: unknown = await import(pathToFileURL(resolve(file)).href);
	const agents = findAgents(exported);
	if (agents.length > 0) return agents;
	throw new UsageError(`${file}: exports no agent. Name the module that does: --agents FILE`);
}

function findAgents(exported: unknown): readonly Agent[] {
	const values = isRecord(exported) ? Object.values(exported) : [];
	return [...new Set(values.flatMap((value) => (Array.isArray(value) ? value : [value])).filter(isAgent))];
}

function isAgent(value: unknown): value is Agent {
	return (
		isRecord(value) && typeof value.name === 'string' && Array.isArray(value.tools) && Array.isArray(value.skillTools)
	);
}

async function readOwnSkills(): Promise<readonly Skill[]> {
	const folder = join(root, 'skills');
	return existsSync(folder) ? readSkills(folder) : [];
}
