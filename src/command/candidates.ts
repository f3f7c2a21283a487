/** `runlet replay --model`: lets other models and agents play recorded sessions (docs/testing.md, "Try another model"). */

import type { Agent } from '../cloudflare/agent/define.ts';
import { readRecording } from '../replay/recording.ts';
import type { ReplayOptions } from '../replay/session.ts';
import { type Comparison, compareCandidates } from '../testing/candidate/compare.ts';
import type { Candidate } from '../testing/candidate/options.ts';
import { writeComparison } from '../testing/candidate/report.ts';
import { readProviders } from '../testing/providers.ts';
import { readAgents } from './agents.ts';
import { UsageError } from './options.ts';
import { readSettings } from './project.ts';

const text = { type: 'string' } as const;

/** The options of the command that name candidates and how they play. */
export const candidateOptions = {
	model: { type: 'string', multiple: true },
	agent: text,
	runs: text,
	reads: text,
	baseline: text,
	json: { type: 'boolean' },
} as const;

interface CandidateValues {
	readonly model?: readonly string[];
	readonly agent?: string;
	readonly runs?: string;
	readonly reads?: string;
	readonly baseline?: string;
	readonly json?: boolean;
	readonly update?: boolean;
}

/** Whether the options name candidates. Throws for options that only make sense with candidates, and for wrong values. */
export function isComparing(values: CandidateValues): boolean {
	const { model = [], agent, runs, update } = values;
	const isNamed = model.length > 0 || agent !== undefined;
	const alone = (['runs', 'reads', 'baseline', 'json'] as const).find((name) => values[name] !== undefined);
	if (!isNamed && alone !== undefined) throw new UsageError(`--${alone} needs --model NAME or --agent FILE.`);
	if (!isNamed) return false;
	if (update) throw new UsageError('--update is for replays. Leave --model and --agent out.');
	if (runs !== undefined && !/^[1-9]\d{0,3}$/.test(runs))
		throw new UsageError(`--runs ${runs}: write a number from 1 on.`);
	for (const name of ['reads', 'baseline'] as const)
		if (values[name] !== undefined && values[name] !== 'live')
			throw new UsageError(`--${name}: its only value is live.`);
	return true;
}

/** Compares the candidates with each recording, and prints the outcome. Returns the exit code. */
export async function compareFiles(
	files: readonly { readonly file: string; readonly recording: unknown }[],
	{ model: models = [], agent, runs = '1', reads, baseline, json }: CandidateValues,
	{ agents, tools, skills, env }: ReplayOptions,
): Promise<number> {
	const providers = readProviders(readSettings());
	const exported = agent === undefined ? [] : await readAgents(agent);
	const shown: ({ readonly file: string } & Comparison)[] = [];
	for (const { file, recording } of files) {
		const own = agent === undefined ? undefined : chooseAgent(exported, readRecording(recording).session.agent, agent);
		const candidates: readonly Candidate[] = models.length > 0 ? models.map((model) => ({ model })) : [{}];
		const comparison = await compareCandidates(recording, {
			agents,
			candidates: candidates.map((candidate) => ({ ...candidate, ...(own && { agent: own }) })),
			providers,
			runs: Number(runs),
			...(env && { env }),
			...(typeof tools === 'object' && { tools }),
			...(skills && { skills }),
			...(reads !== undefined && { reads: 'live' }),
			...(baseline !== undefined && { baseline: 'live' }),
		});
		shown.push({ file, ...comparison });
		if (!json) console.log(`${file}\n${writeComparison(comparison)}`);
	}
	if (json) console.log(JSON.stringify(shown, null, '\t'));
	const failed = shown
		.flatMap((one) => one.candidates)
		.some(({ trials }) => trials.every(({ end }) => end === 'error'));
	return failed ? 2 : 0;
}

/** Chooses the agent of a module: the only one, or the one with the recorded name. */
function chooseAgent(agents: readonly Agent[], recorded: string, file: string): Agent {
	const [agent, ...others] = agents;
	const found = others.length === 0 ? agent : agents.find(({ name }) => name === recorded);
	if (found !== undefined) return found;
	throw new UsageError(`${file}: exports ${agents.map(({ name }) => name).join(', ')}, and none is named ${recorded}.`);
}
