import type { Actor } from '../../core/base/actor.ts';
import type { AnsweredCall, Label, Tool, ToolContext } from '../../core/tool/index.ts';
import type { Amount, BudgetState, Limit } from '../objects/budget.ts';
import type { Caller, CreateInput, SessionApi, SessionState } from '../objects/session-api.ts';
import type { EventSource, TreeOptions } from './event-source.ts';

/** A session that works for a call of its parent (docs/agents.md, "Agents that work for an agent"). */
export interface Child {
	readonly id: string;
	readonly callId: string;
	readonly agent: string;
	/** The amount reserved in the parent's budget. Missing if neither session has a limit. */
	readonly budget?: Limit;
	/** Whether the child sends its answer as a message, so that no call waits for it. */
	readonly isBackground: boolean;
}

export interface Children {
	/** The number of sessions above this one. */
	readonly depth: number;
	readonly caller: Caller;
	readonly askers: () => readonly Actor[];
	/** What flowed into the conversation before the call. */
	readonly labels: () => readonly Label[];
	readonly budget: () => BudgetState;
	/** `open` counts children that have not ended. */
	readonly count: () => { readonly open: number; readonly all: number };
	/** Finds the child of a call, also after a restart. */
	readonly find: (callId: string) => Child | undefined;
	/** Stores a child and its reservation. Resolves once they are durable. */
	readonly add: (child: Omit<Child, 'id'>) => Promise<Child>;
	/** Lets the outbox cancel a child that could not begin or has running children, and settle the child's cost. */
	readonly drop: (child: Child) => void;
	readonly settle: (child: Child, cost: Amount) => void;
	readonly toCreate: (child: Child) => CreateInput;
	/** Returns a new stub for each attempt, because a failed stub stays broken. */
	readonly reach: (child: Child) => SessionApi;
}

export interface ChildWork {
	readonly agents: readonly string[];
	readonly begin: (input: unknown, context: ToolContext, children: Children) => unknown;
	readonly takeAnswer: (answer: string, about: AnsweredCall, context: ToolContext, children: Children) => unknown;
	readonly joinEvents: (own: EventSource, options: TreeOptions) => EventSource;
}

/** Returns the cost of a session with its children. Undefined while the cost of a child is unknown. */
export function findWholeCost({ budget, children = [] }: SessionState): Amount | undefined {
	return children.every(({ spent }) => spent !== undefined) ? budget.spent : undefined;
}

/** The child work of each tool. The keys are the tools' functions, because a tool and its copies share a function. */
const works = new WeakMap<object, ChildWork>();

export function noteChildWork(fn: NonNullable<Tool['fn']>, work: ChildWork): void {
	works.set(fn, work);
}

export function findChildWork({ fn }: Tool): ChildWork | undefined {
	return fn && works.get(fn);
}

export function connectChildren(tools: readonly Tool[], children: () => Children): readonly Tool[] {
	return tools.map((tool) => {
		const work = findChildWork(tool);
		if (work === undefined) return tool;
		const fn = (input: unknown, context: ToolContext) => work.begin(input, context, children());
		const onAnswer: Tool['onAnswer'] = (...args) => work.takeAnswer(...args, children());
		return { ...tool, fn, onAnswer };
	});
}
