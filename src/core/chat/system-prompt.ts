import { RunletError } from '../ground/errors.ts';
import type { ToolContext } from '../tool/index.ts';
import { noEnv } from '../tool/tool.ts';
import { type RunContext, readAskedBy } from './run-context.ts';

/** The context of a function that writes the system prompt. */
export interface SystemContext
	extends Partial<Pick<ToolContext, 'sessionId' | 'runId' | 'owner' | 'user' | 'askedBy'>> {
	readonly env: ToolContext['env'];
	readonly skillContext: ToolContext['skillContext'];
	/** The metadata that the session was created with. */
	readonly metadata: Readonly<Record<string, string>>;
}

/** A system prompt, or a function that writes it before each turn. */
export type SystemPrompt = string | ((about: SystemContext) => string | undefined | Promise<string | undefined>);

/**
 * Returns the system prompt: the text, or the current result of its function. Throws `invalid_request` if that is not a
 * text.
 */
export async function writeSystem(
	system: SystemPrompt | undefined,
	context: RunContext = {},
): Promise<string | undefined> {
	if (typeof system !== 'function') return system;
	const { sessionId, runId, owner, user, env = noEnv, metadata = {}, skillContext = {} } = context;
	const askedBy = readAskedBy(context);
	const said: unknown = await system({ sessionId, runId, owner, user, askedBy, env, metadata, skillContext });
	if (said === undefined || typeof said === 'string') return said;
	const message = `system: its function gave a ${typeof said}. Let it return a text.`;
	throw new RunletError('invalid_request', message, { field: 'system' });
}
