import type { Tool } from '../../core/tool/index.ts';

/** What a tool of the project needs from the Worker. */
export interface ToolNeeds {
	/** The address that it asks. */
	readonly url: string;
	/** The variables that it sends there as secrets. */
	readonly variables: ReadonlySet<string>;
}

/** The keys are the tools' functions, because a tool and its copies share a function. */
const needs = new WeakMap<object, ToolNeeds>();

export function noteNeeds(fn: object, needed: ToolNeeds): void {
	needs.set(fn, needed);
}

export function listNeeds(tools: readonly Tool[]): readonly ToolNeeds[] {
	return tools.flatMap(({ fn }) => (fn && needs.get(fn)) ?? []);
}
