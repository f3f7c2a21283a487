import { redactSecrets } from './redact.ts';

/** The longest chain of causes that is followed. */
const deepest = 4;

/** Gives the stack of an error, and those of its causes, without keys: at most about 20,000 characters. */
export function describeStack(thrown: unknown): string | undefined {
	const stacks: string[] = [];
	let next = thrown;
	for (let depth = 0; depth < deepest && next instanceof Error; depth++) {
		if (next.stack !== undefined) stacks.push(next.stack);
		next = next.cause;
	}
	return stacks.length === 0 ? undefined : redactSecrets(stacks.join('\nCaused by: '));
}
