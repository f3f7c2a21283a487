/** `runlet replay`: replays recordings with the agents of this project (docs/testing.md, "Replay a session"). */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { styleText } from 'node:util';
import { toMessageText } from '../core/base/errors.ts';
import type { Skill } from '../core/index.ts';
import { compareReplay } from '../replay/replay.ts';
import { writeReport } from '../replay/report.ts';
import type { ReplayOptions } from '../replay/session.ts';
import { updateRecording } from '../replay/update.ts';
import { readAgents } from './agents.ts';
import { candidateOptions, compareFiles, isComparing } from './candidates.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { readSettings, root, toCommand } from './project.ts';
import { readSkills } from './skills/read.ts';

export const usage = `${toCommand('replay', '[FILE…] [OPTIONS]')}

Replays recordings: the model answers as recorded, and the rest of your agents runs as it is now.
A folder stands for its recordings. Without a file: recordings/.

  --live TOOL       lets a tool run, in place of its recorded results. It may be given several times
  --agents FILE     the module that exports the agents (default: src/agents/index.ts, src/agents.ts, src/worker.ts)
  --update          writes what is different now into the recordings
  --help            this text

The exit code is 1 if a replay is different, and 2 if one cannot run.

With --model or --agent another model or agent plays the recorded sessions (docs/testing.md, "Try another model").
The recording answers its calls. A call that may write never runs.

  --model NAME      a model, whose key is in the environment or in .dev.vars. It may be given several times
  --agent FILE      the module that exports the agent to try
  --runs K          how many times each one plays (1)
  --reads live      lets tools with readOnly run where the recording has no answer; --live TOOL lets one of them
  --baseline live   lets the recorded model play, too
  --json            prints the comparisons as JSON

The exit code is then 0, or 2 if one of them cannot run.`;

export async function run(args: readonly string[]): Promise<number> {
	try {
		return await replayFiles(args);
	} catch (error) {
		console.error(styleText('red', toMessageText(error), { stream: process.stderr, validateStream: true }));
		return 2;
	}
}

async function replayFiles(args: readonly string[]): Promise<number> {
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
		env: readSettings(),
	};
	if (isComparing(values))
		return compareFiles(
			files.map((file) => ({ file: relative(process.cwd(), file), recording: parse(file) })),
			values,
			options,
		);
	let different = 0;
	for (const file of files) if (!(await replayFile(file, options, values.update))) different++;
	const many = files.length === 1 ? '1 recording' : `${files.length} recordings`;
	if (files.length > 1) console.log(different === 0 ? `${many}, all the same` : `${many}, ${different} different`);
	return different === 0 ? 0 : 1;
}

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm([...['live', 'agents', 'update'], ...Object.keys(candidateOptions)]);
		return parseOptions(toCommand('replay', '--help'), {
			args: [...args],
			options: {
				live: { type: 'string', multiple: true },
				agents: { type: 'string' },
				update: { type: 'boolean' },
				...candidateOptions,
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

async function readOwnSkills(): Promise<readonly Skill[]> {
	const folder = join(root, 'skills');
	return existsSync(folder) ? readSkills(folder) : [];
}
