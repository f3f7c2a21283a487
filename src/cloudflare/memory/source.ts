import type { ToolContext } from '../../core/tool/index.ts';
import type { RememberingSession } from '../agent/memory.ts';
import type { MemorySource } from '../objects/memory/api.ts';

/** Says which call has changed a memory. */
export function createSource(
	{ agent }: Pick<RememberingSession, 'agent'>,
	{ sessionId, runId, callId }: Pick<ToolContext, 'sessionId' | 'runId' | 'callId'>,
): MemorySource {
	return { via: 'call', agent, sessionId, runId, callId };
}
