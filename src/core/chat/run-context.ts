import type { Actor } from '../base/actor.ts';
import { createFieldError } from '../base/errors.ts';
import type { StateStore, ToolContext } from '../tool/index.ts';
import { noEnv } from '../tool/tool.ts';

export function readAskedBy({ askedBy }: Pick<RunContext, 'askedBy'>): Actor | undefined {
	return typeof askedBy === 'function' ? askedBy() : askedBy;
}

/** The context of a run's tools. */
export interface RunContext
	extends Partial<
		Pick<
			ToolContext,
			| 'sessionId'
			| 'runId'
			| 'owner'
			| 'user'
			| 'metadata'
			| 'skillContext'
			| 'env'
			| 'workspace'
			| 'shell'
			| 'fetch'
			| 'web'
			| 'wakeups'
		>
	> {
	/** The sender of the newest message, or a function that returns the sender at each call. */
	readonly askedBy?: Actor | (() => Actor | undefined);
	/** Creates the idempotency key of a call. The default is a random key. */
	readonly createKey?: (callId: string) => string;
	/** The state of the session. Without it the state lasts for this run. */
	readonly state?: StateStore;
}

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
 * Returns the system prompt: the text, or the current result of its function. Throws `invalid_request` for a non-text.
 */
export async function writeSystem(
	system: SystemPrompt | undefined,
	context: RunContext = {},
): Promise<string | undefined> {
	if (typeof system !== 'function') return system;
	const { sessionId, runId, owner, user, env = noEnv, metadata = {}, skillContext = {} } = context;
	const askedBy = readAskedBy(context);
	const text: unknown = await system({ sessionId, runId, owner, user, askedBy, env, metadata, skillContext });
	if (text === undefined || typeof text === 'string') return text;
	throw createFieldError('invalid_request', 'system', `its function gave a ${typeof text}. Let it return a text.`);
}
