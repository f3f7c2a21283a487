import { RunletError } from '../../core/base/errors.ts';

/** The parts of Runlet that a Worker has only if it is given them, and what they are called. */
const parts = { mcp: 'MCP', memory: 'memory', schedules: 'schedules', links: 'decision links' } as const;

export type PartName = keyof typeof parts;

interface Missing {
	readonly code?: string;
	/** What the message begins with, in front of `has no …`. */
	readonly says?: string;
	/** The field of an agent that needs the part. */
	readonly field?: string;
}

/** Creates the error of a Worker that was made without a part of Runlet. Its message says how to add it. */
export function createMissing(
	part: PartName,
	{ code = 'not_found', says = 'this Worker', field = part }: Missing = {},
): RunletError {
	const remedy = `Add to src/worker.ts: import { ${part} } from 'runlet/cloudflare/${part}'; and createRunlet({ agents, ${part} }).`;
	const more = part === 'memory' ? ' Export the class Memory of it, too (docs/memory.md).' : '';
	return new RunletError(code, `${field}: ${says} has no ${parts[part]}. ${remedy}${more}`, { field });
}
