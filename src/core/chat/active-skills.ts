import { isRecord } from '../base/json.ts';
import { describeUnknownSkill } from '../skill/builtins.ts';
import { type Bundle, createBundle, loadRequired } from '../skill/bundle.ts';
import type { Skill, SkillResolver } from '../skill/index.ts';
import { findIn } from '../skill/resolver.ts';
import type { Tool, ToolCall } from '../tool/index.ts';
import { type Conversation, isSummary, type Window } from './conversation.ts';
import type { Message } from './message.ts';
import { raceAbort } from './signal.ts';

/** The sources of a run's skills and of their tools. */
export interface ActiveSkillsOptions {
	readonly resolver: SkillResolver;
	/** The tools that `allowed-tools` may name. */
	readonly offered: readonly Tool[];
	/** Returns the run's tools without those of skills. */
	readonly tools: () => readonly Tool[];
	readonly signal: AbortSignal;
}

type Sent = Pick<Conversation, 'messages' | 'window'>;

/** The tool result by which a tool came into a conversation. */
export interface Origin {
	/** The place of the result among the messages. A summary has the place before all of them. */
	readonly place: number;
	/** The call of the result. Missing if a summary names the skill. */
	readonly callId?: string;
}

const bySummary: Origin = { place: -1 };

/**
 * The skills with callable tools: the read skills and their required skills. A skill is active while requests have the
 * result that read it, or a summary that names it. A skill that a turn reads is active from the next turn on. Each
 * message is checked once, and again if the window moves.
 */
export class ActiveSkills {
	readonly #options: ActiveSkillsOptions;
	/** A skill and the skills that it requires, by the name that was read. */
	readonly #loaded = new Map<string, readonly Skill[]>();
	#window: Window | undefined;
	#read = new Map<string, Origin>();
	/** The messages before this place are counted. */
	#place = 0;

	constructor(options: ActiveSkillsOptions) {
		this.#options = options;
	}

	/** The names of the read skills, in order. */
	get names(): readonly string[] {
		return [...this.#read.keys()];
	}

	/** Returns how the tools of the read skills came into the conversation, in order. */
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

	/** Counts the read skills before a place of the conversation. Returns all tools that are callable there. */
	async toolsAt({ messages, window }: Sent, end: number): Promise<readonly Tool[]> {
		if (window !== this.#window) {
			this.#window = window;
			this.#read = new Map(window.front.flatMap(listSummarized).map((name) => [name, bySummary]));
			this.#place = window.from;
		}
		for (const { name, ...origin } of listReadings(messages, this.#place, end))
			if (!this.#read.has(name)) this.#read.set(name, origin);
		this.#place = end;
		for (const name of this.#read.keys()) await this.#load(name);
		const tools = this.#options.tools();
		return [...tools, ...this.bundle([]).tools.map(({ tool }) => tool)];
	}

	/** Combines the active skills with these. */
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

/** Lists the skills that a summary says were read before it. */
function listSummarized(message: Message): readonly string[] {
	return isSummary(message) ? (message.skills ?? []) : [];
}

/** Lists the skills that the messages between two places read successfully, in order. */
function* listReadings(
	messages: readonly Message[],
	from: number,
	end: number,
): Generator<Origin & { readonly name: string }> {
	let asked = new Map<string, string>();
	for (let place = from; place < end; place++) {
		const message = messages[place];
		if (message === undefined) continue;
		if (message.role === 'assistant') asked = new Map((message.toolCalls ?? []).flatMap(findReading));
		if (message.role !== 'tool' || message.isError === true) continue;
		const name = asked.get(message.toolCallId);
		if (name !== undefined && message.content !== describeUnknownSkill(name))
			yield { name, place, callId: message.toolCallId };
	}
}

function findReading({ id, name, input }: ToolCall): [id: string, skill: string][] {
	const reads = (name === 'read_skill' || name === 'apply_skill') && isRecord(input);
	return reads && typeof input.name === 'string' ? [[id, input.name]] : [];
}
