import type { Agent } from '../../cloudflare/agent/define.ts';
import { createFieldError } from '../../core/base/errors.ts';
import { findObstacle } from '../../core/chat/registry.ts';
import type { ProviderRegistration } from '../../core/index.ts';
import { type ReplayClock, startClock } from '../../replay/clock.ts';
import { hideReplaced } from '../../replay/history.ts';
import { type Recording, readRecording } from '../../replay/recording.ts';
import { compareReplay, type Replay } from '../../replay/replay.ts';
import {
	addTurns,
	type Estimate,
	estimate,
	estimateFigures,
	estimateShare,
	type FigureEstimates,
	type Figures,
	type Share,
} from './figures.ts';
import type { Candidate, CandidateOptions } from './options.ts';
import { playSession, type Trial } from './session.ts';
import { mayRun } from './tools.ts';

/** The recorded session itself. */
export interface RecordedLane {
	readonly model?: string;
	/** How the last run ended. `open`: the recording ends within it. */
	readonly end: 'done' | 'awaiting' | 'halted' | 'cancelled' | 'error' | 'open';
	readonly text: string;
	readonly figures: Figures;
}

/** All runs of a candidate, or of the recorded model. */
export interface Lane {
	readonly model: string;
	readonly agent: string;
	readonly trials: readonly Trial[];
	/** The runs that ended with an answer. */
	readonly done: Share;
	readonly figures: FigureEstimates;
	/** The calls of a run without a recorded answer. */
	readonly unanswered: Estimate;
	/** Those of them that may write. */
	readonly writes: Estimate;
}

/** A recording, its replay and the candidates side by side (docs/testing.md, "Try another model"). */
export interface Comparison {
	readonly recorded: RecordedLane;
	readonly baseline: {
		/** The replay with the recorded replies, up to its first difference. Missing if the recorded agent is missing. */
		readonly replay?: Replay;
		/** The runs of the recorded model, with `baseline: 'live'`. */
		readonly lane?: Lane;
	};
	readonly candidates: readonly Lane[];
}

interface Chosen {
	readonly agent: Agent;
	readonly model: string;
}

/**
 * Lets candidates play a recorded session, and returns what they did beside what was recorded. A call that the recording
 * does not have is not carried out, unless its tool declares `readOnly` and the options let it run. Rejects with
 * `not_configured` or `unknown_model` for a model without a provider, with `not_found` for a missing agent, and with
 * `invalid_request` for a wrong recording or option.
 */
export async function compareCandidates(recording: unknown, options: CandidateOptions): Promise<Comparison> {
	const read = readRecording(recording);
	const { agents, env, skills, runs = 1 } = options;
	if (!Number.isSafeInteger(runs) || runs < 1) throw createFieldError('invalid_request', 'runs', 'must be 1 or more.');
	assertReads(options);
	const chosen = options.candidates.map((candidate) => choose(candidate, read, options));
	const again = options.baseline === 'live' ? choose({ model: read.session.model }, read, options) : undefined;
	const isKnown = agents.some(({ name }) => name === read.session.agent);
	const replay = isKnown ? await compareReplay(read, { agents, env, skills, hooks: 'skip' }) : undefined;
	const clock = startClock();
	const timed = { ...options, providers: options.providers.map((provider) => withRealTime(provider, clock)) };
	try {
		const lane = again && (await playLane(read, again, timed, clock));
		const candidates: Lane[] = [];
		for (const one of chosen) candidates.push(await playLane(read, one, timed, clock));
		return { recorded: observe(read), baseline: { ...(replay && { replay }), ...(lane && { lane }) }, candidates };
	} finally {
		clock.stop();
	}
}

/** Returns a provider whose requests see the real time. All else sees the recorded time. */
function withRealTime(provider: ProviderRegistration, clock: ReplayClock): ProviderRegistration {
	const { chatFn, chatStreamFn } = provider;
	return {
		...provider,
		...(chatFn && { chatFn: (...args) => clock.withRealTime(() => chatFn(...args)) }),
		...(chatStreamFn && { chatStreamFn: (...args) => clock.withRealTime(() => chatStreamFn(...args)) }),
	};
}

/** Throws for a tool that is to run and does not only read. */
function assertReads({ agents, candidates, tools = {} }: CandidateOptions): void {
	const all = [...agents, ...candidates.flatMap(({ agent }) => agent ?? [])];
	const own = all.flatMap(({ tools, skillTools }) => [...tools, ...skillTools]);
	for (const [name, how] of Object.entries(tools)) {
		if (how !== 'live' || own.some((tool) => tool.name === name && mayRun(tool))) continue;
		const what = `${name} may not run for a candidate. Only a tool with readOnly: true and without needsApproval may.`;
		throw createFieldError('invalid_request', 'tools', what);
	}
}

function choose({ agent: own, model: named }: Candidate, { session }: Recording, options: CandidateOptions): Chosen {
	const { agents, providers } = options;
	const agent = own ?? agents.find(({ name }) => name === session.agent);
	if (agent === undefined) {
		const known = agents.map(({ name }) => name).join(', ');
		throw createFieldError('not_found', 'agents', `the recorded agent ${session.agent} is missing. Known: ${known}.`);
	}
	const model = named ?? own?.model ?? session.model ?? agent.model;
	if (model === undefined) throw createFieldError('invalid_request', 'model', 'name one. The recording has none.');
	const obstacle = findObstacle({ model, providers });
	if (obstacle !== undefined) throw obstacle;
	return { agent, model };
}

async function playLane(
	recording: Recording,
	{ agent, model }: Chosen,
	options: CandidateOptions,
	clock: ReplayClock,
): Promise<Lane> {
	const trials: Trial[] = [];
	const path = [recording.session.agent];
	for (let run = 0; run < (options.runs ?? 1); run++) {
		const { output: _, ...trial } = await playSession(
			{ recording, agent, model, path },
			{ options, clock, childrenLeft: 100 },
		);
		trials.push(trial);
	}
	const done = trials.filter(({ end }) => end === 'done').length;
	const figures = estimateFigures(trials.map((trial) => trial.figures));
	const left = trials.map(({ calls }) => calls.filter(({ answeredBy }) => answeredBy === 'nobody'));
	return {
		...{ model, agent: agent.name, trials, done: estimateShare(done, trials.length), figures },
		unanswered: estimate(left.map(({ length }) => length)),
		writes: estimate(left.map((calls) => calls.filter(({ isWrite }) => isWrite).length)),
	};
}

/** Reads the figures of the recorded session. Turns that a person replaced do not count. */
function observe(recording: Recording): RecordedLane {
	const messages = hideReplaced(recording.messages);
	const replies = messages.filter((message) => message.role === 'assistant');
	const own = new Set(messages.map(({ runId }) => runId));
	const runs = recording.runs.filter(({ id }) => own.has(id));
	const ms = runs.map(({ createdAt, endedAt = createdAt }) => Date.parse(endedAt) - Date.parse(createdAt));
	const { model } = recording.session;
	return {
		...(model !== undefined && { model }),
		end: runs.at(-1)?.stored.end?.event.type ?? 'open',
		text: replies.at(-1)?.content ?? '',
		figures: {
			steps: replies.length,
			calls: replies.reduce((sum, { toolCalls = [] }) => sum + toolCalls.length, 0),
			seconds: ms.reduce((sum, one) => sum + one, 0) / 1_000,
			...addTurns(replies.map(({ turn }) => turn?.usage ?? {})),
		},
	};
}
