/** The tools of a candidate. They have the descriptions and schemas of today's tools, and none of their functions. */

import { findChildWork } from '../../cloudflare/agent/children.ts';
import { listMemoryTools } from '../../cloudflare/agent/memory.ts';
import { isRecord } from '../../core/base/json.ts';
import type { NearestCall } from '../../core/chat/recorded-calls.ts';
import {
	askUser,
	type ChatOptions,
	RunletError,
	type SkillResolver,
	type Tool,
	type ToolCall,
	type ToolContext,
	tool as tools,
} from '../../core/index.ts';
import { replaceSkillTools } from '../../core/skill/replace-tools.ts';
import { isAskUser, parts, providerName } from '../../core/tool/index.ts';
import type { ReplayedSession } from '../../replay/session.ts';
import { createMemory, giveResult, offerWithoutPlatform, toTool } from '../../replay/tools.ts';
import { isBuiltin, type RecordedAnswer, type SessionAnswers } from './answers.ts';

/** A call of a candidate, and what answered it. */
export interface CandidateCall {
	/** The agents from the first session to the one that called. */
	readonly path: readonly string[];
	readonly tool: string;
	readonly input: unknown;
	/**
	 * The recording, a function of `tools`, the tool itself (a read), another agent, or Runlet, which refused the call for
	 * its arguments or its name. `nobody`: the model was told that the recording has no answer.
	 */
	readonly answeredBy: 'recording' | 'function' | 'tool' | 'agent' | 'runlet' | 'nobody';
	/** Whether the tool may change something: it does not declare `readOnly`. */
	readonly isWrite: boolean;
	/** The most similar recorded call of the tool, if the call was not recorded. The model does not see it. */
	readonly nearest?: NearestCall;
}

/** Lets another agent do a task. Returns `undefined` if it cannot work here. */
type RunAgent = (agent: string, task: string) => Promise<{ readonly result: unknown } | undefined>;

interface Surroundings {
	readonly session: ReplayedSession;
	readonly answers: SessionAnswers;
	readonly path: readonly string[];
	/** Whether each tool that declares `readOnly` may run. */
	readonly readsLive: boolean;
	readonly report: (call: CandidateCall) => void;
	readonly runAgent: RunAgent;
}

/** Lists the tools that a recorded session got from servers and from its owner, as it was sent them last. */
export function listLoadedTools({ setups, recording }: ReplayedSession): readonly Tool[] {
	const byClient = new Set(recording.session.clientTools?.map(({ name }) => name));
	const loaded = [...setups.values()].flatMap(({ tools = [] }) =>
		tools.filter(({ name, isLoaded }) => isLoaded === true && !byClient.has(name)),
	);
	return [...new Map(loaded.map((tool) => [tool.name, toTool(tool)])).values()];
}

/** Whether a tool may run for a candidate: it declares that it only reads, and nobody has to allow its calls. */
export function mayRun({ readOnly, needsApproval = false, manual, fn }: Tool): boolean {
	return readOnly === true && needsApproval === false && manual !== true && fn !== undefined;
}

/** The tools of one session of a candidate. No function of a tool is reachable except by `#runTool`. */
export class CandidateTools {
	readonly #about: Surroundings;
	readonly #sent: ReadonlySet<string>;
	readonly #ours = new WeakSet<object>();
	/** The calls of the newest turn that have no entry in the report. */
	readonly #open = new Map<string, ToolCall>();
	readonly #reserved = new Map<string, RecordedAnswer | undefined>();

	constructor(about: Surroundings) {
		this.#about = about;
		const setups = [...about.session.setups.values()];
		this.#sent = new Set(setups.flatMap(({ tools = [] }) => tools.map(({ name }) => name)));
	}

	/** The options of a run that offer the tools. Skills bring none of their functions, either. */
	offer(
		resolver: SkillResolver | undefined,
	): Pick<ChatOptions, 'tools' | 'skillTools' | 'loadTools' | 'skillResolver' | 'onToolCall'> {
		const { agent, recording } = this.#about.session;
		const { clientTools = [], owner, user } = recording.session;
		const remembers = listMemoryTools(agent).some((name) => this.#sent.has(name));
		const memory = remembers ? createMemory(this.#about.session, { owner, user }) : [];
		const loaded = listLoadedTools(this.#about.session).map(this.#replace);
		return {
			tools: [...agent.tools, ...memory, ...clientTools].map(this.#replace),
			skillTools: agent.skillTools.map(this.#replace),
			loadTools: () => loaded,
			skillResolver: replaceSkillTools(resolver, this.#replace),
			onToolCall: this.#assertOurs,
		};
	}

	/** Takes the calls of a new turn. */
	begin(calls: readonly ToolCall[]): void {
		this.#open.clear();
		for (const call of calls) if (!isBuiltin(call.name)) this.#open.set(call.id, call);
	}

	/** Reports a call that ended without a run of its tool: Runlet refused it. */
	end(id: string): void {
		const call = this.#open.get(id);
		if (call === undefined) return;
		const found = this.#about.answers.take(call.name, call.input);
		this.#report(call, found === undefined ? 'runlet' : 'recording');
	}

	/** Takes the answer of a call in advance. Returns the arguments that a person gave it in the recording. */
	reserve({ id, name, input }: ToolCall): Readonly<Record<string, unknown>> | undefined {
		const found = this.#about.answers.take(name, input);
		this.#reserved.set(id, found);
		return found?.result?.ranWith;
	}

	readonly #replace = (tool: Tool): Tool => {
		const { name, description, inputSchema, outputSchema, sequential, timeoutMs, provider } = tool;
		const fn = (input: unknown, context: ToolContext) => this.#answer(tool, input, context);
		const { isAvailable } = offerWithoutPlatform(tool, this.#sent.has(providerName(name)));
		this.#ours.add(fn);
		return {
			...{ name, inputSchema, passInput: true, fn, needsApproval: this.#about.answers.hasEdits(name) },
			...(description !== undefined && { description }),
			...(outputSchema && { outputSchema }),
			...(sequential !== undefined && { sequential }),
			...(timeoutMs !== undefined && { timeoutMs }),
			...(isAvailable && { isAvailable }),
			...(provider?.strict !== undefined && { provider: { strict: provider.strict } }),
		};
	};

	/** Ends the run before a tool runs that came in on a way that this class does not know. */
	readonly #assertOurs = ({ name }: ToolCall, { fn }: Tool): void => {
		if ((fn !== undefined && this.#ours.has(fn)) || isBuiltin(name)) return;
		throw new RunletError('conflict', `${name}: this tool may not run for a candidate.`);
	};

	async #answer(tool: Tool, input: unknown, context: ToolContext): Promise<unknown> {
		const { session, answers } = this.#about;
		const { callId, state } = context;
		const call = this.#open.get(callId) ?? { id: callId, name: tool.name, input };
		const how = session.answersOf(tool.name);
		if (typeof how === 'function') {
			this.#report(call, 'function', tool);
			return how(input, context);
		}
		const found = this.#reserved.has(callId) ? this.#reserved.get(callId) : answers.take(tool.name, call.input);
		this.#reserved.delete(callId);
		if (found !== undefined) {
			this.#report(call, 'recording', tool);
			if (found.result !== undefined) return giveResult(found.result, state);
			return askUser(found.question?.question ?? `${tool.name} waits.`, found.question?.options);
		}
		const worked = await this.#runAgent(tool, call);
		if (worked !== undefined) return worked.result;
		if (mayRun(tool) && (how === 'live' || this.#about.readsLive)) return this.#runTool(tool, call, context);
		this.#report(call, 'nobody', tool);
		throw createUnanswered(tool.name);
	}

	async #runAgent(tool: Tool, call: ToolCall): Promise<{ readonly result: unknown } | undefined> {
		const work = findChildWork(tool);
		if (work === undefined || !isRecord(call.input)) return undefined;
		const { agent = work.agents[0], task } = call.input;
		if (typeof agent !== 'string' || !work.agents.includes(agent)) return undefined;
		const worked = await this.#about.runAgent(agent, String(task));
		if (worked !== undefined) this.#report(call, 'agent', tool);
		return worked;
	}

	async #runTool(tool: Tool, call: ToolCall, context: ToolContext): Promise<unknown> {
		this.#report(call, 'tool', tool);
		const { output, isError, parts: given } = await tools.dispatch([tool], call, context);
		if (isAskUser(output)) throw createUnanswered(tool.name);
		if (isError) throw new RunletError('invalid_argument', String(output));
		return given === undefined ? output : parts(given);
	}

	#report(call: ToolCall, answeredBy: CandidateCall['answeredBy'], tool?: Tool): void {
		const { path, answers, report } = this.#about;
		this.#open.delete(call.id);
		const nearest = answeredBy === 'recording' ? undefined : answers.findNearest(call.name, call.input);
		const isWrite = tool !== undefined && tool.readOnly !== true && findChildWork(tool) === undefined;
		report({
			path,
			tool: tool?.name ?? call.name,
			input: call.input,
			answeredBy,
			isWrite,
			...(nearest && { nearest }),
		});
	}
}

function createUnanswered(tool: string): RunletError {
	const message = `${tool} did not run. This is a test with a recorded session, and the recording has no answer for this call. Go on without it.`;
	return new RunletError('invalid_argument', message);
}
