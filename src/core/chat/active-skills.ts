import { isRecord } from '../base/json.ts';
import { raceAbort } from '../base/promises.ts';
import { describeUnknownSkill } from '../skill/builtins.ts';
import { type Bundle, createBundle, loadRequired } from '../skill/bundle.ts';
import type { Skill, SkillResolver } from '../skill/index.ts';
import { findIn } from '../skill/resolver.ts';
import type { Tool, ToolCall } from '../tool/index.ts';
import { type Conversation, isSummary, type Window } from './conversation.ts';
import type { Message } from './message.ts';

interface ActiveSkillsOptions {
	readonly resolver: SkillResolver;
	/** The tools that `allowed-tools` may name. */
	readonly offered: readonly Tool[];
	/** Returns the run's tools without the skill tools. */
	readonly tools: () => readonly Tool[];
	readonly signal: AbortSignal;
}

type Sent = Pick<Conversation, 'messages' | 'window'>;

/** The tool result that brought a tool into a conversation. */
export interface Origin {
	/** The index of the result. A summary has the index -1. */
	readonly place: number;
	/** The call of the result. Missing if a summary names the skill. */
	readonly callId?: string;
}

const bySummary: Origin = { place: -1 };

/**
 * The skills with callable tools: the read skills and their required skills. A skill is active from the turn after the
 * model read it, as long as requests have the result of the reading or a summary that names the skill.
 */
export class ActiveSkills {
	readonly #options: ActiveSkillsOptions;
	/** The read skill and its required skills, by the name of the read skill. */
	readonly #loaded = new Map<string, readonly Skill[]>();
	#window: Window | undefined;
	#read = new Map<string, Origin>();
	/** The messages before this index have been searched for read skills. */
	#place = 0;

	constructor(options: ActiveSkillsOptions) {
		this.#options = options;
	}

	get names(): readonly string[] {
		return [...this.#read.keys()];
	}

	listOrigins(): ReadonlyMap<string, Origin> {
		const origins = new Map<string, Origin>();
		const { tools } = this.bundle([]);
		for (const [name, origin] of this.#read) {
			const skills = new Set(this.#loaded.get(name)?.map((skill) => skill.name));
			for (const { tool, skill } of tools)
				if (skills.has(skill) && !origins.has(tool.name)) origins.set(tool.name, origin);
		}
		return origins;
	}

	/** Finds the read skills before a place of the conversation. Returns all tools that are callable there. */
	async toolsAt({ messages, window }: Sent, end: number): Promise<readonly Tool[]> {
		if (window !== this.#window) {
			this.#window = window;
			const summarized = window.front.flatMap((message) => (isSummary(message) ? (message.skills ?? []) : []));
			this.#read = new Map(summarized.map((name) => [name, bySummary]));
			this.#place = window.from;
		}
		for (const { name, ...origin } of listReadings(messages, this.#place, end))
			if (!this.#read.has(name)) this.#read.set(name, origin);
		this.#place = end;
		for (const name of this.#read.keys()) await this.#load(name);
		const tools = this.#options.tools();
		return [...tools, ...this.bundle([]).tools.map(({ tool }) => tool)];
	}

	bundle(skills: readonly Skill[]): Bundle {
		const active = [...this.#read.keys()].flatMap((name) => this.#loaded.get(name) ?? []);
		return createBundle(this.#options.tools(), [...active, ...skills], this.#options.offered);
	}

	async #load(name: string): Promise<void> {
		if (this.#loaded.has(name)) return;
		const { resolver, signal } = this.#options;
		const skill = await raceAbort(findIn(resolver, name), signal);
		const loaded = skill === undefined ? [] : (await raceAbort(loadRequired(resolver, skill), signal)).skills;
		this.#loaded.set(name, loaded);
	}
}

/** Lists the successful readings of skills between two places, in order. */
function* listReadings(
	messages: readonly Message[],
	from: number,
	end: number,
): Generator<Origin & { readonly name: string }> {
	let calls = new Map<string, string>();
	for (let place = from; place < end; place++) {
		const message = messages[place];
		if (message === undefined) continue;
		if (message.role === 'assistant') calls = new Map((message.toolCalls ?? []).flatMap(findReading));
		if (message.role !== 'tool' || message.isError === true) continue;
		const name = calls.get(message.toolCallId);
		if (name !== undefined && message.content !== describeUnknownSkill(name))
			yield { name, place, callId: message.toolCallId };
	}
}

function findReading({ id, name, input }: ToolCall): [id: string, skill: string][] {
	const reads = (name === 'read_skill' || name === 'apply_skill') && isRecord(input);
	return reads && typeof input.name === 'string' ? [[id, input.name]] : [];
}
