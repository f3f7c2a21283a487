import type { Actor } from '../../core/base/actor.ts';
import type { AnsweredCall, Tool, ToolContext } from '../../core/tool/index.ts';
import type { Amount, BudgetState, Limit } from '../objects/budget.ts';
import type { Caller, CreateInput, SessionApi, SessionState } from '../objects/session-api.ts';
import type { EventSource, TreeOptions } from './event-source.ts';

/** A session that works for a call of another one, its parent (docs/agents.md, "Agents that work for an agent"). */
export interface Child {
	readonly id: string;
	/** The call of its parent. */
	readonly callId: string;
	readonly agent: string;
	/** What it may spend. Its parent sets that aside. Missing if neither has a limit. */
	readonly budget?: Limit;
	/** Whether nobody waits for it: it tells its parent by itself what came of it. */
	readonly isBackground: boolean;
}

/** The children of a session, as its tools reach them. */
export interface Children {
	/** How many sessions stand above this one. */
	readonly depth: number;
	/** What the children are reached with. */
	readonly caller: Caller;
	/** Lists those whose messages led to what the run does. */
	readonly askers: () => readonly Actor[];
	/** Returns the state of the session's budget. What its children may spend is set aside in it. */
	readonly budget: () => BudgetState;
	/** Counts those that have not ended, and all. */
	readonly count: () => { readonly open: number; readonly all: number };
	/** Finds the child of a call, also of one that was begun in an earlier life of the object. */
	readonly find: (callId: string) => Child | undefined;
	/** Stores a child and sets aside what it may spend. Resolves once that is durable. */
	readonly add: (child: Omit<Child, 'id'>) => Promise<Child>;
	/** Has the outbox cancel a child and settle its cost: a child that could not begin, or that has running children. */
	readonly drop: (child: Child) => void;
	/** Stores what a child cost in all. The rest of what was set aside is free again. */
	readonly settle: (child: Child, cost: Amount) => void;
	/** Returns what the session of a child is created with. */
	readonly toCreate: (child: Child) => CreateInput;
	/** Reaches a child. A stub that has failed stays broken, so each try needs a new one. */
	readonly reach: (child: Child) => SessionApi;
}

/** How a tool gives its calls to other agents. */
export interface ChildWork {
	/** Their names. */
	readonly agents: readonly string[];
	readonly begin: (input: unknown, context: ToolContext, children: Children) => unknown;
	readonly takeAnswer: (answer: string, about: AnsweredCall, context: ToolContext, children: Children) => unknown;
	/** Adds the events of the children to those of their parent. */
	readonly joinEvents: (own: EventSource, options: TreeOptions) => EventSource;
}

/** Returns the cost of a session and all sessions below it. Returns nothing while the cost of a child is unknown. */
export function findWholeCost({ budget, children = [] }: SessionState): Amount | undefined {
	return children.every(({ spent }) => spent !== undefined) ? budget.spent : undefined;
}

/** By the function of the tool, which a copy of the tool keeps. */
const works = new WeakMap<object, ChildWork>();

/** Notes how a tool with this function gives its calls to other agents. */
export function noteChildWork(fn: NonNullable<Tool['fn']>, work: ChildWork): void {
	works.set(fn, work);
}

/** Returns how a tool gives its calls to other agents; nothing for any other tool. */
export function findChildWork({ fn }: Tool): ChildWork | undefined {
	return fn && works.get(fn);
}

/** Connects the tools that give their calls to other agents with the children of a session. */
export function connectChildren(tools: readonly Tool[], children: () => Children): readonly Tool[] {
	return tools.map((tool) => {
		const work = findChildWork(tool);
		if (work === undefined) return tool;
		const fn = (input: unknown, context: ToolContext) => work.begin(input, context, children());
		const onAnswer: Tool['onAnswer'] = (...given) => work.takeAnswer(...given, children());
		return { ...tool, fn, onAnswer };
	});
}
