import { RunletError } from '../ground/errors.ts';
import type { ToolContext } from '../tool/index.ts';
import { noEnv } from '../tool/tool.ts';
import type { RunContext } from './run-context.ts';

/** What a function that writes the system prompt is told. */
export interface SystemContext extends Partial<Pick<ToolContext, 'sessionId' | 'runId'>> {
	readonly env: ToolContext['env'];
	readonly skillContext: ToolContext['skillContext'];
	/** The session's metadata, as its client gave them. */
	readonly metadata: Readonly<Record<string, string>>;
}

/** A system prompt, or a function that writes it before each turn. */
export type SystemPrompt = string | ((about: SystemContext) => string | undefined | Promise<string | undefined>);

/** The system prompt: a text, or what its function says now. Throws `invalid_request` where that is no text. */
export async function writeSystem(
	system: SystemPrompt | undefined,
	{ sessionId, runId, env = noEnv, metadata = {}, skillContext = {} }: RunContext = {},
): Promise<string | undefined> {
	if (typeof system !== 'function') return system;
	const said: unknown = await system({ sessionId, runId, env, metadata, skillContext });
	if (said === undefined || typeof said === 'string') return said;
	const message = `system: its function gave a ${typeof said}. Let it return a text.`;
	throw new RunletError('invalid_request', message, { field: 'system' });
}
